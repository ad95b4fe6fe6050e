// Command soak sends millions of messages between two processes while it kills
// connections at random, and checks what the mesh promises: of each sender to each
// actor no message is handled twice or late, and every message is accounted for.
//
//	go run ./mesh/soak --messages 10000000
//
// Half the messages go each way, from eight senders to eight actors on each side,
// most of up to 100 bytes, some of 50,000, which travel in fragments. After a random
// number of messages a connection, or now and then all of them, is reset; senders
// then wait for the link and go on. The seed decides when and which.
package main

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	var o options
	var child string
	flag.IntVar(&o.messages, "messages", 10_000_000, "how many, both ways together")
	flag.Uint64Var(&o.seed, "seed", 0, "of when and which connections are killed; 0: by chance")
	flag.StringVar(&child, "child", "", "for the process itself: be the other node, of the one at this address")
	flag.Parse()
	o.child = self
	o.progress = os.Stdout
	if err := run(ctx, o, child); err != nil {
		fmt.Fprintln(os.Stderr, "soak:", err)
		stop()
		os.Exit(1)
	}
}

func run(ctx context.Context, o options, child string) error {
	if child != "" {
		return beChild(ctx, child, o.messages)
	}
	if o.seed == 0 {
		o.seed = rand.Uint64()
	}
	fmt.Printf("%d messages, seed %d\n", o.messages, o.seed)
	begun := time.Now()
	r, err := soak(ctx, o)
	if err != nil {
		return fmt.Errorf("seed %d: %w", o.seed, err)
	}
	fmt.Printf("%v in %v\n", r, time.Since(begun).Round(time.Second))
	return r.verdict()
}

// self starts this program again, as the other node.
func self(ctx context.Context, args ...string) *exec.Cmd {
	name, err := os.Executable()
	if err != nil {
		name = os.Args[0]
	}
	return exec.CommandContext(ctx, name, args...)
}
