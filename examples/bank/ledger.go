package bank

import (
	"context"

	"github.com/pawl-go/pawl"
)

// Ledger counts what all deposits make together. It is told of each by a tell,
// which the depositing step commits with its outcome: none is lost, none comes
// of an attempt that failed, and no account waits for it.
type Ledger struct {
	totals pawl.Value[Totals]
}

// Totals is what the ledger has counted.
type Totals struct {
	Deposits int   `json:"deposits"`
	Volume   int64 `json:"volume"`
}

// theLedger is the only one.
var theLedger = pawl.Actor[*Ledger]("main")

// Note counts a deposit.
func (l *Ledger) Note(ctx context.Context, amount int64) (pawl.None, error) {
	l.totals.Edit(ctx, func(t *Totals) {
		t.Deposits++
		t.Volume += amount
	})
	return pawl.None{}, nil
}

// Totals returns what was counted. It is not read-only, so it stands in line:
// behind every deposit that has happened by now.
func (l *Ledger) Totals(ctx context.Context, _ pawl.None) (Totals, error) {
	return l.totals.Get(ctx), nil
}
