package local

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/pawl-go/pawl/engine"
	"github.com/pawl-go/pawl/engine/trace"
)

// operator gives the abilities of an operator. What waits for a commit waits
// without the engine's lock.
type operator struct{ e *Engine }

var _ engine.Operator = operator{}

// act runs f under the lock, and waits until the record at the position that
// it returns counts; 0 for none.
func (o operator) act(ctx context.Context, f func(*flow) (engine.Position, error)) error {
	at, err := o.locked(f)
	if err != nil || at == 0 {
		return err
	}
	return o.acted(ctx, at)
}

// acted returns when the record at p, on which an act rests, counts.
func (o operator) acted(ctx context.Context, p engine.Position) error {
	if err := o.e.wait(ctx, p); err != nil {
		return err
	}
	if o.e.trace != nil {
		o.e.trace.Record(trace.Event{Kind: trace.Release, Op: "operator", At: uint64(p)})
	}
	return nil
}

func (o operator) locked(f func(*flow) (engine.Position, error)) (engine.Position, error) {
	o.e.mu.Lock()
	defer o.e.mu.Unlock()
	if err := o.e.usable(); err != nil {
		return 0, err
	}
	return f(o.e.mu.f)
}

// Cancel implements engine.Operator.
func (o operator) Cancel(ctx context.Context, id engine.ID, reason string, force bool) error {
	if reason == "" {
		reason = "cancelled by an operator"
	}
	return o.end(ctx, id, func(p *pending) *engine.Outcome {
		return &engine.Outcome{Failure: failureOf(p, engine.ErrCanceled, reason)}
	}, force)
}

// Answer implements engine.Operator.
func (o operator) Answer(ctx context.Context, id engine.ID, out *engine.Outcome) error {
	if out == nil || out.Tail != nil {
		return fmt.Errorf("answer %s: the outcome is to be a value or a failure", id)
	}
	return o.end(ctx, id, func(*pending) *engine.Outcome { return out }, false)
}

// end ends an invocation with an outcome: at once if no code of it runs or it
// is forced, else when its code has returned.
func (o operator) end(ctx context.Context, id engine.ID, outcome func(*pending) *engine.Outcome, force bool) error {
	var gone chan struct{}
	err := o.act(ctx, func(f *flow) (at engine.Position, err error) {
		p := f.reqs[id]
		if p == nil {
			return 0, notFound(id)
		}
		at, gone, err = o.e.endByOperator(p, outcome(p), force)
		return at, err
	})
	if err != nil || gone == nil {
		return err
	}
	select {
	case <-gone:
		return o.acted(ctx, engine.Position(o.e.last.Load()))
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-o.e.quit:
		return unavailable(errClosed)
	}
}

// endByOperator records the end of p, or that it is to end. It returns a
// channel if p has not begun and ends at once, by its handler. mu is held.
func (e *Engine) endByOperator(p *pending, out *engine.Outcome, force bool) (at engine.Position, gone chan struct{}, err error) {
	if p.status != inFlow {
		at, err = e.conclude(p, out, flagOperator)
		return at, nil, err
	}
	if p.ending != nil { // the first decision stands
		if out.Failure == nil || out.Failure.Code != string(engine.ErrCanceled) {
			return 0, nil, decided(p)
		}
		if out = p.ending; !force {
			return engine.Position(e.last.Load()), p.gone, nil
		}
	}
	if force {
		at, err = e.endByForce(p, out)
		return at, nil, err
	}
	e.cancelCallees(p)
	host, req := p.host, p.req
	if host == nil || host.gone {
		at, err = e.conclude(p, out, flagOperator)
		return at, nil, err
	}
	runs := host.handler.Begun(req)
	w := newEncoder()
	defer w.free()
	w.outcome(opEnding, &ending{id: req.ID, step: req.Step, o: out, ended: e.set.Now(), flags: flagOperator})
	if at, err = e.append(w); err != nil {
		return 0, nil, err
	}
	e.mu.f.overrule(p, out)
	e.applied(at)
	host.handler.Cancel(req, out, true)
	if runs || p.child != nil {
		return at, nil, nil // when its code, or what it waits for, has ended
	}
	if p.gone == nil {
		p.gone = make(chan struct{})
	}
	return at, p.gone, nil
}

