package bench

import (
	"context"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/pawl-go/pawl"
	"github.com/pawl-go/pawl/bench/measure"
)

// SizeOptions are the options of Size. Zero fields take the default.
type SizeOptions struct {
	Start  Starter // required
	Dir    string  // where the data go; default a temporary directory
	Few    int     // calls; default 100,000
	Many   int     // calls; default 10,000,000
	Actors int     // default 1,000,000
	Live   int     // of the actors; default 100,000
	// Settle is how long a process rests before its memory is read; default 2 s.
	Settle time.Duration
	// Progress is told what is measured now and how far it is, from 0 to 1.
	Progress func(what string, done float64, ops int64)
}

// SizeReport is the memory that the process of an application takes.
type SizeReport struct {
	Few        int     `json:"few_calls"`
	Many       int     `json:"many_calls"`
	Actors     int     `json:"actors"`
	Live       int     `json:"live"`
	AfterFew   *Memory `json:"after_few_calls"`
	AfterMany  *Memory `json:"after_many_calls"`
	AllLive    *Memory `json:"all_actors_live"`
	SomeLive   *Memory `json:"some_actors_live"`
	PerLive    float64 `json:"bytes_per_live_actor"` // anonymous memory
	AfterStart *Memory `json:"after_start"`
}

// Size measures memory after calls and with actors, each in a process of its
// own, in process durability.
func Size(ctx context.Context, o SizeOptions) (*SizeReport, error) {
	if o.Start == nil {
		return nil, fmt.Errorf("bench size: SizeOptions.Start is missing")
	}
	for n, standard := range map[*int]int{&o.Few: 100_000, &o.Many: 10_000_000, &o.Actors: 1_000_000, &o.Live: 100_000} {
		if *n <= 0 {
			*n = standard
		}
	}
	if o.Settle <= 0 {
		o.Settle = 2 * time.Second
	}
	if o.Progress == nil {
		o.Progress = func(string, float64, int64) {}
	}
	r := &SizeReport{Few: o.Few, Many: max(o.Many, o.Few), Actors: o.Actors, Live: o.Live}
	calls, err := o.child(ctx, "calls", o.Many, job{Calls: []int{r.Few, r.Many}})
	if err != nil {
		return nil, err
	}
	r.AfterStart, r.AfterFew, r.AfterMany = calls[0], calls[1], calls[2]
	all, err := o.child(ctx, "live actors", o.Actors, job{Actors: o.Actors})
	if err != nil {
		return nil, err
	}
	r.AllLive = all[1]
	r.PerLive = (all[1].Anonymous - all[0].Anonymous) * (1 << 20) / float64(o.Actors)
	some, err := o.child(ctx, "actors, some of them live", o.Actors, job{Actors: o.Actors, Live: o.Live})
	if err != nil {
		return nil, err
	}
	r.SomeLive = some[1]
	return r, nil
}

// child measures in a process of its own, first after its start.
func (o *SizeOptions) child(ctx context.Context, what string, total int, j job) ([]*Memory, error) {
	dir, err := os.MkdirTemp(o.Dir, "pawl-bench")
	if err != nil {
		return nil, fmt.Errorf("bench size: %w", err)
	}
	defer func() { _ = os.RemoveAll(dir) }() // a temporary directory
	j.Do, j.Dir, j.Durability, j.Settle = "size", filepath.Join(dir, "data"), measure.Process, o.Settle
	p, err := o.Start.start(ctx, j)
	if err != nil {
		return nil, fmt.Errorf("bench size: %w", err)
	}
	defer p.kill()
	var found []*Memory
	for want := 1 + max(len(j.Calls), 1); len(found) < want; {
		l, ok, err := p.next()
		if err != nil || !ok {
			return nil, fmt.Errorf("bench size: the child ended early: %w", err)
		}
		if l.Memory != nil {
			found = append(found, l.Memory)
		}
		o.Progress(what, float64(l.Done)/float64(max(total, 1)), int64(l.Done))
	}
	return found, nil
}

// size is the child's part.
func (j *job) size(ctx context.Context, say func(line)) error {
	var opts []pawl.TypeOption
	if j.Live > 0 {
		opts = append(opts, pawl.MaxLive(j.Live))
	}
	app, err := open(ctx, j.Dir, url.Values{"durability": {j.Durability}}, opts...)
	if err != nil {
		return err
	}
	defer app.Close()
	actx := app.Context(context.WithoutCancel(ctx))
	say(line{Memory: memory()})
	if j.Actors > 0 {
		if err := j.each(actx, j.Actors, 64, func(int) int { return j.Actors }, 0, say); err != nil {
			return err
		}
		say(line{Memory: j.settled(), Done: j.Actors})
		return nil
	}
	done := 0
	for _, upTo := range j.Calls {
		if err := j.each(actx, upTo-done, 64, func(int) int { return 1000 }, done, say); err != nil {
			return err
		}
		done = upTo
		say(line{Memory: j.settled(), Done: done})
	}
	return nil
}

// settled lets the collector and what works in the background come to rest, as
// an application at rest would.
func (j *job) settled() *Memory {
	time.Sleep(j.Settle)
	return memory()
}

// each makes n calls, with keys in turn.
func (j *job) each(ctx context.Context, n, clients int, keys func(int) int, done int, say func(line)) error {
	var at atomic.Int64
	load := measure.Load{
		Clients: clients, Ops: n, Warm: -1, Untimed: true,
		Progress: func(_ float64, ops int64) { say(line{Done: done + int(ops)}) },
	}
	_, err := load.Run(ctx, func(client, _ int) error {
		k := int(at.Add(1)-1) % keys(client)
		_, err := pawl.Call(ctx, pawl.Actor[*Counter](fmt.Sprint(k)), (*Counter).Add, Add{Amount: 1})
		return err
	})
	return err
}

// Print writes the report for people.
func (r *SizeReport) Print(w io.Writer) {
	fmt.Fprintf(w, "%-44s %10s %10s %10s %10s %10s\n", "memory of the process", "RSS MiB", "anonymous", "Go heap", "live", "goroutines")
	for _, row := range []struct {
		name string
		m    *Memory
	}{
		{"after the start", r.AfterStart},
		{fmt.Sprintf("after %d calls to 1,000 actors", r.Few), r.AfterFew},
		{fmt.Sprintf("after %d", r.Many), r.AfterMany},
		{fmt.Sprintf("with %d live actors", r.Actors), r.AllLive},
		{fmt.Sprintf("with %d actors, %d of them live", r.Actors, r.Live), r.SomeLive},
	} {
		fmt.Fprintf(w, "%-44s %10.1f %10.1f %10.1f %10.1f %10d\n", row.name, row.m.RSS, row.m.Anonymous, row.m.Heap, row.m.Live, row.m.Goroutines)
	}
	fmt.Fprintf(w, "%.0f bytes a live actor\n", r.PerLive)
}
