package flights

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"

	"github.com/pawl-go/pawl"
)

// Verdict is what an audit finds.
type Verdict struct {
	Flights     int              `json:"flights"`
	Boards      map[string]Board `json:"airports"`    // as the actors have it
	Total       Board            `json:"total"`       // over all airports
	Differences []string         `json:"differences"` // to what the file says
}

// OK reports whether nothing was lost and nothing doubled.
func (v *Verdict) OK() bool { return len(v.Differences) == 0 }

// Audit opens the airline's data in this process, reads every airport and every
// flight, and compares them with the file.
func Audit(ctx context.Context, engine string, flights int) (v *Verdict, err error) {
	plans, err := Schedule()
	if err != nil {
		return nil, err
	}
	plans = plans[:flights]
	app, err := open(ctx, engine, &Tower{}, slog.New(slog.DiscardHandler)) // what matters is in its errors
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, app.Close()) }()
	ctx = app.Context(ctx)
	boards := map[string]Board{}
	for code := range Expected(plans) {
		boards[code], err = pawl.Call(ctx, pawl.Actor[*Airport](code), (*Airport).Board, pawl.None{})
		if err != nil {
			return nil, fmt.Errorf("read airport %s: %w", code, err)
		}
	}
	logs := make([]Log, flights)
	for unit := range logs {
		logs[unit], err = pawl.Call(ctx, flightNumber(unit), (*Flight).Log, pawl.None{})
		if err != nil {
			return nil, fmt.Errorf("read flight %d: %w", unit+1, err)
		}
	}
	return judge(plans, boards, logs), nil
}

// judge compares what the actors have with the plans.
func judge(plans []Plan, boards map[string]Board, logs []Log) *Verdict {
	v := &Verdict{Flights: len(plans), Boards: boards}
	expected := Expected(plans)
	for _, code := range slices.Sorted(maps.Keys(expected)) {
		got, want := boards[code], expected[code]
		v.Total.add(got)
		if got != want {
			v.differ("%s has %+v; the file says %+v", code, got, want)
		}
	}
	slots := map[string]int{}
	for unit, log := range logs {
		if log.Landings != 1 {
			v.differ("flight %d landed %d times", unit+1, log.Landings)
		}
		slot := fmt.Sprintf("%s %d", plans[unit].Destination, log.Slot)
		if other, taken := slots[slot]; taken {
			v.differ("flights %d and %d have one slot, %s", other, unit+1, slot)
		}
		slots[slot] = unit + 1
	}
	return v
}

func (v *Verdict) differ(format string, args ...any) {
	v.Differences = append(v.Differences, fmt.Sprintf(format, args...))
}

func (b *Board) add(o Board) {
	b.Departures += o.Departures
	b.Arrivals += o.Arrivals
	b.Slots += o.Slots
	b.Delay += o.Delay
	b.Miles += o.Miles
}
