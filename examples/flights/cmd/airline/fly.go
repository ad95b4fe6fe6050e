package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/pawl-go/pawl/examples/flights"
	"github.com/pawl-go/pawl/examples/internal/crash"
	"github.com/pawl-go/pawl/examples/internal/hosts"
	"github.com/pawl-go/pawl/spec/check"
)

// report is all that a run has to say.
type report struct {
	OK         bool             `json:"ok"`
	Seed       uint64           `json:"seed"`
	Durability string           `json:"durability"`
	Asked      int              `json:"kills_asked"`
	Run        *crash.Result    `json:"run"`
	Recovery   recovery         `json:"recovery_ms"`
	Verdict    *flights.Verdict `json:"verdict"`
	AuditTime  time.Duration    `json:"audit_ns"`
	Hosts      []string         `json:"hosts,omitempty"` // at which the verdict was read, if there are several
	Trace      *traced          `json:"trace,omitempty"`
}

// traced is what the check of the trace has found.
type traced struct {
	*check.Report
	Error string        `json:"error,omitempty"` // why it is not allowed
	Time  time.Duration `json:"check_ns"`
}

// recovery sums up the times from a restart to the first new answer, in
// milliseconds.
type recovery struct {
	P50 float64 `json:"p50"`
	Max float64 `json:"max"`
}

// fly runs the airline through its kills, and audits it.
func fly(ctx context.Context, o options) (r *report, err error) {
	show := newProgress(os.Stderr, o.flights, o.kills)
	show.begin(o)
	job := crash.Job{Dir: o.dir, Durability: o.durability, Rate: o.rate}
	if o.trace {
		job.Trace = filepath.Join(o.dir, "trace.jsonl")
	}
	run := crash.Run{Job: job, Kills: o.kills, Seed: o.seed, Watch: show.watch}
	books := func(_ context.Context, read func(name, engine string) error) error { return read("", job.Engine()) }
	if o.durability == "replicated" {
		var three *hosts.Hosts
		if three, err = hosts.New(ctx, o.dir); err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, three.Close()) }()
		run.Next, run.Fenced = three.Next, hosts.Fenced
		books = three.Each
	}
	result, err := flights.Run(ctx, run, o.flights)
	show.end()
	if err != nil {
		return nil, err
	}
	began := time.Now()
	verdict, at, err := audit(ctx, o.flights, books)
	if err != nil {
		return nil, fmt.Errorf("audit: %w", err)
	}
	all := result.Recoveries()
	r = &report{
		OK:   verdict.OK() && len(result.Kills) == o.kills,
		Seed: o.seed, Durability: o.durability, Asked: o.kills,
		Run: result, Verdict: verdict, AuditTime: time.Since(began), Hosts: at,
		Recovery: recovery{P50: milliseconds(crash.Quantile(all, 0.5)), Max: milliseconds(crash.Quantile(all, 1))},
	}
	if o.trace {
		r.check(job)
	}
	return r, nil
}

// audit reads the books, at each host if there are several. Of a host whose books differ
// it is that one's verdict that counts.
func audit(ctx context.Context, units int, books func(context.Context, func(name, engine string) error) error) (verdict *flights.Verdict, at []string, err error) {
	err = books(ctx, func(name, engine string) error {
		v, err := flights.Audit(ctx, engine, units)
		if err != nil {
			return err
		}
		if name != "" {
			at = append(at, name)
			for i := range v.Differences {
				v.Differences[i] = "host " + name + ": " + v.Differences[i]
			}
		}
		if verdict == nil {
			verdict = v
			return nil
		}
		verdict.Differences = append(verdict.Differences, v.Differences...)
		return nil
	})
	return verdict, at, err
}

// check holds the trace to the semantics.
func (r *report) check(job crash.Job) {
	began := time.Now()
	found, err := job.CheckTrace()
	r.Trace = &traced{Report: found, Time: time.Since(began)}
	if err != nil {
		r.OK, r.Trace.Error = false, err.Error()
	}
}

func milliseconds(d time.Duration) float64 {
	return float64(d.Round(10*time.Microsecond)) / float64(time.Millisecond)
}
