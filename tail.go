package pawl

import (
	"context"
	"errors"
	"fmt"
	"runtime"

	"github.com/pawl-go/pawl/engine"
	rt "github.com/pawl-go/pawl/internal/runtime"
)

// TailCall ends the method's step and starts that one, in one step of the flow:
// the invocation keeps its id and whoever waits for it, and there is no moment at
// which neither runs. The method's writes and tells are recorded with it. What it
// returns must be returned by the method as it is:
//
//	return pawl.TailCall(ctx, to, (*Account).Deposit, Deposit{Amount: n})
//
// A tail call that is dropped, wrapped, joined, made twice or returned by another
// attempt ends the invocation with ErrTailMisuse and its place, and nothing is
// recorded. To the method's own actor the lock is kept (see [ReleaseLock]);
// tail-other and tail-self are the rules. Outside of methods the error is
// ErrNotInMethod, in a read-only one ErrReadOnly.
func TailCall[A, In, Out any](
	ctx context.Context, to Ref[A], m func(A, context.Context, In) (Out, error), in In, opts ...TailOption,
) (out Out, err error) {
	r, err := prepare(ctx, to, m)
	if err == nil {
		err = r.tail(in, opts)
	}
	return out, err
}

// TailSelf is [TailCall] to the actor that the method runs on.
func TailSelf[A, In, Out any](
	ctx context.Context, m func(A, context.Context, In) (Out, error), in In, opts ...TailOption,
) (out Out, err error) {
	inv := rt.From(ctx)
	if inv == nil {
		return out, misuse(ErrNotInMethod, errors.New("a tail call is for methods"))
	}
	self := inv.Self()
	r, err := prepare(ctx, Ref[A]{Type: self.Type, ID: self.ID}, m)
	if err == nil {
		err = r.tail(in, opts)
	}
	return out, err
}

// tailCall is the error by which a method returns a tail call. It is kept with
// the attempt that made it, so that any other way to end is noticed.
type tailCall struct {
	inv  *rt.Invocation
	call rt.Tail
	pc   uintptr   // where it was made
	also *tailCall // another one, made before
}

// Error is seen by who looks at the error instead of returning it.
func (t *tailCall) Error() string {
	return fmt.Sprintf("%v: to %v.%s: return it as it is", ErrTailCall, t.call.To, t.call.Method)
}

// Is makes it an ErrTailCall.
func (t *tailCall) Is(target error) bool { return target == error(ErrTailCall) }

// tail makes the tail call, and returns it.
func (r *request) tail(in any, opts []TailOption) error {
	if r.inv == nil {
		return r.about(misuse(ErrNotInMethod, errors.New("a tail call is for methods")))
	}
	if err := r.inv.Check(); err != nil {
		return err
	}
	if r.inv.ReadOnly() {
		return r.about(misuse(ErrReadOnly, errors.New("a read-only method cannot end with a tail call")))
	}
	if err := r.inFlow(); err != nil {
		return err
	}
	if err := r.encode(in); err != nil {
		return err
	}
	t := &tailCall{inv: r.inv, call: rt.Tail{To: r.call.To, Method: r.call.Method, Payload: r.call.Payload}}
	for _, o := range opts {
		t.call = o.tailOption(t.call)
	}
	var pcs [1]uintptr
	runtime.Callers(3, pcs[:]) // of TailCall
	t.pc = pcs[0]
	if i, ok := r.inv.Instance().(*instance); ok {
		i.noteTail(t)
	}
	return t
}

// noteTail keeps a tail call with its attempt.
func (i *instance) noteTail(t *tailCall) {
	i.tails.Lock()
	defer i.tails.Unlock()
	t.also, _ = t.inv.Host().(*tailCall)
	t.inv.SetHost(t)
}

// tailOf gives the last tail call that the attempt made.
func (i *instance) tailOf(inv *rt.Invocation) *tailCall {
	if inv.Host() == nil {
		return nil
	}
	i.tails.Lock()
	defer i.tails.Unlock()
	t, _ := inv.Host().(*tailCall)
	return t
}

// end is the result of an attempt that made the tail call and returned err.
func (t *tailCall) end(err error) rt.Result {
	switch {
	case t.also != nil:
		return t.misused(fmt.Sprintf("made twice, first at %s", pcPlace(t.also.pc)))
	case err == error(t): //nolint:errorlint // exactly this value
		return rt.Result{Tail: &t.call}
	case err == nil:
		return t.misused("dropped: the method returned no error")
	case errors.Is(err, ErrTailCall):
		return t.misused("wrapped or joined: its error must be returned as it is")
	}
	return t.misused(fmt.Sprintf("dropped: the method returned the error %q", err))
}

func (t *tailCall) misused(how string) rt.Result {
	f := engine.Fail(ErrTailMisuse, fmt.Sprintf("%s: the tail call to %v.%s was %s",
		pcPlace(t.pc), t.call.To, t.call.Method, how))
	f.Invocation, f.Actor, f.Method = t.inv.ID().String(), t.inv.Self().String(), t.inv.Method()
	return rt.Result{Failure: f}
}

// foreignTail is the misuse of an attempt that returned a tail call which it has
// not made, or nil.
func foreignTail(err error) *engine.Failure {
	t := findTail(err, maxCauses)
	if t == nil {
		return nil
	}
	return engine.Fail(ErrTailMisuse, fmt.Sprintf("%s: the tail call to %v.%s was made by another attempt or invocation (%v)",
		pcPlace(t.pc), t.call.To, t.call.Method, t.inv.ID()))
}

// findTail looks for a tail call in an error's tree.
func findTail(err error, depth int) *tailCall {
	if t, ok := err.(*tailCall); ok || depth == 0 { //nolint:errorlint // one level at a time is the point
		return t
	}
	for _, below := range unwrap(err) {
		if t := findTail(below, depth-1); t != nil {
			return t
		}
	}
	return nil
}
