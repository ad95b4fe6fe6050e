package local

import (
	"cmp"
	"slices"
	"time"

	"github.com/pawl-go/pawl/engine"
	"github.com/pawl-go/pawl/engine/chain"
)

// flow is what the journal says, applied: the flow F of the semantics, what
// stands beside it (parked, failed, scheduled, reminders, paused), and the
// newest state of each actor that no checkpoint has taken over yet. It has no
// clock, no goroutine and no I/O. The same methods run when a record has just
// been appended and when it is read back at opening; then no component has
// joined, so that nothing is placed and nobody is told.
//
// A method that applies an op never fails and never decides: what must be
// decided is decided before the record is made, and stands in it.
//
// Invariants (valid checks them):
//
//	F1 An id is in reqs once. Its status says where it stands; count agrees.
//	F2 The line of an actor holds its requests that are in the flow, in the
//	   order of their places, a parked one that holds the actor, and tombs of
//	   requests that an operator ended by force; and nothing else.
//	F3 parent is set if and only if the caller (or waiter) is in the flow; then
//	   the request is among its children.
//	F4 host is the component to which the present step was delivered: it is the
//	   host of the actor, or nil.
//	F5 Positions and places only rise. A caller's place is below its callees',
//	   but for tells that were told to go to the end.
//	F6 An actor has an entry if it has a line, a host, dirty state, a pause or
//	   reminders; entries of other actors are dropped.
type flow struct {
	app    string
	epoch  uint64
	last   engine.Position
	places uint64 // the newest place given
	marks  uint64 // numbers searches through the flow, see deadlock.go

	lastSession uint64
	sessions    map[uint64]joinedOp // on record as living

	reqs   map[engine.ID]*pending
	count  [statuses]int
	failed []*pending // in the order in which they failed; may hold settled ones
	actors map[engine.Actor]*actor
	tombs  map[engine.ID]*pending

	reminders map[engine.Actor]map[string]*reminder
	due       dueHeap // scheduled tells and reminders, the next one first

	dirty []*actor // those with changes, for the next checkpoint
	names names
	spare spares // of the replay

	// What follows is of this process, and not on record.
	live   bool                 // the journal is applied: requests are delivered
	hosts  map[string][]*member // by type: the living that host it
	tokens uint64
	lone   []*pending // delivered nowhere since no one hosts their type
	// expiring are those of lone that do not wait for ever, the longest first.
	expiring []*pending
	done     *completions // told of every invocation that has ended
	rows     *rowTracker  // told of what the next checkpoint has to write
}

// status is where an invocation stands.
type status uint8

const (
	inFlow status = iota
	scheduled
	parked
	failed
	ended
	statuses
)

// pending is an invocation that has not ended, or that is kept for an operator.
type pending struct {
	req    *engine.Request // the present step
	at     engine.Position // the record by which the present step stands in the flow
	asked  engine.Position // the record that holds the present step's request
	place  uint64          // its order in the flow
	actor  *actor
	host   *member
	status status

	// begun: a beginning was recorded since the last failure or presumption.
	begun          bool
	called         bool // it has had callees: their frames point to its
	attempts, lost uint32
	finger         uint64 // fingerprint of a keyed request

	parent             *pending // who waits for it inside: its caller, or its Waiter
	child, older, next *pending // newest child; siblings

	keeps   []kept    // outcomes of calls made once in the present step
	waiter  *member   // who waits outside of the flow
	waiters []*member // further ones

	ending *engine.Outcome // an operator's, recorded: takes the place of the outcome
	end    *ending         // how it failed or why it was parked
	gone   chan struct{}   // closed when it leaves the flow; made by who waits for that
	mark   uint64          // of the search that has seen it
	heap   int             // in due, plus one
	since  time.Time       // in expiring: since when
	row    rowState
}

// kept is the outcome of a call made once, kept while its caller is at the
// step that made it. A tell made once has no outcome.
type kept struct {
	id engine.ID
	o  *engine.Outcome
	at engine.Position
}

// Link makes a pending an item of a chain.Line.
func (p *pending) Link() *engine.Frame { return &p.req.Frame }

func (p *pending) nested() bool { return p.req.Caller != nil }

// actor is the entry of an actor.
type actor struct {
	id     engine.Actor
	line   chain.Line[*pending]
	host   *member
	token  uint64
	paused bool
	holder *pending // a parked step that was entered in place: nothing else begins
	dirty  *changes // since the last checkpoint
	saving *changes // being written by a checkpoint
}

func newFlow(done *completions) *flow {
	return &flow{
		sessions:  map[uint64]joinedOp{},
		reqs:      map[engine.ID]*pending{},
		actors:    map[engine.Actor]*actor{},
		tombs:     map[engine.ID]*pending{},
		reminders: map[engine.Actor]map[string]*reminder{},
		hosts:     map[string][]*member{},
		done:      done,
		rows:      &rowTracker{},
	}
}

