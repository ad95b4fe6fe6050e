package local

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/pawl-go/pawl/engine"
	"github.com/pawl-go/pawl/queue"
)

// Invocations implements engine.Operator: what the flow knows and what the
// journal keeps, merged by the record that last changed them.
func (o operator) Invocations(ctx context.Context, q engine.Query) iter.Seq2[engine.Info, error] {
	return func(yield func(engine.Info, error) bool) {
		left := q.Limit
		give := func(in *engine.Info) bool {
			if !matches(&q, in) {
				return true
			}
			left--
			return yield(*in, nil) && left != 0
		}
		if err := o.e.each(ctx, give); err != nil {
			yield(engine.Info{}, err)
		}
	}
}

// each calls give for every invocation, newest first, until it returns false.
func (e *Engine) each(ctx context.Context, give func(*engine.Info) bool) error {
	known, err := e.knownNow()
	if err != nil {
		return err
	}
	for ended, err := range e.done.newestFirst() {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return err
		}
		for len(known) > 0 && known[0].at > ended.at {
			if !give(&known[0].Info) {
				return nil
			}
			known = known[1:]
		}
		in, ok, err := e.endedInfo(ended)
		if err != nil {
			return err
		}
		if ok && !give(in) {
			return nil
		}
	}
	for i := range known {
		if !give(&known[i].Info) {
			return nil
		}
	}
	return nil
}

// knownInfo is an invocation that the flow knows, and its newest record.
type knownInfo struct {
	engine.Info
	at engine.Position
}

// knownNow lists what the flow knows, newest first.
func (e *Engine) knownNow() ([]knownInfo, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.mu.closing {
		return nil, unavailable(errClosed)
	}
	list := make([]knownInfo, 0, len(e.mu.f.reqs))
	for _, p := range e.mu.f.reqs {
		list = append(list, knownInfo{p.info(), p.at})
	}
	slices.SortFunc(list, func(x, y knownInfo) int {
		return cmp.Or(cmp.Compare(y.at, x.at), y.Request.ID.Compare(x.Request.ID))
	})
	return list, nil
}

// Invocation implements engine.Operator.
func (o operator) Invocation(_ context.Context, id engine.ID) (engine.Info, error) {
	e := o.e
	if in, ok := e.knownOne(id); ok {
		return in, nil
	}
	at, err := e.done.find(id)
	if err != nil {
		return engine.Info{}, err
	}
	if at != 0 {
		in, ok, err := e.endedInfo(completed{id, at})
		if err != nil {
			return engine.Info{}, err
		}
		if ok {
			return *in, nil
		}
	}
	return engine.Info{}, notFound(id)
}

func (e *Engine) knownOne(id engine.ID) (in engine.Info, ok bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	p := e.mu.f.reqs[id]
	if p == nil {
		return in, false
	}
	return p.info(), true
}

// info describes what the flow knows of p. The engine's mu is held.
func (p *pending) info() engine.Info {
	in := engine.Info{Request: p.req, Attempts: p.attempts, Lost: p.lost}
	switch p.status {
	case scheduled:
		in.Status = engine.StatusScheduled
	case parked:
		in.Status = engine.StatusParked
	case failed:
		in.Status = engine.StatusFailed
	default:
		in.Status = engine.StatusPending
		if p.attempts > 0 || p.host != nil && !p.host.gone && p.host.handler.Begun(p.req) {
			in.Status = engine.StatusRunning
		}
		for c := range p.children {
			in.Callees = append(in.Callees, c.req.ID)
		}
		for b := range p.blockers {
			in.WaitsFor = append(in.WaitsFor, b.req.ID)
		}
	}
	if p.host != nil {
		in.Host = p.host.Name
	}
	if p.end != nil {
		in.Outcome, in.Ended = p.end.o, p.end.ended
	}
	return in
}

// endedInfo reads an ended invocation from the journal; ok is false if it is
// no longer kept.
func (e *Engine) endedInfo(c completed) (*engine.Info, bool, error) {
	f, err := e.readOutcome(c.id, c.at)
	if err != nil || f.at == 0 {
		return nil, false, err
	}
	in := &engine.Info{Outcome: f.o, Ended: f.ended, Status: engine.StatusDone, Request: &engine.Request{Frame: engine.Frame{ID: c.id}, Step: max(1, f.step)}}
	switch fail := f.o.Failure; {
	case fail == nil:
	case f.flags&flagOperator != 0 && fail.Code == string(engine.ErrCanceled):
		in.Status = engine.StatusCanceled
	default:
		in.Status = engine.StatusError
	}
	if f.asked != 0 {
		r, err := e.readRequest(c.id, f.asked)
		if err != nil {
			return nil, false, err
		}
		if r != nil {
			in.Request = r
		}
	}
	return in, true, nil
}

// readRequest reads the request of an invocation's step from its record; nil
// if that is no longer kept. Of the chain of callers only the next and the
// outermost are there.
func (e *Engine) readRequest(id engine.ID, at engine.Position) (*engine.Request, error) {
	b, err := e.log.Read(queue.Index(at))
	if errors.Is(err, queue.ErrReleased) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read request of %s: %w", id, err)
	}
	d := decoder{b: b}
	for d.next() {
		body := d.p
		if d.n == opOutcome {
			var x outcomeOp
			if err := x.decode(d.p); err != nil {
				return nil, fmt.Errorf("read request of %s: %w", id, err)
			}
			if body = x.tail; x.id != id || body == nil {
				continue
			}
		} else if d.n != opRequest {
			continue
		}
		var x requestOp
		if err := x.decode(body, &names{}); err != nil {
			return nil, fmt.Errorf("read request of %s: %w", id, err)
		}
		if d.n == opRequest && x.r.ID != id {
			continue
		}
		return x.looseRequest(id), nil
	}
	return nil, d.err
}

func (x *requestOp) looseRequest(id engine.ID) *engine.Request {
	r := x.r
	r.ID = id
	if !x.caller.IsZero() {
		r.Caller = &engine.Frame{ID: x.caller}
		if !x.root.IsZero() {
			r.Caller.Caller = &engine.Frame{ID: x.root}
		}
	}
	return r
}
