package local

import (
	"strings"

	"github.com/pawl-go/pawl/engine"
)

// A deadlock is a cycle of requests of which each waits for the next. Edges run
//
//   - from each caller in the flow to its callees in the flow, and from an
//     invocation to the detached calls that it waits for (pending.child);
//   - from each request to those that hold its actor and are not its ancestors.
//
// A request in the rest of a line is behind those that hold the actor, and all
// else behind it leads to them as well, so edges to it need not be followed.
//
// All edges mean "needs all of them", so that every cycle is a deadlock. A
// cycle closes only when a request is sent that somebody waits for, or when one
// moves to another actor by a tail call: that is when it is searched for, from
// the new request back to itself.

// searchDeadlocks searches from each new request of e. mu is held.
func (s *session) searchDeadlocks(ef *engine.Effects) {
	for _, r := range ef.Requests {
		if r.Caller == nil && r.Waiter.IsZero() {
			continue
		}
		if p := s.e.mu.f.reqs[r.ID]; p != nil {
			s.e.searchDeadlock(p)
		}
	}
}

// searchDeadlock looks for a cycle through p, and breaks it: the youngest
// request at step 1 that has not begun is answered ErrDeadlock; if there is
// none, the youngest later step is parked. mu is held.
func (e *Engine) searchDeadlock(p *pending) {
	if p.parent == nil || p.status != inFlow {
		return
	}
	if top, ok := p.actor.line.Top(); ok && top == p {
		return // nothing is before it
	}
	cycle := e.mu.f.cycle(p)
	if cycle == nil {
		return
	}
	var first, later *pending
	for _, x := range cycle {
		switch {
		case x.attempts > 0 || x.host != nil && !x.host.gone && x.host.handler.Begun(x.req):
		case x.req.Step == 1 && (first == nil || x.place > first.place):
			first = x
		case x.req.Step > 1 && (later == nil || x.place > later.place):
			later = x
		}
	}
	switch {
	case first != nil:
		e.refuse(first, failureOf(first, engine.ErrDeadlock, spell(cycle)))
	case later != nil:
		e.giveUp(later, failureOf(later, engine.ErrDeadlock, spell(cycle)))
	}
}

// refuse ends a request that has not begun. What was delivered is ended by its
// handler, which alone knows that it has not begun meanwhile. mu is held.
func (e *Engine) refuse(p *pending, fail *engine.Failure) {
	o := &engine.Outcome{Failure: fail}
	if p.host != nil && !p.host.gone {
		p.host.handler.Cancel(p.req, o, false)
		return
	}
	if _, err := e.conclude(p, o, 0); err != nil {
		e.set.Logger.Warn("local engine: a request that cannot run is left to wait", "invocation", p.req.ID.String(), "error", err)
	}
}

// giveUp parks a later step that cannot begin. mu is held.
func (e *Engine) giveUp(p *pending, fail *engine.Failure) {
	w := newEncoder()
	defer w.free()
	when := e.set.Now()
	w.parked(p.req.ID, fail, when)
	at, err := e.append(w)
	if err != nil {
		e.set.Logger.Warn("local engine: a request that cannot run is left to wait", "invocation", p.req.ID.String(), "error", err)
		return
	}
	host, req := p.host, p.req
	e.mu.f.park(p, fail, when, at)
	e.applied(at)
	if host != nil && !host.gone {
		host.handler.Cancel(req, &engine.Outcome{Failure: fail}, true) // its Finish will be refused
	}
}

// cycle is a cycle of waiting requests through p, p first; nil if there is none.
func (f *flow) cycle(p *pending) []*pending {
	f.marks++
	path := []*pending{p}
	if f.leadsTo(p, p, &path) {
		return path
	}
	return nil
}

// leadsTo follows what x waits for, depth first, until it comes to goal. The
// way, without goal, is left in path.
func (f *flow) leadsTo(x, goal *pending, path *[]*pending) bool {
	for y := range x.waitsFor {
		if y == goal {
			return true
		}
		if y.mark == f.marks {
			continue
		}
		y.mark = f.marks
		*path = append(*path, y)
		if f.leadsTo(y, goal, path) {
			return true
		}
		*path = (*path)[:len(*path)-1]
	}
	return false
}

// waitsFor yields the requests that p waits for.
func (p *pending) waitsFor(yield func(*pending) bool) {
	for c := p.child; c != nil; c = c.older {
		if !yield(c) {
			return
		}
	}
	p.blockers(yield)
}

// blockers yields those that hold p's actor and are not its ancestors.
func (p *pending) blockers(yield func(*pending) bool) {
	if p.status != inFlow || p.actor.line.Holds(p) {
		return
	}
	for h := range p.actor.line.Held {
		if h.status == inFlow && !p.req.NestedIn(h.req.ID) && !yield(h) {
			return
		}
	}
}

// spell names the cycle.
func spell(cycle []*pending) string {
	var b strings.Builder
	b.WriteString("the call would wait for itself: ")
	for _, p := range cycle {
		b.WriteString(p.req.Actor.String() + "." + p.req.Method + " (" + p.req.ID.String() + ") waits for ")
	}
	b.WriteString(cycle[0].req.Actor.String() + "." + cycle[0].req.Method)
	return b.String()
}
