package check

import (
	"slices"

	"github.com/pawl-go/pawl/engine/trace"
	"github.com/pawl-go/pawl/spec"
)

// client is the return address of every call from outside: who waits there is
// not in the trace.
const client = spec.ID("client")

// recorded checks an event of a record, and applies it.
func (c *Checker) recorded(e *trace.Event) error {
	if e.At != c.newest {
		if e.At < c.newest {
			return edge("record %d stands behind record %d", e.At, c.newest)
		}
		c.mark(e.At)
		c.newest = e.At
		c.report.Records++
		c.record.writes, c.record.sends = 0, 0
	}
	ends := e.Kind == trace.Join || e.Kind == trace.Fail || e.Kind == trace.Leave
	if e.Session != 0 && !ends && !c.sessions[e.Session] {
		return broken(7, "a record of session %d, which is over", e.Session)
	}
	if e.Kind == trace.Outcome || e.Kind == trace.Write {
		c.newestOf[e.Actor] = e.At
	}
	return c.apply(e)
}

// apply hands an event of a record to its rule.
func (c *Checker) apply(e *trace.Event) error {
	id := spec.ID(e.ID)
	switch e.Kind {
	case trace.Epoch:
		c.loseAll()
	case trace.Join:
		c.sessions[e.Session] = true
	case trace.Fail, trace.Leave:
		c.report.Failures++
		return c.lose(e.Session)
	case trace.Counted:
		return c.counted(e)
	case trace.Cancel:
		return c.canceled(id)
	case trace.Send:
		return c.send(e)
	case trace.Due:
		return c.due(e)
	case trace.Write:
		return c.write(e)
	case trace.Outcome:
		return c.outcome(e)
	case trace.Overrule:
		put(c, c.decided, id, true)
		return c.s.Overrule(id, valueOf(e))
	case trace.Park:
		return c.park(e)
	case trace.Resume:
		return c.resume(e)
	case trace.Drop:
		return c.drop(id)
	case trace.Postpone:
		return c.postpone(e)
	case trace.Purge:
		c.undoes(c.cells.of(e.Actor).clear(e.At))
	}
	// Begun is followed by a begin, which is checked. Remind, fire, pause and
	// unpause change neither F nor S.
	return nil
}

// send is the rules call, call once and tell, and a request from outside.
func (c *Checker) send(e *trace.Event) error {
	c.record.sends++
	m := spec.Message{
		ID: spec.ID(e.ID), Once: e.Once, Sender: attemptOf(e.By),
		Actor: spec.Actor(e.Actor), Method: e.Method, Arg: spec.Value(e.Hash),
	}
	if e.Scheduled {
		put(c, c.scheduled, m.ID, m)
		return nil
	}
	put(c, c.rests, m.ID, e.At)
	switch e.Form {
	case trace.FormNested:
		return c.call(e, m)
	case trace.FormCall:
		m.Kind, m.Return, m.Sender = spec.Call, client, spec.Attempt{}
		return c.outside(m)
	}
	if m.Sender == (spec.Attempt{}) {
		return c.outside(m)
	}
	return c.acting(m.Sender, func() error { return c.s.Tell(m.Sender, m, spec.Immediately) })
}

// outside is a request from a client, a reminder, or beside a method.
func (c *Checker) outside(m spec.Message) error {
	if _, ended := c.outcomes[m.ID]; ended || c.s.Request(m.ID) != nil {
		return broken(2, "a request with the id %s is recorded, which is in use", m.ID)
	}
	return c.s.Send(m)
}

// call is a nested call.
func (c *Checker) call(e *trace.Event, m spec.Message) error {
	m.Kind, m.Return = spec.Nested, spec.ID(e.Caller)
	if m.Sender == (spec.Attempt{}) { // replayed
		if p := c.s.Live(m.Return); p != nil {
			m.Sender = p.Attempt
		}
	}
	put(c, c.caller, m.ID, m.Return)
	return c.acting(m.Sender, func() error {
		if m.Once {
			return c.s.CallOnce(m.Sender, m)
		}
		return c.s.Call(m.Sender, m)
	})
}

// acting takes a rule for an attempt of which another goroutine may wait: the
// runtime lets a method's goroutines send while one of them waits.
func (c *Checker) acting(a spec.Attempt, rule func() error) error {
	p := c.s.Process(a)
	if p == nil || !p.Waiting() {
		return rule()
	}
	waits := p.Waits
	p.Waits = nil
	err := rule()
	if p = c.s.Process(a); p != nil {
		p.Waits = waits
	}
	return err
}

