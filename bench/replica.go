package bench

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/pawl-go/pawl/bench/measure"
	"github.com/pawl-go/pawl/bench/rounds"
	"github.com/pawl-go/pawl/bench/wire"
	"github.com/pawl-go/pawl/queue/replica"
	"github.com/pawl-go/pawl/queue/replica/core"
)

// ReplicaOptions are the options of Replica. Zero fields take the default.
type ReplicaOptions struct {
	Dir      string        // where the data go; default: the system's temporary directory
	Rounds   int           // of which each figure is the median; default 5
	Duration time.Duration // of a round of a job that lasts; default 500 ms
	Bytes    int           // of payload that a sink catches up with; default 48 MiB
	// Progress is told what is measured now and how far it is, from 0 to 1.
	Progress func(what string, done float64, ops int64)
}

// window is how many messages may be under way at once in the jobs of that name.
const window = 1024

// Replica measures package queue/replica over loopback, all hosts in this process:
//
//	ack-SIZE       one message after the other, each held by two hosts before the next
//	window-SIZE    at most 1,024 messages that the second host does not hold yet
//	catch-up       a sink comes back and copies what it has missed
//	switch         the source hands over, until the new one has a message that counts
//	take-over      by command, after the source has gone, likewise
//	automatic      as take-over, but the hosts elect who does it
//
// beside bare TCP, a bare flush and bare reading.
func Replica(ctx context.Context, o ReplicaOptions) (*rounds.Report, error) {
	o.Rounds, o.Duration, o.Bytes = cmp.Or(o.Rounds, 5), cmp.Or(o.Duration, 500*time.Millisecond), cmp.Or(o.Bytes, 48<<20)
	dir, err := os.MkdirTemp(o.Dir, "pawl-bench-")
	if err != nil {
		return nil, fmt.Errorf("bench replica: %w", err)
	}
	defer func() { _ = os.RemoveAll(dir) }() // a temporary directory
	o.Dir = dir
	jobs := []rounds.Job{
		o.acknowledged(128), o.acknowledged(1024), o.windowed(128), o.windowed(1024), o.catchUp(1024),
		o.change("switch", func(ctx context.Context, r *replicas) error { return r.queue(1).Switch(ctx, 2) }),
		o.change("take-over", func(ctx context.Context, r *replicas) error {
			if err := r.close(1); err != nil {
				return err
			}
			_, err := r.queue(2).TakeOver(ctx, false)
			return err
		}),
		o.automatic(),
	}
	r, err := rounds.Run(ctx, "queue, many hosts", jobs, o.Rounds, o.Progress)
	if err != nil {
		return nil, fmt.Errorf("bench replica: %w", err)
	}
	return r, nil
}

func (o *ReplicaOptions) acknowledged(size int) rounds.Job {
	load, m := measure.Load{Duration: o.Duration}, make([]byte, size)
	return rounds.Job{Name: fmt.Sprintf("ack-%d", size), Sides: []rounds.Side{
		{Name: "pawl replica", Do: o.with(2, core.Majority(), func(ctx context.Context, r *replicas) (rounds.Figure, error) {
			q := r.queue(1)
			return figure(load.Run(ctx, func(int, int) error {
				_, err := q.Append(ctx, m)
				return err
			}))
		})},
		{Name: "bare TCP", Do: func(ctx context.Context) (f rounds.Figure, err error) {
			p, err := wire.Dial()
			if err != nil {
				return f, err
			}
			defer p.Close()
			return figure(load.Run(ctx, func(int, int) error { return p.Ask(m) }))
		}},
		{Name: "bare flush", Do: func(ctx context.Context) (f rounds.Figure, err error) {
			l, err := measure.OpenLog(o.Dir)
			if err != nil {
				return f, err
			}
			defer l.Close()
			return figure(load.Run(ctx, func(int, int) error { return l.Wait(l.Append(m)) }))
		}},
	}}
}

func (o *ReplicaOptions) windowed(size int) rounds.Job {
	load, m := measure.Load{Duration: o.Duration}, make([]byte, size)
	// The latency is that of an append which need not wait, most often: it says nothing.
	rate := func(r *measure.Result, err error) (rounds.Figure, error) {
		f, err := figure(r, err)
		f.P50, f.P99, f.P999 = 0, 0, 0
		return f, err
	}
	strategy := core.MaxGap(core.Limit{Messages: window})
	return rounds.Job{Name: fmt.Sprintf("window-%d", size), Sides: []rounds.Side{
		{Name: "pawl replica", Do: o.with(2, strategy, func(ctx context.Context, r *replicas) (rounds.Figure, error) {
			q := r.queue(1)
			return rate(load.Run(ctx, func(int, int) error {
				_, err := q.Append(ctx, m)
				return err
			}))
		})},
		{Name: "bare TCP", Do: func(ctx context.Context) (f rounds.Figure, err error) {
			p, err := wire.Dial()
			if err != nil {
				return f, err
			}
			defer p.Close()
			return rate(load.Run(ctx, func(int, int) error { return p.Tell(m, window) }))
		}},
	}}
}

