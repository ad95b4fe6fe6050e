// Command queuesoak runs package soak: make soak-queue.
package main

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/signal"
	"time"

	"github.com/pawl-go/pawl/queue/replica/soak"
)

func main() {
	if soak.IsChild() {
		os.Exit(soak.Child())
	}
	kills := flag.Int("kills", 1000, "hosts to kill")
	seed := flag.Uint64("seed", rand.Uint64(), "of everything that is random")
	limit := flag.Duration("limit", 2*time.Hour, "give up after so long")
	verbose := flag.Bool("v", false, "tell what is done")
	flag.Parse()
	if err := run(*kills, *seed, *limit, *verbose); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(kills int, seed uint64, limit time.Duration, verbose bool) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	exe, err := os.Executable()
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "queuesoak")
	if err != nil {
		return err
	}
	began := time.Now()
	fmt.Printf("seed %d, queues and logs in %s\n", seed, dir)
	o := soak.Options{Kills: kills, Seed: seed, Dir: dir, Program: exe}
	if verbose {
		o.Trace = os.Stdout
	}
	shown := time.Now()
	o.Progress = func(done, total, acked int) {
		if time.Since(shown) > 5*time.Second || done == total {
			shown = time.Now()
			fmt.Printf("%5.0f s  %d of %d kills, %d appends acknowledged\n", time.Since(began).Seconds(), done, total, acked)
		}
	}
	rep, err := soak.Run(ctx, o)
	if err != nil {
		return fmt.Errorf("seed %d: %w (logs in %s)", seed, err, dir)
	}
	fmt.Printf("%d kills and %d faults of the network in %v: %d appends acknowledged by %d sources in turn, all there, once, where they were said to be; "+
		"%d entries in %d cycles, the same at all hosts\n",
		rep.Kills, rep.Faults, time.Since(began).Round(time.Second), rep.Acked, rep.Sources, rep.Entries, rep.Cycles)
	return os.RemoveAll(dir)
}
