package runtime

import (
	"context"
	"slices"

	"github.com/pawl-go/pawl/engine"
	"github.com/pawl-go/pawl/engine/trace"
)

// Call makes a nested call and waits for its outcome: the rules call (or call
// once) and return. The actor's turn is given up meanwhile. The end of ctx ends
// the wait only: the invocation is then held at its end until the call has ended.
func (inv *Invocation) Call(ctx context.Context, call Call) (*engine.Outcome, error) {
	p, err := inv.send(call, ctx == context.Context(inv) || ctx.Done() == nil || ctx.Done() == inv.Done())
	if err != nil {
		return nil, err
	}
	return inv.await(ctx, p)
}

// Go makes a nested call beside the method.
func (inv *Invocation) Go(_ context.Context, call Call) (*Pending, error) {
	return inv.send(call, false)
}

// send records a nested or detached call, with the tells held before it.
func (inv *Invocation) send(call Call, inline bool) (*Pending, error) {
	if err := inv.writable("call"); err != nil {
		return nil, err
	}
	c := inv.c
	if err := c.checkPayload(&call); err != nil {
		return nil, err
	}
	p := &Pending{c: c, inv: inv, nested: !call.Detached, inline: inline}
	if err := inv.request(p, &call); err != nil {
		return nil, err
	}
	c.mu.Lock()
	c.addWait(p.id, p)
	if p.nested {
		inv.out.Add(1)
	}
	c.mu.Unlock()
	if _, err := inv.flushWith(&p.eff); err != nil {
		c.dropWait(p)
		if p.nested {
			c.mu.Lock()
			inv.returned()
			c.mu.Unlock()
		}
		return nil, about(err, &p.req)
	}
	return p, nil
}

func (inv *Invocation) request(p *Pending, call *Call) error {
	kind := engine.KindNested
	if call.Detached {
		kind = engine.KindCall
	}
	inv.c.request(p, call, kind)
	if call.Detached {
		p.req.Waiter = inv.req.ID
		return nil
	}
	p.req.Caller = &inv.req.Frame
	p.req.Depth = inv.req.Depth + 1
	if err := inv.tooDeep(p.req.Depth); err != nil {
		return err
	}
	inv.once(p, call)
	return nil
}

func (inv *Invocation) tooDeep(depth int32) error {
	if int(depth) <= inv.c.cfg.Depth {
		return nil
	}
	return inv.errorf(engine.ErrTooDeep, "a call of depth %d, the limit is %d", depth, inv.c.cfg.Depth)
}

// once derives the id of a request that is made once.
func (inv *Invocation) once(p *Pending, call *Call) {
	if call.Once != "" {
		p.req.Once = true
		p.req.ID = engine.OnceID(inv.req.ID, inv.req.Step, call.Once)
		p.id = p.req.ID
	}
}

// flushWith sends the held tells ahead of e's requests, in one record.
func (inv *Invocation) flushWith(e *engine.Effects) (engine.Position, error) {
	inv.mu.Lock()
	held := inv.mu.held
	inv.mu.held = nil
	inv.mu.Unlock()
	if len(held) > 0 {
		e.Requests = append(slices.Clone(held), e.Requests...)
	}
	at, err := inv.c.session.Send(inv.attempt(), e)
	if err != nil && len(held) > 0 {
		inv.mu.Lock()
		inv.mu.held = append(held, inv.mu.held...)
		inv.mu.Unlock()
	}
	return at, err
}

// Tell makes a request whose outcome nobody waits for. It is held: it leaves
// with the next request, at Sync or with the outcome (Call.WithOutcome,
// Call.Immediately).
func (inv *Invocation) Tell(_ context.Context, call Call) (engine.ID, error) {
	if err := inv.writable("tell"); err != nil {
		return engine.ID{}, err
	}
	if err := inv.c.checkPayload(&call); err != nil {
		return engine.ID{}, err
	}
	p := &Pending{c: inv.c}
	inv.c.request(p, &call, engine.KindTell)
	inv.once(p, &call)
	if call.Immediately {
		_, err := inv.flushWith(&p.eff)
		return p.id, about(err, &p.req)
	}
	inv.mu.Lock()
	defer inv.mu.Unlock()
	if call.WithOutcome {
		inv.mu.last = append(inv.mu.last, &p.req)
	} else {
		inv.mu.held = append(inv.mu.held, &p.req)
	}
	return p.id, nil
}

