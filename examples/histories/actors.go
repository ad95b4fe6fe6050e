package main

import (
	"context"
	"errors"

	"github.com/pawl-go/pawl"
	"github.com/pawl-go/pawl/examples/internal/crash"
)

// Register is a number that is read, written, and compared-and-set.
type Register struct{ number pawl.Value[int64] }

// Swap is the input of a compare-and-set.
type Swap struct{ Old, New int64 }

// Read returns the number, in line with what else is asked of the register.
func (r *Register) Read(ctx context.Context, _ pawl.None) (int64, error) {
	return r.number.Get(ctx), nil
}

// Peek returns the recorded number at once: it is read-only.
func (r *Register) Peek(ctx context.Context, _ pawl.None) (int64, error) {
	return r.number.Get(ctx), nil
}

// Write sets the number.
func (r *Register) Write(ctx context.Context, v int64) (pawl.None, error) {
	r.number.Set(ctx, v)
	return pawl.None{}, nil
}

// CompareAndSet sets the number if it is the old one, and returns whether it was.
func (r *Register) CompareAndSet(ctx context.Context, s Swap) (bool, error) {
	if r.number.Get(ctx) != s.Old {
		return false, nil
	}
	r.number.Set(ctx, s.New)
	return true, nil
}

// Counter is a number that is added to.
type Counter struct{ number pawl.Value[int64] }

// Add adds n and returns the sum.
func (c *Counter) Add(ctx context.Context, n int64) (int64, error) {
	return c.number.Update(ctx, func(sum int64) int64 { return sum + n }), nil
}

// AddByTail does so in two steps, over which it keeps the actor's lock.
func (c *Counter) AddByTail(ctx context.Context, n int64) (int64, error) {
	return pawl.TailSelf(ctx, (*Counter).Set, c.number.Get(ctx)+n)
}

// Set is the second step of AddByTail.
func (c *Counter) Set(ctx context.Context, v int64) (int64, error) {
	c.number.Set(ctx, v)
	return v, nil
}

// Get returns the number, in line with what else is asked of the counter.
func (c *Counter) Get(ctx context.Context, _ pawl.None) (int64, error) {
	return c.number.Get(ctx), nil
}

// Peek returns the recorded number at once: it is read-only.
func (c *Counter) Peek(ctx context.Context, _ pawl.None) (int64, error) {
	return c.number.Get(ctx), nil
}

// Courier asks others for its callers: by nested calls, and by tail calls to
// another actor.
type Courier struct{}

// Errand is what a courier is to do: to which id, and with what.
type Errand struct {
	To       string
	Arg, Old int64
}

func (e Errand) register() pawl.Ref[*Register] { return pawl.Actor[*Register](e.To) }

func (e Errand) counter() pawl.Ref[*Counter] { return pawl.Actor[*Counter](e.To) }

// Read reads a register by a nested call. A retry reads again.
func (*Courier) Read(ctx context.Context, e Errand) (int64, error) {
	return pawl.Call(ctx, e.register(), (*Register).Read, pawl.None{})
}

// Peek reads a register by a call of its read-only method.
func (*Courier) Peek(ctx context.Context, e Errand) (int64, error) {
	return pawl.Call(ctx, e.register(), (*Register).Peek, pawl.None{})
}

// Write writes a register by a tail call.
func (*Courier) Write(ctx context.Context, e Errand) (pawl.None, error) {
	return pawl.TailCall(ctx, e.register(), (*Register).Write, e.Arg)
}

// CompareAndSet does so by a nested call. It is made once, so that a retry does
// not find what the attempt before it has set.
func (*Courier) CompareAndSet(ctx context.Context, e Errand) (bool, error) {
	return pawl.Call(ctx, e.register(), (*Register).CompareAndSet, Swap{Old: e.Old, New: e.Arg}, pawl.Once("swap"))
}

// Add adds by a nested call, made once.
func (*Courier) Add(ctx context.Context, e Errand) (int64, error) {
	return pawl.Call(ctx, e.counter(), (*Counter).Add, e.Arg, pawl.Once("add"))
}

// AddByTail adds by a chain of three steps on two actors.
func (*Courier) AddByTail(ctx context.Context, e Errand) (int64, error) {
	return pawl.TailCall(ctx, e.counter(), (*Counter).AddByTail, e.Arg)
}

// serve is the child: it hosts the actors until it is killed.
func serve(ctx context.Context, job crash.Job, report *crash.Reporter) (err error) {
	app, err := pawl.Open(ctx, job.Engine(), pawl.Config{App: "histories"})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, app.Close()) }()
	// So few instances stay in memory that most are loaded anew.
	pawl.Register[Register](app, pawl.ReadOnly((*Register).Peek), pawl.MaxLive(2))
	pawl.Register[Counter](app, pawl.ReadOnly((*Counter).Peek), pawl.MaxLive(2))
	pawl.Register[Courier](app)
	pawl.Register[Forgetful](app)
	pawl.Register[Lagging](app)
	pawl.Register[Losing](app)
	if err := app.Start(ctx); err != nil {
		return err
	}
	report.Ready()
	<-ctx.Done()
	return nil
}