// entry finds or makes the entry of an actor.
func (f *flow) entry(id engine.Actor) *actor {
	a := f.actors[id]
	if a == nil {
		a = &actor{id: id}
		f.actors[id] = a
	}
	return a
}

// tidy drops the entry of an actor of which nothing is known (F6).
func (f *flow) tidy(a *actor) {
	if a.host == nil && a.line.Len() == 0 && a.dirty == nil && a.saving == nil && !a.paused {
		delete(f.actors, a.id)
	}
}

// request applies the op request: r enters the flow at its end (the rules call
// and tell), or the schedule. Sender is the invocation that made a tell once.
// It returns nil if the id is known already.
func (f *flow) request(r *engine.Request, sender engine.ID, later bool, at engine.Position) *pending {
	if f.reqs[r.ID] != nil {
		return nil
	}
	f.places++
	p := f.spare.pending()
	p.req, p.at, p.asked, p.place, p.row.dirty = r, at, at, f.places, true
	f.reqs[r.ID] = p
	if r.Keyed {
		p.finger = fingerprint(r)
	}
	if r.Once && r.Kind == engine.KindTell {
		if s := f.reqs[sender]; s != nil && s.status == inFlow {
			f.keep(s, kept{id: r.ID})
		}
	}
	if later {
		p.status = scheduled
		f.count[scheduled]++
		f.due.push(r.NotBefore, p, nil)
		return p
	}
	f.enter(p)
	return p
}

// enter puts p at the end of the flow. Its row is touched already.
func (f *flow) enter(p *pending) {
	p.status = inFlow
	f.count[inFlow]++
	f.adopt(p)
	p.actor = f.entry(p.req.Actor)
	p.actor.line.Add(p)
	f.deliver(p)
}

// adopt links p to the invocation that waits for it.
func (f *flow) adopt(p *pending) {
	id := p.req.Waiter
	if p.req.Caller != nil {
		id = p.req.Caller.ID
	}
	if id.IsZero() {
		return
	}
	c := f.reqs[id]
	if c == nil || c.status != inFlow {
		return
	}
	c.called = true
	p.parent, p.older = c, c.child
	if c.child != nil {
		c.child.next = p
	}
	c.child = p
}

// disown unlinks p from the invocation that waits for it.
func (p *pending) disown() {
	c := p.parent
	if c == nil {
		return
	}
	if p.next != nil {
		p.next.older = p.older
	} else {
		c.child = p.older
	}
	if p.older != nil {
		p.older.next = p.next
	}
	p.parent, p.next, p.older = nil, nil, nil
}

// release unlinks the children of p. Detached only: those that p waited for
// outside of any nesting. Their rows change: they have to say who called, once
// that is not in the flow any more.
func (f *flow) release(p *pending, detachedOnly bool) {
	for c := p.child; c != nil; {
		older := c.older
		if !detachedOnly || !c.nested() {
			f.rows.touch(c)
			c.disown()
		}
		c = older
	}
}

// children yields the callees of p that are in the flow, the newest first.
func (p *pending) children(yield func(*pending) bool) {
	for c := p.child; c != nil; c = c.older {
		if c.nested() && !yield(c) {
			return
		}
	}
}

func (f *flow) keep(p *pending, k kept) {
	f.rows.touch(p)
	p.keeps = append(p.keeps, k)
}

// begin applies the op begin: an attempt after the first, or one that
// re-enters, begins.
func (f *flow) begin(id engine.ID, n uint32) {
	if p := f.reqs[id]; p != nil && p.status == inFlow {
		f.rows.touch(p)
		p.attempts, p.begun = n, true
		f.release(p, true)
	}
}

// outcome applies the op outcome: the rules end, tail-other and tail-self.
func (f *flow) outcome(p *pending, x *ending, at engine.Position) {
	if x.o.Tail != nil {
		f.tail(p, x.o.Tail, at)
		return
	}
	f.finish(p, x, at)
}

// tail makes t the present step of p: in place, or at the end of the flow.
func (f *flow) tail(p *pending, t *engine.Request, at engine.Position) {
	f.rows.touch(p)
	f.release(p, false)
	p.keeps, p.begun, p.attempts, p.lost, p.at, p.asked = nil, false, 0, 0, at, at
	if t.InPlace {
		p.req = t
		f.deliver(p)
		return
	}
	old := p.actor
	old.line.Remove(p)
	f.tidy(old)
	f.places++
	p.req, p.place, p.host = t, f.places, nil
	p.actor = f.entry(t.Actor)
	p.actor.line.Add(p)
	f.deliver(p)
}

