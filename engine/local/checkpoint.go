package local

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"github.com/pawl-go/pawl/engine"
	"github.com/pawl-go/pawl/queue"
)

// A checkpoint takes over into the store what the journal says up to one of
// its records, so that opening need not read it again and old cycles can go:
//
//  1. Under the lock: note the newest record, the marker; take the list of
//     actors with changes, and the list of requests that have changed.
//  2. Actor by actor, with short holds of the lock: take the changes. They may
//     be newer than the marker; applied again at opening they give the same.
//     The journal is flushed up to there, once, before they go into the store,
//     which may write them out at any time: the store is never ahead of the journal.
//  3. The rows of the flow, as of the marker, go into the store together with
//     the marker, all or none.
//  4. The store is flushed. Cycles of the journal below the marker's can go,
//     once they are past their retention.
//
// A checkpoint that fails half-way is one that was never made: what was taken
// is put back.

const (
	// entryOverhead is about what an entry of the journal takes beside its record.
	entryOverhead = 16
	// savedPerHold is how many actors or requests are taken in one hold of the lock.
	savedPerHold = 500
	// saveRetry is how long to wait after a checkpoint that failed.
	saveRetry = 5 * time.Second
)

// saver makes checkpoints.
type saver struct {
	bytes int64         // of journal since the last one; guarded by the engine's mu
	wake  chan struct{} // one slot: a checkpoint is due, or an index can be written
}

func (v *saver) due() {
	select {
	case v.wake <- struct{}{}:
	default:
	}
}

// keepSaving makes checkpoints until the engine is closed.
func (e *Engine) keepSaving() {
	var retry <-chan time.Time
	for {
		select {
		case <-e.quit:
			return
		case <-e.saver.wake:
		case <-retry:
		}
		retry = nil
		// What was read back lately is read again without a mapping.
		e.log.Unmap(queue.Index(e.last.Load()))
		if err := e.done.seal(); err != nil {
			e.set.Logger.Warn("local engine: an index of ended invocations is not written; opening will take longer", "dir", e.set.dir, "error", err)
		}
		if !e.saveIsDue() {
			continue
		}
		if err := e.checkpoint(); err != nil {
			e.set.Logger.Warn("local engine: checkpoint is put off", "dir", e.set.dir, "error", err)
			retry = time.After(saveRetry)
		}
	}
}

func (e *Engine) saveIsDue() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.mu.failed == nil && e.saver.bytes >= e.set.checkpointBytes
}

// lastCheckpoint makes the next opening a quick one.
func (e *Engine) lastCheckpoint() {
	if err := e.checkpoint(); err != nil {
		e.set.Logger.Warn("local engine: no checkpoint at closing; opening will take longer", "dir", e.set.dir, "error", err)
	}
}

// checkpoint makes one. One runs at a time.
func (e *Engine) checkpoint() error {
	if err := e.st.roomFor(e.set.checkpointBytes); err != nil {
		return err
	}
	c := e.beginCheckpoint()
	err := e.saveActors(c)
	rows := e.takeRows(c)
	if err == nil {
		err = e.saveRows(c, rows)
	}
	if err != nil {
		e.failCheckpoint(c)
		return fmt.Errorf("make checkpoint: %w", err)
	}
	if err := e.done.save(c.marker); err != nil {
		e.set.Logger.Warn("local engine: an index of ended invocations is not written; opening will take longer", "dir", e.set.dir, "error", err)
	}
	return e.dropOld(c.marker)
}

// commitToDisk returns when the journal is flushed up to a record, whatever
// the durability.
func (e *Engine) commitToDisk(at engine.Position) error {
	var err error
	if e.copied != nil {
		err = e.copied.waitSafe(queue.Index(at))
	} else {
		err = e.log.WaitDurable(context.Background(), queue.Index(at))
	}
	if err != nil && e.log.Err() != nil {
		e.failLater(err)
	}
	return err
}

// checkpoint in progress.
type checkpointing struct {
	marker   engine.Position
	actors   []*actor
	requests []*pending
	rows     []row
	full     bool
	bytes    int64
}

