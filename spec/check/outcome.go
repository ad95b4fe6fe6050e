package check

import (
	"slices"

	"github.com/pawl-go/pawl/engine/trace"
	"github.com/pawl-go/pawl/spec"
)

// refusals are the codes with which the engine, or the runtime, answers what
// cannot be run: only what is at step 1 and has not begun.
var refusals = []string{"deadlock", "no_host", "no_method", "overloaded", "too_deep"}

// outcome is the rules end, tail-other and tail-self, and the ends that come
// from elsewhere.
func (c *Checker) outcome(e *trace.Event) error {
	id := spec.ID(e.ID)
	if err := c.retries(id); err != nil {
		return err
	}
	if e.End == trace.EndError && !e.Operator && c.record.writes+c.record.sends > 0 {
		return broken(9, "an error is recorded with %d writes and %d requests", c.record.writes, c.record.sends)
	}
	if e.End == trace.EndTail {
		return c.tail(e)
	}
	v, q := valueOf(e), c.s.Request(id)
	var was spec.Message
	if q != nil {
		was = *q
		if q.Decided && q.Verdict != v {
			return broken(2, "the outcome is %s, and an operator has given it %s", v, q.Verdict)
		}
	}
	if err := c.end(e, v); err != nil {
		return err
	}
	if e.Operator {
		put(c, c.decided, id, true)
	}
	if e.Kept {
		was.Sender, was.Attempts, was.InPlace = spec.Attempt{}, 0, false
		put(c, c.kept, id, was)
	}
	c.ended(id, v)
	return nil
}

// tail is a tail call, by the attempt that lives.
func (c *Checker) tail(e *trace.Event) error {
	a, err := c.ender(e)
	if err != nil {
		return err
	}
	put(c, c.rests, a.ID, e.At)
	if e.InPlace {
		if e.To != e.Actor {
			return edge("a tail call from %s to %s is recorded as in place", e.Actor, e.To)
		}
		return c.s.TailSelf(a, e.ToMethod, spec.Value(e.Hash))
	}
	return c.s.TailOther(a, spec.Actor(e.To), e.ToMethod, spec.Value(e.Hash), true)
}

// end takes an invocation to its final outcome v.
func (c *Checker) end(e *trace.Event, v spec.Value) error {
	id := spec.ID(e.ID)
	switch {
	case c.s.Live(id) == nil: // with force, too: it was claimed, and its code had not begun
		return c.endIdle(e, v)
	case e.Forced:
		return c.s.Force(id, v)
	}
	a, err := c.ender(e)
	if err != nil {
		return err
	}
	return c.s.End(a, v, e.End == trace.EndError)
}

// ender gives the attempt that ends its step, with what has returned to it
// read: the runtime has it, whether its code looks at it or not.
func (c *Checker) ender(e *trace.Event) (spec.Attempt, error) {
	a := attemptOf(e.Attempt)
	if a.N == 0 { // the journal does not say who
		if p := c.s.Live(a.ID); p != nil {
			a = p.Attempt
		}
	}
	if p := c.s.Process(a); p != nil && !p.Zombie {
		if err := c.collect(a); err != nil {
			return a, err
		}
	}
	return a, nil
}

// collect reads the responses of calls whose outcomes the code did not ask for.
func (c *Checker) collect(a spec.Attempt) error {
	for _, i := range slices.Clone(c.s.Process(a).Calls) {
		if c.s.Response(i) == nil {
			continue
		}
		if err := c.s.Wait(a, i); err != nil {
			return err
		}
		if err := c.s.Return(a, i); err != nil {
			return err
		}
	}
	return nil
}

// endIdle ends what does not run: an operator's outcome, or one for what
// cannot be run.
func (c *Checker) endIdle(e *trace.Event, v spec.Value) error {
	id := spec.ID(e.ID)
	q := c.s.Request(id)
	_, scheduled := c.scheduled[id]
	_, failed := c.kept[id]
	switch {
	case scheduled || failed:
		take(c, c.scheduled, id)
		take(c, c.kept, id)
		return nil
	case e.End == trace.EndError && slices.Contains(refusals, e.Code):
		return c.s.Refuse(id, v)
	case e.Operator || q != nil && q.Decided:
		return c.s.Answer(id, v)
	case e.Code == "canceled" && c.belowDecided(id):
		return c.s.Refuse(id, v) // an operator's cancel goes down to what has never begun
	case e.Code == "canceled":
		return c.s.Cancel(id)
	}
	return edge("an outcome of %s, of which no attempt runs", id)
}

// belowDecided reports whether an operator has ended, or is to end, an invocation
// in whose service id was called.
func (c *Checker) belowDecided(id spec.ID) bool {
	for id = c.caller[id]; id != ""; id = c.caller[id] {
		if c.decided[id] {
			return true
		}
	}
	return false
}

// ended notes a final outcome.
func (c *Checker) ended(id spec.ID, v spec.Value) {
	c.report.Outcomes++
	put(c, c.outcomes, id, outcome{v})
	take(c, c.rests, id)
	take(c, c.caller, id)
	if r := c.s.Response(id); r != nil {
		if r.Kind == spec.Call {
			_ = c.s.Release(id) // who waits outside gets it from outcomes
		} else {
			_ = c.s.Forget(id) // refused while its caller lives
		}
	}
}
