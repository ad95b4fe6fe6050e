package pawl

import "github.com/pawl-go/pawl/engine"

// Code is one of a closed set of errors, and itself an error: the constants
// below are sentinels for errors.Is. The same word stands in Go, on /v1 and in
// logs. [Code.Retryable] and [Code.OutcomeUnknown] tell what may be done next.
type Code = engine.Code

// Error is an error of Pawl's own, with its place: the invocation, the actor
// and the method that it concerns, where they are known. errors.Is compares its
// code, errors.As finds it anywhere in an error's tree, and it survives any
// number of hops between actors.
type Error = engine.Error

// A programmer's mistake; the error names its place. Never retried.
const (
	// ErrNoApp: the context comes neither from App.Context nor from a method, or
	// its app is not started.
	ErrNoApp = engine.ErrNoApp
	// ErrBadMethod: the method expression has no name by which it could be
	// called: it is a closure, a method value, a plain function, or was written
	// inside generic code.
	ErrBadMethod = engine.ErrBadMethod
	// ErrNotInMethod: something that only a running method may do.
	ErrNotInMethod = engine.ErrNotInMethod
	// ErrEnded: the attempt to which a context belongs has ended: a goroutine
	// has outlived its method.
	ErrEnded = engine.ErrEnded
	// ErrTailCall marks the error value that TailCall returns. It is seen only by
	// code that looks at that value instead of returning it.
	ErrTailCall = engine.ErrTailCall
	// ErrTailMisuse: a tail call was dropped, wrapped, joined, made twice, or
	// returned by another attempt than the one that made it.
	ErrTailMisuse = engine.ErrTailMisuse
	// ErrReadOnly: a read-only method has tried to write or to send.
	ErrReadOnly = engine.ErrReadOnly
)

// The target cannot be called, now or ever.
const (
	// ErrNoMethod: the type has no such callable method. Not retried.
	ErrNoMethod = engine.ErrNoMethod
	// ErrNoHost: nobody has hosted the type for Config.MissingTimeout. Retried
	// when a method returns it.
	ErrNoHost = engine.ErrNoHost
	// ErrBadPayload: an argument or a result does not encode or decode.
	ErrBadPayload = engine.ErrBadPayload
	// ErrBadState: recorded state does not decode into its cell. The actor is
	// parked, and its state is left as it is.
	ErrBadState = engine.ErrBadState
)

// A limit was met, or the flow says no.
const (
	// ErrTooLarge: something is over its limit; the message gives size and limit.
	ErrTooLarge = engine.ErrTooLarge
	// ErrTooDeep: more nested calls than Limits.Depth.
	ErrTooDeep = engine.ErrTooDeep
	// ErrOverloaded: too many requests wait for the actor or in the application.
	// Retried when a method returns it.
	ErrOverloaded = engine.ErrOverloaded
	// ErrDeadlock: the call would wait for itself; the cycle is spelled out.
	ErrDeadlock = engine.ErrDeadlock
	// ErrParked: the invocation was given up after too many attempts, and waits
	// for an operator. For a nested caller that is final.
	ErrParked = engine.ErrParked
	// ErrCanceled: an operator ended the invocation, or its caller failed before
	// it had begun.
	ErrCanceled = engine.ErrCanceled
	// ErrNotFound: no such invocation, or its outcome is no longer kept.
	ErrNotFound = engine.ErrNotFound
	// ErrKeyReused: the idempotency key was used for another request.
	ErrKeyReused = engine.ErrKeyReused
)

// Something between here and there has failed.
const (
	// ErrUnavailable: the engine cannot be reached; nothing left this process.
	// Retried when a method returns it.
	ErrUnavailable = engine.ErrUnavailable
	// ErrOutcomeUnknown: the wait ended, not the invocation. Error.Invocation is
	// the id to Attach to. Retried when a method returns it.
	ErrOutcomeUnknown = engine.ErrOutcomeUnknown
	// ErrFenced: this component was declared failed; what it did since does not
	// count.
	ErrFenced = engine.ErrFenced
)

// misuse makes the error of a programmer's mistake found at the caller's line.
func misuse(code Code, cause error) *Error {
	return &Error{Code: code, Err: at(callerPlace(), cause)}
}
