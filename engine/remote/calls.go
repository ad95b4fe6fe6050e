package remote

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/pawl-go/pawl/engine"
	"github.com/pawl-go/pawl/engine/remote/wire"
)

// take handles a frame of the component.
func (a *agent) take(f wire.Frame) error {
	switch f.Kind {
	case wire.KindTrace:
		var t wire.Trace
		if err := wire.Decode(f.Body, &t); err != nil {
			return err
		}
		if a.s.trace != nil && a.ctx.Err() == nil {
			a.s.trace.Record(t.Events...)
		}
		return nil
	case wire.KindCall:
		var c wire.Call
		if err := wire.Decode(f.Body, &c); err != nil {
			return err
		}
		return a.call(&c)
	}
	return wire.ErrMalformed
}

// call answers a call: in order, but for what may wait.
func (a *agent) call(c *wire.Call) error {
	if c.Effects == nil {
		c.Effects = &engine.Effects{}
	}
	for _, r := range c.Effects.Requests {
		if r == nil {
			return wire.ErrMalformed
		}
	}
	switch c.Op {
	case wire.OpStarting:
		a.starts(c.By)
		return nil
	case wire.OpAnswered:
		a.reads.answer(c.N, c)
		return nil
	case wire.OpSynced:
		a.syncs.answer(c.N, c)
		return nil
	case wire.OpDetach:
		a.session.Detach(c.ID)
		return nil
	case wire.OpRelease:
		a.session.Release(c.Actor)
		return nil
	case wire.OpRead:
		if c.Request == nil {
			return wire.ErrMalformed
		}
		a.s.owned.Go(func() { a.read(c) })
		return nil
	case wire.OpLeave:
		a.s.owned.Go(func() { a.leave(c) })
		return nil
	}
	if c.Op >= wire.OpInvocations {
		a.s.owned.Go(func() { a.operate(c) })
		return nil
	}
	r := &wire.Reply{}
	a.reply(c, r, a.act(c, r))
	return nil
}

// reply queues the answer to c. It leaves when all that it may tell of counts.
func (a *agent) reply(c *wire.Call, r *wire.Reply, err error) {
	r.N, r.Error = c.N, wire.ErrorOf(err)
	a.stream.post(wire.KindReply, r, nil, a.session.Last())
}

// act does what the engine answers at once.
func (a *agent) act(c *wire.Call, r *wire.Reply) (err error) {
	s := a.session
	switch c.Op {
	case wire.OpSend:
		r.At, err = s.Send(c.By, c.Effects)
	case wire.OpBegin:
		r.At, err = s.Begin(c.By, c.Under, c.Writes)
	case wire.OpFinish:
		if c.Outcome == nil {
			return wire.ErrMalformed
		}
		r.At, err = s.Finish(c.By, c.Effects, c.Outcome)
		a.ends(c.By)
	case wire.OpPark:
		r.At, err = s.Park(c.By, c.Failure)
		a.ends(c.By)
	case wire.OpPostpone:
		a.ends(c.By)
		r.At, err = s.Postpone(c.By)
	case wire.OpAttach:
		err = s.Attach(c.ID)
	case wire.OpLoad:
		r.Cells, err = s.Load(a.ctx, c.Actor)
	case wire.OpLookup:
		r.Value, r.OK, err = s.Lookup(a.ctx, c.Actor, c.Key)
	case wire.OpScan:
		r.Cells, err = s.Scan(a.ctx, c.Actor, c.Key.Cell, c.From, c.Limit)
	case wire.OpReminders:
		r.Reminders, err = s.Reminders(a.ctx, c.Actor)
	case wire.OpMembers:
		r.Members = s.Members()
	default:
		err = wire.ErrMalformed
	}
	return err
}

func (a *agent) read(c *wire.Call) {
	r := &wire.Reply{}
	var err error
	r.Outcome, r.At, err = a.session.Read(a.ctx, c.Request)
	a.reply(c, r, err)
}

func (a *agent) leave(c *wire.Call) {
	a.mu.Lock()
	a.left = true
	a.mu.Unlock()
	err := a.session.Leave(a.s.ctx)
	a.reply(c, &wire.Reply{}, err)
}

// infosPerReply bounds a reply that lists invocations.
const infosPerReply = 256

// operate does an operator's act.
func (a *agent) operate(c *wire.Call) {
	r := &wire.Reply{}
	o, ctx := a.session.Operator(), a.ctx
	var err error
	switch c.Op {
	case wire.OpCancel, wire.OpAnswer, wire.OpPurge:
		a.s.settle(ctx)
	}
	switch c.Op {
	case wire.OpInvocations:
		err = a.list(c, r)
	case wire.OpInvocation:
		var info engine.Info
		if info, err = o.Invocation(ctx, c.ID); err == nil {
			r.Infos = []engine.Info{info}
		}
	case wire.OpCancel:
		err = o.Cancel(ctx, c.ID, c.Reason, c.Force)
	case wire.OpAnswer:
		err = o.Answer(ctx, c.ID, c.Outcome)
	case wire.OpResume:
		err = o.Resume(ctx, c.ID)
	case wire.OpSkip:
		err = o.Skip(ctx, c.ID)
	case wire.OpPause:
		err = o.Pause(ctx, c.Actor)
	case wire.OpUnpause:
		err = o.Unpause(ctx, c.Actor)
	case wire.OpPurge:
		err = o.Purge(ctx, c.Actor)
	case wire.OpWrite:
		err = o.Write(ctx, c.Actor, c.Writes)
	case wire.OpActors:
		r.Actors, err = o.Actors(ctx, c.Actor.Type, c.From, c.Limit)
	case wire.OpMaps:
		r.Maps, err = o.Maps(ctx, c.Actor)
	case wire.OpTypes:
		r.Types, err = o.Types(ctx)
	case wire.OpStats:
		var st engine.Stats
		st, err = o.Stats(ctx)
		r.Stats = &st
	case wire.OpTail:
		err = a.tail(c, r)
	default:
		err = wire.ErrMalformed
	}
	a.reply(c, r, err)
}

// list sends invocations in parts; r is the last one.
func (a *agent) list(c *wire.Call, r *wire.Reply) error {
	var q engine.Query
	if c.Query != nil {
		q = *c.Query
	}
	for info, err := range a.session.Operator().Invocations(a.ctx, q) {
		if err != nil {
			return err
		}
		r.Infos = append(r.Infos, info)
		if len(r.Infos) == infosPerReply {
			a.reply(c, &wire.Reply{Infos: r.Infos, More: true}, nil)
			r.Infos = nil
		}
	}
	return nil
}

// tail reads a part of a tail: what there is, or what comes first within the
// time that the component waits.
func (a *agent) tail(c *wire.Call, r *wire.Reply) error {
	var f engine.EventFilter
	if c.Events != nil {
		f = *c.Events
	}
	t, err := a.session.Operator().Tail(a.ctx, c.At, f)
	if err != nil {
		return err
	}
	defer t.Close()
	ctx, cancel := context.WithTimeout(a.ctx, time.Duration(c.Wait))
	defer cancel()
	r.Events, err = t.Next(ctx)
	if errors.Is(err, io.EOF) || a.ctx.Err() == nil && errors.Is(err, context.DeadlineExceeded) {
		err = nil // At says how far it is
	}
	r.At = t.At()
	return err
}