func (e *Engine) beginCheckpoint() *checkpointing {
	e.mu.Lock()
	defer e.mu.Unlock()
	f := e.mu.f
	c := &checkpointing{marker: f.last, actors: f.dirty, full: f.rows.full, bytes: e.saver.bytes}
	f.dirty = nil
	e.saver.bytes = 0
	e.st.empty = false
	if e.copied != nil {
		f.saved, f.history = f.last, e.copied.q.EpochOf(queue.Index(f.last))
	}
	c.requests, c.rows = f.beginRows()
	return c
}

// saveActors writes the changes of the actors into the store.
func (e *Engine) saveActors(c *checkpointing) error {
	todo, at := e.takeChanges(c.actors)
	err := e.st.healthy()
	if err == nil {
		err = e.commitToDisk(at)
	}
	for part := range slices.Chunk(todo, savedPerHold) {
		if err == nil { // what earlier parts wrote is harmless: it is older than the journal
			err = e.writeChanges(part)
		}
		e.endChanges(part, err)
	}
	return err
}

// unsaved are the changes of an actor that a checkpoint has taken.
type unsaved struct {
	*changes
	actor *actor
}

// takeChanges takes the changes of the actors, which stay as they are from here on,
// and returns the newest record in them.
func (e *Engine) takeChanges(actors []*actor) (todo []unsaved, at engine.Position) {
	todo = make([]unsaved, 0, len(actors))
	for part := range slices.Chunk(actors, savedPerHold) {
		e.mu.Lock()
		for _, a := range part {
			a.changes.saving = true
			todo = append(todo, unsaved{a.changes, a})
		}
		at = e.mu.f.last
		e.mu.Unlock()
	}
	return todo, at
}

// writeChanges writes some of them into the store.
func (e *Engine) writeChanges(part []unsaved) error {
	b := e.st.db.NewBatch()
	defer func() { _ = b.Close() }()
	for _, u := range part {
		if err := u.write(b, u.actor.Actor()); err != nil {
			return err
		}
	}
	return b.Commit(pebble.NoSync)
}

// endChanges lets go of changes that were saved, or puts them back.
func (e *Engine) endChanges(part []unsaved, err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, u := range part {
		switch a := u.actor; {
		case err != nil:
			e.mu.f.restoreChanges(a, u.changes)
		case a.changes == u.changes:
			a.changes = nil
			e.mu.f.tidy(a)
		default:
			a.changes.under = nil
		}
	}
}

// restoreChanges puts changes that were not saved under those made since.
func (f *flow) restoreChanges(a *actor, old *changes) {
	since := a.changes
	if since != old && since.wiped {
		since.under = nil
		return
	}
	old.saving = false
	if since == old {
		f.dirty = append(f.dirty, a)
		return
	}
	for cell := range since.cleared {
		old.clear(cell)
	}
	for i := range since.cells {
		old.set(&since.cells[i])
	}
	a.changes = old
}

