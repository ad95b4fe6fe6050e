package check

import (
	"github.com/pawl-go/pawl/engine/trace"
	"github.com/pawl-go/pawl/spec"
)

// open is the beginning of a life: a crash has undone what is above e.At, and
// every attempt and session of before is lost.
func (c *Checker) open(e *trace.Event) error {
	c.report.Lives++
	if e.At < c.commit {
		return broken(8, "the journal reaches to %d, and what is up to %d was committed: what counted is lost", e.At, c.commit)
	}
	if e.At > c.newest {
		return edge("the journal reaches to %d, and the trace has records up to %d only", e.At, c.newest)
	}
	c.report.Cut += c.cut(e.At)
	c.newest, c.atOnce = e.At, e.AtOnce
	if c.atOnce {
		c.undo = undo{}
	}
	c.loseAll()
	for len(c.s.E) > 0 { // the code of the dead does not run on
		if err := c.s.Gone(c.s.E[0].Attempt); err != nil {
			return err
		}
	}
	clear(c.of)
	c.forget()
	return nil
}

// loseAll ends every session, with its attempts.
func (c *Checker) loseAll() {
	clear(c.sessions)
	clear(c.retried)
	var actors []spec.Actor
	for i := range c.s.E {
		actors = append(actors, c.s.E[i].Actor)
	}
	_ = c.s.Failure(actors...) // it has no condition
	c.forget()
}

// lose ends a session: its attempts become zombies.
func (c *Checker) lose(session uint64) error {
	if !c.sessions[session] {
		return edge("session %d ends, and does not live", session)
	}
	c.sessions[session] = false
	var actors []spec.Actor
	var locked []spec.Attempt
	for i := range c.s.E {
		p := &c.s.E[i]
		switch {
		case c.of[p.Attempt] != session:
		case c.locks(p.Attempt): // its actor is placed elsewhere
			locked = append(locked, p.Attempt)
		case !p.Zombie:
			actors = append(actors, p.Actor)
			delete(c.retried, p.ID)
		}
	}
	if err := c.s.Failure(actors...); err != nil {
		return err
	}
	for _, a := range locked {
		if err := c.s.Gone(a); err != nil {
			return err
		}
	}
	c.forget()
	return nil
}

// locks reports whether an attempt that was ended by force keeps its actor.
func (c *Checker) locks(a spec.Attempt) bool {
	q := c.s.Request(a.ID)
	return q != nil && q.Void && q.Step == a.Step
}

// forget is the rule forget, for every response that nobody waits for.
func (c *Checker) forget() {
	for i := 0; i < len(c.s.F); {
		if m := &c.s.F[i]; !m.Response || c.s.Forget(m.ID) != nil {
			i++
		}
	}
}

// committed is that the records up to e.At count.
func (c *Checker) committed(e *trace.Event) error {
	if e.At > c.newest {
		return edge("what is up to %d counts, and the newest record is %d", e.At, c.newest)
	}
	if e.At > c.commit {
		c.commit = e.At
		c.undo.settle(e.At)
	}
	return nil
}

// counts reports whether the record at a position counts.
func (c *Checker) counts(at uint64) bool {
	if c.atOnce {
		return at <= c.newest
	}
	return at <= c.commit
}

// release is that something leaves the process.
func (c *Checker) release(e *trace.Event) error {
	if !c.counts(e.At) {
		return broken(12, "%s leaves the process, and rests on record %d, which does not count yet", e.Op, e.At)
	}
	if e.Op != "answer" {
		return nil
	}
	o, known := c.outcomes[spec.ID(e.ID)]
	switch {
	case !known:
		return broken(12, "a client gets an answer of %s, which has no outcome", e.ID)
	case o.value != valueOf(e):
		return broken(2, "a client gets the answer %s, and the outcome is %s", valueOf(e), o.value)
	}
	return nil
}

// valueOf gives an outcome, or an answer, as a value of package spec.
func valueOf(e *trace.Event) spec.Value {
	if e.Code == "" {
		return spec.Value(e.Hash)
	}
	return spec.Value(e.Hash + " " + e.Code)
}
