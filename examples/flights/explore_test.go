package flights

import (
	"context"
	"log/slog"
	"testing"

	"github.com/pawl-go/pawl"
	"github.com/pawl-go/pawl/pawltest"
)

// Whatever step the program dies at, once or twice: every flight lands once, and
// each has a slot of its own.
func TestExplore(t *testing.T) {
	plans := []Plan{
		{Origin: "BOS", Destination: "SFO", Miles: 2704, Delay: 5},
		{Origin: "SFO", Destination: "BOS", Miles: 2704, Delay: -3},
		{Origin: "JFK", Destination: "SFO", Miles: 2586},
	}
	pawltest.Explore(t, func(w *pawltest.World) {
		w.Start(func(ctx context.Context, engine string) (*pawl.App, error) {
			return open(ctx, engine, &Tower{MilesPerMillisecond: 100}, slog.Default())
		})
		ctx := w.Context()
		var flights []*pawl.Future[Log]
		for unit, p := range plans {
			flights = append(flights, pawl.Go(ctx, flightNumber(unit), (*Flight).Depart, p))
		}
		logs, boards := make([]Log, len(plans)), map[string]Board{}
		for unit, f := range flights {
			log, err := f.Wait(ctx)
			if err != nil {
				w.Errorf("flight %d: %v", unit+1, err)
			}
			logs[unit] = log
		}
		for code := range Expected(plans) {
			board, err := pawl.Call(ctx, pawl.Actor[*Airport](code), (*Airport).Board, pawl.None{})
			if err != nil {
				w.Errorf("%s: %v", code, err)
			}
			boards[code] = board
		}
		for _, d := range judge(plans, boards, logs).Differences {
			w.Error(d)
		}
	}, pawltest.Schedules(600))
}