// Remind sets or removes a reminder, recorded with the outcome or at Sync.
func (inv *Invocation) Remind(ch engine.ReminderChange) error {
	if err := inv.writable("set reminders"); err != nil {
		return err
	}
	if n := len(ch.Payload); n > inv.c.cfg.PayloadLimit {
		return inv.errorf(engine.ErrTooLarge, "the argument of reminder %q has %d bytes, the limit is %d",
			ch.Name, n, inv.c.cfg.PayloadLimit)
	}
	inv.mu.Lock()
	defer inv.mu.Unlock()
	inv.mu.rems = append(inv.mu.rems, ch)
	return nil
}

// Reminders lists the recorded reminders of an actor, with this invocation's
// own changes.
func (inv *Invocation) Reminders(ctx context.Context, a engine.Actor) ([]engine.Reminder, error) {
	if err := inv.Check(); err != nil {
		return nil, err
	}
	rs, err := inv.c.session.Reminders(ctx, a)
	if err != nil {
		return nil, err
	}
	inv.mu.Lock()
	defer inv.mu.Unlock()
	for _, ch := range inv.mu.rems {
		if ch.Actor != a {
			continue
		}
		i, found := slices.BinarySearchFunc(rs, ch.Name, func(r engine.Reminder, name string) int {
			switch {
			case r.Name < name:
				return -1
			case r.Name > name:
				return 1
			}
			return 0
		})
		switch {
		case ch.Remove && found:
			rs = slices.Delete(rs, i, i+1)
		case !ch.Remove && found:
			rs[i] = ch.Reminder
		case !ch.Remove:
			rs = slices.Insert(rs, i, ch.Reminder)
		}
	}
	return rs, nil
}

// Sync records the writes and reminders so far and sends the held tells, and
// returns when that, and all the method has seen, is committed.
func (inv *Invocation) Sync(ctx context.Context) error {
	if err := inv.writable("sync"); err != nil {
		return err
	}
	writes, err := inv.inst.Writes(nil)
	if err != nil {
		return err
	}
	inv.mu.Lock()
	rems := inv.mu.rems
	some := len(writes)+len(rems)+len(inv.mu.held) > 0
	inv.mu.rems = nil
	inv.mu.Unlock()
	if !some {
		return inv.synced(ctx, inv.c.session.Last())
	}
	at, err := inv.flushWith(&engine.Effects{Writes: writes, Reminders: rems})
	if err != nil {
		inv.mu.Lock()
		inv.mu.rems = append(rems, inv.mu.rems...)
		inv.mu.Unlock()
		return err
	}
	inv.inst.Recorded()
	return inv.synced(ctx, at)
}

// synced returns when the record at p, on which Sync rests, counts.
func (inv *Invocation) synced(ctx context.Context, p engine.Position) error {
	if err := inv.c.commit(ctx, p); err != nil {
		return err
	}
	if inv.c.trace != nil {
		inv.c.traceRelease("sync", inv.req.ID, p, nil)
	}
	return nil
}

// Lookup reads a recorded value of the actor.
func (inv *Invocation) Lookup(ctx context.Context, k engine.Key) ([]byte, bool, error) {
	if err := inv.Check(); err != nil {
		return nil, false, err
	}
	since := inv.c.since()
	v, ok, err := inv.c.session.Lookup(ctx, inv.req.Actor, k)
	if inv.c.trace != nil && err == nil {
		cell := k.Traced()
		if ok {
			cell.Hash = trace.Hash(v)
		}
		inv.traceCells(trace.Read, since, []trace.Cell{cell})
	}
	return v, ok, err
}

// Scan reads recorded entries of a map cell of the actor.
func (inv *Invocation) Scan(ctx context.Context, cell, from string, limit int) ([]engine.Cell, error) {
	if err := inv.Check(); err != nil {
		return nil, err
	}
	since := inv.c.since()
	cells, err := inv.c.session.Scan(ctx, inv.req.Actor, cell, from, limit)
	if inv.c.trace != nil && err == nil {
		inv.traceCells(trace.Read, since, engine.TraceCells(cells))
	}
	return cells, err
}
