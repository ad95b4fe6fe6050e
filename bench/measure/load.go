package measure

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// Load is so many clients, each of which does one operation after the other.
type Load struct {
	Clients  int           // default 1
	Duration time.Duration // how long; default 5 s
	Ops      int           // or how many operations in all
	Warm     time.Duration // not measured before; default a tenth of Duration, at most 1 s; negative: none
	// Untimed leaves latencies out, for who looks at memory: each client's would take
	// 200 KiB of it.
	Untimed bool
	// CPU adds the processor time of other processes that serve the load.
	CPU func() time.Duration
	// Progress is told ten times a second how far it is; from 0 to 1.
	Progress func(done float64, ops int64)
}

// Result is what a load took.
type Result struct {
	Latencies *hdrhistogram.Histogram // nanoseconds; nil: untimed
	Ops       int64
	Took      time.Duration
	CPU       time.Duration
	Mallocs   uint64
}

// NewHistogram takes latencies from a nanosecond to a minute.
func NewHistogram() *hdrhistogram.Histogram {
	return hdrhistogram.New(1, int64(time.Minute), 3)
}

// client is one of a load's; its counter is read by others.
type client struct {
	ops  atomic.Int64
	hist *hdrhistogram.Histogram // nil: untimed
	err  error
	_    [64]byte
}

// Run does op with all clients, op getting the number of the client and of the
// operation. Each does one at least, however soon the time is over; the first error
// ends it.
func (l Load) Run(ctx context.Context, op func(client, n int) error) (*Result, error) {
	if l.Clients <= 0 {
		l.Clients = 1
	}
	if l.Duration <= 0 {
		l.Duration = 5 * time.Second
	}
	if l.Warm == 0 {
		l.Warm = min(l.Duration/10, time.Second)
	}
	if l.Warm < 0 {
		return l.run(ctx, op, 0)
	}
	warm := l
	warm.Duration, warm.Progress, warm.Ops = l.Warm, nil, min(l.Ops, l.Ops/10+l.Clients)
	if _, err := warm.run(ctx, op, 0); err != nil {
		return nil, fmt.Errorf("warm up: %w", err)
	}
	runtime.GC()
	return l.run(ctx, op, 1<<30)
}

func (l *Load) run(ctx context.Context, op func(client, n int) error, from int) (*Result, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	clients := make([]client, l.Clients)
	for i := range clients {
		if !l.Untimed {
			clients[i].hist = NewHistogram()
		}
	}
	var stop atomic.Bool
	var work sync.WaitGroup
	before := l.usage()
	begun := time.Now()
	for i := range clients {
		work.Go(func() {
			c := &clients[i]
			share := 0
			if l.Ops > 0 {
				share = l.Ops / l.Clients
				if i < l.Ops%l.Clients {
					share++
				}
			}
			last := time.Now()
			for n := 0; (n == 0 || !stop.Load()) && (l.Ops == 0 || n < share); n++ {
				if c.err = op(i, from+n); c.err != nil {
					cancel()
					return
				}
				if c.hist != nil {
					now := time.Now()
					_ = c.hist.RecordValue(int64(now.Sub(last))) // over a minute: beyond the scale
					last = now
				}
				c.ops.Store(int64(n + 1))
			}
		})
	}
	ended := make(chan struct{})
	go func() { work.Wait(); close(ended) }()
	l.watch(ctx, begun, clients, ended)
	stop.Store(true)
	<-ended
	r := &Result{Took: time.Since(begun)}
	if !l.Untimed {
		r.Latencies = NewHistogram()
	}
	after := l.usage()
	r.CPU, r.Mallocs = after.cpu-before.cpu, after.mallocs-before.mallocs
	for i := range clients {
		if err := clients[i].err; err != nil {
			return nil, err
		}
		r.Ops += clients[i].ops.Load()
		if !l.Untimed {
			r.Latencies.Merge(clients[i].hist)
		}
	}
	return r, context.Cause(ctx)
}

// watch returns when the time is over or the work is done.
func (l *Load) watch(ctx context.Context, begun time.Time, clients []client, ended chan struct{}) {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	var over <-chan time.Time
	if l.Ops == 0 {
		t := time.NewTimer(l.Duration)
		defer t.Stop()
		over = t.C
	}
	for {
		select {
		case <-ended:
			return
		case <-over:
			return
		case <-ctx.Done():
			return
		case <-tick.C:
			if l.Progress == nil {
				continue
			}
			var ops int64
			for i := range clients {
				ops += clients[i].ops.Load()
			}
			done := float64(time.Since(begun)) / float64(l.Duration)
			if l.Ops > 0 {
				done = float64(ops) / float64(l.Ops)
			}
			l.Progress(min(done, 1), ops)
		}
	}
}

type usage struct {
	cpu     time.Duration
	mallocs uint64
}

func (l *Load) usage() usage {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	u := usage{cpu: CPU(), mallocs: m.Mallocs}
	if l.CPU != nil {
		u.cpu += l.CPU()
	}
	return u
}
