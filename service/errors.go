package service

import (
	"errors"
	"fmt"

	"github.com/pawl-go/pawl/queue"
)

// ErrRan is returned by a second Run: the handler's state may be ahead of the
// output queue. Make a new service, with a new handler.
var ErrRan = errors.New("the service has run already: make a new one with a new handler")

// ErrLetter is wrapped when the queue of dead letters is not this service's.
var ErrLetter = errors.New("not a letter of this service")

// ConfigError says which setting is wrong, and what it should be.
type ConfigError struct{ Field, Reason string }

func (e *ConfigError) Error() string { return "service: " + e.Field + " " + e.Reason }

// HandlerError says that a handler has failed on an input, by an error or by a
// panic (a *PanicError). Nothing of what it sent for that input is
// written; what came before is. A service without DeadLetters has ended.
type HandlerError struct {
	Input Hop
	Type  string // of the message, as far as it is known
	Err   error
}

func (e *HandlerError) Error() string {
	return fmt.Sprintf("handle %q at %s: %v", e.Type, e.Input, e.Err)
}

func (e *HandlerError) Unwrap() error { return e.Err }

// UnknownTypeError says that no method takes messages of a type. Write one, or set
// Config.SkipUnknown. It comes wrapped in a HandlerError, which says where.
type UnknownTypeError struct{ Type string }

func (e *UnknownTypeError) Error() string {
	return fmt.Sprintf("no method takes messages of type %q: write one, or skip them with SkipUnknown", e.Type)
}

// PanicError is the cause of a HandlerError when the handler has panicked.
type PanicError struct {
	Value any
	Stack []byte
}

func (e *PanicError) Error() string { return fmt.Sprintf("panic: %v", e.Value) }

// Unwrap gives the value of the panic if it is an error.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}

// LostInputError says that the output queue was made from an input that is not on
// its queue any more: a power cut, or a take-over by another host, has taken it
// after its output was written. Set Input.Acknowledged, and it cannot happen. To go
// on, bring the input back from a copy, or begin a new output queue.
type LostInputError struct {
	Input  Hop
	Output queue.Index // whose cause or order it is; 0: a named position
	Reason string
}

func (e *LostInputError) Error() string {
	return fmt.Sprintf("output %s was made from input %s, which is lost: %s", e.Output, e.Input, e.Reason)
}

// DivergedError says that the handler, in a replay, did not do again what the
// output queue says that it did: it is not deterministic, or not the code that it
// was. Go back to that code; or replay with it up to a snapshot and start the new
// code from there; or accept the difference with Config.TrustReplay.
type DivergedError struct {
	Input  Hop
	Output queue.Index // entry that differs, or behind which one is missing
	Reason string
}

func (e *DivergedError) Error() string {
	return fmt.Sprintf("replay of input %s differs from output %s: %s", e.Input, e.Output, e.Reason)
}

// ForeignError says that an entry of the output queue cannot be this service's:
// an output queue belongs to one service with the same inputs under the same ids.
type ForeignError struct {
	Output queue.Index
	Reason string
}

func (e *ForeignError) Error() string {
	return fmt.Sprintf("output %s is not of this service: %s", e.Output, e.Reason)
}

// SnapshotError says what is wrong with the file of a snapshot. Such a file is
// renamed to NAME.bad and told to the log; the replay is longer.
type SnapshotError struct{ Path, Reason string }

func (e *SnapshotError) Error() string { return "snapshot " + e.Path + ": " + e.Reason }
