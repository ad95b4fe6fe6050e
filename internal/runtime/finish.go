package runtime

import (
	"errors"
	"fmt"
	"time"

	"github.com/pawl-go/pawl/engine"
	"github.com/pawl-go/pawl/engine/trace"
)

// finish ends an attempt whose code has returned: it waits for the nested
// calls still out, records effects and outcome in one step (the rules end,
// tail-other and tail-self), or has it run again (the rule retry).
func (c *Component) finish(inv *Invocation, res Result, panicked bool) *entry {
	e := inv.e
	cancel, err := inv.join()
	switch {
	case err != nil:
		inv.close(errFenced)
		if c.trace != nil {
			inv.traceKind(trace.Gone)
		}
		return c.abandon(e)
	case cancel != nil:
		return c.record(inv, cancel, true, panicked || inv.ahead(res.Failure))
	case res.Retry != nil:
		return c.again(inv, res.Retry)
	case res.Failure != nil && res.Failure.Kind == engine.FailurePawl && res.Failure.Code == string(engine.ErrBadState):
		return c.unable(e, res.Failure)
	case res.Failure != nil:
		return c.record(inv, &engine.Outcome{Failure: res.Failure}, true, panicked || inv.ahead(res.Failure))
	case res.Tail != nil:
		t := res.Tail
		tail := inv.req.Tail(t.To, t.Method, t.Payload, !t.Release)
		return c.record(inv, &engine.Outcome{Tail: tail}, false, false)
	}
	return c.record(inv, &engine.Outcome{Value: res.Value}, false, false)
}

// record records the outcome. With discard its writes, tells and reminders are
// not; spoiled says that the instance in memory cannot be trusted any more.
func (c *Component) record(inv *Invocation, o *engine.Outcome, discard, spoiled bool) *entry {
	if !discard {
		if f := inv.collect(o); f != nil {
			o, discard, spoiled = &engine.Outcome{Failure: f}, true, spoiled || inv.ahead(nil)
		}
	}
	if discard {
		inv.eff = engine.Effects{}
		inv.discard()
	}
	_, err := c.session.Finish(inv.attempt(), &inv.eff, o)
	if errors.Is(err, engine.ErrUnavailable) {
		err = c.insist(func() error {
			_, err := c.session.Finish(inv.attempt(), &inv.eff, o)
			return err
		})
	}
	if errors.Is(err, engine.ErrTooLarge) && !discard {
		// The engine's own limit: nothing was recorded.
		return c.record(inv, &engine.Outcome{Failure: inv.tooLarge(err.Error())}, true, spoiled || inv.ahead(nil))
	}
	inv.close(errEnded)
	if err != nil {
		// The attempt does not count: fenced, or ended by an operator.
		inv.discard()
		spoiled = true
		if c.trace != nil {
			inv.traceKind(trace.Gone)
		}
	} else if inv.e.cancel.Load() != nil {
		// An operator may have been first: then nothing of it was recorded. What is
		// recorded is in the engine, whatever it is.
		inv.discard()
		spoiled = true
	} else if inv.inst != nil && !discard {
		inv.inst.Recorded()
	}
	if inv.inst != nil && inv.e.under == nil {
		inv.inst.Settle()
	}
	return c.leave(inv.e, spoiled)
}

// ahead reports whether an object in another process may hold what is not recorded: its
// method ended well, as it thinks, or with what could not be read (f, of ours), and
// Discard does not reach it. So it has to go, and the next one loads what is recorded.
func (inv *Invocation) ahead(f *engine.Failure) bool {
	if _, elsewhere := inv.inst.(Leaver); !elsewhere {
		return false
	}
	return f == nil || f.Kind == engine.FailurePawl &&
		(f.Code == string(engine.ErrTooLarge) || f.Code == string(engine.ErrBadPayload))
}

// collect gathers the effects of the step, and checks their size.
func (inv *Invocation) collect(o *engine.Outcome) *engine.Failure {
	writes, err := inv.inst.Writes(inv.eff.Writes[:0])
	if err != nil {
		return failureOf(err)
	}
	inv.mu.Lock()
	defer inv.mu.Unlock()
	inv.eff = engine.Effects{Writes: writes, Reminders: inv.mu.rems, Requests: inv.mu.held}
	if len(inv.mu.last) > 0 {
		inv.eff.Requests = append(inv.eff.Requests, inv.mu.last...)
	}
	return inv.checkSize(o)
}

func (inv *Invocation) checkSize(o *engine.Outcome) *engine.Failure {
	cfg := &inv.c.cfg
	value, what := len(o.Value), "result"
	if o.Tail != nil {
		value, what = len(o.Tail.Payload), "argument of the tail call"
	}
	if value > cfg.PayloadLimit {
		return inv.tooLarge(fmt.Sprintf("the %s has %d bytes, the limit is %d", what, value, cfg.PayloadLimit))
	}
	total := value
	for _, w := range inv.eff.Writes {
		if len(w.Value) > cfg.PayloadLimit {
			return inv.tooLarge(fmt.Sprintf("state %q has %d bytes, the limit is %d", w.Cell, len(w.Value), cfg.PayloadLimit))
		}
		total += len(w.Cell) + len(w.Entry) + len(w.Value)
	}
	for _, r := range inv.eff.Requests {
		total += len(r.Payload)
	}
	for i := range inv.eff.Reminders {
		total += len(inv.eff.Reminders[i].Payload)
	}
	if total > cfg.OutcomeLimit {
		return inv.tooLarge(fmt.Sprintf("writes, tells and result of the outcome have %d bytes together, the limit is %d", total, cfg.OutcomeLimit))
	}
	return nil
}

