package runtime

import (
	"sync/atomic"

	"github.com/pawl-go/pawl/engine"
	"github.com/pawl-go/pawl/engine/chain"
	"github.com/pawl-go/pawl/internal/mutant"
)

// entry is a request delivered here, from Deliver until its step has ended or
// its actor is gone.
type entry struct {
	actor *actor
	d     engine.Delivery
	// inv is the attempt of which code runs or waits; nil for none.
	inv atomic.Pointer[Invocation]
	// cancel takes the place of its outcome.
	cancel atomic.Pointer[engine.Outcome]

	await   int  // callees of earlier attempts that have not ended
	retries int  // attempts that asked for another one
	paused  bool // its retry backs off

	// begun: an attempt has the entry, from its claim to its end. Under is the
	// attempt below it in the chain then: the one whose writes are recorded
	// before it begins.
	begun bool
	under *entry
	since int64 // when it began to wait for its turn, Unix ns; see busy.go
	left  bool  // it is out of the line
	// refused: it was claimed to end it with cancel, not to run it.
	refused bool
	// wants: its attempt waits to take the turn back; wake is signalled then.
	wants bool
	wake  chan struct{}

	next   *entry // the step entered in place, delivered during Finish
	behind bool   // it is such a next, and has not taken the place yet
	// postponing: the engine is being asked to deliver it anew, at the end. Until
	// it has answered this one must not begin: both would run.
	postponing bool
	// parking: the engine is being asked to park it. An operator may resume it
	// before the engine's answer is here.
	parking bool
}

// Link makes an entry an item of a chain.Line.
func (e *entry) Link() *engine.Frame { return &e.d.Request.Frame }

// started reports whether an attempt of the entry's step has begun here or
// before, or the step has its actor from the step before.
func (e *entry) started() bool { return e.d.Attempts > 0 || e.d.Request.InPlace }

// mailbox is the pure part of an actor: the line of its requests and the turn.
//
// Invariants:
//
//	M1 begun entries are in the chain (held), or were forced out by an operator.
//	M2 turn is nil or a begun entry; at most one attempt runs code: that one.
//	M3 above a begun entry that has the turn no entry is begun, and none has
//	   started and waits for its next attempt: the rule return.
//	M4 an entry with await > 0, paused, postponing or cancelled is not claimed to run.
type mailbox struct {
	line chain.Line[*entry]
	turn *entry
}

// next picks who gets the turn now, and gives it: the innermost attempt that
// wants it back, or else a request of the chain that may begin. It returns nil
// if the turn is taken or nobody may have it. The caller must act on it: wake
// the attempt if resumed is set, run the entry if not. May decides what may
// begin beside the rules of the semantics (pause, drain).
//
// It is the predicate runnable of the semantics, and the rule return: an
// attempt goes on only when nothing nested in it has begun on its actor.
func (m *mailbox) next(may func(*entry) bool) (e *entry, resumed bool) {
	if m.turn != nil {
		return nil, false
	}
	var begin, innermost *entry
	open := false // something above the innermost has begun, and will go on
	for h := range m.line.Held {
		if h.begun {
			innermost, open = h, false
			continue
		}
		open = open || h.started()
		if h.await == 0 && !h.paused && !h.postponing && may(h) {
			begin, h.under = h, innermost
		}
	}
	if mutant.Is(mutant.ReachableWithoutChain) {
		begin = m.reachable(begin, innermost, may)
	}
	switch {
	case innermost != nil && innermost.wants && !open:
		innermost.wants = false
		m.turn = innermost
		return innermost, true
	case begin != nil:
		begin.begun = true
		m.turn = begin
		return begin, false
	}
	return nil, false
}

// reachable lets, for a mutant, begin what is nested in the root without being
// in the chain, if nothing else may.
func (m *mailbox) reachable(begin, innermost *entry, may func(*entry) bool) *entry {
	root, _ := m.line.Root()
	for e := range m.line.All {
		if begin == nil && e.Link().NestedIn(root.Link().ID) && !e.begun && e.await == 0 && !e.paused && may(e) {
			begin, e.under = e, innermost
		}
	}
	return begin
}

// yield gives e's turn up.
func (m *mailbox) yield(e *entry) {
	if m.turn == e {
		m.turn = nil
	}
}

// retake gives e the turn back at once if that is allowed.
func (m *mailbox) retake(e *entry) bool {
	if m.turn != nil {
		return false
	}
	inside := false
	for h := range m.line.Held {
		if inside && (h.begun || h.started()) {
			return false
		}
		inside = inside || h == e
	}
	m.turn = e
	return true
}

// comesBack reports whether e is a step that has kept the actor while it was
// not in the line (parked, and now resumed): it goes ahead of those that waited.
func (m *mailbox) comesBack(e *entry) bool {
	root, ok := m.line.Root()
	return ok && e.d.Request.InPlace && !root.begun && !e.Link().Within(root.Link())
}

// quiet reports whether no attempt has anything on the instance.
func (m *mailbox) quiet() bool {
	for h := range m.line.Held {
		if h.begun {
			return false
		}
	}
	return true
}

// find returns the newest entry of a step of an invocation; nil if it is not here.
// One that has ended by a tail call may not have left yet, and the step it called
// in place stands behind it, outside of the line.
func (m *mailbox) find(r *engine.Request) (found *entry) {
	for e := range m.line.All {
		for ; e != nil && e.d.Request.ID == r.ID; e = e.next {
			if e.d.Request.Step == r.Step {
				found = e
			}
		}
	}
	return found
}
