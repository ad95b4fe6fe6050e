package bench

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"github.com/pawl-go/pawl"
	"github.com/pawl-go/pawl/bench/measure"
	"github.com/pawl-go/pawl/bench/rounds"
)

// CheckpointOptions are the options of Checkpoint. Zero fields take the default.
type CheckpointOptions struct {
	Clients    int           // default 64
	Keys       int           // default 100,000: what a checkpoint has to write
	Durability string        // default process
	Rounds     int           // of which each figure is the median; default 5
	Duration   time.Duration // of a round of each of the two loads; default 3 s
	Every      string        // bytes of journal between two checkpoints; default 8MiB
	Dir        string        // where the data go; default a temporary directory
	// Progress is told what is measured now and how far it is, from 0 to 1.
	Progress func(what string, done float64, ops int64)
}

// Checkpoint measures what calls see while checkpoints are made, one after the other,
// beside calls without any.
func Checkpoint(ctx context.Context, o CheckpointOptions) (*rounds.Report, error) {
	o.Clients, o.Keys, o.Every = cmp.Or(o.Clients, 64), cmp.Or(o.Keys, 100_000), cmp.Or(o.Every, "8MiB")
	o.Durability = cmp.Or(o.Durability, measure.Process)
	o.Rounds, o.Duration = cmp.Or(o.Rounds, 5), cmp.Or(o.Duration, 3*time.Second)
	side := func(name, every string) rounds.Side {
		return rounds.Side{Name: name, Do: func(ctx context.Context) (rounds.Figure, error) { return figure(o.load(ctx, every)) }}
	}
	title := fmt.Sprintf("calls to %d counters, %s durability", o.Keys, o.Durability)
	r, err := rounds.Run(ctx, title, []rounds.Job{{Name: fmt.Sprintf("%d clients", o.Clients), Sides: []rounds.Side{
		side("one per "+o.Every, o.Every), side("no checkpoints", "512GiB"),
	}}}, o.Rounds, o.Progress)
	if err != nil {
		return nil, fmt.Errorf("bench checkpoint: %w", err)
	}
	return r, nil
}

func (o *CheckpointOptions) load(ctx context.Context, every string) (*measure.Result, error) {
	dir, err := os.MkdirTemp(o.Dir, "pawl-bench")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }() // a temporary directory
	app, err := open(ctx, filepath.Join(dir, "data"), url.Values{"durability": {o.Durability}, "checkpoint": {every}})
	if err != nil {
		return nil, err
	}
	defer app.Close()
	actx := app.Context(context.WithoutCancel(ctx))
	refs, choose := keys(o.Keys), chooser(o.Clients, o.Keys)
	load := measure.Load{Clients: o.Clients, Duration: o.Duration}
	return load.Run(ctx, func(client, _ int) error {
		_, err := pawl.Call(actx, refs[choose(client)], (*Counter).Add, Add{Amount: 1})
		return err
	})
}
