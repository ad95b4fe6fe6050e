package bank

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/pawl-go/pawl"
	"github.com/pawl-go/pawl/examples/internal/crash"
)

// The bank of a crash run: so many accounts, each with so much at first. It is
// little money, so that some transfers are refused.
const (
	accounts = 50
	first    = 100
)

// Accounts and transfers are named by their numbers.
func account(n int) pawl.Ref[*Account] { return pawl.Actor[*Account](strconv.Itoa(n)) }

func transfer(unit int) pawl.Ref[*Transfer] { return pawl.Actor[*Transfer](strconv.Itoa(unit)) }

// move is the transfer of a unit: the same whenever it is submitted.
type move struct {
	from, to int
	amount   int64
}

func moveOf(unit int) move {
	from := unit * 7 % accounts
	to := (from + 1 + unit*13%(accounts-1)) % accounts
	return move{from: from, to: to, amount: int64(1 + unit*31%60)}
}

func (m move) order() Order {
	return Order{From: account(m.from), To: account(m.to), Amount: m.amount}
}

// Child is the bank as a child of a crash run. A unit is a transfer.
func Child(ctx context.Context, job crash.Job, report *crash.Reporter) error {
	app, err := Open(ctx, job.Engine())
	if err != nil {
		return err
	}
	report.Ready()
	err = serve(app.Context(ctx), job, report)
	return errors.Join(err, app.Close())
}

func serve(ctx context.Context, job crash.Job, report *crash.Reporter) error {
	for n := range accounts {
		if _, err := pawl.Call(ctx, account(n), (*Account).Open, first); err != nil {
			return fmt.Errorf("open account %d: %w", n, err)
		}
	}
	return job.Dispatch(ctx, report, func(ctx context.Context, unit int) error {
		to := transfer(unit)
		_, err := pawl.Call(ctx, to, (*Transfer).Begin, moveOf(unit).order(), pawl.Key("transfer-"+to.ID))
		if errors.Is(err, ErrNoFunds) {
			return nil // an answer too
		}
		return err
	})
}

// Run makes transfers in a child process that is killed as r says. The job's
// App, Units and Window are set here.
func Run(ctx context.Context, r crash.Run, transfers int) (*crash.Result, error) {
	r.Job.App, r.Job.Units, r.Job.Window = "bank", transfers, 32
	return r.Do(ctx)
}
