package service

import (
	"fmt"
	"time"

	"github.com/pawl-go/pawl/queue"
)

// Kind says what an entry of a queue of services is.
type Kind uint8

const (
	// Message is what a handler has sent, or a Publisher.
	Message Kind = iota
	// Order says how far a service has come, without an output.
	Order
	// Begin says that a service began here with an empty state, or that inputs were
	// added.
	Begin
	// Dead says, on an output queue, that the input went to the queue of dead
	// letters; there it is the letter, with type and payload of the input.
	Dead
)

// String is the name for tables and logs.
func (k Kind) String() string {
	if int(k) >= len(kindNames) {
		return fmt.Sprintf("kind %d", uint8(k))
	}
	return kindNames[k]
}

var kindNames = [...]string{Message: "message", Order: "order", Begin: "begin", Dead: "dead"}

// Hop is a place in a history: an entry of a queue that is known by its number.
type Hop struct {
	Source uint32      `json:"source"` // of the queue; see Input.ID
	Index  queue.Index `json:"index"`
}

// String writes source@cycle:sequence.
func (h Hop) String() string { return fmt.Sprintf("%d@%s", h.Source, h.Index) }

// MaxHops is the longest history that a message carries; of a longer one the
// oldest hops are left out.
const MaxHops = 16

// Envelope is an entry of a queue of services, taken apart.
type Envelope struct {
	Kind Kind
	Type string    // of the message; see Handle
	Time time.Time // when the first message of the history was published; zero: not said
	// History is where the message comes from, newest first: the input that
	// caused it, the one that caused that, and so on. It is empty for a
	// published message.
	History []Hop
	Ordinal int    // among the messages of the same cause, from 0
	Reason  string // of a Dead entry
	Payload []byte
}

// Decode takes an entry apart. The payload is a part of p. The error is a
// *FormatError.
func Decode(p []byte) (Envelope, error) {
	var f frame
	if err := f.decode(p); err != nil {
		return Envelope{}, err
	}
	return f.envelope(), nil
}

// envelope is the frame for others to see; it shares the frame's slices.
func (f *frame) envelope() Envelope {
	e := Envelope{
		Kind: f.kind, Type: string(f.typ), History: f.history, Ordinal: int(f.ordinal),
		Reason: string(f.reason), Payload: f.payload,
	}
	if f.time != 0 {
		e.Time = time.Unix(0, f.time).UTC()
	}
	return e
}

// FormatError says that an entry is not a message of services. If others write
// the queue, read it with Input.Type.
type FormatError struct{ Reason string }

func (e *FormatError) Error() string {
	return "not a message of services (" + e.Reason + "); write it with a Publisher, or give the input a Type if its entries are plain"
}