func (inv *Invocation) tooLarge(message string) *engine.Failure {
	f := engine.Fail(engine.ErrTooLarge, message)
	f.Invocation, f.Actor, f.Method = inv.req.ID.String(), inv.req.Actor.String(), inv.req.Method
	return f
}

func (inv *Invocation) discard() {
	if inv.inst != nil {
		inv.inst.Discard()
	}
}

// again has the step run again later. The lock is kept, but for a type that
// lets others pass.
func (c *Component) again(inv *Invocation, r *Retry) *entry {
	e := inv.e
	inv.discard()
	inv.close(errEnded)
	if c.trace != nil {
		inv.traceKind(trace.Retry)
	}
	e.retries++
	after := r.After
	if after < 0 {
		after = c.retryBackoff(e.retries)
	}
	c.log.Debug("attempt will be repeated", "actor", inv.req.Actor, "method", inv.req.Method,
		"invocation", inv.req.ID, "attempt", inv.n, "after", after, "cause", r.Cause)
	c.mu.Lock()
	e.begun = false
	e.inv.Store(nil)
	e.actor.stale.Store(true)
	e.actor.box.yield(e)
	c.drop(e.actor)
	c.backoff(e, after)
	e.postponing = e.actor.kind.PassWhileRetrying && !inv.req.InPlace
	postpone := e.postponing
	next := c.take(e.actor)
	c.refuseIfCancelled(e)
	c.checkDrained()
	c.mu.Unlock()
	if postpone {
		c.postpone(inv)
	}
	return next
}

func (c *Component) postpone(inv *Invocation) {
	if _, err := c.session.Postpone(inv.attempt()); err != nil {
		c.log.Warn("cannot let others pass", "invocation", inv.req.ID, "error", err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	inv.e.postponing = false
	if inv.e.next == nil { // it stays
		c.refuseIfCancelled(inv.e)
	}
	c.schedule(inv.e.actor)
}

// retryBackoff grows from 10 ms to 10 s, with jitter.
func (c *Component) retryBackoff(n int) time.Duration {
	d := min(10*time.Millisecond<<min(n-1, 10), 10*time.Second)
	return d/2 + c.cfg.Jitter(d/2)
}

// unable deals with what cannot be run: a client outside gets the error, all
// else is parked.
func (c *Component) unable(e *entry, f *engine.Failure) *entry {
	r := e.d.Request
	f.Actor, f.Method = r.Actor.String(), r.Method
	by := engine.Attempt{ID: r.ID, Step: r.Step, N: e.d.Attempts}
	outside := r.Kind == engine.KindCall && r.Waiter.IsZero() && r.Step == 1 && f.Code == string(engine.ErrNoMethod)
	c.mu.Lock()
	e.parking = !outside
	c.mu.Unlock()
	err := c.insist(func() error {
		var err error
		if outside {
			_, err = c.session.Finish(by, &engine.Effects{}, &engine.Outcome{Failure: f})
		} else {
			c.log.Error("invocation is parked", "actor", r.Actor, "method", r.Method, "invocation", r.ID, "cause", f.Message)
			_, err = c.session.Park(by, f)
		}
		return err
	})
	if err != nil && errors.Is(err, engine.ErrUnavailable) {
		return c.abandon(e)
	}
	if inv := e.inv.Load(); inv != nil {
		inv.close(errEnded)
	}
	return c.leave(e, true)
}

// refuse ends a claimed entry with the outcome that an operator, or the
// engine, has given it.
func (c *Component) refuse(e *entry) *entry {
	r := e.d.Request
	err := c.insist(func() error {
		_, err := c.session.Finish(engine.Attempt{ID: r.ID, Step: r.Step, N: e.d.Attempts}, &engine.Effects{}, e.cancel.Load())
		return err
	})
	if errors.Is(err, engine.ErrUnavailable) {
		return c.abandon(e)
	}
	return c.leave(e, false)
}

// abandon gives up an entry that does not count here any more. When the
// component has ended it stays in the line: others will go on with it.
func (c *Component) abandon(e *entry) *entry {
	c.mu.Lock()
	inv, stopped := e.inv.Load(), c.mu.stopped
	if stopped {
		e.begun = false
		c.rest()
	}
	c.mu.Unlock()
	if inv != nil {
		inv.close(errFenced)
	}
	if stopped {
		return nil
	}
	return c.leave(e, true)
}

// leave takes an entry whose step has ended out of the line, or puts the step
// it called in its place, and gives the turn on.
func (c *Component) leave(e *entry, spoiled bool) *entry {
	c.mu.Lock()
	defer c.mu.Unlock()
	a := e.actor
	e.begun = false
	e.inv.Store(nil)
	if spoiled {
		a.stale.Store(true)
	}
	if a.box == nil {
		c.rest()
		return nil
	}
	if e.next != nil {
		a.box.yield(e)
		a.box.line.Replace(e, e.next)
		e.next.behind = false
		c.refuseIfCancelled(e.next)
		c.drop(a)
		c.checkDrained()
	} else {
		c.leaveLine(e)
	}
	return c.take(a)
}

// take gives the turn on: to an attempt that goes on, to a caller who runs the
// entry itself, or to this goroutine, by returning the entry. mu is held; the
// goroutine counted as running.
func (c *Component) take(a *actor) *entry {
	e, resumed := c.next(a)
	switch {
	case e == nil:
	case resumed:
		e.wake <- struct{}{}
	case c.handOver(e):
	default:
		return e
	}
	c.rest()
	return nil
}
