// Package journals measures what writes messages to the disk in order: jobs that any
// such system does ([System]), package queue ([Pawl]) and the limit of what the
// machine can do ([Bare]). The jobs are those of the queue's table in the design's
// page on benchmarks:
//
//	append-SIZE    one appender, not flushed, to pages that are there
//	flush-each     one appender, each message flushed before the next
//	flush-64-SIZE  64 appenders, each waits until its message is flushed
//	read           one reader, from the first message to the last
//
// A system takes part in the jobs that it has functions for. Each round of a job has
// a new directory.
package journals

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/pawl-go/pawl/bench/measure"
	"github.com/pawl-go/pawl/bench/rounds"
)

// System opens a journal in an empty directory. flushed says that it is for jobs that
// flush.
type System struct {
	Name string
	Open func(dir string, flushed bool) (*Journal, error)
}

// Journal is open. A nil function is one that the system does not have, or that would
// not do the same job.
type Journal struct {
	// Append has one user, and returns when a reader could see the message.
	Append func(m []byte) error
	// Durable has many users, and returns when the message is on the disk.
	Durable func(m []byte) error
	// Read goes over all messages, and returns how many there are. Each is looked at.
	Read  func() (int, error)
	Close func() error
}

// Appends come in bursts, with a rest after each, in which whoever brings pages in
// ahead of the appender can catch up: it is the cost of an append that is measured,
// not how fast the kernel finds pages. A round fits into half a cycle of 64 MiB.
const (
	burstBytes = 400 << 10
	bursts     = 40
	restTime   = time.Millisecond
	waiters    = 64
	readBytes  = 24 << 20
)

// Jobs are all jobs of the systems, the first of which is held against the rest. Each
// round of one that waits for the disk lasts d.
func Jobs(systems []System, dir string, d time.Duration) []rounds.Job {
	w := &work{dir: dir, d: d}
	return []rounds.Job{
		w.job("append-128", systems, false, w.append(128)),
		w.job("append-1024", systems, false, w.append(1024)),
		w.job("flush-each", systems, true, w.flush(128, 1)),
		w.job("flush-64-128", systems, true, w.flush(128, waiters)),
		w.job("flush-64-1024", systems, true, w.flush(1024, waiters)),
		w.job("read", systems, false, w.read(128)),
	}
}

type work struct {
	dir string
	d   time.Duration
}

// deed does a job; ok is false when the journal cannot.
type deed struct {
	can func(*Journal) bool
	do  func(ctx context.Context, j *Journal) (rounds.Figure, error)
}

// job leaves out who cannot do it, which only an open journal tells.
func (w *work) job(name string, systems []System, flushed bool, d deed) rounds.Job {
	job := rounds.Job{Name: name}
	for _, s := range systems {
		if !w.takesPart(s, flushed, d) {
			continue
		}
		job.Sides = append(job.Sides, rounds.Side{Name: s.Name, Do: func(ctx context.Context) (f rounds.Figure, err error) {
			err = w.with(s, flushed, func(j *Journal) error {
				f, err = d.do(ctx, j)
				return err
			})
			return f, err
		}})
	}
	return job
}

func (w *work) takesPart(s System, flushed bool, d deed) bool {
	can := true // who cannot be opened says so when it is its turn
	_ = w.with(s, flushed, func(j *Journal) error {
		can = d.can(j)
		return nil
	})
	return can
}

// with opens a journal in a new directory for do.
func (w *work) with(s System, flushed bool, do func(*Journal) error) error {
	dir, err := os.MkdirTemp(w.dir, "journal-")
	if err != nil {
		return fmt.Errorf("make directory: %w", err)
	}
	defer func() { _ = os.RemoveAll(dir) }() // a temporary directory
	j, err := s.Open(dir, flushed)
	if err != nil {
		return fmt.Errorf("open %s: %w", s.Name, err)
	}
	if err := do(j); err != nil {
		_ = j.Close() // the first error is the one to tell
		return err
	}
	if err := j.Close(); err != nil {
		return fmt.Errorf("close %s: %w", s.Name, err)
	}
	return nil
}

// append measures the rate and the processor time in bursts without a clock between
// two messages, and latencies in as many with one.
func (w *work) append(size int) deed {
	return deed{
		can: func(j *Journal) bool { return j.Append != nil },
		do: func(ctx context.Context, j *Journal) (f rounds.Figure, err error) {
			m, n := make([]byte, size), burstBytes/size
			burst := func() (time.Duration, error) {
				time.Sleep(restTime)
				begun := time.Now()
				for range n {
					if err := j.Append(m); err != nil {
						return 0, err
					}
				}
				return time.Since(begun), nil
			}
			if _, err := burst(); err != nil { // warm
				return f, err
			}
			var took time.Duration
			cpu := measure.CPU()
			for range bursts {
				if ctx.Err() != nil {
					return f, context.Cause(ctx)
				}
				d, err := burst()
				if err != nil {
					return f, err
				}
				took += d
				f.Ops += int64(n)
			}
			f.CPUPerOp = (measure.CPU() - cpu).Seconds() * 1e6 / float64(f.Ops)
			f.OpsPerS = float64(f.Ops) / took.Seconds()
			h := measure.NewHistogram()
			for range bursts {
				time.Sleep(restTime)
				last := time.Now()
				for range n {
					if err := j.Append(m); err != nil {
						return f, err
					}
					now := time.Now()
					_ = h.RecordValue(int64(now.Sub(last))) // over a minute: beyond the scale
					last = now
				}
			}
			f.P50, f.P99 = measure.Micros(h, 50), measure.Micros(h, 99)
			return f, nil
		},
	}
}

func (w *work) flush(size, clients int) deed {
	return deed{
		can: func(j *Journal) bool { return j.Durable != nil },
		do: func(ctx context.Context, j *Journal) (rounds.Figure, error) {
			m := make([]byte, size)
			r, err := measure.Load{Clients: clients, Duration: w.d}.Run(ctx, func(int, int) error { return j.Durable(m) })
			if err != nil {
				return rounds.Figure{}, err
			}
			return rounds.Of(r), nil
		},
	}
}

func (w *work) read(size int) deed {
	return deed{
		can: func(j *Journal) bool { return j.Append != nil && j.Read != nil },
		do: func(_ context.Context, j *Journal) (f rounds.Figure, err error) {
			m, n := make([]byte, size), readBytes/size
			for range n {
				if err := j.Append(m); err != nil {
					return f, err
				}
			}
			if _, err := j.Read(); err != nil { // warm
				return f, err
			}
			begun, cpu := time.Now(), measure.CPU()
			for time.Since(begun) < w.d || f.Ops == 0 {
				got, err := j.Read()
				if err == nil && got != n {
					err = fmt.Errorf("%d messages read, want %d", got, n)
				}
				if err != nil {
					return f, err
				}
				f.Ops += int64(got)
			}
			f.OpsPerS = float64(f.Ops) / time.Since(begun).Seconds()
			f.CPUPerOp = (measure.CPU() - cpu).Seconds() * 1e6 / float64(f.Ops)
			return f, nil
		},
	}
}
