package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/pawl-go/pawl/examples/histories/history"
	"github.com/pawl-go/pawl/examples/internal/crash"
)

// round is one history on fresh data.
type round struct {
	workload   string
	durability string
	tuning     string
	seed       uint64
	kills      int
	clients    int
	operations int
	limit      time.Duration // of the check of a key
}

// result is what a round, or a number of them, has seen.
type result struct {
	operations, interrupted, repeated int
	kills, early                      int
	tally
}

// kept is the error of a round whose files are kept.
type kept struct {
	dir   string
	flags string
	err   error
}

func (k *kept) Error() string {
	return fmt.Sprintf("%v\n  kept in %s; the like again: go run ./examples/histories %s", k.err, k.dir, k.flags)
}

func (k *kept) Unwrap() error { return k.err }

// do runs the round in a directory of its own, and checks what was recorded. If
// that is not as it should be, or was not checked to its end, the error is a
// *kept.
func (r *round) do(ctx context.Context) (*result, error) {
	dir, err := os.MkdirTemp("", "histories-")
	if err != nil {
		return nil, err
	}
	res, h, err := r.hurt(ctx, filepath.Join(dir, "data"))
	if err == nil {
		res.tally, err = judge(ctx, h, r.limit, dir)
	}
	if err == nil {
		return res, os.RemoveAll(dir)
	}
	_, saved := save(dir, "history.jsonl", func(f *os.File) error {
		_, err := h.WriteTo(f)
		return err
	})
	return res, &kept{dir: dir, flags: r.flags(), err: errors.Join(err, saved)}
}

func (r *round) flags() string {
	return fmt.Sprintf("--workload %s --durability %s --journal %s --seed %d --kills %d --round %d --clients %d",
		r.workload, r.durability, size(r.tuning), r.seed, r.kills, max(r.kills, 1), r.clients)
}

// errDone ends the server when the clients are done.
var errDone = errors.New("done")

// hurt records a history: clients at work, and a server that is killed.
func (r *round) hurt(ctx context.Context, dir string) (*result, *history.History, error) {
	w := r.work(dir)
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	var server, clients sync.WaitGroup
	var died error
	server.Go(func() {
		died = w.lives.run(ctx)
		end(died)
	})
	for n := range r.clients {
		c := &client{work: w, rand: r.rand(2 + n), name: w.newName()}
		clients.Go(func() {
			if err := c.run(ctx); err != nil {
				end(err)
			}
		})
	}
	clients.Wait()
	end(errDone)
	server.Wait()
	err := context.Cause(ctx)
	switch {
	case errors.Is(err, errDone):
		err = died
	case !errors.Is(err, died):
		err = errors.Join(err, died)
	}
	h := w.recorder.History()
	return &result{
		operations: len(h.Operations), interrupted: int(w.interrupted.Load()), repeated: int(w.repeated.Load()),
		kills: w.lives.killed, early: w.lives.early,
	}, h, err
}

// work lays out what the clients and the server share.
func (r *round) work(dir string) *work {
	due := make(chan struct{}, r.kills) // one that comes due while the server is down waits for it
	recorder, deeds := history.NewRecorder(), workloads[r.workload]
	l := &lives{
		job:   crash.Job{App: "histories", Dir: dir, Durability: r.durability, Tuning: r.tuning},
		kills: r.kills, due: due, rand: r.rand(0), recorder: recorder,
		last: &life{}, born: make(chan struct{}),
	}
	return &work{
		seed: r.seed, deeds: deeds, types: types(deeds), limit: r.operations,
		lives: l, recorder: recorder,
		seen: map[string]int64{}, kills: points(r.rand(1), r.kills, r.operations), due: due,
	}
}

// rand is a source of its own for the nth who draws.
func (r *round) rand(n int) *rand.Rand { return rand.New(rand.NewPCG(r.seed, uint64(n))) }
