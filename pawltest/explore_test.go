package pawltest_test

import (
	"strings"
	"testing"

	"github.com/pawl-go/pawl"
	"github.com/pawl-go/pawl/pawltest"
)

// shop starts a component with every actor of this file's mistakes.
func shop(w *pawltest.World, service *charges, store map[string]int) *pawltest.Component {
	return w.Host(func(app *pawl.App) {
		pawl.Register[Cell](app)
		pawl.RegisterFunc(app, func(string) *Counter { return &Counter{store: store} })
		pawl.Register[Account](app)
		pawl.Register[Transfer](app)
		pawl.RegisterFunc(app, func(string) *Card { return &Card{service: service} })
		pawl.Register[Order](app)
		pawl.Register[Cart](app)
	})
}

// counting increments a counter twice.
func counting(incr func(*pawltest.World, pawl.Ref[*Counter]) (int, error)) func(*pawltest.World) {
	return func(w *pawltest.World) {
		shop(w, nil, map[string]int{})
		for want := 1; want <= 2; want++ {
			got, err := incr(w, pawl.Actor[*Counter]("c"))
			if got != want || err != nil {
				w.Errorf("increment %d gives %d, %v", want, got, err)
			}
		}
	}
}

func incrNested(w *pawltest.World, c pawl.Ref[*Counter]) (int, error) {
	return pawl.Call(w.Context(), c, (*Counter).IncrNested, pawl.None{})
}

func incrOutside(w *pawltest.World, c pawl.Ref[*Counter]) (int, error) {
	return pawl.Call(w.Context(), c, (*Counter).IncrOutside, pawl.None{})
}

func incrTail(w *pawltest.World, c pawl.Ref[*Counter]) (int, error) {
	return pawl.Call(w.Context(), c, (*Counter).IncrTail, pawl.None{})
}

func incrSteps(w *pawltest.World, c pawl.Ref[*Counter]) (int, error) {
	return pawl.Call(w.Context(), c, (*Counter).IncrSteps, pawl.None{})
}

// moving moves money between two accounts.
func moving(move func(*pawltest.World, Move) (int, error)) func(*pawltest.World) {
	return func(w *pawltest.World) {
		shop(w, nil, nil)
		ctx := w.Context()
		alice, bob := pawl.Actor[*Account]("alice"), pawl.Actor[*Account]("bob")
		if _, err := pawl.Call(ctx, alice, (*Account).Add, 100, pawl.Key("opening")); err != nil {
			w.Fatal(err)
		}
		if got, err := move(w, Move{From: alice, To: bob, Amount: 30}); got != 30 || err != nil {
			w.Errorf("the transfer gives %d, %v; want bob's 30", got, err)
		}
		a, errA := pawl.Call(ctx, alice, (*Account).Balance, pawl.None{})
		b, errB := pawl.Call(ctx, bob, (*Account).Balance, pawl.None{})
		if a != 70 || b != 30 || errA != nil || errB != nil {
			w.Errorf("alice has %d and bob has %d, want 70 and 30 (%v, %v)", a, b, errA, errB)
		}
	}
}

func moveNested(w *pawltest.World, m Move) (int, error) {
	return pawl.Call(w.Context(), pawl.Actor[*Transfer]("rent"), (*Transfer).Nested, m)
}

func moveOnce(w *pawltest.World, m Move) (int, error) {
	return pawl.Call(w.Context(), pawl.Actor[*Transfer]("rent"), (*Transfer).Once, m)
}

// paying pays an order, and looks at what the service has charged.
func paying(pay func(*pawltest.World, pawl.Ref[*Order], int) (string, error)) func(*pawltest.World) {
	return func(w *pawltest.World) {
		var service charges
		shop(w, &service, nil)
		if got, err := pay(w, pawl.Actor[*Order]("1"), 20); got != "receipt" || err != nil {
			w.Errorf("paying gives %q, %v", got, err)
		}
		if service.total != 20 {
			w.Errorf("%d was charged for an order of 20", service.total)
		}
	}
}

