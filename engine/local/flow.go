package local

import (
	"github.com/pawl-go/pawl/engine"
	"github.com/pawl-go/pawl/engine/actors"
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
//	F6 An actor has an entry if it has a line, a host or changes; entries of other
//	   actors are dropped.
type flow struct {
	app   string
	epoch uint64
	last  engine.Position
	// saved is last as of the last checkpoint, and history the epoch of the source in which
	// that was appended; empty where the journal has no copies.
	saved   engine.Position
	history string
	places  uint64 // the newest place given
	marks   uint64 // numbers searches through the flow, see deadlock.go

	lastSession uint64
	sessions    map[uint64]joinedOp // on record as living

	reqs   map[engine.ID]*pending
	count  [statuses]int
	failed []*pending // in the order in which they failed; may hold settled ones
	actors *actors.Table[*actor]
	paused map[engine.Actor]bool // by an operator
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
	// may says whether anything may be delivered; nil: always. What may not waits in
	// held, and everything behind it.
	may  func() bool
	held []*pending
	// expiring are those of lone that do not wait for ever, the longest first.
	expiring []*vigil
	// wake makes the clock look at what was put into due or expiring; nil: there is none yet.
	wake func()
	done *completions // told of every invocation that has ended
	rows *rowTracker  // told of what the next checkpoint has to write
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
	vigil  *vigil          // in expiring: the present one
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

// actor is the entry of an actor. There may be a million: it is kept small, in 80
// bytes.
type actor struct {
	kind    *string // of names
	id      string
	line    chain.Line[*pending]
	host    *member
	token   uint64
	holder  *pending // a parked step that was entered in place: nothing else begins
	changes *changes // that the store does not have
	behind  *actor   // the table's
}

// Actor is its name.
func (a *actor) Actor() engine.Actor { return engine.Actor{Type: *a.kind, ID: a.id} }

// Behind makes an actor an entry of an actors.Table.
func (a *actor) Behind() **actor { return &a.behind }

func newFlow(done *completions) *flow {
	return &flow{
		sessions:  map[uint64]joinedOp{},
		reqs:      map[engine.ID]*pending{},
		actors:    actors.NewTable[*actor](),
		paused:    map[engine.Actor]bool{},
		tombs:     map[engine.ID]*pending{},
		reminders: map[engine.Actor]map[string]*reminder{},
		hosts:     map[string][]*member{},
		done:      done,
		rows:      &rowTracker{},
	}
}

// entry finds or makes the entry of an actor.
func (f *flow) entry(id engine.Actor) *actor {
	a := f.actors.Get(id)
	if a == nil {
		a = &actor{kind: f.names.same(id.Type), id: id.ID}
		f.actors.Put(a)
	}
	return a
}

// tidy drops the entry of an actor of which nothing is known (F6).
func (f *flow) tidy(a *actor) {
	if a.host == nil && a.line.Len() == 0 && a.changes == nil {
		f.actors.Remove(a)
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
		f.alarm()
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

// postpone applies the op postponed: p goes to the end of the flow.
func (f *flow) postpone(p *pending, attempt uint32, at engine.Position) {
	f.rows.touch(p)
	p.attempts, p.begun = max(p.attempts, attempt, 1), false
	p.actor.line.Remove(p)
	f.places++
	p.place, p.at = f.places, at
	p.actor.line.Add(p)
	f.deliver(p)
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
