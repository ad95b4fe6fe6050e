package kar

import (
	"context"
	"hash/maphash"
	"sync"

	"github.com/pawl-go/pawl/engine"
	"github.com/pawl-go/pawl/sidecar/host"
)

// scanPage is how many entries are read at a time.
const scanPage = 1000

var seed = maphash.MakeSeed()

func (h *Handler) lock(a engine.Actor) *sync.Mutex {
	return &h.states.locks[maphash.Comparable(seed, a)%uint64(len(h.states.locks))]
}

// change makes changes and counts what was new and what was there: removals
// first, so that a key in both is set.
func (h *Handler) change(ctx context.Context, a engine.Actor, c *host.Changes) (added, removed int, err error) {
	mu := h.lock(a)
	mu.Lock()
	defer mu.Unlock()
	b := batch{ctx: ctx, session: h.comp.Session(), actor: a}
	for _, k := range c.Removals {
		removed += b.remove(engine.Key{Cell: k})
	}
	for m, keys := range c.SubmapRemovals {
		for _, k := range keys {
			removed += b.remove(engine.Key{Cell: m, Entry: k, InMap: true})
		}
	}
	for k, v := range c.Updates {
		added += b.put(engine.Key{Cell: k}, v)
	}
	for m, entries := range c.SubmapUpdates {
		for k, v := range entries {
			added += b.put(engine.Key{Cell: m, Entry: k, InMap: true}, v)
		}
	}
	if b.err != nil {
		return 0, 0, b.err
	}
	return added, removed, h.write(ctx, a, b.writes)
}

// batch gathers writes.
type batch struct {
	ctx     context.Context //nolint:containedctx // for one request
	session engine.Session
	actor   engine.Actor
	writes  []engine.Write
	there   map[engine.Key]bool // as the writes so far leave it
	err     error
}

// has looks a key up, once.
func (b *batch) has(k engine.Key) bool {
	there, known := b.there[k]
	if known || b.err != nil {
		return there
	}
	_, there, b.err = b.session.Lookup(b.ctx, b.actor, k)
	return there
}

func (b *batch) note(k engine.Key, there bool) {
	if b.there == nil {
		b.there = map[engine.Key]bool{}
	}
	b.there[k] = there
}

func (b *batch) remove(k engine.Key) int {
	if !b.has(k) {
		return 0
	}
	b.note(k, false)
	b.writes = append(b.writes, engine.Write{Op: engine.Delete, Key: k})
	return 1
}

// put sets a value.
func (b *batch) put(k engine.Key, v []byte) int {
	was := b.has(k)
	b.note(k, true)
	b.writes = append(b.writes, engine.Write{Op: engine.Put, Key: k, Value: v})
	if was {
		return 0
	}
	return 1
}

// write records writes, and returns when they are committed: as part of the
// attempt that runs on the actor here, else as an operator's.
func (h *Handler) write(ctx context.Context, a engine.Actor, writes []engine.Write) error {
	if len(writes) == 0 {
		return nil
	}
	inv := h.host.Running(a)
	if inv == nil {
		return h.comp.Session().Operator().Write(ctx, a, writes)
	}
	s := inv.Session()
	by := engine.Attempt{ID: inv.ID(), Step: inv.Step(), N: uint32(inv.Attempt())} //nolint:gosec // it came from one
	at, err := s.Send(by, &engine.Effects{Writes: writes})
	if err != nil {
		return err
	}
	return s.Wait(ctx, at)
}

// clear empties a submap and counts what was in it.
func (h *Handler) clear(ctx context.Context, a engine.Actor, name string) (int, error) {
	mu := h.lock(a)
	mu.Lock()
	defer mu.Unlock()
	cells, err := h.entries(ctx, a, name)
	if err != nil || len(cells) == 0 {
		return 0, err
	}
	return len(cells), h.write(ctx, a, []engine.Write{{Op: engine.Clear, Key: engine.Key{Cell: name, InMap: true}}})
}

// clearAll drops all state of an actor in one record.
func (h *Handler) clearAll(ctx context.Context, a engine.Actor) (int, error) {
	mu := h.lock(a)
	mu.Lock()
	defer mu.Unlock()
	flat, err := h.comp.Session().Load(ctx, a)
	if err != nil {
		return 0, err
	}
	n := len(flat)
	var writes []engine.Write
	for _, c := range flat {
		writes = append(writes, engine.Write{Op: engine.Delete, Key: c.Key})
	}
	names, err := h.comp.Session().Operator().Maps(ctx, a)
	if err != nil {
		return 0, err
	}
	for _, name := range names {
		cells, err := h.entries(ctx, a, name)
		if err != nil {
			return 0, err
		}
		n += len(cells)
		writes = append(writes, engine.Write{Op: engine.Clear, Key: engine.Key{Cell: name, InMap: true}})
	}
	return n, h.write(ctx, a, writes)
}

// entries reads a whole submap.
func (h *Handler) entries(ctx context.Context, a engine.Actor, name string) ([]engine.Cell, error) {
	var all []engine.Cell
	for from := ""; ; {
		some, err := h.comp.Session().Scan(ctx, a, name, from, scanPage)
		if err != nil {
			return nil, err
		}
		all = append(all, some...)
		if len(some) < scanPage {
			return all, nil
		}
		from = some[len(some)-1].Entry + "\x00"
	}
}
