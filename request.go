package pawl

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/pawl-go/pawl/engine"
	"github.com/pawl-go/pawl/internal/runtime"
)

// request is a call being made.
type request struct {
	origin
	readOnly bool // the method is
	call     runtime.Call
}

// prepare resolves who calls, what is called, and the method's name; it gives
// the method its typed thunk on the first call. The generic part is kept small.
func prepare[A, In, Out any](ctx context.Context, to Ref[A], m func(A, context.Context, In) (Out, error)) (request, error) {
	ref := methodOf(m)
	r, h, err := newRequest(ctx, to.actor(), ref)
	if err == nil && h != nil {
		adopt(h, typedMethod[A, In, Out](m))
	}
	return r, err
}

func newRequest(ctx context.Context, to engine.Actor, ref *methodRef) (request, *home, error) {
	if ref.err != nil {
		return request{}, nil, ref.err
	}
	o, err := originOf(ctx)
	if err != nil {
		return request{}, nil, err
	}
	r := request{origin: o, call: runtime.Call{To: to, Method: ref.name, Detached: o.detached}}
	if err := r.checkTarget(); err != nil {
		return r, nil, err
	}
	h := o.app.home(ref, to.Type, o.comp)
	r.readOnly = h.readOnly
	return r, h, nil
}

// checkTarget refuses what no actor can be called.
func (r *request) checkTarget() error {
	to := r.call.To
	if to.Type == "" {
		return misuse(ErrBadMethod, errors.New("the reference names no actor type"))
	}
	if len(to.Type) <= maxName && len(r.call.Method) <= maxName && len(to.ID) <= maxKey {
		return nil
	}
	return cmp.Or(
		checkName("type name", to.Type, maxName),
		checkName("method name", r.call.Method, maxName),
		checkName("actor id", to.ID, maxKey))
}

// encode sets the argument.
func (r *request) encode(in any) error {
	payload, err := encode(r.app.cfg.Codec, in)
	if err != nil {
		return r.about(badPayload("encode", "argument", in, err))
	}
	r.call.Payload = payload
	return r.checkPayload()
}

func (r *request) checkPayload() error {
	return r.about(checkSize(anArgument, len(r.call.Payload), r.app.cfg.Limits.Payload))
}

// checkOptions refuses what the options make of the call.
func (r *request) checkOptions() error {
	switch c := &r.call; {
	case c.Once != "" && r.inv == nil:
		return r.about(misuse(ErrNotInMethod, errors.New("Once names a call within an invocation; outside of methods use Key")))
	case c.Once != "" && c.Key != "":
		return r.about(misuse(ErrBadMethod, errors.New("a call has a Key or is made Once, not both")))
	default:
		return r.about(cmp.Or(
			checkName("key", c.Key, maxKey),
			checkName("name of a call made once", c.Once, maxKey)))
	}
}

// wait makes the call and waits for its outcome.
func (r *request) wait(ctx context.Context) (*engine.Outcome, error) {
	var o *engine.Outcome
	var err error
	switch {
	case r.readOnly:
		o, err = r.comp.Read(ctx, r.call)
	case r.inv != nil:
		o, err = r.inv.Call(ctx, r.call)
	default:
		o, err = r.comp.Call(ctx, r.call)
	}
	return o, r.about(err)
}

// send makes the call, to be waited for later.
func (r *request) send(ctx context.Context) (*runtime.Pending, error) {
	if err := r.inFlow(); err != nil {
		return nil, err
	}
	var p *runtime.Pending
	var err error
	if r.inv != nil {
		p, err = r.inv.Go(ctx, r.call)
	} else {
		p, err = r.comp.Go(ctx, r.call)
	}
	return p, r.about(err)
}

// tell makes a call that nobody waits for.
func (r *request) tell(ctx context.Context) error {
	if err := r.inFlow(); err != nil {
		return err
	}
	var err error
	if r.inv != nil {
		_, err = r.inv.Tell(ctx, r.call)
	} else {
		_, err = r.comp.Tell(ctx, r.call)
	}
	return r.about(err)
}

// inFlow refuses read-only methods where a request enters the flow.
func (r *request) inFlow() error {
	if !r.readOnly {
		return nil
	}
	return r.about(misuse(ErrNoMethod, errors.New("the method is read-only: it answers at once, to Call alone")))
}

// about adds to an error of ours which request it was about.
func (r *request) about(err error) error {
	if err == nil {
		return nil
	}
	e, ok := err.(*Error) //nolint:errorlint // only the outermost is ours to complete
	if !ok {
		e = &Error{Code: engine.CodeOf(err), Err: err}
		if e.Code == "" {
			return fmt.Errorf("call %s.%s: %w", r.call.To, r.call.Method, err)
		}
	}
	if e.Actor != "" {
		return e
	}
	with := *e
	with.Actor, with.Method = r.call.To.String(), r.call.Method
	return &with
}

// resultOf decodes an outcome.
func resultOf[Out any](app *App, o *engine.Outcome) (out Out, err error) {
	if o.Failure != nil {
		return out, errorOf(o.Failure)
	}
	if err := decode(app.cfg.Codec, o.Value, &out); err != nil {
		var none Out
		return none, badPayload("decode", "result", out, err)
	}
	return out, nil
}
