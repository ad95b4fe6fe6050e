package pawltest_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/pawl-go/pawl"
	"github.com/pawl-go/pawl/pawltest"
)

// Clock counts what reminds it, and sleeps.
type Clock struct{ ticks pawl.Value[int] }

// Start sets a reminder.
func (c *Clock) Start(ctx context.Context, every time.Duration) (pawl.None, error) {
	return pawl.None{}, pawl.Remind(ctx, pawl.Self(ctx, c), "tick", (*Clock).Tick, pawl.None{}, pawl.Every(every))
}

// Tick counts one.
func (c *Clock) Tick(ctx context.Context, _ pawl.None) (int, error) {
	return c.ticks.Update(ctx, func(n int) int { return n + 1 }), nil
}

// Ticks returns them.
func (c *Clock) Ticks(ctx context.Context, _ pawl.None) (int, error) { return c.ticks.Get(ctx), nil }

// Sleep takes its time.
func (c *Clock) Sleep(_ context.Context, d time.Duration) (pawl.None, error) {
	time.Sleep(d) //nolint:forbidigo // virtual time, and the point of it
	return pawl.None{}, nil
}

func clocks(app *pawl.App) { pawl.Register[Clock](app, pawl.ReadOnly((*Clock).Ticks)) }

var clock = pawl.Actor[*Clock]("c")

func ticks(w *pawltest.World) int {
	w.Helper()
	n, err := pawl.Call(w.Context(), clock, (*Clock).Ticks, pawl.None{})
	if err != nil {
		w.Errorf("Ticks: %v", err)
	}
	return n
}

func TestAdvance(t *testing.T) {
	pawltest.Run(t, func(w *pawltest.World) {
		w.Host(clocks)
		if _, err := pawl.Call(w.Context(), clock, (*Clock).Start, time.Hour); err != nil {
			w.Fatal(err)
		}
		for hours := range 6 {
			if n := ticks(w); n != hours {
				w.Errorf("after %d hours: %d ticks", hours, n)
			}
			w.Advance(time.Hour)
		}
		w.Crash()
		w.Advance(time.Hour)
		if n := ticks(w); n != 7 {
			w.Errorf("after 7 hours and a crash: %d ticks", n)
		}
	})
}

// A call returns although the process dies in it, and time passes by itself.
func TestCallOutlivesTheProcess(t *testing.T) {
	pawltest.Run(t, func(w *pawltest.World) {
		w.Host(clocks)
		sleep := pawl.Go(w.Context(), clock, (*Clock).Sleep, time.Minute)
		w.Advance(30 * time.Second)
		w.Crash()
		if len(w.Pending()) != 1 {
			w.Error("it has ended with the process")
		}
		w.Advance(59 * time.Second)
		if len(w.Pending()) != 1 {
			w.Error("the attempt made again did not take its minute")
		}
		w.Advance(time.Second)
		if len(w.Pending()) != 0 {
			w.Error("the attempt made again took more than a minute")
		}
		if _, err := sleep.Wait(w.Context()); err != nil {
			w.Error(err)
		}
	})
}

func TestSettleAndPending(t *testing.T) {
	pawltest.Run(t, func(w *pawltest.World) {
		w.Host(clocks)
		for range 3 {
			if err := pawl.Tell(w.Context(), clock, (*Clock).Tick, pawl.None{}); err != nil {
				w.Fatal(err)
			}
		}
		if err := pawl.Tell(w.Context(), clock, (*Clock).Tick, pawl.None{}, pawl.After(time.Hour)); err != nil {
			w.Fatal(err)
		}
		if n := len(w.Pending()); n != 4 {
			w.Errorf("%d are pending, want 4", n)
		}
		w.Settle()
		if p := w.Pending(); len(p) != 1 || p[0].Status != "scheduled" || ticks(w) != 3 {
			w.Errorf("settled with %d ticks, and pending %+v", ticks(w), p)
		}
		w.Advance(time.Hour)
		if n := ticks(w); n != 4 || len(w.Pending()) != 0 {
			w.Errorf("an hour later: %d ticks", n)
		}
		if s := pawltest.State(w, clock); string(s["ticks"]) != "4" || len(s) != 1 {
			w.Errorf("state %s", s)
		}
	})
}

