package history

import (
	"errors"
	"fmt"
	"time"
)

// Kind is what an operation does.
type Kind string

// The kinds of operations.
const (
	Read          Kind = "read"
	Write         Kind = "write"
	CompareAndSet Kind = "compare-and-set"
	Add           Kind = "add"
)

// Operation is one operation of a client: what it asked and when, what it was
// told and when. It is a plain value.
type Operation struct {
	Key    string `json:"key"`
	Client int    `json:"client"` // has one operation at a time
	Kind   Kind   `json:"kind"`
	Arg    int64  `json:"arg,omitempty"` // what to write, to set or to add
	Old    int64  `json:"old,omitempty"` // compare-and-set: what must be there
	Via    string `json:"via,omitempty"` // how it was asked; for people

	Call   time.Duration `json:"call_ns"` // since the beginning of the recording
	Return time.Duration `json:"return_ns,omitempty"`
	Open   bool          `json:"open,omitempty"`  // never answered; what follows says nothing
	Value  int64         `json:"value,omitempty"` // told by read and add
	Set    bool          `json:"set,omitempty"`   // told by compare-and-set
}

// Apply is the sequential meaning: it gives the number after o has been applied
// to number, and whether that could have told what o was told.
func (o *Operation) Apply(number int64) (after int64, ok bool) {
	switch o.Kind {
	case Write:
		return o.Arg, true
	case Add:
		after = number + o.Arg
		return after, o.Open || o.Value == after
	case CompareAndSet:
		if number != o.Old {
			return number, o.Open || !o.Set
		}
		return o.Arg, o.Open || o.Set
	default: // Read; validate lets nothing else in
		return number, o.Open || o.Value == number
	}
}

// String says what was asked and told: "compare-and-set 3 to 7: no".
func (o *Operation) String() string {
	told := ""
	asked := string(o.Kind)
	switch o.Kind {
	case Read:
		told = fmt.Sprintf(": %d", o.Value)
	case Write:
		asked += fmt.Sprintf(" %d", o.Arg)
	case Add:
		asked += fmt.Sprintf(" %d", o.Arg)
		told = fmt.Sprintf(": %d", o.Value)
	case CompareAndSet:
		asked += fmt.Sprintf(" %d to %d", o.Old, o.Arg)
		told = ": no"
		if o.Set {
			told = ": yes"
		}
	}
	if o.Via != "" {
		asked += " (" + o.Via + ")"
	}
	if o.Open {
		told = ": no answer"
	}
	return asked + told
}

func (o *Operation) validate() error {
	switch o.Kind {
	case Read, Write, CompareAndSet, Add:
	default:
		return fmt.Errorf("kind %q is none of %s, %s, %s, %s", o.Kind, Read, Write, CompareAndSet, Add)
	}
	switch {
	case o.Key == "":
		return errors.New("an operation without a key")
	case o.Client < 0:
		return fmt.Errorf("client %d is negative", o.Client)
	case o.Call < 0:
		return fmt.Errorf("called at %v, before the recording began", o.Call)
	case !o.Open && o.Return < o.Call:
		return fmt.Errorf("returned at %v, before its call at %v; one that was never answered is marked open", o.Return, o.Call)
	}
	return nil
}

// Event is something that happened to the system, for people.
type Event struct {
	What string        `json:"what"`
	At   time.Duration `json:"at_ns"` // since the beginning of the recording
}

// History is what was recorded, in any order.
type History struct {
	Operations []Operation
	Events     []Event
}
