package local

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/pawl-go/pawl/engine"
)

// maxFailed bounds the failed tells kept; the oldest go first.
const maxFailed = 10_000

// keepFailed keeps a tell that ended with an error for an operator.
func (f *flow) keepFailed(p *pending, x *ending, at engine.Position) {
	end := *x // x stays off the heap for those that are not kept
	p.status, p.end, p.at, p.host = failed, &end, at, nil
	f.reqs[p.req.ID] = p
	f.count[failed]++
	p.row.dirty = true
	f.failed = append(f.failed, p)
	if f.count[failed] <= maxFailed {
		return
	}
	for len(f.failed) > 0 {
		old := f.failed[0]
		f.failed = f.failed[1:]
		if old.status == failed && f.reqs[old.req.ID] == old {
			f.settle(old)
			return
		}
	}
}

// settle drops what is scheduled, parked or failed.
func (f *flow) settle(p *pending) {
	f.rows.gone(p)
	f.count[p.status]--
	delete(f.reqs, p.req.ID)
	switch p.status {
	case scheduled:
		f.due.remove(p.heap)
	case parked:
		f.unhold(p)
	}
	p.status = ended
}

// park applies the op parked: p leaves the flow, and is kept without a return
// address. A step that was entered in place keeps its place, and so its actor.
func (f *flow) park(p *pending, fail *engine.Failure, when time.Time, at engine.Position) {
	o := &engine.Outcome{Failure: parkedFailure(p, fail)}
	parent := p.parent
	f.rows.touch(p)
	f.release(p, false)
	if p.req.InPlace {
		f.count[inFlow]--
		p.disown()
		p.actor.holder = p
		f.hold(p, true)
		p.host = nil
	} else {
		f.leave(p)
	}
	p.status = parked
	f.count[parked]++
	if parent != nil && p.nested() && p.req.Once {
		f.keep(parent, kept{id: p.req.ID, o: o, at: at})
	}
	f.answer(p, parent, engine.Response{ID: p.req.ID, Outcome: o, At: at})
	p.end = &ending{id: p.req.ID, step: p.req.Step, o: &engine.Outcome{Failure: fail}, ended: when}
	p.req = independent(p.req)
	p.ending, p.keeps, p.begun = nil, nil, false
	if p.gone != nil {
		close(p.gone)
		p.gone = nil
	}
}

// parkedFailure is what those get who wait for a parked invocation.
func parkedFailure(p *pending, cause *engine.Failure) *engine.Failure {
	fail := engine.Fail(engine.ErrParked, "given up; an operator can resume, answer or cancel it")
	fail.Invocation, fail.Actor, fail.Method = p.req.ID.String(), p.req.Actor.String(), p.req.Method
	if cause != nil {
		fail.Causes = []*engine.Failure{cause}
	}
	return fail
}

// independent is r without a return address.
func independent(r *engine.Request) *engine.Request {
	c := *r
	c.Caller, c.Depth, c.Kind, c.Waiter, c.Once = nil, 0, engine.KindTell, engine.ID{}, false
	return &c
}

// resume applies the op resumed: p enters the flow at its end, or goes on in
// the place that it has held.
func (f *flow) resume(p *pending, at engine.Position) {
	f.rows.touch(p)
	f.count[p.status]--
	p.at, p.end, p.lost, p.attempts = at, nil, 0, max(1, p.attempts)
	p.req = independent(p.req)
	if p.actor != nil && p.actor.holder == p {
		p.status = inFlow
		f.count[inFlow]++
		p.actor.holder = nil
		f.deliver(p)
		f.hold(p, false)
		return
	}
	p.req.InPlace = false
	f.places++
	p.place = f.places
	f.enter(p)
}

// unhold gives the actor free that a parked step has held.
func (f *flow) unhold(p *pending) {
	a := p.actor
	if a == nil || a.holder != p {
		return
	}
	a.holder = nil
	a.line.Remove(p)
	if a.host != nil && !a.host.gone {
		o := &engine.Outcome{Failure: engine.Fail(engine.ErrCanceled, "dropped by an operator")}
		a.host.handler.Cancel(p.req, o, true)
	}
	f.hold(p, false)
	f.tidy(a)
}

// hold holds back the begins on p's actor, or lets them go on and delivers
// what was held back meanwhile.
func (f *flow) hold(p *pending, on bool) {
	a := p.actor
	if !on {
		for x := range a.line.All {
			if x.host == nil && x.status == inFlow {
				f.deliver(x)
			}
		}
	}
	if id := a.Actor(); a.host != nil && !a.host.gone && !f.paused[id] {
		a.host.handler.Pause(id, on)
	}
}

// pause applies the op paused.
func (f *flow) pause(id engine.Actor, on bool) {
	if f.paused[id] == on {
		return
	}
	if on {
		f.paused[id] = true
	} else {
		delete(f.paused, id)
	}
	f.rows.paused(id)
	if a := f.actors.Get(id); a != nil && a.host != nil && !a.host.gone && a.holder == nil {
		a.host.handler.Pause(id, on)
	}
}

// purge applies the op purged: the state and the reminders of an actor are
// dropped. What waited for it was ended before, by the same record.
func (f *flow) purge(id engine.Actor) {
	for _, r := range f.reminders[id] {
		f.forget(r)
	}
	a := f.entry(id)
	f.wipe(a)
	if a.host != nil && !a.host.gone {
		a.host.handler.Forget(id)
	}
}

// pausedActors lists the actors that an operator has paused.
func (f *flow) pausedActors() []engine.Actor {
	return slices.SortedFunc(maps.Keys(f.paused), func(x, y engine.Actor) int {
		return cmp.Or(cmp.Compare(x.Type, y.Type), cmp.Compare(x.ID, y.ID))
	})
}
