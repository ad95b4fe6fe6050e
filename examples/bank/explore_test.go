package bank

import (
	"errors"
	"maps"
	"testing"

	"github.com/pawl-go/pawl"
	"github.com/pawl-go/pawl/pawltest"
)

// Whatever step the bank dies at, once or twice: a transfer is whole, one that is
// refused leaves nothing, and the ledger is told of each deposit once.
func TestExplore(t *testing.T) {
	pawltest.Explore(t, func(w *pawltest.World) {
		w.Start(Open)
		ctx := w.Context()
		alice, bob := pawl.Actor[*Account]("alice"), pawl.Actor[*Account]("bob")
		for _, a := range []pawl.Ref[*Account]{alice, bob} {
			if b, err := pawl.Call(ctx, a, (*Account).Open, 100); b != 100 || err != nil {
				w.Errorf("Open %v = %d, %v; want 100", a, b, err)
			}
		}
		// Two transfers at once, the other way round, and one of too much.
		rent := pawl.Go(ctx, pawl.Actor[*Transfer]("rent"), (*Transfer).Begin, Order{From: alice, To: bob, Amount: 30})
		gift := pawl.Go(ctx, pawl.Actor[*Transfer]("gift"), (*Transfer).Begin, Order{From: bob, To: alice, Amount: 10})
		for _, transfer := range []*pawl.Future[int64]{rent, gift} {
			if _, err := transfer.Wait(ctx); err != nil {
				w.Errorf("transfer: %v", err)
			}
		}
		car := Order{From: alice, To: bob, Amount: 81}
		if _, err := pawl.Call(ctx, pawl.Actor[*Transfer]("car"), (*Transfer).Begin, car); !errors.Is(err, ErrNoFunds) {
			w.Errorf("a transfer of more than there is: %v, want ErrNoFunds", err)
		}

		for account, want := range map[pawl.Ref[*Account]]Statement{
			alice: {Balance: 80, Moves: map[string]int64{"rent": -30, "gift": 10}},
			bob:   {Balance: 120, Moves: map[string]int64{"rent": 30, "gift": -10}},
		} {
			got, err := pawl.Call(ctx, account, (*Account).Statement, pawl.None{})
			if err != nil || got.Balance != want.Balance || !maps.Equal(got.Moves, want.Moves) {
				w.Errorf("%v: %+v, %v; want %+v", account, got, err, want)
			}
		}
		w.Settle() // the ledger is told, and nobody waits for that
		got, err := pawl.Call(ctx, theLedger, (*Ledger).Totals, pawl.None{})
		if want := (Totals{Deposits: 2, Volume: 40}); got != want || err != nil {
			w.Errorf("the ledger has %+v, %v; want %+v", got, err, want)
		}
	}, pawltest.Schedules(1200))
}
