package flights

import (
	"maps"
	"slices"
	"strings"
	"testing"
)

// perfect returns what the actors must have after the plans.
func perfect(plans []Plan) (map[string]Board, []Log) {
	logs, slots := make([]Log, len(plans)), map[string]int{}
	for unit, p := range plans {
		slots[p.Destination]++
		logs[unit] = Log{Landings: 1, Slot: slots[p.Destination]}
	}
	return Expected(plans), logs
}

func TestJudgeAcceptsTheFile(t *testing.T) {
	plans, err := Schedule()
	if err != nil {
		t.Fatal(err)
	}
	boards, logs := perfect(plans)
	if v := judge(plans, boards, logs); !v.OK() || v.Total.Miles != 14_476_934 {
		t.Errorf("verdict over a perfect state: %+v, %v", v.Total, v.Differences)
	}
}

// A verdict that could not fail would say nothing.
func TestJudgeRefusesDoctoredStates(t *testing.T) {
	plans, err := Schedule()
	if err != nil {
		t.Fatal(err)
	}
	plans = plans[:100]
	code := plans[0].Destination
	alter := func(f func(*Board)) func(map[string]Board, []Log) {
		return func(boards map[string]Board, _ []Log) {
			b := boards[code]
			f(&b)
			boards[code] = b
		}
	}
	for name, c := range map[string]struct {
		doctor func(map[string]Board, []Log)
		want   string
	}{
		"departure doubled": {alter(func(b *Board) { b.Departures++ }), code},
		"arrival lost":      {alter(func(b *Board) { b.Arrivals-- }), code},
		"slot doubled":      {alter(func(b *Board) { b.Slots++ }), code},
		"a minute more":     {alter(func(b *Board) { b.Delay++ }), code},
		"a mile less":       {alter(func(b *Board) { b.Miles-- }), code},
		"airport lost":      {func(boards map[string]Board, _ []Log) { delete(boards, code) }, code},
		"flight lost":       {func(_ map[string]Board, logs []Log) { logs[41].Landings = 0 }, "flight 42 landed 0 times"},
		"flight doubled":    {func(_ map[string]Board, logs []Log) { logs[41].Landings = 2 }, "flight 42 landed 2 times"},
		"moved between two": {func(boards map[string]Board, _ []Log) {
			a, b := boards[plans[0].Destination], boards[plans[1].Destination]
			a.Miles, b.Miles = a.Miles-10, b.Miles+10
			boards[plans[0].Destination], boards[plans[1].Destination] = a, b
		}, code},
		"one slot for two": {func(_ map[string]Board, logs []Log) {
			same := slices.IndexFunc(plans[1:], func(p Plan) bool { return p.Destination == code }) + 1
			logs[same].Slot = logs[0].Slot
		}, "one slot"},
	} {
		boards, logs := perfect(plans)
		boards, logs = maps.Clone(boards), slices.Clone(logs)
		c.doctor(boards, logs)
		v := judge(plans, boards, logs)
		if v.OK() || !strings.Contains(strings.Join(v.Differences, "\n"), c.want) {
			t.Errorf("%s: differences %q, want one that says %q", name, v.Differences, c.want)
		}
	}
}
