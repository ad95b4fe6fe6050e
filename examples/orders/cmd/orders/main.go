// Command orders runs the shop of package orders and kills it.
//
//	orders                    # publish 5,000 orders, kill the services 20 times, check
//	orders --dir d serve      # only run the services on d, until interrupted
//	orders --dir d order 100  # only publish orders to d
//	orders --dir d check      # only check
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"strconv"

	"github.com/pawl-go/pawl/examples/orders"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "orders:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	dir := flag.String("dir", "", "directory of the queues; without it a new one, removed in the end")
	count := flag.Int("orders", 5000, "orders to publish")
	kills := flag.Int("kills", 20, "times to kill the services")
	seed := flag.Uint64("seed", rand.Uint64(), "of the orders and the moments of the kills")
	flag.Parse()
	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	verb := flag.Arg(0)
	if verb != "" && *dir == "" {
		return fmt.Errorf("%s needs --dir", verb)
	}
	switch verb {
	case "":
		return ordeal(ctx, *dir, *count, *kills, *seed, log)
	case "serve":
		return orders.Serve(ctx, *dir, log)
	case "order":
		n, err := strconv.Atoi(flag.Arg(1))
		if err != nil {
			return errors.New("order needs a number of orders")
		}
		return orders.Publish(*dir, n, *seed, log)
	case "check":
		return verdict(orders.Check(*dir))
	}
	return fmt.Errorf("there is no command %q: serve, order, check, or none", verb)
}

func ordeal(ctx context.Context, dir string, count, kills int, seed uint64, log *slog.Logger) error {
	if kills < 1 || count < kills {
		return errors.New("there must be at least one kill, and an order for each")
	}
	if dir == "" {
		var err error
		if dir, err = os.MkdirTemp("", "orders"); err != nil {
			return err
		}
		defer func() { _ = os.RemoveAll(dir) }()
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	fmt.Printf("seed %d\n", seed)
	o := orders.Ordeal{
		Dir: dir, Orders: count, Kills: kills, Seed: seed, Out: os.Stdout, Log: log,
		Command: func(ctx context.Context) *exec.Cmd {
			cmd := exec.CommandContext(ctx, self, "--dir", dir, "serve")
			cmd.Stderr = os.Stderr
			return cmd
		},
	}
	return verdict(o.Run(ctx))
}

func verdict(r orders.Report, err error) error {
	if err != nil {
		return fmt.Errorf("NOT right: %w", err)
	}
	fmt.Printf("right: %d orders, each decided once: %d reserved, %d refused; invoices 1 to %d without a gap\n",
		r.Orders, r.Reserved, r.Refused, r.Invoices)
	return nil
}
