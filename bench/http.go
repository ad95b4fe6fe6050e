package bench

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"time"

	"github.com/pawl-go/pawl/bench/measure"
	"github.com/pawl-go/pawl/bench/rounds"
)

// HTTPOptions are the options of HTTP. Zero fields take the default.
type HTTPOptions struct {
	Pawl     string        // path of the command pawl; required
	Dir      string        // where the data go; default: the system's temporary directory
	Rounds   int           // of which each figure is the median; default 5
	Duration time.Duration // of a round of one side; default 1 s
	Clients  int           // of the jobs with many; default 64
	Keys     int           // counters of the jobs with many clients; default 1,000
	// Progress is told what is measured now and how far it is, from 0 to 1.
	Progress func(what string, done float64, ops int64)
}

func (o *HTTPOptions) validate() error {
	if o.Pawl == "" {
		return errors.New("HTTPOptions.Pawl is missing")
	}
	o.Rounds, o.Duration = cmp.Or(o.Rounds, 5), cmp.Or(o.Duration, time.Second)
	o.Clients, o.Keys = cmp.Or(o.Clients, 64), cmp.Or(o.Keys, 1000)
	return nil
}

// HTTP measures calls over HTTP to an actor in an application of another process,
// behind pawl run: with the engine in the same process, and in pawl serve; beside bare
// HTTP to the same application. The processor time is that of all processes that
// a call passes, this one included.
//
// "call" returns its argument. "counter" adds to a durable counter, whose state is
// recorded with the outcome, and returns the new value; in the end each counter is
// compared with what was added to it.
func HTTP(ctx context.Context, o HTTPOptions) (*rounds.Report, error) {
	if err := o.validate(); err != nil {
		return nil, fmt.Errorf("bench http: %w", err)
	}
	r, err := benchHTTP(ctx, &o)
	if err != nil {
		return nil, fmt.Errorf("bench http: %w", err)
	}
	return r, nil
}

func benchHTTP(ctx context.Context, o *HTTPOptions) (*rounds.Report, error) {
	dir, err := os.MkdirTemp(o.Dir, "pawl")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }() // a temporary directory
	var jobs []rounds.Job
	for _, durability := range []string{measure.Process, measure.Disk} {
		s := &site{pawl: o.Pawl, dir: dir, durability: durability}
		defer s.close()
		if err := s.open(ctx); err != nil {
			return nil, err
		}
		for _, clients := range []int{1, o.Clients} {
			for _, method := range []string{"call", "counter"} {
				jobs = append(jobs, o.job(s, method, clients))
			}
		}
	}
	return rounds.Run(ctx, "calls over HTTP", jobs, o.Rounds, o.Progress)
}

// job is a method, called by so many clients.
func (o *HTTPOptions) job(s *site, method string, clients int) rounds.Job {
	keys := 1
	if clients > 1 {
		keys = o.Keys
	}
	side := func(name string, at *target) rounds.Side {
		return rounds.Side{Name: name, Do: func(ctx context.Context) (rounds.Figure, error) {
			if method == "counter" {
				return o.count(ctx, at, clients, keys)
			}
			return o.echo(ctx, at, clients, keys)
		}}
	}
	j := rounds.Job{Name: fmt.Sprintf("%s %s %d", method, s.durability, clients), Sides: []rounds.Side{
		side("pawl run", s.alone), side("run with serve", s.served), side("bare HTTP", s.bare),
	}}
	if s.durability == measure.Disk {
		j.Sides = append(j.Sides, rounds.Side{Name: "bare flush", Do: func(ctx context.Context) (rounds.Figure, error) {
			h, err := measure.Flushes(ctx, s.dir, probeBytes, o.Duration/10)
			if err != nil {
				return rounds.Figure{}, err
			}
			return rounds.Figure{Ops: h.TotalCount(), P50: measure.Micros(h, 50), P99: measure.Micros(h, 99)}, nil
		}})
	}
	return j
}

// echo calls a method that leaves nothing behind.
func (o *HTTPOptions) echo(ctx context.Context, at *target, clients, keys int) (rounds.Figure, error) {
	choose := chooser(clients, keys)
	return o.load(ctx, at, clients, func(client, n int) error {
		got, err := at.call(ctx, choose(client), "echo", int64(n))
		if err == nil && got != int64(n) {
			err = fmt.Errorf("%d came back as %d", n, got)
		}
		return err
	})
}

// count adds to counters and compares them with what was added.
func (o *HTTPOptions) count(ctx context.Context, at *target, clients, keys int) (rounds.Figure, error) {
	want := make([]atomic.Int64, keys)
	for k := range want {
		before, err := at.call(ctx, k, "add", 0)
		if err != nil {
			return rounds.Figure{}, err
		}
		want[k].Store(before)
	}
	choose := chooser(clients, keys)
	f, err := o.load(ctx, at, clients, func(client, _ int) error {
		k := choose(client)
		want[k].Add(1)
		_, err := at.call(ctx, k, "add", 1)
		return err
	})
	if err != nil {
		return f, err
	}
	for k := range want {
		got, err := at.call(ctx, k, "add", 0)
		if err != nil {
			return f, err
		}
		if got != want[k].Load() {
			return f, fmt.Errorf("counter %d is %d, and should be %d: this is a bug of Pawl, please report it", k, got, want[k].Load())
		}
	}
	return f, nil
}

func (o *HTTPOptions) load(ctx context.Context, at *target, clients int, op func(client, n int) error) (rounds.Figure, error) {
	load := measure.Load{Clients: clients, Duration: o.Duration, CPU: at.cpu}
	res, err := load.Run(ctx, op)
	if err != nil {
		return rounds.Figure{}, err
	}
	return rounds.Of(res), nil
}
