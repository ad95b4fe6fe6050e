package engine

import (
	"errors"
	"strings"
)

// Code is one of a closed set of errors. A Code is itself an error, so it
// serves as a sentinel: errors.Is(err, ErrParked). The same word stands in Go,
// on /v1 and in logs.
type Code string

// Error gives the code as a message.
func (c Code) Error() string { return "pawl: " + string(c) }

// The codes. Whether a request may be sent again, and what its outcome is,
// stands at [Code.Retryable] and [Code.OutcomeUnknown].
const (
	// ErrNoApp: the context does not come from App.Context or a method.
	ErrNoApp Code = "no_app"
	// ErrBadMethod: the method expression cannot be called (its place is named).
	ErrBadMethod Code = "bad_method"
	// ErrNoMethod: the type has no such callable method.
	ErrNoMethod Code = "no_method"
	// ErrNoHost: no component has hosted the type for MissingTimeout. Only a call, nested or
	// not, that is at step 1 and has never begun ends so.
	ErrNoHost Code = "no_host"
	// ErrTooLarge: a payload, value or outcome is over its limit.
	ErrTooLarge Code = "too_large"
	// ErrTooDeep: more nested calls than Limits.Depth.
	ErrTooDeep Code = "too_deep"
	// ErrOverloaded: too many requests wait for the actor or in the application.
	ErrOverloaded Code = "overloaded"
	// ErrDeadlock: the call would wait for itself; the cycle is spelled out.
	ErrDeadlock Code = "deadlock"
	// ErrParked: the invocation was given up after too many attempts, and waits
	// for an operator.
	ErrParked Code = "parked"
	// ErrCanceled: an operator ended the invocation.
	ErrCanceled Code = "canceled"
	// ErrOutcomeUnknown: the wait ended, not the invocation; Attach to its id.
	ErrOutcomeUnknown Code = "outcome_unknown"
	// ErrUnavailable: the engine cannot be reached or cannot record; nothing left.
	ErrUnavailable Code = "unavailable"
	// ErrFenced: this component was declared failed.
	ErrFenced Code = "fenced"
	// ErrEnded: the attempt to which a context belongs has ended.
	ErrEnded Code = "ended"
	// ErrNotInMethod: something that only a running method may do.
	ErrNotInMethod Code = "not_in_method"
	// ErrTailCall marks the error value by which a method returns a tail call.
	ErrTailCall Code = "tail_call"
	// ErrTailMisuse: a tail call was dropped, wrapped, made twice, or by another goroutine.
	ErrTailMisuse Code = "tail_misuse"
	// ErrReadOnly: a read-only method tried to write or to send.
	ErrReadOnly Code = "read_only"
	// ErrBadState: recorded state does not decode into the cell.
	ErrBadState Code = "bad_state"
	// ErrBadPayload: an argument or a result does not encode or decode.
	ErrBadPayload Code = "bad_payload"
	// ErrNotFound: no such invocation, or its outcome is no longer kept.
	ErrNotFound Code = "not_found"
	// ErrKeyReused: the idempotency key was used for another request.
	ErrKeyReused Code = "key_reused"
)

// Retryable reports whether a method that returns an error of this code as it
// is, is run again: nothing about the request itself was wrong.
func (c Code) Retryable() bool {
	switch c {
	case ErrNoHost, ErrOverloaded, ErrUnavailable, ErrOutcomeUnknown:
		return true
	}
	return false
}

// OutcomeUnknown reports whether the request may have had effects.
func (c Code) OutcomeUnknown() bool { return c == ErrOutcomeUnknown || c == ErrFenced }

// Error is an error of ours with its place. Fields are empty where they do
// not apply.
type Error struct {
	Code       Code
	Invocation string // the id; for ErrOutcomeUnknown the one to attach to
	Actor      string // Type/ID
	Method     string
	Err        error // the detail or cause
}

// Error gives "pawl: code: Type/ID.Method (invocation): cause".
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.Code.Error())
	if e.Actor != "" {
		b.WriteString(": " + e.Actor)
		if e.Method != "" {
			b.WriteString("." + e.Method)
		}
	}
	if e.Invocation != "" {
		b.WriteString(" (invocation " + e.Invocation + ")")
	}
	if e.Err != nil {
		b.WriteString(": " + e.Err.Error())
	}
	return b.String()
}

// Unwrap gives the cause.
func (e *Error) Unwrap() error { return e.Err }

// Is makes errors.Is(err, ErrParked) work for any Error of that code.
func (e *Error) Is(target error) bool {
	c, ok := target.(Code)
	return ok && c == e.Code
}

// CodeOf gives the code of the outermost error of ours in err's tree, or "".
func CodeOf(err error) Code {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Code
	}
	if c, ok := errors.AsType[Code](err); ok {
		return c
	}
	return ""
}
