// The command bank makes a transfer between two accounts, which keep their
// money from one run to the next, and then a few thousand transfers in a
// program that it kills with -9.
//
//	go run ./examples/bank/cmd/bank [--kills 10] [--durability disk] [--dir data/bank]
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/signal"
	"time"

	"github.com/pawl-go/pawl"
	"github.com/pawl-go/pawl/examples/bank"
	"github.com/pawl-go/pawl/examples/internal/crash"
)

func main() {
	crash.Main(map[string]crash.App{"bank": bank.Child})
	dir := flag.String("dir", "data/bank", "where the two accounts are kept")
	kills := flag.Int("kills", 10, "how many times to kill the program")
	durability := flag.String("durability", "process", "process or disk")
	seed := flag.Uint64("seed", rand.Uint64(), "of the moments of the kills")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	err := transfer(ctx, "local:"+*dir+"?durability="+*durability)
	if err == nil && *kills > 0 {
		err = hurt(ctx, *durability, *kills, *seed)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bank:", err)
		os.Exit(1)
	}
}

// transfer opens the bank, moves 5 from alice to bob, and closes it again.
func transfer(ctx context.Context, engine string) (err error) {
	app, err := bank.Open(ctx, engine)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, app.Close()) }()
	ctx = app.Context(ctx)

	alice, bob := pawl.Actor[*bank.Account]("alice"), pawl.Actor[*bank.Account]("bob")
	for _, account := range []pawl.Ref[*bank.Account]{alice, bob} {
		balance, err := pawl.Call(ctx, account, (*bank.Account).Open, 100)
		if err != nil {
			return err
		}
		fmt.Printf("%s has %d\n", account.ID, balance)
	}

	id := time.Now().Format("2006-01-02T15:04:05.000000")
	order := bank.Order{From: alice, To: bob, Amount: 5}
	balance, err := pawl.Call(ctx, pawl.Actor[*bank.Transfer](id), (*bank.Transfer).Begin, order)
	if errors.Is(err, bank.ErrNoFunds) {
		fmt.Println("alice has nothing left to give")
		return nil
	}
	if err != nil {
		return err
	}
	fmt.Printf("alice gave bob %d, who has %d now; run this again, and see\n", order.Amount, balance)
	return nil
}

// hurt makes transfers in a child that is killed, and audits the bank.
func hurt(ctx context.Context, durability string, kills int, seed uint64) error {
	dir, err := os.MkdirTemp("", "bank-")
	if err != nil {
		return err
	}
	transfers := 400 * kills
	fmt.Printf("\n%d transfers, in a program that is killed %d times (seed %d, data in %s)\n", transfers, kills, seed, dir)
	run := crash.Run{
		Job:   crash.Job{Dir: dir, Durability: durability, Rate: 4000},
		Kills: kills, Seed: seed,
		Watch: func(m crash.Moment) {
			if m.Kind == crash.Killed {
				k := m.Kills[len(m.Kills)-1]
				fmt.Printf("kill -9 after %d answers, with %d transfers in flight\n", k.Answered, k.InFlight)
			}
		},
	}
	if _, err := bank.Run(ctx, run, transfers); err != nil {
		return err
	}
	v, err := bank.Audit(ctx, run.Job.Engine(), transfers)
	if err != nil {
		return err
	}
	for _, d := range v.Differences {
		fmt.Println("differs:", d)
	}
	if !v.OK() {
		return fmt.Errorf("%d differences; the data are kept in %s", len(v.Differences), dir)
	}
	fmt.Printf("%d transfers made, %d refused for lack of funds; the total is still %d\n", v.Made, v.Refused, v.Total)
	return os.RemoveAll(dir)
}
