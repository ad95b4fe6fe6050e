// Package roster decides who is a member, when to dial whom, and which of two
// links stays. It is a plain struct: what happened goes in with the time it
// happened, what is to be done comes out as [Effects]. It has no clock, no lock
// and no network.
//
// Rules:
//
//  1. Of one node there is one incarnation, the highest seen since it last left
//     or failed. Whoever has a lower one is refused as stale.
//  2. Of one incarnation there is one link. A node dials only while it has none,
//     so one that dials has lost the link it named last; that link is over.
//  3. Two nodes that dial each other at once keep the connection that the smaller
//     name dialled. A dial counts from when it is committed: when the dialler is
//     about to prove who it is. The smaller name refuses a dial that crosses a
//     committed one of its own; the larger gives up its own when it admits one, and
//     the smaller expects it to: what it has admitted it gives up when it commits.
//     What is given up is never established, however far it has come, and whatever
//     has become of the other dial since: it may have been up on the other side, and
//     lost, and is not the link that was spoken of.
//  4. A node dials a peer once at a time, and numbers its dials. One that arrives
//     after a later one is refused, and one that was admitted before a later one is
//     not established: the dialler has given it up. So has it given up all that it
//     dialled before it put a link of ours to use: Ready tells up to which dial.
//  5. Three failed dials in a row after a loss make a peer unreachable. The
//     delay between dials doubles, with jitter, up to a bound.
//  6. A peer that is gone for FailAfter has failed: it is no member until it
//     comes up again.
package roster

import (
	"maps"
	"slices"
	"time"

	"github.com/pawl-go/pawl/mesh/internal/wire"
)

// Attempts is how many failed dials in a row make a peer unreachable.
const Attempts = 3

// strangers are forgotten when they were admitted and have not come up for so long.
const strangers = 10 * time.Second

// State of a peer.
type State uint8

// The states.
const (
	Joining      State = iota // known, and not up since it was heard of, left or failed
	Up                        // linked
	Reconnecting              // was up; its link is lost
	Unreachable               // reconnecting has failed Attempts times
)

// EventKind says what happened to a member.
type EventKind uint8

// The kinds of events.
const (
	CameUp EventKind = iota + 1
	Left
	Failed
	BecameUnreachable
	BecameReachable
)

// Event is a change of membership.
type Event struct {
	Kind   EventKind
	Member Member
}

// Member is a peer that is or was a member.
type Member struct {
	ID          string
	Incarnation uint64
	Addr        string
	Reachable   bool
}

// Dial asks for a connection to be dialled.
type Dial struct {
	ID, Addr string
}

// Effects is what is to be done, in the order of the fields.
type Effects struct {
	Close  []wire.LinkID // links that are over
	Abort  []string      // peers our own dial to which is to be given up
	Events []Event       // to be told to subscribers
	Gone   []string      // peers that are no longer known
}

// Roster is the table of peers. The exported fields are set once, before use.
type Roster struct {
	Self      string
	MinDelay  time.Duration  // between two dials to a peer, at first
	MaxDelay  time.Duration  // and at most
	FailAfter time.Duration  // 0: a peer fails only by Remove
	Jitter    func() float64 // in [0, 1)

	peers map[string]*peer
}

type peer struct {
	Member
	state    State
	fixed    bool // dialled for ever, whatever happens to it
	observer bool // looks in, and is no member
	link     wire.LinkID
	ours     bool // we dialled link

	dialing   bool
	committed bool
	aborted   bool   // our dial is given up, and does not know yet
	admitted  uint64 // the least number of a dial of the peer's, of this incarnation, that is not stale
	overtaken bool   // that dial: the peer gives it up for one of ours
	failures  int
	dialAt    time.Time
	lostAt    time.Time
}

// Add makes a peer known, to be dialled at once. fixed ones stay known when they
// fail or leave. It returns false for the node itself.
func (r *Roster) Add(now time.Time, id, addr string, fixed bool) bool {
	if id == r.Self {
		return false
	}
	p := r.peers[id]
	if p == nil {
		p = r.create(id, addr)
		p.dialAt = now
	}
	p.fixed = p.fixed || fixed
	if p.state == Joining {
		p.lostAt = time.Time{}
	}
	if addr != "" && addr != p.Addr {
		p.Addr = addr
		p.dialAt = now
	}
	return true
}

func (r *Roster) create(id, addr string) *peer {
	if r.peers == nil {
		r.peers = map[string]*peer{}
	}
	p := &peer{Member: Member{ID: id, Addr: addr}}
	r.peers[id] = p
	return p
}

// Remove is for a peer that has said goodbye (left) or that the membership says
// has failed. inc is the incarnation of which it is true; 0 is any.
func (r *Roster) Remove(now time.Time, id string, inc uint64, left bool) (e Effects) {
	p := r.peers[id]
	if p == nil || inc != 0 && p.Incarnation > inc {
		return e
	}
	kind := Failed
	if left {
		kind = Left
	}
	r.end(now, p, kind, &e)
	return e
}