func TestFailNext(t *testing.T) {
	pawltest.Run(t, func(w *pawltest.World) {
		shop(w, nil, nil)
		w.FailNext(pawltest.AfterSend, (*Transfer).Nested)
		alice, bob := pawl.Actor[*Account]("alice"), pawl.Actor[*Account]("bob")
		for _, n := range []int{100, 0} {
			if _, err := pawl.Call(w.Context(), alice, (*Account).Add, n); err != nil {
				w.Fatal(err)
			}
		}
		if strings.Contains(w.Timeline(), "dies") {
			w.Error("another method has failed")
		}
		m := Move{From: alice, To: bob, Amount: 30}
		if _, err := pawl.Call(w.Context(), pawl.Actor[*Transfer]("t"), (*Transfer).Nested, m); err != nil {
			w.Error(err)
		}
		if b, err := pawl.Call(w.Context(), alice, (*Account).Balance, pawl.None{}); b != 40 || err != nil {
			w.Errorf("alice has %d, %v: the failure was not where it was to be", b, err)
		}
		if got := w.Timeline(); !strings.Contains(got, "the process dies, when Transfer/t.Nested had just sent that") {
			w.Errorf("timeline:\n%s", got)
		}
	})
}

// Two components: one is killed, and what it ran goes on at the other.
func TestComponents(t *testing.T) {
	pawltest.Run(t, func(w *pawltest.World) {
		one := w.Host(clocks)
		if _, err := pawl.Call(w.Context(), clock, (*Clock).Tick, pawl.None{}); err != nil {
			w.Fatal(err)
		}
		two := w.Host(clocks)
		sleep := pawl.Go(w.Context(), clock, (*Clock).Sleep, time.Minute)
		w.Advance(time.Second)
		one.Kill()
		if one.App() != nil || two.App() == nil {
			w.Error("the wrong one is dead")
		}
		if _, err := sleep.Wait(w.Context()); err != nil {
			w.Errorf("after the kill: %v", err)
		}
		one.Restart()
		two.Drain()
		if two.App() != nil {
			w.Error("a drained component has an app")
		}
		if n, err := pawl.Call(w.Context(), clock, (*Clock).Tick, pawl.None{}); n != 2 || err != nil {
			w.Errorf("at the component started again: %d, %v", n, err)
		}
		one.Pause()
		tick := pawl.Go(w.Context(), clock, (*Clock).Tick, pawl.None{})
		w.Advance(time.Hour)
		if p := w.Pending(); len(p) != 1 {
			w.Errorf("a paused component went on: %+v", p)
		}
		one.Unpause()
		if n, err := tick.Wait(w.Context()); n != 3 || err != nil {
			w.Errorf("after the pause: %d, %v", n, err)
		}
	})
}

// What a scenario says is kept with its run; FailNow ends the scenario only.
func TestWorldIsATB(t *testing.T) {
	cleaned := 0
	report, _, _ := pawltest.Find(t, func(w *pawltest.World) {
		w.Cleanup(func() { cleaned++ })
		w.Host(clocks)
		helper := func() { w.Helper(); w.Log("a remark") }
		helper()
		w.Fatal("the", "end")
		w.Error("not reached")
	})
	for _, want := range []string{"world_test.go:", "a remark", "the end"} {
		if !strings.Contains(report, want) {
			t.Errorf("the report does not say %q:\n%s", want, report)
		}
	}
	if strings.Contains(report, "not reached") || cleaned != 1 {
		t.Errorf("cleaned up %d times; report:\n%s", cleaned, report)
	}
}

func TestPanicOfTheScenario(t *testing.T) {
	report, _, _ := pawltest.Find(t, func(*pawltest.World) { panic("oh no") })
	if !strings.Contains(report, "the scenario panicked: oh no") {
		t.Error(report)
	}
}

// A run that does not end is a report, and no hang.
func TestRunsThatDoNotEnd(t *testing.T) {
	for name, c := range map[string]struct {
		call func(w *pawltest.World) error
		want string
	}{
		"for ever": {func(w *pawltest.World) error {
			_, err := pawl.Call(w.Context(), clock, (*Clock).Forever, pawl.None{})
			return err
		}, "has waited for 50000 steps"},
		"stuck": {func(w *pawltest.World) error {
			_, err := pawl.Call(w.Context(), clock, (*Clock).Stuck, pawl.None{})
			return err
		}, "nothing has happened for 24h"},
	} {
		t.Run(name, func(t *testing.T) {
			report, _, _ := pawltest.Find(t, func(w *pawltest.World) {
				w.Host(clocks)
				if err := c.call(w); !errors.Is(err, pawl.ErrOutcomeUnknown) {
					w.Errorf("the call ended with %v", err)
				}
			})
			if !strings.Contains(report, c.want) || strings.Contains(report, "the call ended") {
				t.Errorf("%.1000s", report)
			}
		})
	}
}