// write puts the changes into a batch.
func (c *changes) write(b *pebble.Batch, a engine.Actor) error {
	base := actorKey(a)
	if c.wiped {
		if err := b.DeleteRange(base, after(base), nil); err != nil {
			return err
		}
	}
	for cell := range c.cleared {
		k := appendMapKey(slices.Clip(base), cell)
		if err := b.DeleteRange(k, after(k), nil); err != nil {
			return err
		}
	}
	for i := range c.cells {
		w := &c.cells[i]
		k := appendCellKey(slices.Clip(base), &w.Key)
		var err error
		if w.Op == engine.Put {
			err = b.Set(k, w.Value, nil)
		} else {
			err = b.Delete(k, nil)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// takeRows takes the rows of the flow as of the marker.
func (e *Engine) takeRows(c *checkpointing) []row {
	for part := range slices.Chunk(c.requests, savedPerHold) {
		e.mu.Lock()
		e.mu.f.takeRows(part)
		e.mu.Unlock()
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	return append(c.rows, e.mu.f.endRows()...) // removals first: an id may be there again
}

// saveRows writes the rows of the flow and the marker, and flushes the store.
func (e *Engine) saveRows(c *checkpointing, rows []row) error {
	b := e.st.db.NewBatch()
	defer func() { _ = b.Close() }()
	if c.full {
		if err := b.DeleteRange([]byte{keyFlow}, []byte{keyFlow + 1}, nil); err != nil {
			return err
		}
	}
	for _, r := range rows {
		var err error
		if r.value == nil {
			err = b.Delete(r.key, nil)
		} else {
			err = b.Set(r.key, r.value, nil)
		}
		if err != nil {
			return err
		}
	}
	if err := e.commitToDisk(c.marker); err != nil {
		return err
	}
	if err := b.Commit(pebble.NoSync); err != nil {
		return err
	}
	if err := e.st.flush(); err != nil {
		return err
	}
	if c.full {
		e.mu.Lock()
		defer e.mu.Unlock()
		e.mu.f.rows.full = false
	}
	return nil
}

// failCheckpoint makes the next one write all rows: which of them the store
// has is not known any more.
func (e *Engine) failCheckpoint(c *checkpointing) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.mu.f.rows.full = true
	e.saver.bytes += c.bytes
}

// dropOld lets go of the cycles of the journal that no opening needs and that
// are past their retention.
func (e *Engine) dropOld(marker engine.Position) error {
	cycles := e.log.Cycles()
	now := e.set.Now()
	var kept int64
	keep := queue.Index(marker).Cycle()
	for i, c := range slices.Backward(cycles) {
		kept += c.Bytes
		if i == len(cycles)-1 || c.Number >= keep {
			continue
		}
		over := cycles[i+1].Created // when the cycle ended
		if kept > e.set.retainBytes || now.Sub(over) > e.set.retain {
			before := queue.NewIndex(c.Number+1, 0)
			e.done.release(c.Number + 1)
			return e.log.ReleaseBefore(before)
		}
	}
	return nil
}

// restore brings the flow back as of the newest checkpoint, and returns its
// marker; 0 if there is none.
func (e *Engine) restore() (marker engine.Position, err error) {
	f := e.mu.f
	f.rows.full = true
	v, closer, err := e.st.db.Get([]byte{keyFlow, rowMarker})
	if errors.Is(err, pebble.ErrNotFound) {
		return 0, nil
	}
	if err != nil {
		return 0, readFailed(err)
	}
	err = f.decodeMarker(v)
	if err = errors.Join(err, closer.Close()); err != nil {
		return 0, fmt.Errorf("read checkpoint: %w", err)
	}
	e.st.empty, f.rows.full = false, false
	if err := e.restoreRows(); err != nil {
		return 0, fmt.Errorf("read checkpoint: %w", err)
	}
	if last := engine.Position(e.log.Last()); last < f.last {
		return 0, fmt.Errorf("the state in %s is of record %v, but the journal ends at %v: they do not belong together; restore both from one copy",
			e.set.dir, queue.Index(f.last), queue.Index(last))
	}
	f.saved = f.last
	return f.last, e.sameHistory()
}

func (e *Engine) restoreRows() (err error) {
	it, err := e.st.db.NewIter(&pebble.IterOptions{LowerBound: []byte{keyFlow, rowMarker + 1}, UpperBound: []byte{keyFlow + 1}})
	if err != nil {
		return readFailed(err)
	}
	defer func() { err = errors.Join(err, it.Close()) }()
	f := e.mu.f
	var saved []*savedRequest
	for ok := it.First(); ok; ok = it.Next() {
		k := it.Key()
		switch k[1] {
		case rowRequest:
			s := &savedRequest{}
			if err := s.decode(it.Value(), &f.names); err != nil {
				return err
			}
			saved = append(saved, s)
		case rowReminder:
			c, generation, err := decodeReminderRow(it.Value())
			if err != nil {
				return err
			}
			f.remind(&c, generation)
		case rowPaused:
			typ, id, ok := cutPart(k[2:])
			if !ok {
				return errBadRecord
			}
			f.paused[engine.Actor{Type: typ, ID: string(id)}] = true
		}
	}
	f.rows.reminders = nil
	if err := f.adoptRows(saved); err != nil {
		return err
	}
	return readFailed(it.Error())
}
