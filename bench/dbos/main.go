// Command dbos does the durable-counter job of pawl bench call with DBOS
// Transact for Go, in process, with the same flags: add one to a counter by its key in a
// workflow that survives kill -9, and return the new value. With --beside, the
// command pawl does the same in turns, in a process of its own.
//
//	go run . --beside ../../bin/pawl --clients 64 --keys 1000 --json
//
// It is a module of its own, so that what DBOS needs does not enter Pawl's.
// The counter is written in DBOS's own database (RunAsTransaction on the system
// database), which is its fastest way: one transaction holds the counter and the
// record of the step. Both stores flush what they commit.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"time"

	"github.com/dbos-inc/dbos-transact-golang/dbos"

	"github.com/pawl-go/pawl/bench/measure"
	"github.com/pawl-go/pawl/bench/rounds"
)

type options struct {
	store    string
	dir      string
	clients  int
	keys     int
	depth    int
	rounds   int
	duration time.Duration
	ops      int
	json     bool
	beside   string
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	var o options
	flag.StringVar(&o.store, "store", "", "postgres (a private server is started) or sqlite; default: postgres if it is installed")
	flag.StringVar(&o.beside, "beside", "", "the path of the command pawl: do the job with Pawl as well, and compare")
	flag.StringVar(&o.dir, "dir", "", "where the data go; default: a temporary directory")
	flag.IntVar(&o.clients, "clients", 1, "clients, each of which waits for one call after the other")
	flag.IntVar(&o.keys, "keys", 1, "counters")
	flag.IntVar(&o.depth, "depth", 1, "workflows in one operation, each a child of the one before")
	flag.IntVar(&o.rounds, "rounds", 5, "rounds, in which all sides take turns, each with new data; medians are shown")
	flag.DurationVar(&o.duration, "duration", 2*time.Second, "how long a round of one side")
	flag.IntVar(&o.ops, "ops", 0, "or how many operations")
	flag.BoolVar(&o.json, "json", false, "print JSON")
	flag.Parse()
	if o.store == "" {
		o.store = "postgres"
		if _, err := program("initdb"); err != nil {
			o.store = "sqlite"
		}
	}
	if err := run(ctx, &o, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "dbos:", err)
		stop()
		os.Exit(1)
	}
}

func run(ctx context.Context, o *options, w io.Writer) error {
	sides := []rounds.Side{{Name: "dbos/" + o.store, Do: o.dbos}, {Name: "bare flush", Do: o.flushes}}
	if o.beside != "" {
		sides = append([]rounds.Side{{Name: "pawl", Do: o.pawl}}, sides...)
	}
	title := fmt.Sprintf("add to a durable counter and return the new value, disk durability, %d client(s), %d key(s)", o.clients, o.keys)
	job := rounds.Job{Name: fmt.Sprintf("%d deep", o.depth), Sides: sides}
	r, err := rounds.Run(ctx, title, []rounds.Job{job}, o.rounds, nil)
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

// flushes are bare mapped appends of as many bytes as a call of Pawl writes, each with
// its flush.
func (o *options) flushes(ctx context.Context) (f rounds.Figure, err error) {
	dir, err := os.MkdirTemp(o.dir, "dbos")
	if err != nil {
		return f, err
	}
	defer os.RemoveAll(dir)
	h, err := measure.Flushes(ctx, dir, 140, min(o.duration/4, time.Second))
	if err != nil {
		return f, err
	}
	return rounds.Of(&measure.Result{Ops: h.TotalCount(), Latencies: h}), nil
}

// dbos opens a new store and does the job.
func (o *options) dbos(ctx context.Context) (f rounds.Figure, err error) {
	dir, err := os.MkdirTemp(o.dir, "dbos")
	if err != nil {
		return f, err
	}
	defer os.RemoveAll(dir)
	s, err := openStore(ctx, o.store, dir, o.clients)
	if err != nil {
		return f, err
	}
	defer s.close()
	c, err := dbos.NewContext(ctx, dbos.Config{
		AppName: "counter-bench", Logger: slog.New(slog.DiscardHandler),
		SystemDBPool: s.pool, SQLiteSystemDB: s.sqlite,
	})
	if err != nil {
		return f, fmt.Errorf("open dbos: %w", err)
	}
	job, err := newJob(c, s)
	if err != nil {
		return f, err
	}
	if err := dbos.Launch(c); err != nil {
		return f, fmt.Errorf("launch dbos: %w", err)
	}
	defer dbos.Shutdown(c, 5*time.Second)

	load := measure.Load{Clients: o.clients, Duration: o.duration, Ops: o.ops, CPU: s.cpu}
	random := make([]*rand.Rand, o.clients)
	for i := range random {
		random[i] = rand.New(rand.NewPCG(1, uint64(i)))
	}
	res, err := load.Run(ctx, func(client, _ int) error {
		key := strconv.Itoa(random[client].IntN(o.keys))
		h, err := dbos.RunWorkflow(c, job.add, input{Key: key, Depth: o.depth})
		if err != nil {
			return err
		}
		v, err := h.GetResult()
		if err == nil && v < 1 {
			err = fmt.Errorf("counter %s answered %d", key, v)
		}
		return err
	})
	if err != nil {
		return f, err
	}
	return rounds.Of(res), nil
}
