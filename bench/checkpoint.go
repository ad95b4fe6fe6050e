package bench

import (
	"context"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"github.com/pawl-go/pawl"
	"github.com/pawl-go/pawl/bench/measure"
)

// CheckpointOptions are the options of Checkpoint. Zero fields take the default.
type CheckpointOptions struct {
	Clients    int           // default 64
	Keys       int           // default 100,000: what a checkpoint has to write
	Durability string        // default process
	Duration   time.Duration // of each of the two loads; default 5 s
	Every      string        // bytes of journal between two checkpoints; default 8MiB
	Dir        string        // where the data go; default a temporary directory
	// Progress is told what is measured now and how far it is, from 0 to 1.
	Progress func(what string, done float64, ops int64)
}

// CheckpointReport sets calls while checkpoints are made, one after the other,
// beside calls without any. Times are in microseconds.
type CheckpointReport struct {
	Durability string `json:"durability"`
	Clients    int    `json:"clients"`
	Keys       int    `json:"keys"`
	Every      string `json:"checkpoint"`

	During Latencies `json:"during"`
	Quiet  Latencies `json:"quiet"`
	P99    float64   `json:"p99_ratio"`
	P999   float64   `json:"p999_ratio"`
}

// Latencies are those of a load.
type Latencies struct {
	OpsPerS  float64 `json:"ops_per_s"`
	P50      float64 `json:"p50_us"`
	P99      float64 `json:"p99_us"`
	P999     float64 `json:"p999_us"`
	Max      float64 `json:"max_us"`
	CPUPerOp float64 `json:"cpu_us_per_op"`
}

// Checkpoint measures what calls see of checkpoints.
func Checkpoint(ctx context.Context, o CheckpointOptions) (*CheckpointReport, error) {
	for n, standard := range map[*int]int{&o.Clients: 64, &o.Keys: 100_000} {
		if *n <= 0 {
			*n = standard
		}
	}
	if o.Durability == "" {
		o.Durability = measure.Process
	}
	if o.Duration <= 0 {
		o.Duration = 5 * time.Second
	}
	if o.Every == "" {
		o.Every = "8MiB"
	}
	if o.Progress == nil {
		o.Progress = func(string, float64, int64) {}
	}
	r := &CheckpointReport{Durability: o.Durability, Clients: o.Clients, Keys: o.Keys, Every: o.Every}
	for _, part := range []struct {
		what, every string
		into        *Latencies
	}{
		{"calls without checkpoints", "512GiB", &r.Quiet},
		{"calls during checkpoints", o.Every, &r.During},
	} {
		res, err := o.load(ctx, part.what, part.every)
		if err != nil {
			return nil, fmt.Errorf("bench checkpoint: %w", err)
		}
		var m measure.Report
		m.Take(res)
		*part.into = Latencies{m.OpsPerS, m.P50, m.P99, m.P999, m.Max, m.CPUPerOp}
	}
	r.P99, r.P999 = r.During.P99/r.Quiet.P99, r.During.P999/r.Quiet.P999
	return r, nil
}

func (o *CheckpointOptions) load(ctx context.Context, what, every string) (*measure.Result, error) {
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
	load := measure.Load{
		Clients: o.Clients, Duration: o.Duration,
		Progress: func(done float64, ops int64) { o.Progress(what, done, ops) },
	}
	return load.Run(ctx, func(client, _ int) error {
		_, err := pawl.Call(actx, refs[choose(client)], (*Counter).Add, Add{Amount: 1})
		return err
	})
}

// Print writes the report for people.
func (r *CheckpointReport) Print(w io.Writer) {
	fmt.Fprintf(w, "calls while a checkpoint is made each %s of journal; %s durability, %d clients, %d keys\n\n",
		r.Every, r.Durability, r.Clients, r.Keys)
	fmt.Fprintf(w, "  %-22s %14s %14s %8s\n", "", "during", "without", "ratio")
	for _, row := range []struct {
		name          string
		during, quiet float64
	}{
		{"operations/s", r.During.OpsPerS, r.Quiet.OpsPerS},
		{"p50, us", r.During.P50, r.Quiet.P50},
		{"p99, us", r.During.P99, r.Quiet.P99},
		{"p99.9, us", r.During.P999, r.Quiet.P999},
		{"longest, us", r.During.Max, r.Quiet.Max},
		{"processor, us", r.During.CPUPerOp, r.Quiet.CPUPerOp},
	} {
		fmt.Fprintf(w, "  %-22s %14.1f %14.1f %8.2f\n", row.name, row.during, row.quiet, row.during/row.quiet)
	}
}
