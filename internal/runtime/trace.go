package runtime

import (
	"github.com/pawl-go/pawl/engine"
	"github.com/pawl-go/pawl/engine/trace"
)

// What the runtime does that no record says. The functions of this file are
// called only if the engine records a trace: Component.trace is not nil.

// event gives an event about the attempt.
func (inv *Invocation) event(kind trace.Kind) trace.Event {
	return trace.Event{
		Kind: kind, Session: inv.c.session.Number(), Attempt: inv.attempt().Traced(),
		Actor: inv.req.Actor.Traced(), Method: trace.Text(inv.req.Method),
	}
}

// traceKind traces what needs no more than its kind.
func (inv *Invocation) traceKind(kind trace.Kind) { inv.c.trace.Record(inv.event(kind)) }

// traceBegin traces that code of the attempt is about to run.
func (inv *Invocation) traceBegin() {
	e := inv.event(trace.Begin)
	e.Fresh, e.Strict = inv.inst == nil, inv.e.actor.kind.Strict
	if inv.inst != nil {
		if unrecorded, err := inv.inst.Writes(nil); err == nil {
			e.Cells = engine.TraceWrites(unrecorded)
		}
	}
	if under := inv.e.under; under != nil {
		e.Under = under.inv.Load().attempt().Traced()
	}
	inv.c.trace.Record(e)
}

// traceWait traces that the turn is given up, to wait for an outcome; for all
// of them if p is nil.
func (inv *Invocation) traceWait(p *Pending) {
	e := inv.event(trace.Wait)
	if p != nil {
		e.Callee = p.id.String()
	}
	inv.c.trace.Record(e)
}

// traceReturn traces that the attempt goes on with an outcome.
func (inv *Invocation) traceReturn(p *Pending) {
	e := inv.event(trace.Return)
	e.Callee = p.id.String()
	p.resp.Outcome.Trace(&e)
	e.End = ""
	inv.c.trace.Record(e)
}

// traceCells traces what the attempt, or a copy for a read, was given of the
// recorded state, as of a record at since or later.
func (inv *Invocation) traceCells(kind trace.Kind, since engine.Position, cells []trace.Cell) {
	e := inv.event(kind)
	e.At, e.Cells = uint64(since), cells
	if inv.read {
		e.Op = "read"
	}
	inv.c.trace.Record(e)
}

// traceRelease traces that something leaves that rests on the record at p: op
// says what; o is the outcome, if it is one.
func (c *Component) traceRelease(op string, id engine.ID, p engine.Position, o *engine.Outcome) {
	e := trace.Event{Kind: trace.Release, Session: c.session.Number(), Op: op, At: uint64(p)}
	if !id.IsZero() {
		e.ID = id.String()
	}
	if o != nil {
		o.Trace(&e)
		e.End = ""
	}
	c.trace.Record(e)
}

// since is the newest record, if it is needed for a trace.
func (c *Component) since() engine.Position {
	if c.trace == nil {
		return 0
	}
	return c.session.Last()
}
