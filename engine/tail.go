package engine

import (
	"context"
	"slices"
	"time"
)

// EventKind says what has happened.
type EventKind string

// The kinds of events. Of the invocation that ID names, unless it says else.
const (
	EventEpoch    EventKind = "epoch"    // the engine was opened: every component of before has ended
	EventJoin     EventKind = "join"     // a component (Component, Session) is a member, and hosts Types
	EventLeave    EventKind = "leave"    // a component has left, drained
	EventLost     EventKind = "lost"     // a component has failed
	EventSend     EventKind = "send"     // asked for; with Due it waits for that time
	EventDue      EventKind = "due"      // a delayed tell's time has come
	EventBegin    EventKind = "begin"    // attempt number Attempt begins: every one but most first ones
	EventRetry    EventKind = "retry"    // its component has ended with attempt number Attempt: another will come
	EventOutcome  EventKind = "outcome"  // ended with a value
	EventFailure  EventKind = "failure"  // ended with the error Failure
	EventTail     EventKind = "tail"     // the step has ended with a tail call: it goes on as ToMethod of To
	EventCancel   EventKind = "cancel"   // ended by an operator, by a purge, or since its caller has failed
	EventOverrule EventKind = "overrule" // an operator has decided how it ends, which it does once none of its code runs
	EventPark     EventKind = "park"     // given up, and kept for an operator
	EventResume   EventKind = "resume"   // a parked or failed one runs again
	EventDrop     EventKind = "drop"     // a failed tell is forgotten
	EventPostpone EventKind = "postpone" // lets those behind it pass, until it is retried
	EventWrite    EventKind = "write"    // Writes changes of Actor's state; without ID, by an operator
	EventRemind   EventKind = "remind"   // the reminder Name of Actor is set, for Due
	EventUnremind EventKind = "unremind" // the reminder Name of Actor is removed
	EventFire     EventKind = "fire"     // the reminder Name of Actor was due; a send of the same record is its firing
	EventPause    EventKind = "pause"    // nothing begins on Actor
	EventUnpause  EventKind = "unpause"  // and on again
	EventPurge    EventKind = "purge"    // state and reminders of Actor are dropped
)

// EventKinds are all of them, in the order of their list.
var EventKinds = []EventKind{
	EventEpoch, EventJoin, EventLeave, EventLost, EventSend, EventDue, EventBegin, EventRetry, EventOutcome, EventFailure,
	EventTail, EventCancel, EventOverrule, EventPark, EventResume, EventDrop, EventPostpone, EventWrite, EventRemind,
	EventUnremind, EventFire, EventPause, EventUnpause, EventPurge,
}

// Event is something that the application has done, or that was done to it: a
// part of a record that counts. Arguments, results and values are not in it.
// Fields that say nothing of its kind are zero.
type Event struct {
	At   Position // the record
	N    int      // the place among the events of the record, from 0
	Kind EventKind
	Time time.Time // when; zero if the record does not say

	ID      ID
	Step    uint32
	Attempt uint32
	Actor   Actor // of the step; zero if that is no longer known
	Method  string
	Caller  ID   // of a send: who waits for it
	Form    Kind // of a send

	To       Actor // of a tail
	ToMethod string

	Failure  *Failure // code and message; of a cancel, why
	Operator bool     // of what ended an invocation: an operator's doing
	Kept     bool     // of a failure: a tell, kept for an operator

	Component string // empty if only its session is known
	Session   uint64
	Types     []string
	Epoch     uint64

	Name   string
	Due    time.Time
	Writes int
}

// EventFilter selects events; zero fields select all. With a Type, ID, Method or
// Invocation it selects no events of components.
type EventFilter struct {
	Type, ID, Method string
	Invocation       ID
	Kinds            []EventKind
	// Until is the last record that is read: the tail ends there, with io.EOF.
	// 0: it never ends.
	Until Position
}

// Selects reports whether the filter selects e. A tail is selected by either
// of its actors.
func (f *EventFilter) Selects(e *Event) bool {
	if len(f.Kinds) > 0 && !slices.Contains(f.Kinds, e.Kind) || !f.Invocation.IsZero() && f.Invocation != e.ID {
		return false
	}
	return f.fits(e.Actor, e.Method) || e.Kind == EventTail && f.fits(e.To, e.ToMethod)
}

func (f *EventFilter) fits(a Actor, method string) bool {
	return (f.Type == "" || f.Type == a.Type) && (f.ID == "" || f.ID == a.ID) && (f.Method == "" || f.Method == method)
}

// Tail reads what an application does, record by record, at its own speed: who
// is slow reads later, and holds nobody up. It belongs to one goroutine.
type Tail interface {
	// Next returns the next events that are selected, those of one record
	// together, and waits for them until ctx ends. The slice is the caller's.
	// ErrNotFound: the records that come next are no longer kept; io.EOF: the
	// filter ends there. After an error of ctx the tail can go on; every other
	// one is final.
	Next(ctx context.Context) ([]Event, error)

	// At is the newest record that was read, selected or not: where a later
	// tail goes on is At()+1. Before the first it is the position before the
	// tail's start.
	At() Position

	// Close ends the tail. It may hold a file open until then.
	Close()
}
