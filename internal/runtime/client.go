package runtime

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/pawl-go/pawl/engine"
)

// Call makes a request from outside of methods and waits for its outcome. An
// error is one of ours; the error of a method is in the outcome.
func (c *Component) Call(ctx context.Context, call Call) (*engine.Outcome, error) {
	p, _, err := c.send(ctx, call, engine.KindCall, ctx.Done() == nil)
	if err != nil {
		return nil, err
	}
	o, err := p.await(ctx)
	if err != nil {
		p.giveUp()
	}
	return o, err
}

// Go makes a request from outside of methods, and returns when it cannot be
// lost any more.
func (c *Component) Go(ctx context.Context, call Call) (*Pending, error) {
	p, at, err := c.send(ctx, call, engine.KindCall, false)
	if err != nil {
		return nil, err
	}
	if err := p.acknowledged(ctx, at); err != nil {
		return nil, err
	}
	return p, nil
}

// Tell makes a request whose outcome nobody waits for, from outside of
// methods, and returns when it cannot be lost any more.
func (c *Component) Tell(ctx context.Context, call Call) (engine.ID, error) {
	p, at, err := c.send(ctx, call, engine.KindTell, false)
	if err != nil {
		return engine.ID{}, err
	}
	return p.id, p.acknowledged(ctx, at)
}

// acknowledged returns when p's request, recorded at a position, counts.
func (p *Pending) acknowledged(ctx context.Context, at engine.Position) error {
	if err := p.c.commit(ctx, at); err != nil {
		return p.unknown(err)
	}
	if p.c.trace != nil {
		p.c.traceRelease("ack", p.id, at, nil)
	}
	return nil
}

// Attach waits for an invocation by its id.
func (c *Component) Attach(id engine.ID) *Pending { return c.newest.Load().attach(id) }

func (c *Component) attach(id engine.ID) *Pending {
	p := &Pending{c: c, id: id}
	err := c.open()
	if err == nil {
		c.mu.Lock()
		c.addWait(id, p)
		c.mu.Unlock()
		if err = c.session.Attach(id); err != nil {
			c.dropWait(p)
		}
	}
	if !errors.Is(err, engine.ErrFenced) { // else the wait sees whether another incarnation follows
		p.err = err
	}
	return p
}

// send records a request from outside. If the incarnation ends meanwhile, the
// next one finds out whether it is recorded, and sends it again if it is not.
func (c *Component) send(ctx context.Context, call Call, kind engine.Kind, inline bool) (*Pending, engine.Position, error) {
	n, err := c.present(ctx)
	if err != nil {
		return nil, 0, err
	}
	for {
		p, at, err := n.trySend(call, kind, inline)
		if !errors.Is(err, engine.ErrFenced) {
			return p, at, err
		}
		next, gone := n.after(ctx)
		switch {
		case gone == nil:
		case p == nil || errors.Is(gone, engine.ErrFenced):
			return nil, 0, err
		default:
			return nil, 0, p.unknown(context.Cause(ctx))
		}
		n = next
		if p == nil {
			continue
		}
		q := n.attach(p.id)
		q.req = p.req
		if !errors.Is(q.err, engine.ErrNotFound) {
			if kind == engine.KindTell {
				q.giveUp()
			}
			return q, n.session.Last(), q.err
		}
	}
}

// trySend records a request from outside in this incarnation. No Pending with an
// error: it did not leave.
func (c *Component) trySend(call Call, kind engine.Kind, inline bool) (*Pending, engine.Position, error) {
	if err := c.open(); err != nil {
		return nil, 0, err
	}
	if err := c.checkPayload(&call); err != nil {
		return nil, 0, err
	}
	p := &Pending{c: c, inline: inline}
	c.request(p, &call, kind)
	if kind != engine.KindTell {
		c.mu.Lock()
		c.addWait(p.id, p)
		c.mu.Unlock()
	}
	at, err := c.session.Send(engine.Attempt{}, &p.eff)
	if err != nil && kind != engine.KindTell {
		c.dropWait(p)
	}
	return p, at, about(err, &p.req)
}

// request fills in p's request, but for what only a nested one has.
func (c *Component) request(p *Pending, call *Call, kind engine.Kind) {
	p.req = engine.Request{
		Frame:     engine.Frame{Actor: call.To},
		Step:      1,
		Kind:      kind,
		Method:    call.Method,
		Payload:   call.Payload,
		Keyed:     call.Key != "",
		NotBefore: call.NotBefore,
		Created:   time.Now(),
	}
	if call.Key != "" {
		p.req.ID = engine.Derive("key", call.Key)
	} else {
		p.req.ID = c.session.NewID()
	}
	p.id = p.req.ID
	p.reqs[0] = &p.req
	p.eff.Requests = p.reqs[:]
}

// open reports whether the component takes calls.
func (c *Component) open() error {
	select {
	case <-c.joined:
	default:
		return &engine.Error{Code: engine.ErrUnavailable, Err: fmt.Errorf("the component has not started")}
	}
	select {
	case <-c.ended:
		return &engine.Error{Code: engine.ErrFenced, Err: fmt.Errorf("the component has ended")}
	default:
		return nil
	}
}

func (c *Component) checkPayload(call *Call) error {
	if len(call.Payload) <= c.cfg.PayloadLimit {
		return nil
	}
	return &engine.Error{
		Code: engine.ErrTooLarge, Actor: call.To.String(), Method: call.Method,
		Err: fmt.Errorf("the argument has %d bytes, the limit is %d", len(call.Payload), c.cfg.PayloadLimit),
	}
}

// about adds to an error of the engine which request it was about.
func about(err error, r *engine.Request) error {
	if err == nil {
		return nil
	}
	if e, ok := err.(*engine.Error); ok && e.Actor == "" { //nolint:errorlint // only the outermost is ours to complete
		with := *e
		with.Actor, with.Method = r.Actor.String(), r.Method
		return &with
	}
	return err
}
