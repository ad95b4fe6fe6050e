package bank

import (
	"context"
	"errors"

	"github.com/pawl-go/pawl"
)

// ErrNoFunds is returned for a withdrawal of more than the balance.
var ErrNoFunds = errors.New("not enough funds")

func init() { pawl.RegisterError("bank.no_funds", ErrNoFunds) }

// Account holds money, and a line in its statement for every movement.
type Account struct {
	open      pawl.Value[bool]
	balance   pawl.Value[int64]
	statement pawl.Map[string, int64] // by transfer; negative for a withdrawal
}

// Open gives the account its first money. Opened again it stays as it is, and
// the balance is returned.
func (a *Account) Open(ctx context.Context, first int64) (int64, error) {
	if !a.open.Get(ctx) {
		a.open.Set(ctx, true)
		a.balance.Set(ctx, first)
	}
	return a.balance.Get(ctx), nil
}

// Deposit is money that comes in.
type Deposit struct {
	Transfer string `json:"transfer"`
	Amount   int64  `json:"amount"`
}

// Deposit adds money, tells the ledger, and returns the new balance.
func (a *Account) Deposit(ctx context.Context, d Deposit) (int64, error) {
	if err := pawl.Tell(ctx, theLedger, (*Ledger).Note, d.Amount); err != nil {
		return 0, err
	}
	a.statement.Set(ctx, d.Transfer, d.Amount)
	return a.balance.Update(ctx, func(b int64) int64 { return b + d.Amount }), nil
}

// Withdrawal is money that is to go out.
type Withdrawal struct {
	Transfer pawl.Ref[*Transfer] `json:"transfer"`
	Amount   int64               `json:"amount"`
}

// Withdraw takes money out and sends the transfer on. With too little money in
// the account it returns ErrNoFunds, by which the transfer ends, and nothing is
// written.
func (a *Account) Withdraw(ctx context.Context, w Withdrawal) (int64, error) {
	balance := a.balance.Get(ctx)
	if balance < w.Amount {
		return 0, ErrNoFunds
	}
	a.balance.Set(ctx, balance-w.Amount)
	a.statement.Set(ctx, w.Transfer.ID, -w.Amount)
	return pawl.TailCall(ctx, w.Transfer, (*Transfer).Withdrawn, pawl.None{})
}

// Statement is all that an account knows.
type Statement struct {
	Balance int64            `json:"balance"`
	Moves   map[string]int64 `json:"moves"` // by transfer
}

// Statement returns the balance and all movements.
func (a *Account) Statement(ctx context.Context, _ pawl.None) (Statement, error) {
	s := Statement{Balance: a.balance.Get(ctx), Moves: map[string]int64{}}
	for e, err := range a.statement.All(ctx) {
		if err != nil {
			return s, err
		}
		s.Moves[e.Key] = e.Value
	}
	return s, nil
}
