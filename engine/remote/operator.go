package remote

import (
	"context"
	"iter"

	"github.com/pawl-go/pawl/engine"
	"github.com/pawl-go/pawl/engine/remote/wire"
)

// operator has the server do an operator's acts.
type operator struct{ s *session }

var _ engine.Operator = operator{}

func (o operator) act(ctx context.Context, c *wire.Call) error {
	_, err := o.s.ask(ctx, c)
	return err
}

// Invocations implements engine.Operator.
func (o operator) Invocations(ctx context.Context, q engine.Query) iter.Seq2[engine.Info, error] {
	return func(yield func(engine.Info, error) bool) {
		r, err := o.s.ask(ctx, &wire.Call{Op: wire.OpInvocations, Query: &q})
		if err != nil {
			yield(engine.Info{}, err)
			return
		}
		for _, info := range r.Infos {
			if !yield(info, nil) {
				return
			}
		}
	}
}

// Invocation implements engine.Operator.
func (o operator) Invocation(ctx context.Context, id engine.ID) (engine.Info, error) {
	r, err := o.s.ask(ctx, &wire.Call{Op: wire.OpInvocation, ID: id})
	switch {
	case err != nil:
		return engine.Info{}, err
	case len(r.Infos) != 1:
		return engine.Info{}, unavailable("the server gives %d invocations for one id", len(r.Infos))
	}
	return r.Infos[0], nil
}

// Cancel implements engine.Operator.
func (o operator) Cancel(ctx context.Context, id engine.ID, reason string, force bool) error {
	return o.act(ctx, &wire.Call{Op: wire.OpCancel, ID: id, Reason: reason, Force: force})
}

// Answer implements engine.Operator.
func (o operator) Answer(ctx context.Context, id engine.ID, out *engine.Outcome) error {
	return o.act(ctx, &wire.Call{Op: wire.OpAnswer, ID: id, Outcome: out})
}

// Resume implements engine.Operator.
func (o operator) Resume(ctx context.Context, id engine.ID) error {
	return o.act(ctx, &wire.Call{Op: wire.OpResume, ID: id})
}

// Skip implements engine.Operator.
func (o operator) Skip(ctx context.Context, id engine.ID) error {
	return o.act(ctx, &wire.Call{Op: wire.OpSkip, ID: id})
}

// Pause implements engine.Operator.
func (o operator) Pause(ctx context.Context, a engine.Actor) error {
	return o.act(ctx, &wire.Call{Op: wire.OpPause, Actor: a})
}

// Unpause implements engine.Operator.
func (o operator) Unpause(ctx context.Context, a engine.Actor) error {
	return o.act(ctx, &wire.Call{Op: wire.OpUnpause, Actor: a})
}

// Purge implements engine.Operator.
func (o operator) Purge(ctx context.Context, a engine.Actor) error {
	return o.act(ctx, &wire.Call{Op: wire.OpPurge, Actor: a})
}

// Write implements engine.Operator.
func (o operator) Write(ctx context.Context, a engine.Actor, writes []engine.Write) error {
	return o.act(ctx, &wire.Call{Op: wire.OpWrite, Actor: a, Writes: writes})
}

// Actors implements engine.Operator.
func (o operator) Actors(ctx context.Context, kind, from string, limit int) ([]engine.Actor, error) {
	r, err := o.s.ask(ctx, &wire.Call{Op: wire.OpActors, Actor: engine.Actor{Type: kind}, From: from, Limit: limit})
	if err != nil {
		return nil, err
	}
	return r.Actors, nil
}

// Maps implements engine.Operator.
func (o operator) Maps(ctx context.Context, a engine.Actor) ([]string, error) {
	r, err := o.s.ask(ctx, &wire.Call{Op: wire.OpMaps, Actor: a})
	if err != nil {
		return nil, err
	}
	return r.Maps, nil
}

// Types implements engine.Operator.
func (o operator) Types(ctx context.Context) ([]string, error) {
	r, err := o.s.ask(ctx, &wire.Call{Op: wire.OpTypes})
	if err != nil {
		return nil, err
	}
	return r.Types, nil
}

// Stats implements engine.Operator.
func (o operator) Stats(ctx context.Context) (engine.Stats, error) {
	r, err := o.s.ask(ctx, &wire.Call{Op: wire.OpStats})
	switch {
	case err != nil:
		return engine.Stats{}, err
	case r.Stats == nil:
		return engine.Stats{}, unavailable("the server gives no counts")
	}
	return *r.Stats, nil
}
