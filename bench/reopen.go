package bench

import (
	"context"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/pawl-go/pawl"
	"github.com/pawl-go/pawl/bench/measure"
)

// ReopenOptions are the options of Reopen. Zero fields take the default.
type ReopenOptions struct {
	Start      Starter // required
	Dir        string  // where the data go; default a temporary directory
	Durability string  // default process
	Rounds     int     // kills and restarts of each; default 5
	Keys       int     // counters of the long history; default 100,000
	Calls      int     // calls of the long history; default 1,000,000
	// Progress is told what is measured now and how far it is, from 0 to 1.
	Progress func(what string, done float64, ops int64)
}

// ReopenReport says how long it takes after kill -9, from the start of the new
// process to its first answer, in milliseconds.
type ReopenReport struct {
	Durability string `json:"durability"`
	Rounds     int    `json:"rounds"`
	Keys       int    `json:"keys"`
	Calls      int    `json:"calls"`

	Small        float64 `json:"small_ms"` // median; a journal of about 1,000 calls
	SmallLongest float64 `json:"small_max_ms"`
	Large        float64 `json:"large_ms"` // median; Calls calls to Keys actors
	LargeLongest float64 `json:"large_max_ms"`
	Bare         float64 `json:"bare_ms"` // median; with no data at all
}

// Reopen kills processes with -9 while they answer calls, and starts them anew.
func Reopen(ctx context.Context, o ReopenOptions) (*ReopenReport, error) {
	if o.Start == nil {
		return nil, fmt.Errorf("bench reopen: ReopenOptions.Start is missing")
	}
	for n, standard := range map[*int]int{&o.Rounds: 5, &o.Keys: 100_000, &o.Calls: 1_000_000} {
		if *n <= 0 {
			*n = standard
		}
	}
	if o.Durability == "" {
		o.Durability = measure.Process
	}
	if o.Progress == nil {
		o.Progress = func(string, float64, int64) {}
	}
	r := &ReopenReport{Durability: o.Durability, Rounds: o.Rounds, Keys: o.Keys, Calls: o.Calls}
	var err error
	if r.Bare, _, err = o.rounds(ctx, "no journal", 10, 0); err != nil {
		return nil, err
	}
	if r.Small, r.SmallLongest, err = o.rounds(ctx, "a small journal", 10, 1000); err != nil {
		return nil, err
	}
	if r.Large, r.LargeLongest, err = o.rounds(ctx, "a long history", o.Keys, o.Calls); err != nil {
		return nil, err
	}
	return r, nil
}

// rounds gives the median and the longest restart, in milliseconds, after the
// given number of calls; with none each start finds an empty directory.
func (o *ReopenOptions) rounds(ctx context.Context, what string, keys, calls int) (median, longest float64, err error) {
	dir, err := os.MkdirTemp(o.Dir, "pawl-bench")
	if err != nil {
		return 0, 0, fmt.Errorf("bench reopen: %w", err)
	}
	defer func() { _ = os.RemoveAll(dir) }() // a temporary directory
	j := job{Do: "serve", Dir: filepath.Join(dir, "data"), Durability: o.Durability, Keys: keys}
	var took []float64
	if calls > 0 {
		if _, err := o.life(ctx, what, j, calls); err != nil {
			return 0, 0, err
		}
	}
	for round := range o.Rounds {
		if calls == 0 {
			j.Dir = filepath.Join(dir, strconv.Itoa(round))
		}
		ms, err := o.life(ctx, what, j, 500)
		if err != nil {
			return 0, 0, err
		}
		took = append(took, ms)
		o.Progress(what, float64(round+1)/float64(o.Rounds), int64(calls))
	}
	slices.Sort(took)
	return took[len(took)/2], took[len(took)-1], nil
}

// life starts a process, lets it answer so many calls, and kills it in the
// midst of more. It returns how long the first answer took.
func (o *ReopenOptions) life(ctx context.Context, what string, j job, calls int) (float64, error) {
	begun := time.Now()
	p, err := o.Start.start(ctx, j)
	if err != nil {
		return 0, fmt.Errorf("bench reopen: %w", err)
	}
	defer p.kill()
	first := 0.0
	for {
		l, ok, err := p.next()
		if err != nil || !ok {
			return 0, fmt.Errorf("bench reopen: the child ended early: %w", err)
		}
		if first == 0 {
			first = float64(time.Since(begun).Microseconds()) / 1000
		}
		if l.Answered >= calls {
			return first, nil
		}
		o.Progress(what, float64(l.Answered)/float64(calls), int64(l.Answered))
	}
}

// serve is the child's part: it answers calls until it is killed.
func (j *job) serve(ctx context.Context, say func(line)) error {
	app, err := open(ctx, j.Dir, url.Values{"durability": {j.Durability}})
	if err != nil {
		return err
	}
	defer app.Close()
	actx := app.Context(context.WithoutCancel(ctx))
	refs := keys(j.Keys)
	n, err := pawl.Call(actx, refs[0], (*Counter).Add, Add{Amount: 1})
	if err != nil {
		return err
	}
	say(line{Answered: 1, Value: n})
	clients := 16
	load := measure.Load{
		Clients: clients, Duration: time.Hour, Warm: -1,
		Progress: func(_ float64, ops int64) { say(line{Answered: int(ops)}) },
	}
	_, err = load.Run(ctx, func(client, n int) error {
		k := (n&(1<<30-1))*clients + client // every key in turn
		_, err := pawl.Call(actx, refs[k%len(refs)], (*Counter).Add, Add{Amount: 1})
		return err
	})
	return err
}

// Print writes the report for people.
func (r *ReopenReport) Print(w io.Writer) {
	fmt.Fprintf(w, "from the start of a process after kill -9 to its first answer; %s durability, %d rounds\n\n", r.Durability, r.Rounds)
	fmt.Fprintf(w, "  %-40s %10s %10s\n", "", "median", "longest")
	fmt.Fprintf(w, "  %-40s %7.1f ms\n", "no journal", r.Bare)
	fmt.Fprintf(w, "  %-40s %7.1f ms %7.1f ms\n", "a small journal (1,000 calls)", r.Small, r.SmallLongest)
	fmt.Fprintf(w, "  %-40s %7.1f ms %7.1f ms\n", fmt.Sprintf("%d calls to %d actors", r.Calls, r.Keys), r.Large, r.LargeLongest)
}