// catchUp counts messages from the moment when the sink is opened again.
func (o *ReplicaOptions) catchUp(size int) rounds.Job {
	n, m := o.Bytes/size, make([]byte, size)
	log := func(do func(*measure.Log) error) func(context.Context) (rounds.Figure, error) {
		return func(context.Context) (f rounds.Figure, err error) {
			l, err := measure.OpenLog(o.Dir)
			if err != nil {
				return f, err
			}
			defer l.Close()
			for range n {
				l.Append(m)
			}
			return timed(n, func() error { return do(l) })
		}
	}
	return rounds.Job{Name: "catch-up", Sides: []rounds.Side{
		{Name: "pawl replica", Do: o.with(2, core.Unbounded(), func(ctx context.Context, r *replicas) (f rounds.Figure, err error) {
			if err := r.close(2); err != nil {
				return f, err
			}
			for range n {
				if _, err := r.queue(1).Append(ctx, m); err != nil {
					return f, err
				}
			}
			last := r.queue(1).Last()
			return timed(n, func() error {
				if err := r.open(2); err != nil {
					return err
				}
				return r.queue(2).WaitStats(ctx, func(s replica.Stats) bool { return s.Last >= last })
			})
		})},
		{Name: "bare reading", Do: log(func(l *measure.Log) error { return l.Read(func([]byte) {}) })},
		{Name: "bare reading, TCP", Do: log(func(l *measure.Log) (err error) {
			p, err := wire.Dial()
			if err != nil {
				return err
			}
			defer p.Close()
			readErr := l.Read(func(m []byte) {
				if err == nil {
					err = p.Tell(m, n)
				}
			})
			return cmp.Or(readErr, err, p.Drain())
		})},
	}}
}

// change measures how long a change of the source takes, until an append at host 2
// counts.
func (o *ReplicaOptions) change(name string, do func(context.Context, *replicas) error) rounds.Job {
	return rounds.Job{Name: name, Sides: []rounds.Side{{
		Name: "three hosts",
		Do: o.with(3, core.Majority(), func(ctx context.Context, r *replicas) (f rounds.Figure, err error) {
			for range 1000 {
				if _, err := r.queue(1).Append(ctx, make([]byte, 128)); err != nil {
					return f, err
				}
			}
			begun := time.Now()
			if err := do(ctx, r); err != nil {
				return f, err
			}
			if _, err := r.queue(2).Append(ctx, []byte("first")); err != nil {
				return f, err
			}
			return rounds.Figure{Ops: 1, P50: time.Since(begun).Seconds() * 1e6}, nil
		}),
	}}}
}

// heartbeat is the timeout of the hosts that elect, which is how long they take to
// notice.
const heartbeat = 500 * time.Millisecond

// automatic measures from the end of the source until an append counts at the host
// that was elected; beside the timeout.
func (o *ReplicaOptions) automatic() rounds.Job {
	elect := func(cfg *replica.Config) {
		cfg.HeartbeatInterval, cfg.HeartbeatTimeout = heartbeat/5, heartbeat
		cfg.Queues[0].Automatic = true
	}
	return rounds.Job{Name: "automatic", Sides: []rounds.Side{
		{Name: "three hosts", Do: o.withConfig(3, core.Majority(), elect, func(ctx context.Context, r *replicas) (f rounds.Figure, err error) {
			begun := time.Now()
			if err := r.close(1); err != nil {
				return f, err
			}
			q, err := r.elected(ctx)
			if err != nil {
				return f, err
			}
			if _, err := q.Append(ctx, []byte("first")); err != nil {
				return f, err
			}
			return rounds.Figure{Ops: 1, P50: time.Since(begun).Seconds() * 1e6}, nil
		})},
		{Name: "the timeout", Do: func(context.Context) (rounds.Figure, error) {
			return rounds.Figure{Ops: 1, P50: heartbeat.Seconds() * 1e6}, nil
		}},
	}}
}

