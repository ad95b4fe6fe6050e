package engine

import (
	"context"
	"time"
)

// Position is the number of a record. Positions rise over the life of an
// engine's data, also over restarts. 0 is before everything.
type Position uint64

// Engine keeps the flow and the state of one application.
type Engine interface {
	// Join makes a component a member and begins to deliver to its handler,
	// requests already waiting for its types first, in flow order. Deliveries
	// may come before Join returns. It returns ErrUnavailable when the engine
	// cannot be reached or has failed. Safe for concurrent use.
	Join(ctx context.Context, c Component, h Handler) (Session, error)

	// Close ends the engine for this process. Sessions still joined are fenced.
	Close() error
}

// Component describes what joins.
type Component struct {
	Name  string // unique among the living members
	Types []Type // what it hosts
}

// Type describes an actor type that a component hosts, as callers elsewhere
// need to know it.
type Type struct {
	Name    string
	Methods []Method // sorted by name
	// Identity says which implementation has the name, in words of the host's
	// own. Join is refused (ErrBadMethod) while a living member hosts another
	// one under the name. Empty fits any.
	Identity string
}

// Method describes a callable method.
type Method struct {
	Name     string
	ReadOnly bool
}

// Member is a component as others see it.
type Member struct {
	Component
	Session uint64
	Joined  time.Time
	Live    int // actors placed there now
}

// Session is a component's membership. All methods are safe for concurrent
// use. After the session is fenced they fail with ErrFenced and record
// nothing.
type Session interface {
	// Number is the session's number: unique, rising, never used again.
	Number() uint64

	// NewID draws a fresh invocation id.
	NewID() ID

	// Send records e in one record: the rules call and tell, and Sync. By is
	// the sending attempt; the zero Attempt for a client outside of methods.
	//
	// A request whose id is in the flow is not recorded again: its sender joins
	// those who wait. One whose id has a kept outcome is answered by
	// Handler.Respond, possibly before Send returns. The sender of a request of
	// KindNested or KindCall waits for it by that: there is no need to Attach.
	//
	// Requests of a client outside are refused with ErrOverloaded when too many
	// wait; a keyed one that differs from its first with ErrKeyReused. On an
	// error nothing was recorded. Send returns when the record is in place, not
	// when it is committed. The engine owns e's requests from then on; e itself
	// and its slices stay the caller's.
	Send(by Attempt, e *Effects) (Position, error)

	// Begin records that an attempt begins: needed for every attempt after the
	// first, and for a first attempt that re-enters an actor on which an
	// invocation above has unrecorded writes (the flush at re-entry). Under
	// names that invocation's attempt and writes its writes so far; they are
	// recorded in one record with the beginning.
	Begin(by, under Attempt, writes []Write) (Position, error)

	// Finish records e and the outcome o in one record: the rules end,
	// tail-other and tail-self. It delivers e's requests and the tail call, and
	// answers whoever waits, before it returns. A late Finish (another step, an
	// attempt that ended, an actor that moved) is refused with ErrFenced. Of one
	// that an operator has ended meanwhile the operator's outcome is recorded, and
	// nothing of e, without an error: Handler.Cancel has been called by then.
	Finish(by Attempt, e *Effects, o *Outcome) (Position, error)

	// Park takes the place of a begin: by's request leaves the flow, whoever
	// waits gets ErrParked with f as its cause, and it is kept, without return
	// address, until an operator resumes, answers, skips or cancels it. One that an
	// operator has ended meanwhile ends with the operator's outcome instead.
	Park(by Attempt, f *Failure) (Position, error)

	// Postpone moves by's request to the end of the flow (PassWhileRetrying).
	// It is delivered anew. Refused for a step that was entered in place.
	Postpone(by Attempt) (Position, error)

	// Committed reports whether the record at p, and all before it, count.
	Committed(p Position) bool

	// Wait returns when the record at p counts. It fails with ErrUnavailable
	// when the engine cannot make it count any more, or with the cause of ctx.
	Wait(ctx context.Context, p Position) error

	// Last is the position of the newest record: what a read now reflects.
	Last() Position

	// Attach makes this session one that waits for id: Handler.Respond brings
	// the outcome, possibly before Attach returns. ErrNotFound if no such
	// invocation is pending, parked or kept.
	Attach(id ID) error

	// Detach ends the wait for id, of Attach or Send, from outside of methods.
	Detach(id ID)

	// Read runs a read-only method at a component that hosts the type, on
	// recorded state, and returns its outcome and the position it reflects.
	Read(ctx context.Context, r *Request) (*Outcome, Position, error)

	// Load returns the recorded flat cells of an actor, in byte order.
	Load(ctx context.Context, a Actor) ([]Cell, error)
	// Lookup returns one recorded value; ok is false if there is none.
	Lookup(ctx context.Context, a Actor, k Key) (value []byte, ok bool, err error)
	// Scan returns up to limit recorded entries of a map cell whose entry names
	// are >= from, in byte order.
	Scan(ctx context.Context, a Actor, cell, from string, limit int) ([]Cell, error)
	// Reminders returns the recorded reminders of an actor, by name.
	Reminders(ctx context.Context, a Actor) ([]Reminder, error)

	// Release says that the component holds no instances of these actors any more:
	// they may be placed anew. Only the living component at which an actor is placed can
	// say so of it; from any other it is ignored, so it needs no token.
	Release(as ...Actor)

	// Members lists the living components, by name.
	Members() []Member

	// Operator gives the abilities of an operator.
	Operator() Operator

	// Fenced is closed when this component was declared failed. Whatever it
	// does from then on does not count.
	Fenced() <-chan struct{}

	// Leave ends the membership: its actors may be placed elsewhere at once.
	// The runtime must have drained. Pending requests are handed over.
	Leave(ctx context.Context) error
}

