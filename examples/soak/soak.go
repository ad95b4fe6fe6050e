package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/pawl-go/pawl/examples/bank"
	"github.com/pawl-go/pawl/examples/counter"
	"github.com/pawl-go/pawl/examples/flights"
	"github.com/pawl-go/pawl/examples/internal/crash"
	"github.com/pawl-go/pawl/examples/internal/hosts"
)

// workload is an example as the soak runs it.
type workload struct {
	name    string
	perKill int // units for each kill
	rate    int // units a second
	run     func(ctx context.Context, r crash.Run, units int) (*crash.Result, error)
	audit   func(ctx context.Context, job crash.Job, units int) ([]string, error)
	alone   bool // it keeps something outside of its engine, which only one host has
}

var workloads = []workload{
	{name: "flights", perKill: 50, rate: 1500, run: flights.Run, audit: auditFlights},
	{name: "bank", perKill: 150, rate: 4000, run: bank.Run, audit: auditBank},
	{name: "counter", perKill: 100, rate: 2500, run: counter.Run, audit: auditCounter, alone: true},
}

// tunings are the engine's parameters of a round: as they come, and with so
// small a journal between checkpoints that kills hit those too.
var tunings = []string{"", "checkpoint=512KiB&cycle=256KiB"}

// soak is a number of rounds.
type soak struct {
	kills, round    int
	seed            uint64
	app, durability string // only that; "" for all
	tuning          string // "large" or "small" journals only
	trace           bool   // record traces, and check them
	tell            func(line string)
}

// summary is what a soak has seen.
type summary struct {
	rounds, kills, early int
	answered, inFlight   int
	resumed              int
	recoveries           []time.Duration
	elapsed              time.Duration
	failed               int
	events               int // of traces, allowed
}

func (s *summary) String() string {
	slices.Sort(s.recoveries)
	verdict := "nothing lost, nothing doubled"
	if s.failed > 0 {
		verdict = fmt.Sprintf("%d ROUNDS FAILED", s.failed)
	}
	traces := ""
	if s.events > 0 {
		traces = fmt.Sprintf("trace: %d events, allowed\n", s.events)
	}
	at := func(q float64) string { return crash.Quantile(s.recoveries, q).Round(time.Millisecond).String() }
	return fmt.Sprintf("%d kills (%d while opening) in %d rounds and %v; %d units answered, %d in flight at the kills, %d flights flown again\n"+
		"recovery p50 %s, p99 %s, at most %s\n%sverdict: %s",
		s.kills, s.early, s.rounds, s.elapsed.Round(time.Second), s.answered, s.inFlight, s.resumed,
		at(0.5), at(0.99), at(1), traces, verdict)
}

// run does rounds until there were enough kills. A round that fails does not
// keep the others from running; three do.
func (s soak) run(ctx context.Context) (*summary, error) {
	began, sum := time.Now(), &summary{}
	todo := s.rounds()
	if len(todo) == 0 {
		return nil, fmt.Errorf("no workload %q in durability %q with %q journals", s.app, s.durability, s.tuning)
	}
	var failures []error
	for sum.kills < s.kills && len(failures) < 3 && ctx.Err() == nil {
		r := todo[sum.rounds%len(todo)]
		r.seed, r.trace = s.seed+uint64(sum.rounds), s.trace
		r.kills = min(s.round, s.kills-sum.kills)
		sum.rounds++
		result, err := r.do(ctx, sum)
		sum.add(result)
		sum.elapsed = time.Since(began)
		outcome := "ok"
		if err != nil {
			sum.failed++
			failures = append(failures, err)
			outcome = "FAILED: " + err.Error()
		}
		s.tell(fmt.Sprintf("%4d of %d kills  %5.0f s  %-7s %-7s %s  seed %d  %s",
			sum.kills, s.kills, sum.elapsed.Seconds(), r.work.name, r.durability, r.size(), r.seed, outcome))
	}
	if err := ctx.Err(); err != nil && len(failures) == 0 {
		failures = append(failures, context.Cause(ctx))
	}
	return sum, errors.Join(failures...)
}