// finish takes p out of the flow with its outcome, and tells who waits.
func (f *flow) finish(p *pending, x *ending, at engine.Position) {
	parent := p.parent
	f.rows.gone(p)
	f.release(p, false)
	if x.flags&flagForced != 0 && p.host != nil && !p.host.gone {
		p.status = ended
		f.count[inFlow]--
		p.disown()
		f.tombs[p.req.ID] = p
	} else {
		f.leave(p)
		p.status = ended
	}
	delete(f.reqs, p.req.ID)
	if parent != nil && p.nested() && p.req.Once {
		f.keep(parent, kept{id: p.req.ID, o: x.o, at: at})
	}
	f.answer(p, parent, engine.Response{ID: p.req.ID, Outcome: x.o, At: at})
	f.done.add(p.req.ID, at)
	if x.flags&flagKept != 0 {
		f.keepFailed(p, x, at)
	} else if !f.live {
		f.spare.give(p)
	}
}

// leave takes p out of its line, and from its caller's callees.
func (f *flow) leave(p *pending) {
	if p.status == inFlow {
		f.count[inFlow]--
		p.disown()
	}
	a := p.actor
	a.line.Remove(p)
	p.host = nil
	f.tidy(a)
	if p.gone != nil {
		close(p.gone)
		p.gone = nil
	}
}

// answer tells who waits for p: its caller's component, and those outside.
func (f *flow) answer(p, parent *pending, r engine.Response) {
	var told *member
	if parent != nil && p.nested() {
		if told = parent.host; told != nil {
			told.respond(r)
		}
	}
	if p.waiter == nil {
		return
	}
	if p.waiter != told {
		p.waiter.respond(r)
	}
	for _, m := range p.waiters {
		if m != told {
			m.respond(r)
		}
	}
	p.waiter, p.waiters = nil, nil
}

// awaited reports whether somebody outside of the flow waits for p.
func (p *pending) awaited() bool { return p.waiter != nil && !p.waiter.gone || len(p.waiters) > 0 }

// wait notes that m waits for p outside of the flow.
func (p *pending) wait(m *member) {
	if p.waiter == nil || p.waiter.gone {
		p.waiter = m
	}
	if p.waiter == m {
		return
	}
	if !slices.Contains(p.waiters, m) {
		p.waiters = append(p.waiters, m)
	}
}

// unwait ends what wait began.
func (p *pending) unwait(m *member) {
	for i, w := range p.waiters {
		if w == m {
			p.waiters = append(p.waiters[:i], p.waiters[i+1:]...)
			return
		}
	}
	if p.waiter == m {
		p.waiter = nil
		if n := len(p.waiters); n > 0 {
			p.waiter, p.waiters = p.waiters[n-1], p.waiters[:n-1]
		}
	}
}

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
	if a.host != nil && !a.host.gone && !a.paused {
		a.host.handler.Pause(a.id, on)
	}
}

// postpone applies the op postponed: p goes to the end of the flow.
func (f *flow) postpone(p *pending, at engine.Position) {
	f.rows.touch(p)
	p.actor.line.Remove(p)
	f.places++
	p.place, p.at = f.places, at
	p.actor.line.Add(p)
	f.deliver(p)
}

// pause applies the op paused.
func (f *flow) pause(id engine.Actor, on bool) {
	a := f.entry(id)
	if a.paused == on {
		f.tidy(a)
		return
	}
	a.paused = on
	f.rows.paused(a)
	if a.host != nil && !a.host.gone && a.holder == nil {
		a.host.handler.Pause(id, on)
	}
	f.tidy(a)
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

// overrule applies the op ending: o takes the place of whatever outcome the
// invocation's code comes to.
func (f *flow) overrule(p *pending, o *engine.Outcome) {
	f.rows.touch(p)
	p.ending = o
}

// strand ends the replay: from here on requests are delivered. Those in the
// flow wait until a component joins that hosts their type.
func (f *flow) strand() {
	f.live, f.spare = true, spares{}
	for _, p := range f.reqs {
		if p.status == inFlow {
			f.lone = append(f.lone, p)
		}
	}
	inOrder(f.lone)
	for _, p := range f.lone {
		f.expire(p)
	}
}

// pausedActors lists the actors that an operator has paused.
func (f *flow) pausedActors() (ids []engine.Actor) {
	for id, a := range f.actors {
		if a.paused {
			ids = append(ids, id)
		}
	}
	slices.SortFunc(ids, func(x, y engine.Actor) int {
		return cmp.Or(cmp.Compare(x.Type, y.Type), cmp.Compare(x.ID, y.ID))
	})
	return ids
}
