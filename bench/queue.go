package bench

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/pawl-go/pawl/bench/journals"
	"github.com/pawl-go/pawl/bench/measure"
	"github.com/pawl-go/pawl/bench/rounds"
	"github.com/pawl-go/pawl/queue"
)

// QueueOptions are the options of Queue. Zero fields take the default.
type QueueOptions struct {
	Start    Starter       // required
	Dir      string        // where the data go; default: the system's temporary directory
	Rounds   int           // of which each figure is the median; default 5
	Duration time.Duration // of a round of one that waits; default 500 ms
	Cycles   int           // to open; default 10,000
	// Progress is told what is measured now and how far it is, from 0 to 1.
	Progress func(what string, done float64, ops int64)
}

// Queue measures package queue on one host, beside a bare mapped log: the jobs of
// package journals; tailing in another process, beside a pipe; and opening a queue
// with many cycles.
func Queue(ctx context.Context, o QueueOptions) (*rounds.Report, error) {
	if o.Start == nil {
		return nil, fmt.Errorf("bench queue: QueueOptions.Start is missing")
	}
	o.Rounds, o.Duration, o.Cycles = cmp.Or(o.Rounds, 5), cmp.Or(o.Duration, 500*time.Millisecond), cmp.Or(o.Cycles, 10_000)
	dir, err := os.MkdirTemp(o.Dir, "pawl-bench-")
	if err != nil {
		return nil, fmt.Errorf("bench queue: %w", err)
	}
	defer func() { _ = os.RemoveAll(dir) }() // a temporary directory
	jobs := journals.Jobs([]journals.System{journals.Pawl(), journals.Bare()}, dir, o.Duration)
	jobs = append(append(jobs, o.tailing(dir)), o.opening(dir)...)
	r, err := rounds.Run(ctx, "queue, one host", jobs, o.Rounds, o.Progress)
	if err != nil {
		return nil, fmt.Errorf("bench queue: %w", err)
	}
	return r, nil
}

func quietQueue() queue.Config {
	return queue.Config{Logger: slog.New(slog.DiscardHandler), FlushEvery: time.Hour}
}

// opening opens a queue of many cycles, made before the first round, to append and to
// read. P50 is the time that opening takes; what is counted are cycles.
func (o *QueueOptions) opening(dir string) []rounds.Job {
	dir = filepath.Join(dir, "cycles")
	cfg := quietQueue()
	cfg.CycleBytes = queue.MinCycleBytes
	made := false
	job := func(name string, open func(string, queue.Config) (*queue.Queue, error)) rounds.Job {
		side := rounds.Side{Name: fmt.Sprintf("%d cycles", o.Cycles), Do: func(ctx context.Context) (f rounds.Figure, err error) {
			if !made {
				if err := makeCycles(ctx, dir, cfg, o.Cycles); err != nil {
					return f, err
				}
				made = true
			}
			begun, cpu := time.Now(), measure.CPU()
			q, err := open(dir, cfg)
			if err != nil {
				return f, err
			}
			took := time.Since(begun)
			f.CPUPerOp = (measure.CPU() - cpu).Seconds() * 1e6 / float64(o.Cycles)
			if n := len(q.Cycles()); n < o.Cycles {
				err = fmt.Errorf("%d cycles, want %d", n, o.Cycles)
			}
			f.Ops, f.OpsPerS = int64(o.Cycles), float64(o.Cycles)/took.Seconds()
			f.P50 = took.Seconds() * 1e6
			return f, cmp.Or(err, q.Close())
		}}
		return rounds.Job{Name: name, Sides: []rounds.Side{side}}
	}
	return []rounds.Job{job("open-append", queue.Open), job("open-read", queue.OpenReader), job("open-only-read", queue.OpenReadOnly)}
}

func makeCycles(ctx context.Context, dir string, cfg queue.Config, n int) error {
	q, err := queue.Open(dir, cfg)
	if err != nil {
		return err
	}
	for k := 0; k < n && err == nil; k++ {
		if _, err = q.Append([]byte("one entry")); err == nil {
			err = q.Roll()
		}
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
	}
	return cmp.Or(err, q.Close())
}
