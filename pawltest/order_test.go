package pawltest_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/pawl-go/pawl"
	"github.com/pawl-go/pawl/pawltest"
)

// Crowd has others count beside each other.
type Crowd struct{}

// Tick lets three counters count at once, and tells another.
func (c *Crowd) Tick(ctx context.Context, _ pawl.None) (int, error) {
	var calls []*pawl.Future[int]
	for _, id := range []string{"a", "b", "c"} {
		calls = append(calls, pawl.Go(ctx, pawl.Actor[*Clock](id), (*Clock).Tick, pawl.None{}, pawl.Once(id)))
	}
	if err := pawl.Tell(ctx, pawl.Actor[*Clock]("d"), (*Clock).Tick, pawl.None{}); err != nil {
		return 0, err
	}
	sum := 0
	for _, call := range calls {
		n, err := call.Wait(ctx)
		if err != nil {
			return 0, err
		}
		sum += n
	}
	return sum, nil
}

func crowd(w *pawltest.World) {
	w.Host(func(app *pawl.App) { clocks(app); pawl.Register[Crowd](app) })
	w.Host(clocks)
	calls := []*pawl.Future[int]{
		pawl.Go(w.Context(), pawl.Actor[*Crowd]("x"), (*Crowd).Tick, pawl.None{}),
		pawl.Go(w.Context(), pawl.Actor[*Crowd]("y"), (*Crowd).Tick, pawl.None{}),
	}
	sum := 0
	for _, call := range calls {
		n, err := call.Wait(w.Context())
		if err != nil {
			w.Error(err)
		}
		sum += n
	}
	if sum != 9 {
		w.Errorf("the six counts give %d, want 9", sum)
	}
	w.Settle()
	if n, err := pawl.Call(w.Context(), pawl.Actor[*Clock]("d"), (*Clock).Ticks, pawl.None{}); n != 2 || err != nil {
		w.Errorf("d was told %d times, %v", n, err)
	}
}

// A schedule is the same run each time, with everything that runs beside each
// other in it; other seeds give other orders.
func TestAScheduleIsOneOrder(t *testing.T) {
	singles := pawltest.SchedulesOf(t, "1", crowd)
	if len(singles) < 50 {
		t.Fatalf("%d schedules with one failure", len(singles))
	}
	for i := 0; i < len(singles); i += 11 {
		pairs := pawltest.SchedulesOf(t, singles[i], crowd)
		for _, s := range []string{singles[i], pairs[0], pairs[len(pairs)/2]} {
			one, report := pawltest.Replay(t, s, crowd)
			if report != "" {
				t.Errorf("schedule %s:\n%s", s, report)
			}
			if two, _ := pawltest.Replay(t, s, crowd); one != two {
				t.Fatalf("schedule %s gives\n%s\nand then\n%s", s, one, two)
			}
		}
	}
	var orders []string
	for _, seed := range []string{"1", "2", "3", "4"} {
		line, _ := pawltest.Replay(t, seed, crowd)
		orders = append(orders, line)
	}
	slices.Sort(orders)
	if got := len(slices.Compact(orders)); got < 2 {
		t.Errorf("four seeds give %d orders", got)
	}
}

// Components fail alone too, and all orders of two failures keep the counts.
func TestExploreComponents(t *testing.T) {
	alone := 0
	for _, s := range pawltest.SchedulesOf(t, "1", crowd) {
		if strings.Contains(s, "@~") {
			alone++
		}
	}
	if alone == 0 {
		t.Error("no component fails alone")
	}
	pawltest.Explore(t, crowd, pawltest.Schedules(400))
}

func TestOptionsOutOfRange(t *testing.T) {
	for _, o := range []pawltest.Option{pawltest.Failures(-1), pawltest.Schedules(0), pawltest.Within(-1)} {
		if pawltest.CheckOptions(o) == nil {
			t.Errorf("an option out of range is accepted")
		}
	}
	if err := pawltest.CheckOptions(pawltest.Failures(0), pawltest.Seed(7), pawltest.KeepInstances()); err != nil {
		t.Error(err)
	}
}

func TestScheduleText(t *testing.T) {
	for _, bad := range []string{"", "x", "1@", "1@lunch:A/a.M/1.1", "1@begin:"} {
		if err := pawltest.CheckSchedule(bad); err == nil || !strings.Contains(err.Error(), "copy the whole line") {
			t.Errorf("schedule %q: %v", bad, err)
		}
	}
	for _, good := range pawltest.SchedulesOf(t, "1", crowd) {
		if err := pawltest.CheckSchedule(good); err != nil {
			t.Error(err)
		}
	}
}

// Limits of the world's own apps are met, by a client and by a method.
func TestConfig(t *testing.T) {
	limited := pawltest.Config(pawl.Config{Limits: pawl.Limits{Payload: 100}})
	pawltest.Run(t, func(w *pawltest.World) {
		w.Host(func(app *pawl.App) { pawl.Register[Cart](app) })
		cart := pawl.Actor[*Cart]("c")
		put := func(size int) error {
			_, err := pawl.Call(w.Context(), cart, (*Cart).Put, strings.Repeat("x", size))
			return err
		}
		if err := put(60); err != nil {
			w.Error(err)
		}
		if err := put(99); !errors.Is(err, pawl.ErrTooLarge) {
			w.Errorf("an argument of 101 bytes with its quotes: %v", err)
		}
		if err := put(60); !errors.Is(err, pawl.ErrTooLarge) {
			w.Errorf("a cell of twice 62 bytes: %v", err)
		}
	}, limited)
}