// endByForce records the end of p now, and before it the end of all that is nested in
// it, innermost first: none of their code counts from here on, so that nothing has to
// wait for it, and what waits inside them goes on to its own end. Where code runs, or is
// about to, a tomb keeps the actor until that has returned. mu is held.
func (e *Engine) endByForce(p *pending, out *engine.Outcome) (at engine.Position, err error) {
	for _, c := range slices.Collect(p.children) {
		end := c.ending
		if end == nil {
			end = &engine.Outcome{Failure: failureOf(c, engine.ErrCanceled, "its caller was ended by an operator, by force")}
		}
		if at, err = e.endByForce(c, end); err != nil {
			return at, err
		}
	}
	host, req := p.host, p.req
	if host == nil || host.gone {
		return e.conclude(p, out, flagOperator)
	}
	if at, err = e.conclude(p, out, flagOperator|flagForced); err == nil {
		host.handler.Cancel(req, out, true)
		host.handler.Revoke(req)
	}
	return at, err
}

// decided is the error of an answer for what has an operator's outcome already.
func decided(p *pending) error {
	return &engine.Error{
		Code: engine.ErrNotFound, Invocation: p.req.ID.String(),
		Err: errors.New("it is no longer to be answered: an operator has given it an outcome, recorded when its code has returned"),
	}
}

// cancelCallees cancels the descendants of p that have never begun. mu is held.
func (e *Engine) cancelCallees(p *pending) {
	for _, c := range slices.Collect(p.children) {
		begun := c.attempts > 0 || c.req.Step > 1 || c.host != nil && !c.host.gone && c.host.handler.Begun(c.req)
		if begun {
			e.cancelCallees(c)
			continue
		}
		e.refuse(c, failureOf(c, engine.ErrCanceled, "its caller was ended by an operator"))
	}
}

// Resume implements engine.Operator.
func (o operator) Resume(ctx context.Context, id engine.ID) error {
	return o.act(ctx, func(f *flow) (engine.Position, error) {
		p := f.reqs[id]
		if p == nil || p.status != parked && p.status != failed {
			return 0, &engine.Error{Code: engine.ErrNotFound, Invocation: id.String(), Err: fmt.Errorf("nothing parked or failed has this id")}
		}
		return o.e.recordID(opResumed, id, func(at engine.Position) { f.resume(p, at) })
	})
}

// recordID records and applies an op that only names an invocation. mu is held.
func (e *Engine) recordID(op protowire.Number, id engine.ID, apply func(engine.Position)) (engine.Position, error) {
	w := newEncoder()
	defer w.free()
	w.idOp(op, id)
	return e.recordOp(w, apply)
}

func (e *Engine) recordOp(w *encoder, apply func(engine.Position)) (engine.Position, error) {
	at, err := e.append(w)
	if err != nil {
		return 0, err
	}
	apply(at)
	e.applied(at)
	return at, nil
}

// Skip implements engine.Operator.
func (o operator) Skip(ctx context.Context, id engine.ID) error {
	return o.act(ctx, func(f *flow) (engine.Position, error) {
		p := f.reqs[id]
		if p == nil || p.status != parked {
			return 0, &engine.Error{Code: engine.ErrNotFound, Invocation: id.String(), Err: fmt.Errorf("nothing parked has this id")}
		}
		return o.e.conclude(p, &engine.Outcome{Failure: failureOf(p, engine.ErrCanceled, "skipped by an operator")}, flagOperator)
	})
}

// Pause implements engine.Operator.
func (o operator) Pause(ctx context.Context, a engine.Actor) error { return o.pause(ctx, a, true) }

// Unpause implements engine.Operator.
func (o operator) Unpause(ctx context.Context, a engine.Actor) error { return o.pause(ctx, a, false) }

