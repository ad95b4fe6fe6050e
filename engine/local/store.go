package local

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/cockroachdb/pebble/v2"

	"github.com/pawl-go/pawl/engine"
)

// store is the materialised state: what checkpoints have taken over from the
// journal. Its own log is off; the journal is the log.
type store struct {
	db    *pebble.DB
	empty bool // no checkpoint was ever written; guarded by the engine's mu
}

func openStore(dir string, e *Engine) (*store, error) {
	db, err := pebble.Open(dir, storeOptions(e))
	if err != nil {
		return nil, fmt.Errorf("open state: %w", err)
	}
	return &store{db: db, empty: true}, nil
}

func (s *store) close() error {
	if err := s.db.Close(); err != nil {
		return fmt.Errorf("close state: %w", err)
	}
	return nil
}

// glance is a consistent look at an actor: its changes above a snapshot of the
// store, nil if the store has nothing.
type glance struct {
	overlay
	snap *pebble.Snapshot
	busy bool // requests are there
}

func (e *Engine) look(a engine.Actor) (g glance, err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.mu.closing {
		return g, unavailable(errClosed)
	}
	if x := e.mu.f.actors[a]; x != nil {
		g.overlay, g.busy = x.view(), x.line.Len() > 0
	}
	if !e.st.empty {
		g.snap = e.st.db.NewSnapshot()
	}
	return g, nil
}

func (g *glance) close() error {
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
	prefix := append(appendActorKey(nil, a), keyFlat)
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
	prefix := appendMapKey(appendActorKey(nil, a), cell)
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
	v, closer, err := g.snap.Get(appendCellKey(appendActorKey(nil, a), &k))
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

// storeOptions are small: the state of live actors is in memory anyway, and
// what the journal holds is written in large sorted batches.
func storeOptions(e *Engine) *pebble.Options {
	o := &pebble.Options{
		DisableWAL:         true,
		FormatMajorVersion: pebble.FormatNewest,
		MemTableSize:       4 << 20,
		CacheSize:          8 << 20,
		Logger:             storeLogger{e},
	}
	return o
}

// storeLogger hands on what the store complains about. The store calls Fatalf
// where it cannot go on; that fails the engine, not the process.
type storeLogger struct{ e *Engine }

func (storeLogger) Infof(string, ...any) {}

func (l storeLogger) Errorf(format string, args ...any) {
	l.e.set.Logger.Warn("local engine: state: " + strings.TrimSpace(fmt.Sprintf(format, args...)))
}

func (l storeLogger) Fatalf(format string, args ...any) {
	l.e.set.Logger.Error("local engine: state: " + strings.TrimSpace(fmt.Sprintf(format, args...)))
}
