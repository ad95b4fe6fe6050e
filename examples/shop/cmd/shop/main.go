// Command shop opens the shop of package shop for a day and says whether its books
// are right. It needs go, node 18 or newer, and python3.
package main

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/pawl-go/pawl/examples/shop"
	"github.com/pawl-go/pawl/internal/stage"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "NOT right:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	d := shop.Day{Out: os.Stdout}
	flag.IntVar(&d.Orders, "orders", 400, "orders in all")
	flag.IntVar(&d.Customers, "customers", 8, "customers, each of whom waits for one order after the other")
	flag.IntVar(&d.Kills, "kills", 20, "times to kill one of the processes")
	flag.Uint64Var(&d.Seed, "seed", rand.Uint64(), "of the moments of the kills and of whom they take")
	flag.Parse()
	var err error
	if d.Dir, err = os.MkdirTemp("", "pawl"); err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(d.Dir) }() // a temporary directory
	if d.Pawl, err = stage.Pawl(ctx, d.Dir); err != nil {
		return err
	}
	if d.Order, err = stage.Build(ctx, d.Dir, "./examples/shop/cmd/order"); err != nil {
		return err
	}
	fmt.Printf("seed %d: node, Go and Python behind one pawl serve; %d orders of %d customers\n", d.Seed, d.Orders, d.Customers)
	r, err := d.Run(ctx)
	if err != nil {
		return err
	}
	fmt.Printf("right: %d orders, each paid once and shipped once; %d kills; customers asked again %d times, the longest wait was %v\n",
		r.Orders, r.Kills, r.Again, r.Longest.Round(time.Millisecond))
	return nil
}
