package pawl_test

import (
	"context"
	"log/slog"
	"testing"

	"github.com/pawl-go/pawl"
)

type deposit struct {
	Amount int64  `json:"amount"`
	Note   string `json:"note,omitempty"`
}

// account is the actor of the measured call: add to a durable counter by key,
// return the new value.
type account struct{ balance pawl.Value[int64] }

func (a *account) Deposit(ctx context.Context, d deposit) (int64, error) {
	return a.balance.Update(ctx, func(b int64) int64 { return b + d.Amount }), nil
}

func openAccounts(tb testing.TB) context.Context {
	_, ctx := openIn(tb, tb.TempDir(), pawl.Config{Logger: slog.New(slog.DiscardHandler)}, func(app *pawl.App) {
		pawl.Register[account](app)
	})
	return ctx
}

func BenchmarkCall(b *testing.B) {
	ctx := openAccounts(b)
	alice := pawl.Actor[*account]("alice")
	b.ReportAllocs()
	for b.Loop() {
		if _, err := pawl.Call(ctx, alice, (*account).Deposit, deposit{Amount: 5}); err != nil {
			b.Fatal(err)
		}
	}
}

// TestCallAllocations holds the durable call, engine and JSON included, to the
// bound that the measurements promise.
func TestCallAllocations(t *testing.T) {
	ctx := openAccounts(t)
	alice := pawl.Actor[*account]("alice")
	n := testing.AllocsPerRun(1000, func() {
		if _, err := pawl.Call(ctx, alice, (*account).Deposit, deposit{Amount: 5}); err != nil {
			t.Fatal(err)
		}
	})
	if n > 25 {
		t.Errorf("%v allocations a call, want <= 25", n)
	}
	t.Logf("%v allocations a call", n)
}
