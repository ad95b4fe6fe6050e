package local

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"github.com/pawl-go/pawl/engine"
)

// store is the materialised state: what checkpoints have taken over from the
// journal. Its own log is off; the journal is the log.
type store struct {
	*guard
	db    *pebble.DB
	empty bool // no checkpoint was ever begun; guarded by the engine's mu

	flushWait time.Duration // bounds a flush: on a full disk the store tries again for ever
}

func openStore(e *Engine, g *guard) (*store, error) {
	db, err := pebble.Open(g.dir, storeOptions(e, g))
	if err != nil {
		return nil, fmt.Errorf("open state: %w", err)
	}
	return &store{guard: g, db: db, empty: true, flushWait: 2 * time.Minute}, nil
}

// closeWait bounds the closing of a store that has failed: its own helpers may
// wait for ever.
const closeWait = 5 * time.Second

func (s *store) close() error {
	done := make(chan error, 1) // closing may take longer than anyone waits
	go func() { done <- s.db.Close() }()
	var late <-chan time.Time
	if s.poisoned.Load() {
		late = time.After(closeWait)
	}
	select {
	case err := <-done:
		if err != nil {
			return fmt.Errorf("close state: %w", err)
		}
		return nil
	case <-late:
		return fmt.Errorf("close state: %w", errPoisoned)
	}
}

// healthy says why the store takes nothing any more.
func (s *store) healthy() error {
	if s.poisoned.Load() {
		return errPoisoned
	}
	return nil
}

// flushLook is how often a flush looks whether the store has failed.
const flushLook = 50 * time.Millisecond

// flush returns when all that was written is on the disk.
func (s *store) flush() error {
	done, err := s.db.AsyncFlush()
	if err != nil {
		return err
	}
	look := time.NewTicker(flushLook)
	defer look.Stop()
	late := time.NewTimer(s.flushWait)
	defer late.Stop()
	for {
		select {
		case <-done:
			return s.healthy()
		case <-late.C:
			return fmt.Errorf("flush state: not done after %v", s.flushWait)
		case <-look.C:
			if err := s.healthy(); err != nil {
				return err
			}
		}
	}
}

// glance is a consistent look at an actor: its changes above a snapshot of the
// store, nil if the store has nothing.
type glance struct {
	overlay
	e    *Engine
	snap *pebble.Snapshot
	busy bool // requests are there
}

func (e *Engine) look(a engine.Actor) (g glance, err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.mu.closing {
		return g, unavailable(errClosed)
	}
	e.reads.Add(1)
	g.e = e
	if x := e.mu.f.actors.Get(a); x != nil {
		g.overlay, g.busy = x.view(), x.line.Len() > 0
	}
	if !e.st.empty {
		g.snap = e.st.db.NewSnapshot()
	}
	return g, nil
}

func (g *glance) close() error {
	defer g.e.reads.Done()
	if g.snap == nil {
		return nil
	}
	return g.snap.Close()
}

// cells reads the cells of the store with keys in [from, after(prefix)), and
// merges the actor's changes in, up to limit cells; 0 for all.
func (g *glance) cells(prefix, from []byte, decode func(rest []byte) engine.Key, mine []engine.Cell, hidden bool, limit int) (_ []engine.Cell, err error) {
	full := func(cells []engine.Cell) bool { return limit > 0 && len(cells) >= limit }
	if g.snap == nil || hidden {
		if full(mine) {
			mine = mine[:limit]
		}
		return mine, nil
	}
	it, err := g.snap.NewIter(&pebble.IterOptions{LowerBound: from, UpperBound: after(prefix)})
	if err != nil {
		return nil, readFailed(err)
	}
	defer func() { err = errors.Join(err, it.Close()) }()
	var cells []engine.Cell
	for ok := it.First(); ok && !full(cells); ok = it.Next() {
		k := decode(it.Key()[len(prefix):])
		for len(mine) > 0 && !full(cells) && compareCells(mine[0], engine.Cell{Key: k}) < 0 {
			cells, mine = append(cells, mine[0]), mine[1:]
		}
		if _, covered := g.covers(&k); covered || full(cells) {
			continue
		}
		cells = append(cells, engine.Cell{Key: k, Value: bytes.Clone(it.Value())})
	}
	for len(mine) > 0 && !full(cells) {
		cells, mine = append(cells, mine[0]), mine[1:]
	}
	return cells, readFailed(it.Error())
}

func readFailed(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("read state: %w", err)
}

// load reads the flat cells of an actor.
func (e *Engine) load(a engine.Actor) (_ []engine.Cell, err error) {
	g, err := e.look(a)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, g.close()) }()
	prefix := append(actorKey(a), keyFlat)
	mine := g.puts(func(k *engine.Key) bool { return !k.InMap })
	return g.cells(prefix, prefix, func(rest []byte) engine.Key {
		return engine.Key{Cell: string(rest)}
	}, mine, g.hides("", false), 0)
}

// scan reads entries of a map cell.
func (e *Engine) scan(a engine.Actor, cell, from string, limit int) (_ []engine.Cell, err error) {
	if limit <= 0 {
		return nil, nil
	}
	g, err := e.look(a)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, g.close()) }()
	prefix := appendMapKey(actorKey(a), cell)
	mine := g.puts(func(k *engine.Key) bool { return k.InMap && k.Cell == cell && k.Entry >= from })
	return g.cells(prefix, append(slices.Clip(prefix), from...), func(rest []byte) engine.Key {
		return engine.Key{Cell: cell, Entry: string(rest), InMap: true}
	}, mine, g.hides(cell, true), limit)
}

// lookup reads one value.
func (e *Engine) lookup(a engine.Actor, k engine.Key) (_ []byte, _ bool, err error) {
	g, err := e.look(a)
	if err != nil {
		return nil, false, err
	}
	defer func() { err = errors.Join(err, g.close()) }()
	if w, covered := g.covers(&k); covered {
		if w == nil {
			return nil, false, nil
		}
		return w.Value, true, nil
	}
	if g.snap == nil {
		return nil, false, nil
	}
	v, closer, err := g.snap.Get(appendCellKey(actorKey(a), &k))
	if errors.Is(err, pebble.ErrNotFound) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, readFailed(err)
	}
	v = bytes.Clone(v)
	if v == nil {
		v = []byte{}
	}
	return v, true, closer.Close()
}
