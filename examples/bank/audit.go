package bank

import (
	"context"
	"errors"
	"fmt"

	"github.com/pawl-go/pawl"
)

// Verdict is what an audit finds.
type Verdict struct {
	Total       int64    `json:"total"` // over all accounts
	Made        int      `json:"made"`  // transfers
	Refused     int      `json:"refused"`
	Volume      int64    `json:"volume"` // of those made
	Differences []string `json:"differences"`
}

// OK reports whether nothing was lost and nothing doubled.
func (v *Verdict) OK() bool { return len(v.Differences) == 0 }

// Audit opens the data of a crash run in this process, reads every account, and
// looks for money that was lost or made.
func Audit(ctx context.Context, engine string, transfers int) (v *Verdict, err error) {
	app, err := Open(ctx, engine)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, app.Close()) }()
	ctx = app.Context(ctx)
	statements := make([]Statement, accounts)
	for n := range statements {
		statements[n], err = pawl.Call(ctx, account(n), (*Account).Statement, pawl.None{})
		if err != nil {
			return nil, fmt.Errorf("read account %d: %w", n, err)
		}
	}
	totals, err := pawl.Call(ctx, theLedger, (*Ledger).Totals, pawl.None{})
	if err != nil {
		return nil, fmt.Errorf("read ledger: %w", err)
	}
	return judge(statements, totals, transfers), nil
}

// judge holds the statements and the ledger against each other and against the
// orders. A transfer is whole: in both accounts, or in none.
func judge(statements []Statement, totals Totals, transfers int) *Verdict {
	v := &Verdict{}
	lines := 0
	for n, s := range statements {
		sum := int64(first)
		for _, amount := range s.Moves {
			sum += amount
		}
		if s.Balance != sum {
			v.differ("account %d has %d, its statement says %d", n, s.Balance, sum)
		}
		if s.Balance < 0 {
			v.differ("account %d has %d: below nothing", n, s.Balance)
		}
		v.Total += s.Balance
		lines += len(s.Moves)
	}
	if want := int64(first * len(statements)); v.Total != want {
		v.differ("the total is %d, and was %d at first", v.Total, want)
	}
	for unit := range transfers {
		v.transfer(unit, statements)
	}
	if lines != 2*v.Made {
		v.differ("%d lines in the statements for %d transfers", lines, v.Made)
	}
	if want := (Totals{Deposits: v.Made, Volume: v.Volume}); totals != want {
		v.differ("the ledger has %+v, and it was %+v", totals, want)
	}
	return v
}

func (v *Verdict) transfer(unit int, statements []Statement) {
	m, id := moveOf(unit), transfer(unit).ID
	out, in := statements[m.from].Moves[id], statements[m.to].Moves[id]
	switch {
	case out == 0 && in == 0:
		v.Refused++
	case out == -m.amount && in == m.amount:
		v.Made++
		v.Volume += m.amount
	default:
		v.differ("transfer %d of %d took %d from account %d and gave %d to account %d", unit, m.amount, -out, m.from, in, m.to)
	}
}

func (v *Verdict) differ(format string, args ...any) {
	v.Differences = append(v.Differences, fmt.Sprintf(format, args...))
}