func payNested(w *pawltest.World, o pawl.Ref[*Order], amount int) (string, error) {
	return pawl.Call(w.Context(), o, (*Order).Pay, amount)
}

func payOnce(w *pawltest.World, o pawl.Ref[*Order], amount int) (string, error) {
	return pawl.Call(w.Context(), o, (*Order).PayOnce, amount)
}

func plainField(w *pawltest.World) {
	shop(w, nil, nil)
	for n := range 2 {
		got, err := pawl.Call(w.Context(), pawl.Actor[*Cart]("c"), (*Cart).Add, 5)
		if want := 5 * (n + 1); got != want || err != nil {
			w.Errorf("the total is %d, %v; want %d", got, err, want)
		}
	}
}

func sliceInPlace(w *pawltest.World) {
	shop(w, nil, nil)
	cart := pawl.Actor[*Cart]("c")
	if _, err := pawl.Call(w.Context(), cart, (*Cart).Put, "tea"); err != nil {
		w.Fatal(err)
	}
	if got, err := pawl.Call(w.Context(), cart, (*Cart).Rename, "coffee"); err != nil || got[0] != "coffee" {
		w.Errorf("renamed: %v, %v", got, err)
	}
}

// Each mistake is found within 200 schedules, and the report says what it is.
func TestMistakesAreFound(t *testing.T) {
	for name, c := range map[string]struct {
		scenario func(*pawltest.World)
		says     []string
	}{
		"a counter with two nested calls": {counting(incrNested), []string{
			"increment 1 gives 2",
			"------ the process dies",
			"Counter/c.IncrNested called Cell/c.Set twice, first with 1 and then with 2",
			`pawl.Once("set")`,
		}},
		"a counter that reads and writes outside in one step": {counting(incrOutside), []string{
			"increment 1 gives 2",
			"the process dies, before the outcome of Counter/c.IncrOutside was recorded",
			"begins again (attempt 2)",
			"Counter/c.IncrOutside ran again from its beginning",
		}},
		"a transfer with two nested calls": {moving(moveNested), []string{
			"alice has 40 and bob has 30, want 70 and 30",
			"Transfer/rent.Nested called Account/alice.Add twice",
			`pawl.Once("add")`,
		}},
		"a charge without a key": {paying(payNested), []string{
			"40 was charged for an order of 20",
			"Order/1.Pay called Card/of 1.Charge twice",
			`pawl.Once("charge")`,
		}},
		"plain fields taken for state": {plainField, []string{
			"the total is 5, <nil>; want 10",
			"Cart.total is a plain field: what Cart.Add wrote into it is gone",
			"pawl.Value",
		}},
		"a slice changed in place": {sliceInPlace, []string{
			"Cart.Rename changed the value of the cell Cart.items in place",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			report, schedule, tried := pawltest.Find(t, c.scenario)
			if report == "" || tried > 200 {
				t.Fatalf("%d schedules were tried, report %q", tried, report)
			}
			for _, want := range c.says {
				if !strings.Contains(report, want) {
					t.Errorf("the report does not say %q:\n%s", want, report)
				}
			}
			if _, again := pawltest.Replay(t, schedule, c.scenario); again != report {
				t.Errorf("schedule %s, run again, says\n%s\ninstead of\n%s", schedule, again, report)
			}
			t.Logf("%s\n%s", schedule, report)
		})
	}
}

// What is right passes.
func TestCounterByTailCall(t *testing.T) { pawltest.Explore(t, counting(incrTail)) }

func TestCounterInSteps(t *testing.T) { pawltest.Explore(t, counting(incrSteps)) }

func TestTransferOnce(t *testing.T) { pawltest.Explore(t, moving(moveOnce)) }

func TestChargeOnce(t *testing.T) { pawltest.Explore(t, paying(payOnce)) }