func (o operator) pause(ctx context.Context, a engine.Actor, on bool) error {
	return o.act(ctx, func(f *flow) (engine.Position, error) {
		w := newEncoder()
		defer w.free()
		w.paused(a, on)
		return o.e.recordOp(w, func(engine.Position) { f.pause(a, on) })
	})
}

// Purge implements engine.Operator.
func (o operator) Purge(ctx context.Context, id engine.Actor) error {
	return o.act(ctx, func(f *flow) (engine.Position, error) {
		a := f.actors.Get(id)
		if a == nil || a.host == nil || a.host.gone {
			return o.e.purge(id)
		}
		h := a.host.handler
		h.Pause(id, true) // nothing begins while we look
		defer func() {
			if !f.paused[id] {
				h.Pause(id, false)
			}
		}()
		for p := range a.line.All {
			if p.status == ended || p.status == inFlow && h.Begun(p.req) {
				return 0, fmt.Errorf("purge %s: its invocation %s is running; cancel it first", id, p.req.ID)
			}
		}
		return o.e.purge(id)
	})
}

// purge cancels what waits for an actor and drops its state and its reminders,
// in one record. mu is held.
func (e *Engine) purge(id engine.Actor) (engine.Position, error) {
	w := newEncoder()
	defer w.free()
	f := e.mu.f
	when := e.set.Now()
	var waiting []*pending
	var ends []*ending
	if a := f.actors.Get(id); a != nil {
		for p := range a.line.All {
			x := canceled(p, "its actor was purged by an operator", when)
			x.finger = p.finger
			w.outcome(opOutcome, x)
			w.patch(p.asked, x.flags)
			waiting, ends = append(waiting, p), append(ends, x)
		}
	}
	w.purged(id)
	return e.recordOp(w, func(at engine.Position) {
		for i, p := range waiting {
			host, req := p.host, p.req
			f.conclude(p, ends[i], at)
			if host != nil && !host.gone {
				host.handler.Cancel(req, ends[i].o, true) // its Finish will be refused
			}
		}
		f.purge(id)
	})
}

// Write implements engine.Operator.
func (o operator) Write(ctx context.Context, id engine.Actor, writes []engine.Write) error {
	if len(writes) == 0 { // no record: the instance goes
		o.e.mu.Lock()
		defer o.e.mu.Unlock()
		if a := o.e.mu.f.actors.Get(id); a != nil {
			a.forget()
		}
		return o.e.usable()
	}
	return o.act(ctx, func(f *flow) (engine.Position, error) {
		w := newEncoder()
		defer w.free()
		w.writes(engine.ID{}, id, writes)
		return o.e.recordOp(w, func(engine.Position) {
			a := f.entry(id)
			f.write(a, writes)
			a.forget()
		})
	})
}

// forget drops the actor's instance, wherever it is. Engine.mu is held.
func (a *actor) forget() {
	if a.host != nil && !a.host.gone {
		a.host.handler.Forget(a.Actor())
	}
}

// Stats implements engine.Operator.
func (o operator) Stats(context.Context) (engine.Stats, error) {
	e := o.e
	var bytes int64
	for _, c := range e.log.Cycles() {
		bytes += c.Bytes
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	f := e.mu.f
	s := engine.Stats{
		Pending: f.count[inFlow], Scheduled: f.count[scheduled], Parked: f.count[parked], Failed: f.count[failed],
		Reminders: len(f.due.items) - f.count[scheduled],
		Paused:    f.pausedActors(),
		Last:      engine.Position(e.last.Load()), Committed: e.commitIndex(),
		Epoch: f.epoch, JournalBytes: bytes, Durability: e.set.durabilityName(),
	}
	return s, nil
}

// commitIndex is the newest record that counts.
func (e *Engine) commitIndex() engine.Position {
	last := e.last.Load()
	if d := uint64(e.log.Durable()); !e.processOnly() {
		return engine.Position(min(d, last))
	}
	return engine.Position(last)
}
