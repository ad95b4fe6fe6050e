package pawl

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/pawl-go/pawl/engine"
	"github.com/pawl-go/pawl/internal/runtime"
)

// Call runs a method of an actor, named by its method expression, and waits for
// the result:
//
//	balance, err := pawl.Call(ctx, pawl.Actor[*Account]("alice"), (*Account).Deposit, Deposit{Amount: 5})
//
// Outside of methods ctx comes from [App.Context]; in a method it is the method's,
// and the call is nested: the actor's turn is given up while it waits, and callees
// may call back into it. A retry of the method makes the call anew, after the
// earlier one has ended; with [Once] it joins the earlier one.
//
// The error is that of the method (*AppError, *PanicError) or one of ours
// (*Error). The end of ctx ends the wait, not the invocation: ErrOutcomeUnknown,
// with the id to [Attach] to. In one invocation one goroutine waits at a time;
// outside, Call may be used from any number.
func Call[A, In, Out any](
	ctx context.Context, to Ref[A], m func(A, context.Context, In) (Out, error), in In, opts ...CallOption,
) (out Out, err error) {
	r, err := prepare(ctx, to, m)
	if err != nil {
		return out, err
	}
	if err := r.encode(in); err != nil {
		return out, err
	}
	if err := r.applyCall(opts); err != nil {
		return out, err
	}
	o, err := r.wait(ctx)
	if err != nil {
		return out, err
	}
	return resultOf[Out](r.app, o)
}

// Go begins a call and goes on beside it; [Future.Wait] gives the result. In a
// method the call is nested in it, and the method is held at its end until it has
// ended, waited for or not. Outside, Go is like [Start]: it returns when the
// request cannot be lost. An error shows at Wait.
func Go[A, In, Out any](
	ctx context.Context, to Ref[A], m func(A, context.Context, In) (Out, error), in In, opts ...CallOption,
) *Future[Out] {
	r, err := prepare(ctx, to, m)
	if err == nil {
		err = r.encode(in)
	}
	if err == nil {
		err = r.applyCall(opts)
	}
	return begin[Out](ctx, &r, err)
}

// Tell runs a method without waiting for it. Its error, if there is one, is
// logged and kept for an operator (failed), who can run it again. Outside of
// methods Tell returns when the request cannot be lost under the engine's
// durability. In a method it is held, and leaves with all held before it, in
// order: ahead of the next request the method sends, at [Sync], or together with
// the outcome; a method that fails sends none of those still held.
func Tell[A, In, Out any](
	ctx context.Context, to Ref[A], m func(A, context.Context, In) (Out, error), in In, opts ...TellOption,
) error {
	r, err := prepare(ctx, to, m)
	if err != nil {
		return err
	}
	if err := r.encode(in); err != nil {
		return err
	}
	if err := r.applyTell(opts); err != nil {
		return err
	}
	return r.tell(ctx)
}

// Start begins an invocation of its own, whose id any process can [Attach] to,
// and returns when it cannot be lost under the engine's durability. In a method
// it is not nested (see [Detach]). A delay holds it out of the flow until then.
func Start[A, In, Out any](
	ctx context.Context, to Ref[A], m func(A, context.Context, In) (Out, error), in In, opts ...TellOption,
) (*Future[Out], error) {
	r, err := prepare(ctx, to, m)
	if err != nil {
		return nil, err
	}
	if err := r.encode(in); err != nil {
		return nil, err
	}
	r.call.Detached = r.inv != nil
	if err := r.applyTell(opts); err != nil {
		return nil, err
	}
	f := begin[Out](ctx, &r, nil)
	if f.err != nil {
		return nil, f.err
	}
	return f, nil
}

// CallRaw is [Call] by names, without Go types: in and the result are as the
// application's codec (JSON by default) has them. Nil stands for None.
func CallRaw(
	ctx context.Context, kind, id, method string, in json.RawMessage, opts ...CallOption,
) (json.RawMessage, error) {
	r, _, err := newRequest(ctx, engine.Actor{Type: kind, ID: id}, &methodRef{name: method})
	if err != nil {
		return nil, err
	}
	r.call.Payload = in
	if err := r.checkPayload(); err != nil {
		return nil, err
	}
	if err := r.applyCall(opts); err != nil {
		return nil, err
	}
	o, err := r.wait(ctx)
	if err != nil {
		return nil, err
	}
	if o.Failure != nil {
		return nil, errorOf(o.Failure)
	}
	return o.Value, nil
}

func (r *request) applyCall(opts []CallOption) error {
	if len(opts) == 0 {
		return nil
	}
	for _, o := range opts {
		r.call = o.callOption(r.call)
	}
	return r.checkOptions()
}

func (r *request) applyTell(opts []TellOption) error {
	if len(opts) == 0 {
		return nil
	}
	for _, o := range opts {
		r.call = o.tellOption(r.call)
	}
	return r.checkOptions()
}

// Future is a call that goes on. Outside of methods any number of goroutines may
// wait for it, any number of times; in a method one goroutine waits at a time.
type Future[Out any] struct {
	app *App
	p   *runtime.Pending
	err error // the request did not leave
}

func begin[Out any](ctx context.Context, r *request, err error) *Future[Out] {
	f := &Future[Out]{app: r.app, err: err}
	if err == nil {
		f.p, f.err = r.send(ctx)
	}
	return f
}

// Attach gives a future of an invocation that was begun elsewhere or earlier, by
// its id. An error shows at Wait: ErrNotFound if the invocation is unknown or its
// outcome is no longer kept.
func Attach[Out any](ctx context.Context, id string) *Future[Out] {
	o, err := originOf(ctx)
	if err != nil {
		return &Future[Out]{err: err}
	}
	parsed, err := engine.ParseID(id)
	if err != nil {
		return &Future[Out]{app: o.app, err: &Error{Code: ErrNotFound, Invocation: id, Err: err}}
	}
	return &Future[Out]{app: o.app, p: o.comp.Attach(parsed)}
}

// ID names the invocation, for Attach and for people; "" if the request did not
// leave.
func (f *Future[Out]) ID() string {
	if f.p == nil {
		return ""
	}
	return f.p.ID().String()
}

// Wait returns the result, as [Call] does. The end of ctx ends the wait only.
func (f *Future[Out]) Wait(ctx context.Context) (out Out, err error) {
	switch {
	case f.err != nil:
		return out, f.err
	case f.p == nil:
		return out, misuse(ErrNotFound, errors.New("the future is a zero value"))
	}
	o, err := f.p.Wait(ctx)
	if err != nil {
		return out, err
	}
	return resultOf[Out](f.app, o)
}
