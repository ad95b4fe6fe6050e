package check

import (
	"slices"

	"github.com/pawl-go/pawl/engine/trace"
	"github.com/pawl-go/pawl/spec"
)

// attempt checks an event of an attempt. What a zombie does does not count, and
// is not modelled: only its records would be wrong.
func (c *Checker) attempt(e *trace.Event) error {
	a := attemptOf(e.Attempt)
	switch e.Kind {
	case trace.Begin:
		return c.begin(e)
	case trace.Read:
		return c.reads(e, false)
	case trace.Load:
		return c.reads(e, true)
	case trace.Gone:
		if p := c.s.Process(a); p != nil && p.Zombie {
			delete(c.of, a)
			return c.s.Gone(a)
		}
		return nil
	}
	p := c.s.Process(a)
	if !c.sessions[e.Session] || p == nil || p.Zombie {
		return nil
	}
	switch e.Kind {
	case trace.Wait:
		return c.wait(a, spec.ID(e.Callee))
	case trace.Return:
		return c.returned(a, spec.ID(e.Callee), valueOf(e))
	case trace.GoOn:
		if err := c.s.GoOn(a); err != nil {
			return err
		}
		return c.collect(a)
	case trace.Retry:
		c.retried[a.ID] = a
		return c.collect(a) // what it called beside has ended, and it has not looked
	}
	return nil
}

// begin is the rule begin, and what the edges ask of it.
func (c *Checker) begin(e *trace.Event) error {
	if !c.sessions[e.Session] {
		return nil
	}
	a := attemptOf(e.Attempt)
	if err := c.retries(a.ID); err != nil {
		return err
	}
	if q := c.s.Request(a.ID); q != nil {
		atOnce := q.Kind == spec.Nested && q.Step == 1 && q.Attempts == 0 && !e.Strict
		if rests := c.rests[a.ID]; !atOnce && !c.counts(rests) {
			return edge("attempt %s begins, and rests on record %d, which does not count yet", e.Attempt, rests)
		}
	}
	if at := min(c.newestOf[e.Actor], c.newest); e.Strict && !c.counts(at) {
		return edge("attempt %s of a strict type begins on the state of record %d, which does not count yet", e.Attempt, at)
	}
	if len(e.Cells) > 0 {
		return broken(10, "attempt %s begins on an instance with %d writes that no record holds", e.Attempt, len(e.Cells))
	}
	if d := c.descendant(a.ID); d != "" {
		return broken(4, "attempt %s begins, and %s, which an earlier attempt of it or of a callee has called, has not ended", e.Attempt, d)
	}
	if err := c.s.Begin(a); err != nil {
		return err
	}
	c.of[a] = e.Session
	c.report.Attempts++
	return nil
}

// descendant gives a request in F, or a live attempt, that has i in its birth
// chain.
func (c *Checker) descendant(i spec.ID) spec.ID {
	born := func(x spec.ID) bool {
		for x = c.caller[x]; x != ""; x = c.caller[x] {
			if x == i {
				return true
			}
		}
		return false
	}
	for at := range c.s.F {
		if m := &c.s.F[at]; !m.Response && m.Kind == spec.Nested && born(m.ID) {
			return m.ID
		}
	}
	for at := range c.s.E {
		if p := &c.s.E[at]; !p.Zombie && born(p.ID) {
			return p.ID
		}
	}
	return ""
}

// reads is property 10, for the recorded state.
func (c *Checker) reads(e *trace.Event, whole bool) error {
	p := c.s.Process(attemptOf(e.Attempt))
	if e.Op != "read" && (!c.sessions[e.Session] || p == nil || p.Zombie) {
		return nil
	}
	if err := c.cells.holds(e.Actor, e.At, e.Cells, whole); err != nil {
		return broken(10, "attempt %s reads what is not recorded: %v", e.Attempt, err)
	}
	return nil
}

// wait is that an attempt gives its turn up: for one outcome, or at its end for
// all that it has called.
func (c *Checker) wait(a spec.Attempt, callee spec.ID) error {
	if callee == "" {
		return c.s.Wait(a, c.s.Process(a).Calls...)
	}
	if err := c.joins(a, callee); err != nil {
		return err
	}
	if p := c.s.Process(a); !slices.Contains(p.Calls, callee) {
		p.Waits = []spec.ID{callee} // of a call beside the method: nobody is nested by that
		return nil
	}
	return c.s.Wait(a, callee)
}

// joins is the rule call once where it makes no request: the attempt joins the
// call of an earlier one, running or ended. It shows when its outcome is asked for.
func (c *Checker) joins(a spec.Attempt, callee spec.ID) error {
	if slices.Contains(c.s.Process(a).Calls, callee) {
		return nil
	}
	for _, list := range [][]spec.Message{c.s.F, c.s.Kept} {
		for _, m := range list {
			if m.ID == callee && m.Once && m.Return == a.ID {
				m.Sender, m.Kind, m.Response = a, spec.Nested, false
				return c.s.CallOnce(a, m)
			}
		}
	}
	return nil
}

// returned is the rule return. Without a wait before it the outcome was there
// already, and the turn was kept.
func (c *Checker) returned(a spec.Attempt, callee spec.ID, v spec.Value) error {
	if o, known := c.outcomes[callee]; known && o.value != v {
		return broken(2, "attempt %v goes on with the outcome %s of %s, and it is %s", a, v, callee, o.value)
	}
	if err := c.joins(a, callee); err != nil {
		return err
	}
	p := c.s.Process(a)
	switch {
	case !slices.Contains(p.Calls, callee) && !p.Waiting():
		return nil // of a call beside the method
	case !slices.Contains(p.Calls, callee):
		return c.s.GoOn(a)
	case !slices.Contains(p.Waits, callee):
		if err := c.s.Wait(a, callee); err != nil {
			return err
		}
	}
	return c.s.Return(a, callee)
}
