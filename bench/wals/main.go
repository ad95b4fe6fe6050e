// Command wals does the jobs of pawl bench queue with three write-ahead logs of
// others as well, in the same process and in turns, and prints the same report:
//
//	go run . --dir /var/lib/pawl
//
// It is a module of its own, so that what they need does not enter Pawl's. Each has
// its default settings, but for:
//
//   - tidwall/wal does not flush (NoSync), and does the jobs that do not.
//   - raft-wal and etcd's wal flush with each call, and do the jobs that flush. Many
//     waiters share calls as they do in a Raft: who comes while one is under way goes
//     into the next, all in one.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/pawl-go/pawl/bench/journals"
	"github.com/pawl-go/pawl/bench/rounds"
)

type options struct {
	dir      string
	rounds   int
	duration time.Duration
	json     bool
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	var o options
	flag.StringVar(&o.dir, "dir", "", "where the data go; default: the system's temporary directory")
	flag.IntVar(&o.rounds, "rounds", 5, "rounds of each job, in which all sides take turns; medians are shown")
	flag.DurationVar(&o.duration, "duration", 500*time.Millisecond, "how long a round of a job that waits")
	flag.BoolVar(&o.json, "json", false, "print JSON")
	flag.Parse()
	if err := run(ctx, &o, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "wals:", err)
		stop()
		os.Exit(1)
	}
}

func run(ctx context.Context, o *options, w io.Writer) error {
	dir, err := os.MkdirTemp(o.dir, "wals-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	systems := []journals.System{journals.Pawl(), journals.Bare(), tidwall(), raftWAL(), etcd()}
	r, err := rounds.Run(ctx, "queue, one host", journals.Jobs(systems, dir, o.duration), o.rounds, nil)
	if err != nil {
		return err
	}
	if o.json {
		e := json.NewEncoder(w)
		e.SetIndent("", "  ")
		return e.Encode(r)
	}
	r.Print(w)
	return nil
}
