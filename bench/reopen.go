package bench

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"github.com/pawl-go/pawl"
	"github.com/pawl-go/pawl/bench/measure"
	"github.com/pawl-go/pawl/bench/rounds"
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

// Reopen kills processes with -9 while they answer calls, and starts them anew. P50 is
// the time from the start of a process to its first answer: after a long history, after
// about 1,000 calls, and with no data at all.
func Reopen(ctx context.Context, o ReopenOptions) (*rounds.Report, error) {
	if o.Start == nil {
		return nil, errors.New("bench reopen: ReopenOptions.Start is missing")
	}
	o.Durability, o.Rounds = cmp.Or(o.Durability, measure.Process), cmp.Or(o.Rounds, 5)
	o.Keys, o.Calls = cmp.Or(o.Keys, 100_000), cmp.Or(o.Calls, 1_000_000)
	dir, err := os.MkdirTemp(o.Dir, "pawl-bench")
	if err != nil {
		return nil, fmt.Errorf("bench reopen: %w", err)
	}
	defer func() { _ = os.RemoveAll(dir) }() // a temporary directory
	r, err := rounds.Run(ctx, fmt.Sprintf("restart after kill -9, %s durability", o.Durability), []rounds.Job{{
		Name: "first answer", Sides: []rounds.Side{
			o.restart(fmt.Sprintf("%d calls, %d actors", o.Calls, o.Keys), filepath.Join(dir, "large"), o.Keys, o.Calls),
			o.restart("1000 calls, 10 actors", filepath.Join(dir, "small"), 10, 1000),
			o.restart("no journal", filepath.Join(dir, "none"), 10, 0),
		},
	}}, o.Rounds, o.Progress)
	if err != nil {
		return nil, fmt.Errorf("bench reopen: %w", err)
	}
	return r, nil
}

// restart is a start after so many calls, made before the first round; with none each
// start finds an empty directory.
func (o *ReopenOptions) restart(name, dir string, keys, calls int) rounds.Side {
	j := job{Do: "serve", Dir: dir, Durability: o.Durability, Keys: keys}
	made := false
	return rounds.Side{Name: name, Do: func(ctx context.Context) (f rounds.Figure, err error) {
		if calls > 0 && !made {
			if _, err := o.life(ctx, j, calls); err != nil {
				return f, err
			}
			made = true
		}
		if calls == 0 {
			if err := os.RemoveAll(dir); err != nil {
				return f, err
			}
		}
		took, err := o.life(ctx, j, 500)
		us := took.Seconds() * 1e6
		return rounds.Figure{Ops: 1, P50: us, Max: us}, err
	}}
}

// life starts a process, lets it answer so many calls, and kills it in the
// midst of more. It returns how long the first answer took.
func (o *ReopenOptions) life(ctx context.Context, j job, calls int) (first time.Duration, err error) {
	begun := time.Now()
	p, err := o.Start.start(ctx, j)
	if err != nil {
		return 0, err
	}
	defer p.kill()
	for {
		l, ok, err := p.next()
		if err != nil || !ok {
			return 0, fmt.Errorf("the child ended early: %w", err)
		}
		if first == 0 {
			first = time.Since(begun)
		}
		if l.Answered >= calls {
			return first, nil
		}
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
