package local

import (
	"cmp"
	"slices"
	"time"

	"github.com/pawl-go/pawl/engine"
	"github.com/pawl-go/pawl/internal/mutant"
)

// member is a component that has joined in this process.
type member struct {
	engine.Component
	number  uint64
	handler engine.Handler
	joined  time.Time
	live    int  // actors placed there
	gone    bool // left, failed or fenced: nothing goes there any more
	fenced  chan struct{}
}

func (m *member) respond(r engine.Response) {
	if !m.gone {
		m.handler.Respond(r)
	}
}

// deliver hands p to the component on which its actor is placed, placing it if
// need be. If nobody hosts the type it waits until somebody does; if the
// actor's component has failed, until that is committed (see replace).
func (f *flow) deliver(p *pending) {
	a := p.actor
	p.host = nil
	if !f.live || a.holder != nil {
		return // until the parked step is resumed or dropped, see hold
	}
	if f.may != nil && (len(f.held) > 0 || !f.may()) {
		f.held = append(f.held, p)
		return
	}
	if a.host == nil && !f.place(a) {
		f.lone = append(f.lone, p)
		f.expire(p)
		return
	}
	if a.host.gone {
		return
	}
	p.host = a.host
	d := engine.Delivery{
		Request:  p.req,
		At:       p.at,
		Attempts: p.attempts,
		Lost:     p.lost,
		Token:    a.token,
		Paused:   f.paused[p.req.Actor],
	}
	if p.child != nil {
		for c := range p.children {
			d.Await = append(d.Await, c.req.ID)
			if mutant.Is(mutant.WaitForOneCallee) {
				break
			}
		}
	}
	p.host.handler.Deliver(d)
	if p.ending != nil {
		p.host.handler.Cancel(p.req, p.ending, true)
	}
}

// place finds a component for an actor: the one with the fewest actors of
// those that host the type.
func (f *flow) place(a *actor) bool {
	var best *member
	for _, m := range f.hosts[*a.kind] {
		if best == nil || m.live < best.live {
			best = m
		}
	}
	if best == nil {
		return false
	}
	f.tokens++
	a.host, a.token = best, f.epoch<<tokenBits|f.tokens
	best.live++
	return true
}

// tokenBits is the room for placements in one epoch. A token has to rise over
// epochs even if the tail of the journal was cut in between, so positions
// would not do: an epoch is committed before anything is placed in it.
const tokenBits = 40

// unplace forgets where an actor is placed.
func (f *flow) unplace(a *actor) {
	if a.host != nil {
		a.host.live--
		a.host = nil
	}
}

// admit makes m a host of its types, and delivers what has waited for them, in
// flow order.
func (f *flow) admit(m *member) {
	for i := range m.Types {
		t := m.Types[i].Name
		f.hosts[t] = append(f.hosts[t], m)
	}
	waiting := f.lone[:0]
	var now []*pending
	for _, p := range f.lone {
		switch {
		case !p.isLone():
		case len(f.hosts[p.req.Actor.Type]) > 0:
			now = append(now, p)
		default:
			waiting = append(waiting, p)
		}
	}
	clear(f.lone[len(waiting):])
	f.lone = waiting
	inOrder(now)
	for _, p := range now {
		if p.isLone() { // not delivered twice: it may stand there more than once
			f.deliver(p)
		}
	}
}

// deliverHeld delivers what was held back, in flow order.
func (f *flow) deliverHeld() {
	now := f.held
	f.held = nil
	inOrder(now)
	for _, p := range now {
		if p.isLone() { // not delivered twice: it may stand there more than once
			f.deliver(p)
		}
	}
}

// isLone reports whether p still waits for a host.
func (p *pending) isLone() bool {
	return p.status == inFlow && p.host == nil && p.actor.holder == nil && (p.actor.host == nil || !p.actor.host.gone)
}

// expel takes m out of those that host types. Its actors stay where they are
// until replace.
func (f *flow) expel(m *member) {
	m.gone = true
	for i := range m.Types {
		t := m.Types[i].Name
		f.hosts[t] = slices.DeleteFunc(f.hosts[t], func(x *member) bool { return x == m })
		if len(f.hosts[t]) == 0 {
			delete(f.hosts, t)
		}
	}
}

// replace places the actors of components that are gone anew, and delivers
// their requests there: everything of an actor, in flow order.
func (f *flow) replace() {
	var now []*pending
	for a := range f.actors.All {
		if a.host == nil || !a.host.gone {
			continue
		}
		f.unplace(a)
		for p := range a.line.All {
			switch {
			case p.status == inFlow:
				p.host = nil
				now = append(now, p)
			case p.status == ended: // a tomb: its code has gone with its component
				defer f.bury(p)
			}
		}
		f.tidy(a)
	}
	inOrder(now)
	for _, p := range now {
		if p.status == inFlow {
			f.deliver(p)
		}
	}
}

// bury takes a request that was ended by force out of its actor's line, once
// its code has returned.
func (f *flow) bury(p *pending) {
	delete(f.tombs, p.req.ID)
	p.actor.line.Remove(p)
	f.tidy(p.actor)
	if p.gone != nil {
		close(p.gone)
		p.gone = nil
	}
}

// inOrder sorts by place. The places of one line are in the order of the line,
// but for what is nested in its root, which comes next to it.
func inOrder(ps []*pending) {
	slices.SortFunc(ps, func(x, y *pending) int { return cmp.Compare(x.place, y.place) })
}

// vigil is one wait of a request for a host. It is over if the request waits no more, or
// anew: then that is another vigil.
type vigil struct {
	p     *pending
	since time.Time // zero until the clock has seen it
}

// expire lets p wait for a host no longer than the engine's clock allows.
func (f *flow) expire(p *pending) {
	if p.mayExpire() {
		p.vigil = &vigil{p: p}
		f.expiring = append(f.expiring, p.vigil)
		f.alarm()
	}
}

// alarm makes the clock, if there is one, look at what is due.
func (f *flow) alarm() {
	if f.wake != nil {
		f.wake()
	}
}

// mayExpire: ErrNoHost ends only what was not begun, is at step 1, and has somebody who
// waits for it; all else waits on.
func (p *pending) mayExpire() bool {
	return p.isLone() && p.req.Step == 1 && p.attempts == 0 && p.req.Kind != engine.KindTell
}