// due is that a scheduled tell enters F.
func (c *Checker) due(e *trace.Event) error {
	m, there := c.scheduled[spec.ID(e.ID)]
	if !there {
		return edge("%s is due, and was not scheduled", e.ID)
	}
	take(c, c.scheduled, m.ID)
	put(c, c.rests, m.ID, e.At)
	m.Sender = spec.Attempt{}
	return c.outside(m)
}

// write is writes of an attempt, or of an operator.
func (c *Checker) write(e *trace.Event) error {
	c.record.writes++
	if by := attemptOf(e.By); by != (spec.Attempt{}) && !e.Replayed {
		p := c.s.Process(by)
		switch {
		case p == nil || p.Zombie:
			return broken(7, "writes of attempt %s, which does not live", e.By)
		case string(p.Actor) != e.Actor:
			return broken(9, "attempt %s runs on %s, and writes to %s", e.By, p.Actor, e.Actor)
		}
	}
	c.undoes(c.cells.of(e.Actor).write(e.At, e.Cells))
	return nil
}

// counted is that a request counts as begun after a failure: what follows
// waits for this record.
func (c *Checker) counted(e *trace.Event) error {
	id := spec.ID(e.ID)
	q := c.s.Request(id)
	switch {
	case q == nil:
		return edge("attempts of %s are counted, which is not in the flow", id)
	case c.s.Live(id) != nil:
		return broken(7, "attempts of %s are counted as lost, and one lives", id)
	case !q.InPlace && !slices.Contains(c.s.Held(q.Actor), id):
		return edge("attempts of %s are counted, which is not in its actor's chain", id)
	}
	q.Attempts = max(q.Attempts, int(e.N))
	put(c, c.rests, id, e.At)
	return nil
}

// canceled is the rule cancel.
func (c *Checker) canceled(id spec.ID) error {
	if err := c.s.Cancel(id); err != nil {
		return err
	}
	take(c, c.rests, id)
	take(c, c.caller, id)
	return nil
}

// postpone is that a retry lets others pass.
func (c *Checker) postpone(e *trace.Event) error {
	id := spec.ID(e.ID)
	a, asked := c.retried[id]
	if !asked {
		return edge("%s is moved to the end of the flow, and no attempt of it has asked for another", id)
	}
	delete(c.retried, id)
	if err := c.s.Postpone(a); err != nil {
		return err
	}
	put(c, c.rests, id, e.At)
	return nil
}

// retries takes the rule retry for an attempt that has asked for another one,
// when it is clear that it is not postponed.
func (c *Checker) retries(id spec.ID) error {
	a, asked := c.retried[id]
	if !asked {
		return nil
	}
	delete(c.retried, id)
	return c.s.Retry(a)
}

// park takes the place of a begin; an attempt that could not read its state
// has begun.
func (c *Checker) park(e *trace.Event) error {
	id := spec.ID(e.ID)
	if err := c.retries(id); err != nil {
		return err
	}
	if p := c.s.Live(id); p != nil && !p.Waiting() {
		if err := c.s.Retry(p.Attempt); err != nil {
			return err
		}
	}
	if err := c.s.Park(id, valueOf(e)); err != nil {
		return err
	}
	c.ended(id, valueOf(e))
	return nil
}

// resume is an operator's: of a parked invocation, or of a failed tell.
func (c *Checker) resume(e *trace.Event) error {
	id := spec.ID(e.ID)
	take(c, c.outcomes, id)
	put(c, c.rests, id, e.At)
	m, failed := c.kept[id]
	if !failed {
		return c.s.Resume(id)
	}
	take(c, c.kept, id)
	if err := c.s.Send(spec.Message{ID: id, Actor: m.Actor, Method: m.Method, Arg: m.Arg}); err != nil {
		return err
	}
	c.s.Request(id).Step = m.Step
	return nil
}

// drop is that what is scheduled, failed or parked is forgotten.
func (c *Checker) drop(id spec.ID) error {
	_, scheduled := c.scheduled[id]
	_, failed := c.kept[id]
	if scheduled || failed {
		take(c, c.scheduled, id)
		take(c, c.kept, id)
		return nil
	}
	return c.s.Skip(id)
}

func attemptOf(a trace.Attempt) spec.Attempt {
	return spec.Attempt{ID: spec.ID(a.ID), Step: int(a.Step), N: int(a.N)}
}
