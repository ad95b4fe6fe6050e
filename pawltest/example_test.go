package pawltest_test

import (
	"testing"
	"time"

	"github.com/pawl-go/pawl"
	"github.com/pawl-go/pawl/pawltest"
)

// The t of a test function.
var t *testing.T

// A transfer is whole, whatever step the process dies at.
func ExampleExplore() {
	pawltest.Explore(t, func(w *pawltest.World) {
		w.Host(func(app *pawl.App) {
			pawl.Register[Account](app)
			pawl.Register[Transfer](app)
		})
		alice, bob := pawl.Actor[*Account]("alice"), pawl.Actor[*Account]("bob")
		if _, err := pawl.Call(w.Context(), alice, (*Account).Add, 100); err != nil {
			w.Fatal(err)
		}
		move := Move{From: alice, To: bob, Amount: 30}
		got, err := pawl.Call(w.Context(), pawl.Actor[*Transfer]("rent"), (*Transfer).Once, move)
		if got != 30 || err != nil {
			w.Errorf("the transfer gives %d, %v; want bob's 30", got, err)
		}
	})
}

// A component that is drained hands its actors to the other, and a day passes in
// a moment.
func ExampleRun() {
	pawltest.Run(t, func(w *pawltest.World) {
		one := w.Host(func(app *pawl.App) { pawl.Register[Clock](app) })
		w.Host(func(app *pawl.App) { pawl.Register[Clock](app) })
		clock := pawl.Actor[*Clock]("c")
		if _, err := pawl.Call(w.Context(), clock, (*Clock).Start, time.Hour); err != nil {
			w.Fatal(err)
		}
		one.Drain()
		w.Advance(24 * time.Hour)
		if n, err := pawl.Call(w.Context(), clock, (*Clock).Ticks, pawl.None{}); n != 24 || err != nil {
			w.Errorf("%d ticks, %v; want 24", n, err)
		}
	})
}

// The process dies once, in the middle of a transfer.
func ExampleWorld_FailNext() {
	pawltest.Run(t, func(w *pawltest.World) {
		w.Start(openBank)
		w.FailNext(pawltest.BeforeOutcome, (*Account).Add)
		// ... call, and check
	})
}

// A method by hand, with a stub for what it calls.
func ExampleContext() {
	order := new(Order)
	ctx := pawltest.Context(t, "1", order)
	pawltest.Stub(ctx, (*Card).Charge, func(card pawl.Ref[*Card], amount int) (string, error) {
		return "receipt", nil
	})
	if receipt, err := order.PayOnce(ctx, 20); receipt != "receipt" || err != nil {
		t.Errorf("PayOnce = %q, %v", receipt, err)
	}
}

func ExampleTailed() {
	counter := new(Counter)
	ctx := pawltest.Context(t, "c", counter)
	pawltest.Stub(ctx, (*Cell).Get, func(pawl.Ref[*Cell], pawl.None) (int, error) { return 41, nil })
	_, err := counter.IncrTail(ctx, pawl.None{})
	if v := pawltest.Tailed(t, err, pawl.Actor[*Cell]("c"), (*Cell).Set); v != 42 {
		t.Errorf("it hands over %d, want 42", v)
	}
}