func figure(r *measure.Result, err error) (rounds.Figure, error) {
	if err != nil {
		return rounds.Figure{}, err
	}
	return rounds.Of(r), nil
}

// timed is the figure of n operations done by one call.
func timed(n int, do func() error) (rounds.Figure, error) {
	begun, cpu := time.Now(), measure.CPU()
	if err := do(); err != nil {
		return rounds.Figure{}, err
	}
	return rounds.Figure{
		Ops: int64(n), OpsPerS: float64(n) / time.Since(begun).Seconds(),
		CPUPerOp: (measure.CPU() - cpu).Seconds() * 1e6 / float64(n),
	}, nil
}

// replicas are hosts of one queue in this process. Host 1 is the source at first.
type replicas struct {
	dir      string
	strategy core.Strategy
	touch    func(*replica.Config) // last settings; nil: none
	hosts    []*replica.Host       // by id less one; nil: closed
	addrs    []string
}

// deed is a round of a job with hosts.
type deed func(context.Context, *replicas) (rounds.Figure, error)

// with opens so many hosts, in a new directory, for each round.
func (o *ReplicaOptions) with(n int, s core.Strategy, do deed) func(context.Context) (rounds.Figure, error) {
	return o.withConfig(n, s, nil, do)
}

func (o *ReplicaOptions) withConfig(n int, s core.Strategy, touch func(*replica.Config), do deed) func(context.Context) (rounds.Figure, error) {
	return func(ctx context.Context) (f rounds.Figure, err error) {
		dir, err := os.MkdirTemp(o.Dir, "hosts-")
		if err != nil {
			return f, err
		}
		defer func() { _ = os.RemoveAll(dir) }() // a temporary directory
		r := &replicas{dir: dir, strategy: s, touch: touch, hosts: make([]*replica.Host, n), addrs: make([]string, n)}
		defer func() {
			for id := range n {
				err = errors.Join(err, r.close(replica.HostID(id+1)))
			}
		}()
		for id := range n {
			if err := r.open(replica.HostID(id + 1)); err != nil {
				return f, err
			}
		}
		ready := func(s replica.Stats) bool {
			return s.Role == "source" && s.Locked == "" && len(s.Sinks) == n-1 &&
				!slices.ContainsFunc(s.Sinks, func(k replica.SinkStats) bool { return k.Appended == 0 })
		}
		if err := r.queue(1).WaitStats(ctx, ready); err != nil {
			return f, fmt.Errorf("wait for the hosts: %w", err)
		}
		return do(ctx, r)
	}
}

// elected waits until one of the hosts that are left is the source.
func (r *replicas) elected(ctx context.Context) (*replica.Queue, error) {
	ctx, cancel := context.WithCancel(ctx)
	found := make(chan *replica.Queue, len(r.hosts)) // room for all: nobody waits for the later ones
	var waiting sync.WaitGroup
	defer waiting.Wait()
	defer cancel()
	for _, h := range r.hosts {
		if h == nil {
			continue
		}
		q := h.Queue("bench")
		waiting.Go(func() {
			if q.WaitStats(ctx, func(s replica.Stats) bool { return s.Role == "source" && s.Locked == "" }) == nil {
				found <- q
			}
		})
	}
	select {
	case q := <-found:
		return q, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

func (r *replicas) queue(id replica.HostID) *replica.Queue { return r.hosts[id-1].Queue("bench") }

func (r *replicas) open(id replica.HostID) error {
	cfg := replica.Config{
		Self: id, Cluster: "bench", Secret: []byte("of this run"), Listen: "127.0.0.1:0", Logger: quietQueue().Logger,
	}
	qc := replica.QueueConfig{
		Name: "bench", Dir: filepath.Join(r.dir, fmt.Sprint("host", id)),
		Replica: core.Config{Master: 1, Acknowledge: true, Strategy: r.strategy},
	}
	for k := range r.hosts {
		other := replica.HostID(k + 1)
		cfg.Peers = append(cfg.Peers, replica.Peer{ID: other, Addr: r.addrs[k]})
		qc.Replica.Hosts = append(qc.Replica.Hosts, other)
	}
	cfg.Queues = []replica.QueueConfig{qc}
	if r.touch != nil {
		r.touch(&cfg)
	}
	h, err := replica.Open(cfg)
	if err != nil {
		return err
	}
	r.hosts[id-1], r.addrs[id-1] = h, h.Addr().String()
	return nil
}

func (r *replicas) close(id replica.HostID) error {
	h := r.hosts[id-1]
	if h == nil {
		return nil
	}
	r.hosts[id-1] = nil
	return h.Close()
}
