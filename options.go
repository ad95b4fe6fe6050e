package pawl

import (
	"time"

	"github.com/pawl-go/pawl/internal/runtime"
)

// CallOption is an option of Call, Go and CallRaw.
type CallOption interface {
	callOption(runtime.Call) runtime.Call
}

// TellOption is an option of Tell and Start.
type TellOption interface {
	tellOption(runtime.Call) runtime.Call
}

// TailOption is an option of TailCall and TailSelf.
type TailOption interface {
	tailOption(runtime.Tail) runtime.Tail
}

// SendOption is an option of calls and of tells.
type SendOption interface {
	CallOption
	TellOption
}

// callFunc is an option of calls and tells.
type callFunc func(runtime.Call) runtime.Call

func (f callFunc) callOption(c runtime.Call) runtime.Call { return f(c) }
func (f callFunc) tellOption(c runtime.Call) runtime.Call { return f(c) }

type tailFunc func(runtime.Tail) runtime.Tail

func (f tailFunc) tailOption(t runtime.Tail) runtime.Tail { return f(t) }

// Key gives the request an idempotency key, of at most 1 KiB: within the
// application, and for the engine's retention time, requests with one key are
// one invocation. A duplicate joins the first, running or ended; one with
// another target, method or input is refused with ErrKeyReused. An empty key is
// none.
func Key(k string) SendOption {
	return callFunc(func(c runtime.Call) runtime.Call { c.Key = k; return c })
}

// Once gives a call or tell that a method makes a name, of at most 1 KiB, under
// which the step of the invocation makes it once: a retry joins the call of the
// earlier attempt, running or ended. Names of different calls of one step must
// differ. Outside of methods it is refused with ErrNotInMethod; use [Key] there.
func Once(name string) SendOption {
	return callFunc(func(c runtime.Call) runtime.Call { c.Once = name; return c })
}

// WithOutcome holds a tell of a method until its outcome, whatever the method
// sends in between. It replaces Immediately; outside of methods it does nothing.
func WithOutcome() TellOption {
	return callFunc(func(c runtime.Call) runtime.Call {
		c.WithOutcome, c.Immediately = true, false
		return c
	})
}

// Immediately sends a tell of a method now, with all that were held before it,
// in order; a retry of the method sends it again. It replaces WithOutcome;
// outside of methods it does nothing.
func Immediately() TellOption {
	return callFunc(func(c runtime.Call) runtime.Call {
		c.Immediately, c.WithOutcome = true, false
		return c
	})
}

// ReleaseLock lets a tail call to the method's own actor release the actor's
// lock: the next step goes to the end of the flow, and others may run on the
// actor before it. A tail call to another actor does so anyway.
func ReleaseLock() TailOption {
	return tailFunc(func(t runtime.Tail) runtime.Tail { t.Release = true; return t })
}

// Delay is a moment in the future: an option of Tell and Start, and when a
// reminder fires.
type Delay struct {
	after time.Duration
	at    time.Time // if after does not count
}

// After is d from now, by the wall clock. What is not positive is now.
func After(d time.Duration) Delay { return Delay{after: d} }

// At is the moment t, by the wall clock. A t in the past is now.
func At(t time.Time) Delay { return Delay{at: t} }

func (d Delay) tellOption(c runtime.Call) runtime.Call {
	if d.at.IsZero() && d.after <= 0 {
		c.NotBefore = time.Time{}
		return c
	}
	c.NotBefore = d.moment()
	return c
}

func (d Delay) moment() time.Time {
	if d.at.IsZero() {
		return time.Now().Add(d.after)
	}
	return d.at
}
