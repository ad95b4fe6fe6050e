package engine

import "time"

// Actor names a stateful instance. Every byte string is legal in both parts.
type Actor struct{ Type, ID string }

// String gives "Type/ID", for messages; it is not parsed.
func (a Actor) String() string { return a.Type + "/" + a.ID }

// Frame is an invocation together with the chain of callers above it: its
// birth chain in the words of the semantics. Frames are immutable and share
// their tails, so that the chain costs one pointer a call.
type Frame struct {
	ID     ID
	Actor  Actor  // where the invocation runs, at its present step
	Caller *Frame // who waits for it inside the application: the return address; nil for none
	Depth  int32  // number of callers above; limited by the runtime
}

// NestedIn reports whether id is in the chain of callers above f.
func (f *Frame) NestedIn(id ID) bool {
	for c := f.Caller; c != nil; c = c.Caller {
		if c.ID == id {
			return true
		}
	}
	return false
}

// Within reports whether f is nested in what g names: g's invocation, at a step
// on g's actor, is in the chain of callers above f. An invocation that has gone
// on to another actor by a tail call holds its former one no more.
func (f *Frame) Within(g *Frame) bool {
	for c := f.Caller; c != nil; c = c.Caller {
		if c.ID == g.ID {
			return c.Actor == g.Actor
		}
	}
	return false
}

// Root is the outermost caller of f, f itself if nobody called it.
func (f *Frame) Root() *Frame {
	for f.Caller != nil {
		f = f.Caller
	}
	return f
}

// Kind says who waits for the end of an invocation.
type Kind uint8

// The kinds of requests. A chain of tail calls keeps the kind it began with.
const (
	// KindTell: nobody waits. An error is logged, counted and kept as failed.
	KindTell Kind = iota
	// KindNested: the invocation in Frame.Caller waits.
	KindNested
	// KindCall: a client waits, outside of all methods or detached from one.
	KindCall
)

// Request is a pending invocation (i, r, a.m(v)): Frame.ID is i, Frame.Caller
// is r, Frame.Actor is a. It is immutable once it was sent, and shared.
type Request struct {
	Frame
	Step    uint32 // 1 for the first; each tail call adds one
	Kind    Kind
	Method  string
	Payload []byte // the argument, opaque; owned by the request

	// Once: the id comes from (caller, step, name); the outcome is kept while
	// the caller is at that step, and it is not cancelled as an orphan.
	Once bool
	// Keyed: the id comes from an idempotency key. A request with the same key
	// and another target, method or payload is refused (ErrKeyReused).
	Keyed bool
	// InPlace: the step was entered by a tail call to its own actor that kept
	// the lock: it stands at the place of the step before it.
	InPlace bool
	// Waiter is the invocation from which a detached call was made. Nobody is
	// nested in it by that; it counts for deadlock detection only.
	Waiter ID
	// NotBefore holds a tell out of the flow until then (wall clock). Zero: now.
	NotBefore time.Time
	// Created is when the invocation was first asked for. Set by the sender;
	// a tail call keeps it.
	Created time.Time
}

// Nested reports whether an invocation waits for this one.
func (r *Request) Nested() bool { return r.Caller != nil }

// Tail makes the request of the next step of r's chain: the same id, return
// address and kind, on another method. Keep says that the lock is kept, which
// needs the same actor.
func (r *Request) Tail(to Actor, method string, payload []byte, keep bool) *Request {
	return &Request{
		Frame:   Frame{ID: r.ID, Actor: to, Caller: r.Caller, Depth: r.Depth},
		Step:    r.Step + 1,
		Kind:    r.Kind,
		Method:  method,
		Payload: payload,
		Once:    r.Once,
		Keyed:   r.Keyed,
		InPlace: keep && to == r.Actor,
		Waiter:  r.Waiter,
		Created: r.Created,
	}
}

// Attempt names one run of one step of an invocation. The zero Attempt stands
// for a client that is not in a method. N counts from 1.
type Attempt struct {
	ID   ID
	Step uint32
	N    uint32
}
