// The command histories records what concurrent clients ask of registers and
// counters, and are told, while the process that hosts them is killed with -9,
// and checks each recorded history for linearizability.
//
//	go run ./examples/histories [--kills 200] [--clients 8] [--seed N] [--durability disk] [--journal small]
//	go run ./examples/histories --workload forgetful     wrong on purpose: must be refuted
//	go run ./examples/histories --check history.jsonl    a recorded one
//
//	clients (this process)                       server (a child, one life)
//	  |  POST /v1/.../call, Idempotency-Key       |
//	  | ----------------------------------------> |  Register, Counter, Courier
//	  |  GET  /v1/invocations/{id}/outcome        |  over the local engine
//	  |  GET  /v1/.../state/number                |
//	  |                             kill -9 ----> X
//	  |  asks again, under the same key --------> |  the next life
//
// A client whose operation is interrupted asks again under the same key, by the
// key or by the id of the invocation, and must be told the one outcome; some are
// left open instead, as are answered ones asked for a second time now and then.
// All reads must be linearizable: those by a method, which stand in line; those
// by a read-only method, which run at once on the recorded state and are released
// when that is committed; and those of the state from outside, likewise. For a
// read-only method that is so for what it has loaded as it began, its flat cells;
// entries of a Map are read one by one.
//
// It goes in rounds, each on fresh data with its own seed. The seed fixes what the
// clients ask for and where the kills are due; which request comes first is the
// machine's. A history that is refuted is kept, with a timeline as text and as a
// page for a browser; then it exits with 1.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/pawl-go/pawl/examples/internal/crash"
)

// children are what this program can be started as.
var children = map[string]crash.App{"histories": serve}

func main() {
	crash.Main(children)
	var s suite
	flag.IntVar(&s.kills, "kills", 200, "how many kills in all; 0: one round without")
	flag.IntVar(&s.round, "round", 20, "kills in a round")
	flag.IntVar(&s.clients, "clients", 8, "how many ask at a time")
	flag.Uint64Var(&s.seed, "seed", rand.Uint64(), "of the first round")
	flag.StringVar(&s.workload, "workload", "sound", "sound, or one that is wrong on purpose: forgetful, lagging, losing")
	flag.StringVar(&s.durability, "durability", "", "process or disk only")
	flag.StringVar(&s.tuning, "journal", "", "large or small only: how much of it between checkpoints")
	flag.DurationVar(&s.limit, "check-limit", 10*time.Second, "how long the check of one key may take")
	limit := flag.Duration("limit", 20*time.Minute, "give up, and fail, after this time")
	file := flag.String("check", "", "check this recorded history, and do nothing else")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	ctx, cancel := context.WithTimeoutCause(ctx, *limit, fmt.Errorf("not done within the limit of %v", *limit))
	defer cancel()
	s.tell = func(line string) { fmt.Println(line) }
	var err error
	if *file != "" {
		err = s.checkFile(ctx, *file)
	} else {
		_, err = s.run(ctx)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "histories:", err)
		if cause := context.Cause(ctx); cause != nil && !errors.Is(err, cause) {
			fmt.Fprintln(os.Stderr, "histories:", cause)
		}
		os.Exit(1)
	}
}
