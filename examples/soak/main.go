// The command soak kills the examples with -9, a thousand times by default, and
// audits each after every few kills: nothing may be lost and nothing doubled. What
// the programs did in all their lives is held to the semantics, too.
//
//	go run ./examples/soak [--kills 1000] [--seed N] [--app bank] [--durability disk] [--trace=false] [--limit 20m]
//
// It goes in rounds, over every application in every durability, each round on
// fresh data with its own seed; in durability replicated on three hosts, of which the
// one that works is killed (not the counter, which has a store outside). A round that fails names the seed with which it
// can be run alone, and its data are kept. It exits with 1 then.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/pawl-go/pawl/examples/bank"
	"github.com/pawl-go/pawl/examples/counter"
	"github.com/pawl-go/pawl/examples/flights"
	"github.com/pawl-go/pawl/examples/internal/crash"
)

// children are what this program can be started as.
var children = map[string]crash.App{
	"airline": flights.Child,
	"bank":    bank.Child,
	"counter": counter.Child,
}

func main() {
	crash.Main(children)
	slog.SetLogLoggerLevel(slog.LevelError) // of the audits; what is wrong with a run is in its report
	var s soak
	flag.IntVar(&s.kills, "kills", 1000, "how many kills in all")
	flag.IntVar(&s.round, "round", 25, "kills in a round")
	flag.Uint64Var(&s.seed, "seed", rand.Uint64(), "of the first round")
	flag.StringVar(&s.app, "app", "", "flights, bank or counter only")
	flag.StringVar(&s.durability, "durability", "", "process, disk or replicated only")
	flag.BoolVar(&s.trace, "trace", true, "record all that happens, and hold it to the semantics after each round")
	flag.StringVar(&s.tuning, "journal", "", "large or small only: how much of it between checkpoints")
	limit := flag.Duration("limit", 20*time.Minute, "give up, and fail, after this time")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	ctx, cancel := context.WithTimeoutCause(ctx, *limit, fmt.Errorf("not done within the limit of %v", *limit))
	defer cancel()
	s.tell = func(line string) { fmt.Println(line) }
	sum, err := s.run(ctx)
	if sum != nil {
		fmt.Println(sum)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "soak:", err)
		if cause := context.Cause(ctx); cause != nil && !errors.Is(err, cause) {
			fmt.Fprintln(os.Stderr, "soak:", cause)
		}
		os.Exit(1)
	}
}
