package bench

import (
	"context"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"runtime/pprof"
	"sync/atomic"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/pawl-go/pawl"
	"github.com/pawl-go/pawl/bench/measure"
	"github.com/pawl-go/pawl/queue"
)

// CallOptions are the options of Call. Zero fields take the default.
type CallOptions struct {
	Clients    int           // default 1
	Keys       int           // default 1
	Depth      int           // calls in one operation, each nested in the one before; default 1
	Durability string        // measure.Process (the default) or measure.Disk
	Duration   time.Duration // default 5 s
	Ops        int           // instead of Duration
	Dir        string        // where the data go; default a temporary directory
	// Cancellable calls with a context that can end, as a handler of HTTP
	// requests has. A method then never runs on its caller's goroutine, which
	// must be free to leave.
	Cancellable bool
	// CPUProfile gets a profile of the calls alone, if it is not nil.
	CPUProfile io.Writer
	NoProbe    bool // leave out what the figures are held against
	// Progress is told what is measured now and how far it is, from 0 to 1.
	Progress func(what string, done float64, ops int64)
}

func (o *CallOptions) validate() error {
	o.Clients, o.Keys, o.Depth = max(o.Clients, 1), max(o.Keys, 1), max(o.Depth, 1)
	if o.Durability == "" {
		o.Durability = measure.Process
	}
	if o.Durability != measure.Process && o.Durability != measure.Disk {
		return fmt.Errorf("durability %q: it is process or disk", o.Durability)
	}
	if o.Duration <= 0 {
		o.Duration = 5 * time.Second
	}
	if o.Progress == nil {
		o.Progress = func(string, float64, int64) {}
	}
	return nil
}

// probeBytes is what a call writes to the journal, where it cannot be read off.
const probeBytes = 142

// Call measures the durable counter, and in the same run and directory a bare
// probe of the same job and bare flushes.
func Call(ctx context.Context, o CallOptions) (*measure.Report, error) {
	if err := o.validate(); err != nil {
		return nil, fmt.Errorf("bench call: %w", err)
	}
	dir, err := os.MkdirTemp(o.Dir, "pawl-bench")
	if err != nil {
		return nil, fmt.Errorf("bench call: %w", err)
	}
	defer func() { _ = os.RemoveAll(dir) }() // a temporary directory
	r, err := call(ctx, &o, dir)
	if err != nil {
		return nil, fmt.Errorf("bench call: %w", err)
	}
	return r, nil
}

func call(ctx context.Context, o *CallOptions, dir string) (*measure.Report, error) {
	r := &measure.Report{
		System: "pawl", Durability: o.Durability, Clients: o.Clients, Keys: o.Keys, Depth: o.Depth,
	}
	flushes, err := bareFlushes(ctx, o, dir)
	if err != nil {
		return nil, err
	}
	res, bytes, err := counters(ctx, o, filepath.Join(dir, "data"))
	if err != nil {
		return nil, err
	}
	r.Take(res)
	if o.NoProbe {
		return r, nil
	}
	load := o.load("bare probe")
	probe, err := measure.Probe(ctx, dir, o.Durability, o.Depth, bytes/(2*o.Depth), bytes/(2*o.Depth), load)
	if err != nil {
		return nil, err
	}
	r.TakeProbe(probe, bytes)
	more, err := bareFlushes(ctx, o, dir)
	if err != nil {
		return nil, err
	}
	flushes.Merge(more)
	r.TakeFlushes(flushes)
	return r, nil
}

func (o *CallOptions) load(what string) measure.Load {
	return measure.Load{
		Clients: o.Clients, Duration: o.Duration, Ops: o.Ops,
		Progress: func(done float64, ops int64) { o.Progress(what, done, ops) },
	}
}

// bareFlushes takes a tenth of the time, before and after.
func bareFlushes(ctx context.Context, o *CallOptions, dir string) (*hdrhistogram.Histogram, error) {
	if o.NoProbe {
		return measure.NewHistogram(), nil
	}
	about := min(o.Duration/10, time.Second)
	if o.Ops > 0 {
		about = 100 * time.Millisecond
	}
	o.Progress("bare flushes", 0, 0)
	return measure.Flushes(ctx, dir, probeBytes, about)
}

// counters does the job itself, checks the sum, and returns what one operation
// wrote to the journal as well.
func counters(ctx context.Context, o *CallOptions, dir string) (*measure.Result, int, error) {
	app, err := open(ctx, dir, url.Values{"durability": {o.Durability}})
	if err != nil {
		return nil, 0, err
	}
	defer app.Close()
	actx := app.Context(context.WithoutCancel(ctx))
	if o.Cancellable {
		actx = app.Context(ctx)
	}
	refs, choose := keys(o.Keys), chooser(o.Clients, o.Keys)
	for _, ref := range refs { // all of them are live, and their methods known
		if _, err := pawl.Call(actx, ref, (*Counter).Add, Add{Below: o.Depth - 1}); err != nil {
			return nil, 0, err
		}
	}
	added := make([]atomic.Int64, o.Keys)
	in := Add{Amount: 1, Below: o.Depth - 1}
	before, entries := journal(dir)
	var calls atomic.Int64
	if o.CPUProfile != nil {
		if err := pprof.StartCPUProfile(o.CPUProfile); err != nil {
			return nil, 0, fmt.Errorf("profile: %w", err)
		}
		defer pprof.StopCPUProfile()
	}
	res, err := o.load("calls").Run(ctx, func(client, _ int) error {
		k := choose(client)
		n, err := pawl.Call(actx, refs[k], (*Counter).Add, in)
		if err == nil && n <= 0 {
			err = fmt.Errorf("counter %s answered %d", refs[k], n)
		}
		added[k].Add(1)
		return err
	})
	if err != nil {
		return nil, 0, err
	}
	pprof.StopCPUProfile()
	after, more := journal(dir)
	for k := range added {
		calls.Add(added[k].Load())
		if err := check(actx, refs[k], added[k].Load()); err != nil {
			return nil, 0, err
		}
	}
	bytes := probeBytes * o.Depth
	if more > entries && after > before && calls.Load() > 0 {
		bytes = int((after - before) / calls.Load())
	}
	if err := app.Close(); err != nil {
		return nil, 0, err
	}
	return res, bytes, nil
}

// journal counts the bytes and the entries of the journal in a data directory.
func journal(dir string) (bytes, entries int64) {
	q, err := queue.OpenReadOnly(filepath.Join(dir, "journal"), queue.Config{})
	if err != nil {
		return 0, 0
	}
	defer q.Close()
	s := q.Stats()
	return s.Bytes, s.Entries
}