// end takes a peer out of the members.
func (r *Roster) end(now time.Time, p *peer, kind EventKind, e *Effects) {
	if p.state != Joining && !p.observer {
		gone := p.Member
		gone.Reachable = false
		e.Events = append(e.Events, Event{kind, gone})
	}
	if p.link != (wire.LinkID{}) {
		e.Close = append(e.Close, p.link)
	}
	if !p.fixed {
		if p.dialing {
			e.Abort = append(e.Abort, p.ID)
		}
		delete(r.peers, p.ID)
		e.Gone = append(e.Gone, p.ID)
		return
	}
	p.state, p.Incarnation, p.Reachable = Joining, 0, false
	p.link = wire.LinkID{}
	p.lostAt = time.Time{}
	p.dialAt = now.Add(r.MaxDelay)
}

// Admit decides about a control stream that who has dialled and proved to be. With
// Stale, known is the incarnation it is older than.
func (r *Roster) Admit(now time.Time, who wire.Identity) (v wire.Verdict, known uint64, e Effects) {
	switch {
	case who.Node == r.Self:
		return wire.SameName, 0, e
	case who.Target != "" && who.Target != r.Self:
		return wire.WrongNode, 0, e
	}
	p := r.peers[who.Node]
	if p == nil {
		p = r.create(who.Node, who.Addr)
		p.observer = who.Observer
		p.dialAt = now.Add(r.MaxDelay) // the dialler's turn
		p.lostAt = now
	}
	if who.Incarnation < p.Incarnation {
		return wire.Stale, p.Incarnation, e
	}
	if p.outdated(who) {
		return wire.NoSuchLink, 0, e
	}
	if (who.Incarnation == p.Incarnation || p.Incarnation == 0) && r.crossed(p, who) {
		return wire.Crossed, 0, e
	}
	if who.Incarnation > p.Incarnation {
		r.succeed(now, p, who.Incarnation, &e)
	} else if p.link != (wire.LinkID{}) && (!p.ours || who.LastLink == p.link) {
		r.lose(now, p, &e)
	}
	if who.Addr != "" {
		p.Addr = who.Addr
	}
	p.admitted, p.overtaken = who.Dial, p.committed && r.Self < p.ID
	if !p.overtaken {
		p.abort(&e)
	}
	return wire.Welcome, 0, e
}

// outdated reports whether who dialled before a dial of its own that was admitted.
func (p *peer) outdated(who wire.Identity) bool {
	return who.Incarnation == p.Incarnation && who.Dial < p.admitted
}

// abort gives our own dial up, if there is one.
func (p *peer) abort(e *Effects) {
	if p.dialing {
		p.aborted, p.committed = true, false
		e.Abort = append(e.Abort, p.ID)
	}
}

// crossed reports whether our own dial or link is kept instead of who's (rule 3).
func (r *Roster) crossed(p *peer, who wire.Identity) bool {
	if r.Self > p.ID {
		return false
	}
	if p.link != (wire.LinkID{}) {
		return p.ours && who.LastLink != p.link
	}
	return p.committed
}

// succeed ends what an older incarnation of a peer was.
func (r *Roster) succeed(now time.Time, p *peer, inc uint64, e *Effects) {
	if p.Incarnation != 0 {
		fixed := p.fixed
		p.fixed = true // it stays known: the new one is at the door
		r.end(now, p, Failed, e)
		p.fixed = fixed
		p.failures = 0
		p.lostAt = now
	}
	p.Incarnation, p.admitted = inc, 0
}

// lose takes a peer's link from it.
func (r *Roster) lose(now time.Time, p *peer, e *Effects) {
	e.Close = append(e.Close, p.link)
	p.link = wire.LinkID{}
	p.lostAt = now
	p.state = Reconnecting
	p.failures = 0
	p.dialAt = now
	if r.Self > p.ID {
		p.dialAt = now.Add(r.MinDelay) // so that two seldom cross
	}
}

// Commit asks whether our dial to id may go on to prove who we are.
func (r *Roster) Commit(id string) bool {
	p := r.peers[id]
	if p == nil || !p.dialing || p.aborted || p.link != (wire.LinkID{}) {
		return false
	}
	p.committed = true
	p.overtaken = r.Self < p.ID
	return true
}