// Forever calls itself for ever.
func (c *Clock) Forever(ctx context.Context, _ pawl.None) (pawl.None, error) {
	return pawl.TailSelf(ctx, (*Clock).Forever, pawl.None{})
}

// Stuck waits until its component ends.
func (c *Clock) Stuck(ctx context.Context, _ pawl.None) (pawl.None, error) {
	<-ctx.Done()
	return pawl.None{}, context.Cause(ctx)
}

// Block never returns.
func (c *Clock) Block(context.Context, pawl.None) (pawl.None, error) { select {} }

// Panic panics.
func (c *Clock) Panic(context.Context, pawl.None) (pawl.None, error) { panic("oh no") }

// A component that does not start is a failure with the reason.
func TestMistakesOfTheScenario(t *testing.T) {
	for name, c := range map[string]struct {
		scenario func(*pawltest.World)
		want     string
	}{
		"registered badly": {func(w *pawltest.World) {
			w.Host(func(app *pawl.App) { pawl.Register[Clock](app); pawl.Register[Clock](app) })
		}, "registered before"},
		"not started": {func(w *pawltest.World) {
			w.Start(func(ctx context.Context, engine string) (*pawl.App, error) {
				return pawl.Open(ctx, engine, pawl.Config{App: "x"})
			})
		}, "has not started an app"},
		"another engine": {func(w *pawltest.World) {
			w.Start(func(ctx context.Context, _ string) (*pawl.App, error) {
				return pawl.Open(ctx, "pawltest:none/0", pawl.Config{App: "x"})
			})
		}, "its test has ended"},
		"no such moment": {func(w *pawltest.World) {
			w.Host(clocks)
			w.FailNext(pawltest.AfterSync, (*Clock).Tick)
			if _, err := pawl.Call(w.Context(), clock, (*Clock).Tick, pawl.None{}); err != nil {
				w.Error(err)
			}
		}, `FailNext("synced", Clock.Tick): the scenario has ended, and no method came there`},
		"a method that blocks for good": {func(w *pawltest.World) {
			w.Host(clocks)
			if err := pawl.Tell(w.Context(), clock, (*Clock).Block, pawl.None{}); err != nil {
				w.Error(err)
			}
			w.Advance(time.Second)
		}, "the run did not end: deadlock"},
		"a tell that panics": {func(w *pawltest.World) {
			w.Host(clocks)
			if err := pawl.Tell(w.Context(), clock, (*Clock).Panic, pawl.None{}); err != nil {
				w.Error(err)
			}
			w.Settle()
			if p := w.Pending(); len(p) != 1 || p[0].Status != "failed" {
				w.Errorf("pending: %+v", p)
			}
			w.Error("seen")
		}, "msg=\"method panicked\""},
		"drained while paused": {func(w *pawltest.World) {
			c := w.Host(clocks)
			sleep := pawl.Go(w.Context(), clock, (*Clock).Sleep, time.Second)
			w.Advance(time.Millisecond)
			c.Pause()
			c.Drain()
			_, _ = sleep.Wait(w.Context())
		}, "drain component 1: after 1h0m0s of virtual time something still runs"},
		"no step": {func(w *pawltest.World) { w.FailNext("lunch", nil) }, `"lunch" is no step`},
		"not the same each time": {func() func(*pawltest.World) {
			runs := 0
			return func(w *pawltest.World) {
				w.Host(clocks)
				if runs++; runs == 1 {
					_, _ = pawl.Call(w.Context(), clock, (*Clock).Tick, pawl.None{})
				}
			}
		}(), "do the same each time"},
	} {
		t.Run(name, func(t *testing.T) {
			if report, _, _ := pawltest.Find(t, c.scenario); !strings.Contains(report, c.want) {
				t.Errorf("want %q in\n%s", c.want, report)
			}
		})
	}
}