// rounds returns the kinds of rounds there are, in turn.
func (s soak) rounds() []round {
	var all []round
	for _, tuning := range tunings {
		for _, durability := range []string{"process", "disk", "replicated"} {
			for _, w := range workloads {
				if s.wants(w.name, durability, tuning) && !(w.alone && durability == "replicated") {
					all = append(all, round{work: w, durability: durability, tuning: tuning})
				}
			}
		}
	}
	return all
}

// wants reports whether the flags leave such a round in.
func (s soak) wants(app, durability, tuning string) bool {
	return (s.app == "" || s.app == app) && (s.durability == "" || s.durability == durability) &&
		(s.tuning == "" || (s.tuning == "small") == (tuning != ""))
}

// round is one workload on fresh data.
type round struct {
	work       workload
	durability string
	tuning     string
	seed       uint64
	kills      int
	trace      bool
}

// size names the tuning.
func (r round) size() string {
	if r.tuning != "" {
		return "small"
	}
	return "large"
}

// do does the round. It counts in sum the events of its trace.
func (r round) do(ctx context.Context, sum *summary) (*crash.Result, error) {
	top, err := os.MkdirTemp("", "soak-")
	if err != nil {
		return nil, err
	}
	result, err := r.doIn(ctx, top, sum)
	if err != nil {
		return result, fmt.Errorf("%w\n  data kept in %s; again: go run ./examples/soak --app %s --durability %s --journal %s --seed %d --kills %d --round %d",
			err, top, r.work.name, r.durability, r.size(), r.seed, r.kills, r.kills)
	}
	return result, os.RemoveAll(top)
}

// doIn does the round with its data in a directory that is there.
func (r round) doIn(ctx context.Context, top string, sum *summary) (result *crash.Result, err error) {
	job := crash.Job{Dir: filepath.Join(top, r.work.name), Durability: r.durability, Tuning: r.tuning, Rate: r.work.rate}
	if r.trace {
		job.Trace = filepath.Join(top, "trace.jsonl")
	}
	run := crash.Run{Job: job, Kills: r.kills, Seed: r.seed, Early: 0.15}
	last := func() crash.Job { return job }
	if r.durability == "replicated" {
		three, newErr := hosts.New(ctx, top)
		if newErr != nil {
			return nil, newErr
		}
		defer func() { err = errors.Join(err, three.Close()) }()
		run.Next, run.Fenced, last = three.Next, hosts.Fenced, three.Last
		// A source that dies before anybody has its epoch has not been one: the one
		// before it may go on by itself, and need not be who is asked to.
		run.Early = 0
	}
	units := r.work.perKill * r.kills
	if result, err = r.work.run(ctx, run, units); err != nil {
		return result, err
	}
	differences, err := r.work.audit(ctx, last(), units)
	switch {
	case err != nil:
		return result, err
	case len(differences) > 0:
		return result, errors.New(strings.Join(differences[:min(10, len(differences))], "; "))
	case len(result.Kills) == 0:
		return result, errors.New("no kill landed")
	case r.trace:
		return result, sum.checkTrace(job)
	}
	return result, nil
}

func (s *summary) checkTrace(job crash.Job) error {
	found, err := job.CheckTrace()
	if err == nil {
		s.events += found.Events
	}
	return err
}

func (s *summary) add(r *crash.Result) {
	if r == nil {
		return
	}
	inFlight, _ := r.InFlight()
	s.kills += len(r.Kills)
	s.answered += r.Answered
	s.inFlight += inFlight
	s.recoveries = append(s.recoveries, r.Recoveries()...)
	for _, k := range r.Kills {
		s.resumed += k.Resumed
		if k.Early {
			s.early++
		}
	}
}

func auditFlights(ctx context.Context, job crash.Job, units int) ([]string, error) {
	v, err := flights.Audit(ctx, job.Engine(), units)
	if err != nil {
		return nil, err
	}
	return v.Differences, nil
}

func auditBank(ctx context.Context, job crash.Job, units int) ([]string, error) {
	v, err := bank.Audit(ctx, job.Engine(), units)
	if err != nil {
		return nil, err
	}
	return v.Differences, nil
}

func auditCounter(_ context.Context, job crash.Job, units int) ([]string, error) {
	return counter.Audit(job, units)
}
