package runtime

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/pawl-go/pawl/engine"
	"github.com/pawl-go/pawl/engine/trace"
	"github.com/pawl-go/pawl/internal/mutant"
)

// run makes one attempt of a claimed entry and records how it ended. It
// returns the next entry of the actor, claimed, for the same goroutine.
func (c *Component) run(e *entry) *entry {
	a := e.actor
	e = c.attempt(e)
	if c.returning.Load() {
		c.vacate(a)
	}
	c.yieldToSweeper()
	return e
}

func (c *Component) attempt(e *entry) *entry {
	if c.gate != nil {
		r := e.d.Request
		if err := c.gate.Starting(engine.Attempt{ID: r.ID, Step: r.Step, N: e.d.Attempts + 1}, r); err != nil {
			return c.abandon(e)
		}
	}
	if e.waitsForCommit() {
		if err := c.commit(context.Background(), c.restsOn(e)); err != nil {
			return c.abandon(e)
		}
	}
	if e.cancel.Load() != nil {
		return c.refuse(e)
	}
	inv, f := c.prepare(e)
	switch {
	case f != nil:
		return c.unable(e, f)
	case inv == nil:
		return c.abandon(e)
	case e.cancel.Load() != nil: // while the beginning was recorded
		inv.close(errEnded)
		return c.refuse(e)
	}
	if c.trace != nil {
		inv.traceBegin()
	}
	res, panicked := inv.invoke()
	return c.finish(inv, res, panicked)
}

// waitsForCommit reports whether an attempt begins only when its request is
// committed.
func (e *entry) waitsForCommit() bool {
	if mutant.Is(mutant.TellBeforeCommit) && e.d.Request.Kind == engine.KindTell {
		return false
	}
	return !e.d.StartsAtOnce() || e.actor.kind.Strict
}

// restsOn is the record that must count before e begins: that of its request.
// One of a strict type begins on state that counts, too: it rests on whatever
// has been recorded when it has the turn.
func (c *Component) restsOn(e *entry) engine.Position {
	if e.actor.kind.Strict {
		return max(e.d.At, c.session.Last())
	}
	return e.d.At
}

// prepare makes the attempt: it finds the method and the instance, and records
// the beginning where that is due. Nil without a failure: the component ended.
func (c *Component) prepare(e *entry) (*Invocation, *engine.Failure) {
	r, k := e.d.Request, e.actor.kind
	m := k.Methods[r.Method]
	if m == nil {
		m = k.Any
	}
	switch {
	case m == nil:
		return nil, engine.Fail(engine.ErrNoMethod, fmt.Sprintf("type %s has no callable method %q", k.Name, r.Method))
	case m.ReadOnly:
		return nil, engine.Fail(engine.ErrNoMethod,
			fmt.Sprintf("method %q of type %s is read-only: it is called with Call, outside of the flow", r.Method, k.Name))
	case int(e.d.Lost) >= k.MaxAttempts:
		return nil, engine.Fail(engine.ErrParked,
			fmt.Sprintf("%d attempts ended by the death of their process", e.d.Lost))
	}
	if e.under == nil && e.actor.stale.Swap(false) {
		c.mu.Lock()
		c.letGo(e.actor)
		c.mu.Unlock()
	}
	inv := &Invocation{c: c, e: e, req: r, n: e.d.Attempts + 1, m: m, inst: e.actor.inst}
	e.inv.Store(inv)
	select {
	case <-c.ended: // before inv was there to be closed
		return nil, nil
	default:
	}
	if err := c.begin(inv); err != nil {
		return nil, nil // there is nobody to tell
	}
	return inv, nil
}

// begin records that the attempt begins, together with the writes so far of
// the one below it on its actor: the flush at re-entry. A plain first attempt
// is not recorded.
func (c *Component) begin(inv *Invocation) error {
	var writes []engine.Write
	var under engine.Attempt
	if inv.e.under != nil && inv.inst != nil && !mutant.Is(mutant.NoFlushAtReentry) {
		var err error
		if writes, err = inv.inst.Writes(nil); err != nil {
			// What the outer method wrote cannot be recorded: that is its own failure.
			inv.inst.Discard()
			c.fail(inv.e.under, err)
			writes = nil
		}
		under = inv.e.under.inv.Load().attempt()
	}
	if inv.n > 1 || len(writes) > 0 {
		var at engine.Position
		err := c.insist(func() (err error) {
			at, err = c.session.Begin(inv.attempt(), under, writes)
			return err
		})
		if err == nil && len(writes) > 0 && inv.e.actor.kind.Strict {
			err = c.commit(context.Background(), at) // it begins on them
		}
		if err != nil {
			return err
		}
		if len(writes) > 0 {
			inv.inst.Recorded()
		}
	}
	inv.e.d.Attempts = inv.n
	return nil
}