// Establish is for a link whose streams are all attached; ours says that we
// dialled it, and then who.Dial is the peer's own latest dial. It returns false if the link is to be closed instead.
func (r *Roster) Establish(now time.Time, who wire.Identity, link wire.LinkID, ours bool) (ok bool, e Effects) {
	p := r.peers[who.Node]
	if p == nil || who.Incarnation < p.Incarnation {
		return false, e
	}
	if ours && !p.committed { // given up
		return false, e
	}
	if !ours && (p.outdated(who) || p.overtaken) {
		return false, e
	}
	if who.Incarnation > p.Incarnation {
		r.succeed(now, p, who.Incarnation, &e)
	}
	if p.link != (wire.LinkID{}) {
		e.Close = append(e.Close, p.link)
	}
	if ours {
		p.admitted = max(p.admitted, who.Dial+1) // the least that is not given up
	} else {
		p.abort(&e)
	}
	if who.Addr != "" {
		p.Addr = who.Addr
	}
	p.link, p.ours = link, ours
	p.failures = 0
	p.Reachable = true
	was := p.state
	p.state = Up
	if p.observer {
		return true, e
	}
	switch was {
	case Joining:
		e.Events = append(e.Events, Event{CameUp, p.Member})
	case Unreachable:
		e.Events = append(e.Events, Event{BecameReachable, p.Member})
	}
	return true, e
}

// Lost is for a link that has ended by itself.
func (r *Roster) Lost(now time.Time, id string, link wire.LinkID) (e Effects) {
	p := r.peers[id]
	if p == nil || p.link != link {
		return e
	}
	if p.observer {
		r.end(now, p, Failed, &e)
		return e
	}
	r.lose(now, p, &e)
	return e
}

// Dialed is for the end of a dial that Due asked for. counted is false if it was
// given up, or refused because the other's is kept.
func (r *Roster) Dialed(now time.Time, id string, ok, counted bool) (e Effects) {
	p := r.peers[id]
	if p == nil {
		return e
	}
	p.dialing, p.committed, p.aborted = false, false, false
	if ok {
		return e
	}
	if counted {
		p.failures++
	}
	p.dialAt = now.Add(r.delay(max(p.failures, 1)))
	if p.failures >= Attempts && p.state == Reconnecting {
		p.state = Unreachable
		p.Reachable = false
		e.Events = append(e.Events, Event{BecameUnreachable, p.Member})
	}
	return e
}

// delay before the dial after so many failures: doubled each time, of which a
// random half is taken off.
func (r *Roster) delay(failures int) time.Duration {
	d := r.MaxDelay
	if failures < 20 {
		d = min(r.MinDelay<<(failures-1), r.MaxDelay)
	}
	return d - time.Duration(r.Jitter()*float64(d)/2)
}

// Due returns the dials to begin now; each ends with Dialed. It also fails peers
// that are gone too long.
func (r *Roster) Due(now time.Time) (dials []Dial, e Effects) {
	for _, id := range slices.Sorted(maps.Keys(r.peers)) {
		p := r.peers[id]
		if at, ok := r.failsAt(p); ok && !at.After(now) {
			r.end(now, p, Failed, &e)
			continue
		}
		if r.waits(p) && !p.dialAt.After(now) {
			p.dialing = true
			dials = append(dials, Dial{p.ID, p.Addr})
		}
	}
	return dials, e
}

// waits reports whether a peer waits for its next dial.
func (r *Roster) waits(p *peer) bool {
	return p.link == (wire.LinkID{}) && !p.dialing && !p.observer
}

// failsAt returns when a peer without a link has failed.
func (r *Roster) failsAt(p *peer) (time.Time, bool) {
	if p.state == Joining && !p.fixed && !p.lostAt.IsZero() { // admitted, and never came up
		return p.lostAt.Add(strangers), true
	}
	if p.state != Reconnecting && p.state != Unreachable || r.FailAfter <= 0 {
		return time.Time{}, false
	}
	return p.lostAt.Add(r.FailAfter), true
}

// Next returns when Due has something to do, or false if only an event can tell.
func (r *Roster) Next() (at time.Time, ok bool) {
	sooner := func(t time.Time) {
		if !ok || t.Before(at) {
			at, ok = t, true
		}
	}
	for _, p := range r.peers {
		if r.waits(p) {
			sooner(p.dialAt)
		}
		if t, fails := r.failsAt(p); fails {
			sooner(t)
		}
	}
	return at, ok
}

// Members returns who is a member, by name.
func (r *Roster) Members() []Member {
	var all []Member
	for _, id := range slices.Sorted(maps.Keys(r.peers)) {
		if p := r.peers[id]; p.state != Joining && !p.observer {
			all = append(all, p.Member)
		}
	}
	return all
}

// Knows reports whether a peer is known, as an observer or otherwise.
func (r *Roster) Knows(id string) bool { return r.peers[id] != nil }

// State returns a peer's state, and whether it is known at all.
func (r *Roster) State(id string) (State, bool) {
	p := r.peers[id]
	if p == nil || p.observer {
		return 0, false
	}
	return p.state, true
}
