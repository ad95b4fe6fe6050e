// Command philosophers runs the evening of package philosophers and says whether
// all was right. It needs go, node 18 or newer, and npm.
package main

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/signal"
	"syscall"

	"github.com/pawl-go/pawl/examples/philosophers"
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
	e := philosophers.Evening{Out: os.Stdout}
	flag.IntVar(&e.Meals, "meals", 100, "meals for each of the five philosophers")
	flag.IntVar(&e.Kills, "kills", 20, "times to kill one of the processes")
	flag.IntVar(&e.Hosts, "hosts", 3, "pairs of a runtime and node that host the actors")
	flag.Uint64Var(&e.Seed, "seed", rand.Uint64(), "of the moments of the kills and of whom they take")
	flag.Parse()
	var err error
	if e.Dir, err = os.MkdirTemp("", "pawl"); err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(e.Dir) }() // a temporary directory
	if e.Pawl, err = stage.Pawl(ctx, e.Dir); err != nil {
		return err
	}
	fmt.Printf("seed %d\n", e.Seed)
	r, err := e.Run(ctx)
	if err != nil {
		return err
	}
	fmt.Printf("right: %d meals, %d of them begun again after a crash; %d kills; no fork in two hands, no dinner lost\n",
		r.Meals, r.Again, r.Kills)
	return nil
}