// fail makes an attempt that goes on end with a failure.
func (c *Component) fail(e *entry, err error) {
	e.cancel.CompareAndSwap(nil, &engine.Outcome{Failure: failureOf(err)})
}

// insist repeats what must be recorded until it is: a full disk holds work up,
// it does not lose it. It gives up when the error is another, or the component
// has ended.
func (c *Component) insist(record func() error) error {
	wait := 10 * time.Millisecond
	for {
		err := record()
		if err == nil || !errors.Is(err, engine.ErrUnavailable) {
			return err
		}
		select {
		case <-c.ended:
			return err
		case <-time.After(wait):
		}
		if wait < time.Second {
			wait *= 2
		}
		c.log.Warn("cannot record, trying again", "component", c.cfg.Name, "error", err)
	}
}

// invoke activates the instance if need be and runs the method.
func (inv *Invocation) invoke() (res Result, panicked bool) {
	returned := false
	defer func() {
		if returned {
			return
		}
		if v := recover(); v != nil {
			res, panicked = inv.panicked(v), true
			return
		}
		inv.exited()
	}()
	if inv.inst == nil {
		if r, ok := inv.activate(); !ok {
			returned = true
			return r, true // the half-made instance must go
		}
	}
	res = inv.inst.Invoke(inv, inv.m, inv.req.Payload)
	returned = true
	return res, false
}

// panicked makes the outcome of a panic.
func (inv *Invocation) panicked(v any) Result {
	if inv.Err() != nil { // fenced: what its code meets then is of no interest
		return Result{}
	}
	stack := debug.Stack()
	inv.c.log.Error("method panicked", "actor", inv.req.Actor, "method", inv.req.Method,
		"invocation", inv.req.ID, "panic", v, "stack", string(stack))
	return Result{Failure: &engine.Failure{
		Kind: engine.FailurePanic, Message: fmt.Sprint(v), Detail: stack,
		Invocation: inv.req.ID.String(), Actor: inv.req.Actor.String(), Method: inv.req.Method,
	}}
}

// exited deals with a method that called runtime.Goexit: its goroutine cannot
// be kept, with all that wait on it, so the rest is done by another.
func (inv *Invocation) exited() {
	if inv.read {
		return
	}
	c := inv.c
	res := inv.panicked("the method ended its goroutine (runtime.Goexit)")
	c.wg.Go(func() {
		c.mu.Lock()
		waiting := inv.waiting
		inv.waiting = false
		c.mu.Unlock()
		if waiting {
			if err := inv.takeBack(); err != nil {
				return
			}
		}
		c.drain(c.finish(inv, res, true))
		if c.returning.Load() {
			c.vacate(inv.e.actor)
		}
	})
}

// activate makes the instance and gives it the recorded state.
func (inv *Invocation) activate() (Result, bool) {
	c, a := inv.c, inv.e.actor
	since := c.since()
	cells, err := c.session.Load(inv, a.Actor())
	if err != nil {
		return Result{Retry: &Retry{Cause: fmt.Errorf("load state: %w", err), After: -1}}, false
	}
	if c.trace != nil {
		inv.traceCells(trace.Load, since, engine.TraceCells(cells))
	}
	inst := a.kind.New(a.id)
	if err := inst.Load(cells); err != nil {
		return Result{Failure: &engine.Failure{
			Kind: engine.FailurePawl, Code: string(engine.ErrBadState), Message: err.Error(),
			Actor: a.Actor().String(), Method: inv.req.Method,
		}}, false
	}
	inv.inst = inst
	c.mu.Lock()
	a.inst = inst
	c.mu.Unlock()
	if err := inst.Activate(inv); err != nil {
		if again, ok := errors.AsType[*RetryError](err); ok {
			return Result{Retry: &again.Retry}, false
		}
		return Result{Failure: failureOf(err)}, false
	}
	return Result{}, true
}

// failureOf encodes an error of ours that the runtime makes an outcome of.
func failureOf(err error) *engine.Failure {
	code := engine.CodeOf(err)
	if f, ok := errors.AsType[*FailureError](err); ok {
		return f.Failure
	}
	if code == "" {
		return &engine.Failure{Kind: engine.FailureApp, Message: err.Error()}
	}
	return engine.Fail(code, err.Error())
}

// RetryError lets a host's Activate ask for another attempt.
type RetryError struct{ Retry Retry }

// Error gives the cause's message.
func (e *RetryError) Error() string { return e.Retry.Cause.Error() }

// Unwrap gives the cause.
func (e *RetryError) Unwrap() error { return e.Retry.Cause }

// FailureError lets a host hand over an error that it has already encoded.
type FailureError struct{ Failure *engine.Failure }

// Error gives the failure's message.
func (e *FailureError) Error() string { return e.Failure.Message }