// Delivery is a request that an engine hands to the component on which its
// actor is placed.
type Delivery struct {
	Request *Request
	// At is the record by which the request stands in the flow. Its attempt
	// begins only when that is committed, unless StartsAtOnce.
	At Position
	// Attempts counts the attempts that have begun before, as far as recorded
	// or presumed. The next one is Attempts+1.
	Attempts uint32
	// Lost counts those of them that ended by the death of their component.
	Lost uint32
	// Await names the callees of earlier attempts that are still in the flow:
	// the next attempt begins when a Respond has come for each.
	Await []ID
	// Token is the actor's fence token: it rises with every placement.
	Token uint64
	// Paused: an operator has paused the actor; begin nothing until Pause(false).
	Paused bool
}

// StartsAtOnce reports whether the first attempt need not wait for the commit:
// step 1 of a nested call, never begun.
func (d *Delivery) StartsAtOnce() bool {
	return d.Request.Caller != nil && d.Request.Step == 1 && d.Attempts == 0
}

// Handler is a runtime as its engine sees it. An engine may call it with its
// own locks held: the methods do not block and do not call the session.
// Deliveries for one actor come in flow order, one at a time.
type Handler interface {
	// Deliver hands over a request. A step entered in place (Request.InPlace)
	// takes the place of the step before it, if that is still there.
	Deliver(d Delivery)

	// Respond brings an outcome to who waits for it here: a caller, a client,
	// or a retry that must wait for a callee of its earlier attempt.
	Respond(r Response)

	// Cancel ends an invocation delivered here with outcome o (never a tail
	// call): at once, by Finish, if no code of it runs and no callee is awaited;
	// else, if begun is set, as soon as that is so, its own writes and outcome
	// being discarded. With begun unset an invocation of which code runs or has
	// run is left alone.
	Cancel(r *Request, o *Outcome, begun bool)

	// Revoke says that an operator has ended by force an invocation delivered here,
	// after Cancel: nothing that its attempt does counts from now on. The context of
	// its code ends, and its Finish will be refused.
	Revoke(r *Request)

	// CallerGone says that the caller of a nested invocation delivered here has
	// failed. If it has not begun, is at step 1 and not Once, the runtime ends
	// it with ErrCanceled (the rule cancel); else it is left to run.
	CallerGone(r *Request)

	// Pause holds back every begin on the actor, or lets them go on.
	Pause(a Actor, on bool)

	// Forget drops the actor's instance at the next moment at which nothing
	// runs on it: its state was changed from outside.
	Forget(a Actor)

	// Begun reports whether code of the invocation runs here now.
	Begun(r *Request) bool

	// Read runs a read-only method on a fresh copy of the recorded state.
	// It is called without locks held.
	Read(ctx context.Context, r *Request) (*Outcome, error)
}
