package bank

import (
	"context"

	"github.com/pawl-go/pawl"
)

// Transfer moves an amount from one account to another.
type Transfer struct {
	to     pawl.Value[pawl.Ref[*Account]]
	amount pawl.Value[int64]
}

// Order says what a transfer is to do.
type Order struct {
	From   pawl.Ref[*Account] `json:"from"`
	To     pawl.Ref[*Account] `json:"to"`
	Amount int64              `json:"amount"`
}

// Begin withdraws from the payer. What the caller gets is the outcome of the
// last step: the payee's new balance, or ErrNoFunds.
func (t *Transfer) Begin(ctx context.Context, o Order) (int64, error) {
	t.to.Set(ctx, o.To)
	t.amount.Set(ctx, o.Amount)
	return pawl.TailCall(ctx, o.From, (*Account).Withdraw, Withdrawal{Transfer: pawl.Self(ctx, t), Amount: o.Amount})
}

// Withdrawn deposits with the payee.
func (t *Transfer) Withdrawn(ctx context.Context, _ pawl.None) (int64, error) {
	d := Deposit{Transfer: pawl.Self(ctx, t).ID, Amount: t.amount.Get(ctx)}
	return pawl.TailCall(ctx, t.to.Get(ctx), (*Account).Deposit, d)
}
