package counter

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"

	"github.com/pawl-go/pawl"
	"github.com/pawl-go/pawl/examples/internal/crash"
)

// Variant is a way to increment.
type Variant string

// The variants.
const (
	Tail   Variant = "tail"   // right
	InOne  Variant = "in one" // wrong
	Nested Variant = "nested" // wrong
)

// method returns the method of a variant.
func (v Variant) method() func(*Counter, context.Context, pawl.None) (int64, error) {
	switch v {
	case InOne:
		return (*Counter).IncrInOne
	case Nested:
		return (*Counter).IncrNested
	default:
		return (*Counter).Incr
	}
}

// counters is how many a crash run has; unit u increments counter u % counters.
const counters = 8

func nameOf(unit int) string { return strconv.Itoa(unit % counters) }

// OpenStore returns the store of a job. It lies beside the engine's data.
func OpenStore(job crash.Job) *Store { return NewStore(job.Dir + ".store") }

// Child is the counters as a child of a crash run. A unit is an increment.
func Child(ctx context.Context, job crash.Job, report *crash.Reporter) error {
	store := OpenStore(job)
	app, err := open(ctx, job.Engine(), func() *Counter {
		return &Counter{store: store, reached: func(ctx context.Context, point string) {
			report.StopAt(ctx, job, point)
		}}
	})
	if err != nil {
		return err
	}
	report.Ready()
	incr := Variant(job.Variant).method()
	err = job.Dispatch(app.Context(ctx), report, func(ctx context.Context, unit int) error {
		_, err := pawl.Call(ctx, pawl.Actor[*Counter](nameOf(unit)), incr, pawl.None{}, pawl.Key("incr-"+strconv.Itoa(unit)))
		return err
	})
	return errors.Join(err, app.Close())
}

// Run makes increments in a child process that is killed as r says. The job's
// App, Units, Variant and Window are set here.
func Run(ctx context.Context, r crash.Run, increments int) (*crash.Result, error) {
	r.Job.App, r.Job.Units, r.Job.Window, r.Job.Variant = "counter", increments, 16, string(Tail)
	return r.Do(ctx)
}

// Audit compares the store with the increments that were made, and returns what
// differs.
func Audit(job crash.Job, increments int) ([]string, error) {
	want := map[string]int64{}
	for unit := range increments {
		want[nameOf(unit)]++
	}
	var differences []string
	store := OpenStore(job)
	for unit := range min(counters, increments) {
		name := nameOf(unit)
		e, err := store.Get(name)
		if err != nil {
			return nil, err
		}
		if e.Value != want[name] {
			differences = append(differences, fmt.Sprintf("counter %s is at %d after %d increments", name, e.Value, want[name]))
		}
	}
	return differences, nil
}

// KillAt increments one counter once, in a child that is killed at a point, and
// once more started to end the work. It returns what the store says then: 1, or
// what it should not be.
func KillAt(ctx context.Context, dir, durability string, v Variant, point string) (int64, error) {
	job := crash.Job{
		App: "counter", Dir: filepath.Join(dir, "counter"), Durability: durability,
		Units: 1, Window: 1, Variant: string(v), StopAt: point,
	}
	if err := killAt(ctx, job); err != nil {
		return 0, err
	}
	job.StopAt = ""
	if err := finish(ctx, job); err != nil {
		return 0, err
	}
	e, err := OpenStore(job).Get(nameOf(0))
	return e.Value, err
}

// killAt runs a child up to its point, and kills it there.
func killAt(ctx context.Context, job crash.Job) error {
	life, err := crash.Start(ctx, job)
	if err != nil {
		return err
	}
	there := false
	for e := range life.Events {
		if e.Kind == "at" {
			there = true
			err = life.Kill()
		}
	}
	ended := life.Wait()
	if !there {
		return fmt.Errorf("child never came to %q: %w", job.StopAt, ended)
	}
	return err
}

// finish runs a child to its end.
func finish(ctx context.Context, job crash.Job) error {
	life, err := crash.Start(ctx, job)
	if err != nil {
		return err
	}
	for range life.Events {
	}
	return life.Wait()
}
