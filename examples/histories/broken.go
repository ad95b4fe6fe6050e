package main

import (
	"context"

	"github.com/pawl-go/pawl"
)

// The actors of this file are wrong on purpose: a check that passes them is
// worth nothing.

// Forgetful is a register in a plain field. It is right until its process dies.
type Forgetful struct{ number int64 }

// Read returns the number.
func (f *Forgetful) Read(context.Context, pawl.None) (int64, error) { return f.number, nil }

// Write sets the number.
func (f *Forgetful) Write(_ context.Context, v int64) (pawl.None, error) { //nolint:unparam // a callable method has two results
	f.number = v
	return pawl.None{}, nil
}

// Lagging is a register whose reads tell what was there before the last write.
type Lagging struct{ number, before pawl.Value[int64] }

// Read returns a stale number.
func (l *Lagging) Read(ctx context.Context, _ pawl.None) (int64, error) {
	return l.before.Get(ctx), nil
}

// Write sets the number.
func (l *Lagging) Write(ctx context.Context, v int64) (pawl.None, error) { //nolint:unparam // a callable method has two results
	l.before.Set(ctx, l.number.Get(ctx))
	l.number.Set(ctx, v)
	return pawl.None{}, nil
}

// Losing is a counter that gives its lock up between reading and writing, so
// that of two additions one may be lost.
type Losing struct{ number pawl.Value[int64] }

// Add adds n in two steps.
func (l *Losing) Add(ctx context.Context, n int64) (int64, error) {
	return pawl.TailSelf(ctx, (*Losing).Set, l.number.Get(ctx)+n, pawl.ReleaseLock())
}

// Set is the second step of Add.
func (l *Losing) Set(ctx context.Context, v int64) (int64, error) {
	l.number.Set(ctx, v)
	return v, nil
}

// Get returns the number.
func (l *Losing) Get(ctx context.Context, _ pawl.None) (int64, error) {
	return l.number.Get(ctx), nil
}
