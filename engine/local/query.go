package local

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"github.com/pawl-go/pawl/engine"
)

// matches reports whether an invocation is one of those that q asks for.
func matches(q *engine.Query, in *engine.Info) bool {
	r := in.Request
	switch {
	case q.Type != "" && q.Type != r.Actor.Type,
		q.ID != "" && q.ID != r.Actor.ID,
		q.Method != "" && q.Method != r.Method,
		q.Status != "" && q.Status != in.Status,
		!q.Root.IsZero() && q.Root != r.Root().ID,
		q.Key != "" && engine.Derive("key", q.Key) != r.ID,
		!q.Since.IsZero() && changed(in).Before(q.Since):
		return false
	}
	return true
}

// changed is when an invocation ended, or else when it was made.
func changed(in *engine.Info) (t time.Time) {
	if !in.Ended.IsZero() {
		return in.Ended
	}
	return in.Request.Created
}

// Types implements engine.Operator.
func (o operator) Types(context.Context) (types []string, err error) {
	g, err := o.e.look(engine.Actor{}) // keeps the store open
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, g.close()) }()
	set := o.e.typesInMemory()
	if g.snap != nil {
		if err := o.e.st.types(set); err != nil {
			return nil, err
		}
	}
	for t := range set {
		types = append(types, t)
	}
	slices.Sort(types)
	return types, nil
}

func (e *Engine) typesInMemory() map[string]bool {
	set := map[string]bool{}
	e.mu.Lock()
	defer e.mu.Unlock()
	for t := range e.mu.f.hosts {
		set[t] = true
	}
	for a := range e.mu.f.actors.All {
		if a.known() {
			set[*a.kind] = true
		}
	}
	return set
}

// known reports whether the actor has requests, or may have unsaved state.
func (a *actor) known() bool { return a.line.Len() > 0 || a.changes != nil }

// types adds the types that the store knows.
func (s *store) types(set map[string]bool) (err error) {
	it, err := s.db.NewIter(&pebble.IterOptions{LowerBound: []byte{keyState}, UpperBound: []byte{keyState + 1}})
	if err != nil {
		return readFailed(err)
	}
	defer func() { err = errors.Join(err, it.Close()) }()
	for ok := it.First(); ok; {
		t, _, whole := cutPart(it.Key()[1:])
		if !whole {
			return readFailed(errBadRecord)
		}
		set[t] = true
		ok = it.SeekGE(after(appendPart([]byte{keyState}, t)))
	}
	return readFailed(it.Error())
}

// Actors implements engine.Operator.
func (o operator) Actors(ctx context.Context, kind, from string, limit int) (_ []engine.Actor, err error) {
	if limit <= 0 {
		return nil, nil
	}
	g, err := o.e.look(engine.Actor{}) // keeps the store open
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, g.close()) }()
	found := o.e.actorsInMemory(kind, from)
	if g.snap != nil {
		more, err := o.e.st.actors(kind, from, limit+len(found))
		if err != nil {
			return nil, err
		}
		found = append(found, more...)
	}
	slices.Sort(found)
	found = slices.Compact(found)
	var actors []engine.Actor
	for _, id := range found {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		a := engine.Actor{Type: kind, ID: id}
		exists, err := o.e.exists(a)
		if err != nil {
			return nil, err
		}
		if exists {
			if actors = append(actors, a); len(actors) == limit {
				break
			}
		}
	}
	return actors, nil
}

// actorsInMemory lists the ids of actors of a type that may have state or
// requests.
func (e *Engine) actorsInMemory(kind, from string) (ids []string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for a := range e.mu.f.actors.All {
		if *a.kind == kind && a.id >= from && a.known() {
			ids = append(ids, a.id)
		}
	}
	return ids
}

// actors lists the ids of actors of a type that the store knows.
func (s *store) actors(kind, from string, limit int) (ids []string, err error) {
	prefix := appendPart([]byte{keyState}, kind)
	it, err := s.db.NewIter(&pebble.IterOptions{LowerBound: prefix, UpperBound: after(prefix)})
	if err != nil {
		return nil, readFailed(err)
	}
	defer func() { err = errors.Join(err, it.Close()) }()
	for ok := it.SeekGE(appendPart(slices.Clip(prefix), from)); ok && len(ids) < limit; {
		id, _, whole := cutPart(it.Key()[len(prefix):])
		if !whole {
			return nil, readFailed(errBadRecord)
		}
		ids = append(ids, id)
		ok = it.SeekGE(after(appendPart(slices.Clip(prefix), id)))
	}
	return ids, readFailed(it.Error())
}

// exists reports whether an actor has requests or state.
func (e *Engine) exists(id engine.Actor) (_ bool, err error) {
	g, err := e.look(id)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, g.close()) }()
	if g.busy || len(g.puts(func(*engine.Key) bool { return true })) > 0 {
		return true, nil
	}
	if g.snap == nil {
		return false, nil
	}
	prefix := actorKey(id)
	it, err := g.snap.NewIter(&pebble.IterOptions{LowerBound: prefix, UpperBound: after(prefix)})
	if err != nil {
		return false, readFailed(err)
	}
	defer func() { err = errors.Join(err, it.Close()) }()
	for ok := it.First(); ok; ok = it.Next() {
		k, whole := cutCellKey(it.Key()[len(prefix):])
		if !whole {
			return false, readFailed(errBadRecord)
		}
		if _, covered := g.covers(&k); !covered {
			return true, nil
		}
	}
	return false, readFailed(it.Error())
}
