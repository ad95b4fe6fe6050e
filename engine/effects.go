package engine

import "time"

// Key names one piece of an actor's durable state: a flat cell, or an entry
// of a map cell. The two never collide. Every byte string is legal.
type Key struct {
	Cell  string
	Entry string
	InMap bool // an entry of the map named Cell
}

// Cell is a recorded piece of state. Value is read-only and may be shared.
type Cell struct {
	Key
	Value []byte
}

// WriteOp says what a write does.
type WriteOp uint8

// The kinds of writes.
const (
	Put    WriteOp = iota // set Key to Value
	Delete                // remove Key
	Clear                 // remove every entry of the map Key.Cell
)

// Write is a change of an actor's state. The value is owned by the write.
type Write struct {
	Op WriteOp
	Key
	Value []byte
}

// Misfire says what becomes of the firings of a reminder that were due while
// nothing ran.
type Misfire uint8

// The ways to deal with missed firings.
const (
	FireOnce Misfire = iota // one at once, then on schedule (the default)
	FireAll                 // each of them
	FireNone                // none, on with the schedule
)

// Reminder is a durable timer of an actor. A firing is a tell whose id comes
// from (actor, name, generation, due time), so that recorded twice it is one.
type Reminder struct {
	Actor   Actor
	Name    string
	Method  string
	Payload []byte
	Due     time.Time     // the next firing, wall clock
	Every   time.Duration // 0: once
	Misfire Misfire
}

// ReminderChange sets a reminder, replacing one of the same name, or removes it.
type ReminderChange struct {
	Reminder
	Remove bool // only Actor and Name count
}

// Effects is what one step commits at once. Within a record the order is:
// writes, reminders, requests, and then the outcome if it has one.
type Effects struct {
	Writes    []Write // of the actor of the attempt
	Reminders []ReminderChange
	Requests  []*Request
}

// Empty reports whether there is nothing to record.
func (e *Effects) Empty() bool {
	return len(e.Writes) == 0 && len(e.Reminders) == 0 && len(e.Requests) == 0
}

// Outcome is how a step ends: a value, an error, or a tail call. At most one
// of Failure and Tail is set; with neither it is Value.
type Outcome struct {
	Value   []byte // opaque; nil for none
	Failure *Failure
	Tail    *Request // made by Request.Tail
}

// Response is the final outcome of an invocation, on its way to who waits.
type Response struct {
	ID      ID
	Outcome *Outcome // never a tail call
	At      Position // the record of the outcome
}
