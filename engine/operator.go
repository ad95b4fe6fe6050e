package engine

import (
	"context"
	"iter"
	"time"
)

// Status is where an invocation stands.
type Status string

// The states of an invocation, as an operator sees them.
const (
	StatusScheduled Status = "scheduled" // a delayed tell, not yet in the flow
	StatusPending   Status = "pending"   // in the flow, not begun
	StatusRunning   Status = "running"   // in the flow, begun
	StatusParked    Status = "parked"    // given up, kept for an operator
	StatusFailed    Status = "failed"    // a tell or reminder that ended with an error, kept
	StatusDone      Status = "done"      // ended with a value
	StatusError     Status = "error"     // ended with an error that somebody waited for
	StatusCanceled  Status = "canceled"  // ended by an operator, or as an orphan
)

// Query selects invocations; zero fields select all.
type Query struct {
	Type, ID, Method string
	Status           Status
	Root             ID // those with this outermost caller
	Key              string
	Since            time.Time
	Limit            int // 0: no limit
}

// Info is what is known of an invocation.
type Info struct {
	Request  *Request // the present or last step
	Status   Status
	Attempts uint32
	Lost     uint32
	Host     string // the component on which its actor is placed
	Ended    time.Time
	Outcome  *Outcome // once it has ended, is parked or failed
	Callees  []ID     // in the flow now
	WaitsFor []ID     // requests before it on its actor
}

// Operator is what an operator may do. Each act is committed before it returns.
type Operator interface {
	// Invocations lists newest first.
	Invocations(ctx context.Context, q Query) iter.Seq2[Info, error]
	// Invocation returns one; ErrNotFound if it is unknown or no longer kept.
	Invocation(ctx context.Context, id ID) (Info, error)

	// Cancel ends an invocation with ErrCanceled: at once if it has not begun,
	// is scheduled, parked or failed; else its never-begun descendants are
	// cancelled and it ends when its code has returned. Force fences the running
	// attempt and all that is nested in it (nothing they do counts from then on)
	// and answers who waits at once; each actor stays locked until its code
	// returns. A cancel of what an operator is ending already changes nothing but,
	// with force, the time.
	Cancel(ctx context.Context, id ID, reason string, force bool) error
	// Answer ends an invocation with an outcome, under the rules of Cancel;
	// ErrNotFound if an operator has given it one already.
	Answer(ctx context.Context, id ID, o *Outcome) error
	// Resume puts a parked or failed invocation at the end of the flow.
	Resume(ctx context.Context, id ID) error
	// Skip drops a parked step and releases the actor that it may hold.
	Skip(ctx context.Context, id ID) error

	// Pause begins nothing on the actor until Unpause. Both are durable.
	Pause(ctx context.Context, a Actor) error
	Unpause(ctx context.Context, a Actor) error
	// Purge cancels what waits for the actor and drops its state and reminders.
	// It is refused while code runs on the actor.
	Purge(ctx context.Context, a Actor) error
	// Write changes recorded state from outside, in one record; a live instance
	// is dropped, also if there is nothing to write.
	Write(ctx context.Context, a Actor, writes []Write) error

	// Actors lists actors of a type that have state or pending requests, in
	// byte order of their ids, from an id on.
	Actors(ctx context.Context, kind, from string, limit int) ([]Actor, error)
	// Maps lists the names of the map cells of an actor that have recorded entries, in
	// byte order.
	Maps(ctx context.Context, a Actor) ([]string, error)
	// Types lists the names of all actor types hosted, stored or waited for.
	Types(ctx context.Context) ([]string, error)
	// Tail reads what happens from the first record at or after a position on: 0
	// is the oldest that is kept, Session.Last()+1 what comes next. ErrNotFound:
	// the record is no longer kept, or there was never one so new. Records that
	// do not count yet are waited for.
	Tail(ctx context.Context, from Position, f EventFilter) (Tail, error)
	// Stats counts.
	Stats(ctx context.Context) (Stats, error)
}

// Stats are counts at one moment.
type Stats struct {
	Pending, Scheduled, Parked, Failed, Reminders int
	Paused                                        []Actor
	Last, Committed                               Position
	Epoch                                         uint64
	JournalBytes                                  int64
	Durability                                    string
}
