package runtime

import (
	"context"
	"errors"
	"fmt"

	"github.com/pawl-go/pawl/engine"
	"github.com/pawl-go/pawl/engine/trace"
)

// Read runs a read-only method: at once, outside of the flow, on a fresh copy
// of the recorded state. Outside of methods it returns when what it read is
// committed.
func (c *Component) Read(ctx context.Context, call Call) (*engine.Outcome, error) {
	n, err := c.present(ctx)
	for err == nil {
		o, failed := n.tryRead(ctx, call)
		if !errors.Is(failed, engine.ErrFenced) || From(ctx) != nil {
			return o, failed
		}
		if n, err = n.after(ctx); err != nil {
			return nil, failed
		}
	}
	return nil, err
}

// tryRead is Read in this incarnation.
func (c *Component) tryRead(ctx context.Context, call Call) (*engine.Outcome, error) {
	if err := c.open(); err != nil {
		return nil, err
	}
	if err := c.checkPayload(&call); err != nil {
		return nil, err
	}
	p := &Pending{c: c}
	c.request(p, &call, engine.KindCall)
	if inv := From(ctx); inv != nil {
		p.req.Depth = inv.req.Depth + 1
		if err := inv.tooDeep(p.req.Depth); err != nil {
			return nil, err
		}
	}
	o, at, err := c.session.Read(ctx, &p.req)
	if err != nil {
		return nil, about(err, &p.req)
	}
	if From(ctx) == nil {
		if err := c.commit(ctx, at); err != nil {
			return nil, about(err, &p.req)
		}
		if c.trace != nil {
			c.traceRelease("read", p.id, at, o)
		}
	}
	return o, nil
}

// copied makes an invocation on a fresh copy of the recorded state.
func (c *Component) copied(ctx context.Context, r *engine.Request) (*Invocation, *engine.Failure) {
	k := c.kinds[r.Actor.Type]
	if k == nil || k.Methods[r.Method] == nil || !k.Methods[r.Method].ReadOnly {
		return nil, engine.Fail(engine.ErrNoMethod, fmt.Sprintf("type %s has no read-only method %q here", r.Actor.Type, r.Method))
	}
	since := c.since()
	cells, err := c.session.Load(ctx, r.Actor)
	if err != nil {
		return nil, failureOf(err)
	}
	inst := k.New(r.Actor.ID)
	if err := inst.Load(cells); err != nil {
		return nil, engine.Fail(engine.ErrBadState, err.Error())
	}
	e := &entry{actor: &actor{id: r.Actor.ID, kind: k}, d: engine.Delivery{Request: r}}
	inv := &Invocation{c: c, e: e, req: r, n: 1, m: k.Methods[r.Method], inst: inst, read: true}
	if c.trace != nil {
		inv.traceCells(trace.Load, since, engine.TraceCells(cells))
	}
	return inv, nil
}

// handler is a component as its engine sees it.
type handler struct{ *Component }

var _ engine.Handler = handler{}

// Read runs a read-only method here, for whichever component asked.
func (h handler) Read(ctx context.Context, r *engine.Request) (*engine.Outcome, error) {
	inv, f := h.copied(ctx, r)
	if f != nil {
		f.Actor, f.Method = r.Actor.String(), r.Method
		return &engine.Outcome{Failure: f}, nil
	}
	defer inv.close(errEnded)
	res, _ := inv.invoke()
	switch {
	case res.Failure != nil:
		return &engine.Outcome{Failure: res.Failure}, nil
	case res.Tail != nil:
		return &engine.Outcome{Failure: engine.Fail(engine.ErrReadOnly, "a read-only method cannot end with a tail call")}, nil
	case res.Retry != nil:
		return &engine.Outcome{Failure: failureOf(res.Retry.Cause)}, nil
	}
	return &engine.Outcome{Value: res.Value}, nil
}
