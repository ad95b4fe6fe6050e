package local

import (
	"cmp"
	"errors"
	"fmt"
	"iter"
	"math"
	"path/filepath"
	"slices"
	"sync"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/pawl-go/pawl/engine"
	"github.com/pawl-go/pawl/queue"
)

// completions finds the record of the outcome of an invocation that has ended,
// as long as the journal keeps it. Those of the cycle being written are in
// memory; those of a cycle that is over are in a sorted file of their own,
// DIR/journal-index/<cycle>.idx, which goes with the cycle. The files can be
// made again from the journal, and are if they are missing.
type completions struct {
	fs      vfs.FS
	dir     string
	writing sync.Mutex // one file is written at a time; guards nothing else
	mu      struct {
		sync.Mutex
		cycles []*completedCycle // oldest first
	}
	wake func() // a cycle is over: seal is to be called
}

// completedCycle are the invocations whose outcomes stand in one cycle of the
// journal: in chunks, in the order of the journal, and the derived ids in a map
// too, since they are looked up while calls wait; or all in a file.
type completedCycle struct {
	cycle   uint32
	chunks  [][]completed
	derived map[engine.ID]engine.Position
	file    *indexFile // nil while in memory
}

// completed is an ended invocation and the record of its outcome.
type completed struct {
	id engine.ID
	at engine.Position
}

const completedChunk = 4096

func newCompletions(fs vfs.FS, dir string, wake func()) *completions {
	return &completions{fs: fs, dir: dir, wake: wake}
}

// add notes an outcome. Positions rise.
func (c *completions) add(id engine.ID, at engine.Position) {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := len(c.mu.cycles)
	if cy := queue.Index(at).Cycle(); n == 0 || c.mu.cycles[n-1].cycle < cy {
		if n > 0 {
			c.wake()
		}
		c.mu.cycles = append(c.mu.cycles, &completedCycle{cycle: cy})
		n++
	}
	c.mu.cycles[n-1].add(id, at)
}

func (y *completedCycle) add(id engine.ID, at engine.Position) {
	n := len(y.chunks)
	if n == 0 || len(y.chunks[n-1]) == completedChunk {
		y.chunks = append(y.chunks, make([]completed, 0, completedChunk))
		n++
	}
	y.chunks[n-1] = append(y.chunks[n-1], completed{id, at})
	if id.Derived() {
		if y.derived == nil {
			y.derived = map[engine.ID]engine.Position{}
		}
		y.derived[id] = at
	}
}

// snapshot lists the cycles, newest first, with what they have in memory.
func (c *completions) snapshot() []completedCycle {
	c.mu.Lock()
	defer c.mu.Unlock()
	list := make([]completedCycle, 0, len(c.mu.cycles))
	for _, y := range slices.Backward(c.mu.cycles) {
		// Chunks are only appended to, so that a copied header stays good.
		list = append(list, completedCycle{cycle: y.cycle, chunks: slices.Clone(y.chunks), file: y.file})
	}
	return list
}

// find gives the position of the newest outcome of id, 0 if it is not known.
func (c *completions) find(id engine.ID) (engine.Position, error) {
	if at := c.findDerived(id); at != 0 {
		return at, nil
	}
	for _, y := range c.snapshot() {
		if y.file != nil {
			at, err := y.file.find(id)
			if at != 0 || err != nil {
				return at, err
			}
			continue
		}
		if id.Derived() {
			continue // was not in the map
		}
		for _, ch := range slices.Backward(y.chunks) {
			for _, x := range slices.Backward(ch) {
				if x.id == id {
					return x.at, nil
				}
			}
		}
	}
	return 0, nil
}

// findDerived looks a derived id up in memory.
func (c *completions) findDerived(id engine.ID) engine.Position {
	if !id.Derived() {
		return 0
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, y := range slices.Backward(c.mu.cycles) {
		if at, ok := y.derived[id]; ok {
			return at
		}
	}
	return 0
}

// recent reports whether a derived id is among those in memory.
func (c *completions) recent(id engine.ID) bool { return c.findDerived(id) != 0 }

// newestFirst yields all, the last ended first.
func (c *completions) newestFirst() iter.Seq2[completed, error] {
	return func(yield func(completed, error) bool) {
		for _, y := range c.snapshot() {
			if y.file != nil {
				all, err := y.file.all()
				if err != nil {
					yield(completed{}, err)
					return
				}
				slices.SortFunc(all, func(x, y completed) int { return cmp.Compare(x.at, y.at) })
				y.chunks = [][]completed{all}
			}
			for _, ch := range slices.Backward(y.chunks) {
				for _, x := range slices.Backward(ch) {
					if !yield(x, nil) {
						return
					}
				}
			}
		}
	}
}

// complete is the reach of an index that has all of its cycle.
func complete(cycle uint32) engine.Position {
	return engine.Position(queue.NewIndex(cycle, math.MaxUint32))
}

// seal writes the files of the cycles that are over, and lets go of what was
// in memory of them.
func (c *completions) seal() error {
	c.writing.Lock()
	defer c.writing.Unlock()
	c.mu.Lock()
	var over []*completedCycle
	for i, y := range c.mu.cycles {
		if y.file == nil && i < len(c.mu.cycles)-1 {
			over = append(over, y)
		}
	}
	c.mu.Unlock()
	for _, y := range over {
		f, err := c.write(y.cycle, slices.Concat(y.chunks...), complete(y.cycle))
		if err != nil {
			return err
		}
		c.mu.Lock()
		y.file, y.chunks, y.derived = f, nil, nil
		c.mu.Unlock()
	}
	return nil
}

// save writes what is known up to a position of the cycle being written, so
// that opening need not read the cycle for it.
func (c *completions) save(upto engine.Position) error {
	c.writing.Lock()
	defer c.writing.Unlock()
	for _, y := range c.snapshot() {
		if y.file != nil || y.cycle != queue.Index(upto).Cycle() {
			continue
		}
		all := slices.Concat(y.chunks...)
		n, _ := slices.BinarySearchFunc(all, upto+1, func(x completed, at engine.Position) int { return cmp.Compare(x.at, at) })
		f, err := c.write(y.cycle, all[:n], upto)
		if err != nil {
			return err
		}
		return f.close()
	}
	return nil
}

func (c *completions) path(cycle uint32) string {
	return filepath.Join(c.dir, fmt.Sprintf("%08x.idx", cycle))
}

func (c *completions) write(cycle uint32, all []completed, upto engine.Position) (*indexFile, error) {
	if err := c.fs.MkdirAll(c.dir, 0o700); err != nil {
		return nil, fmt.Errorf("write index: %w", err)
	}
	return writeIndex(c.fs, c.path(cycle), cycle, all, upto)
}

// load prepares for the cycles that the journal keeps: from their files, or
// from the journal. What lies behind the marker is added by the replay.
func (c *completions) load(q journal, marker engine.Position) error {
	for _, ci := range q.Cycles() {
		if ci.Entries == 0 || ci.First > queue.Index(marker) {
			continue
		}
		y := &completedCycle{cycle: ci.Number}
		from := ci.First
		f, err := openIndex(c.fs, c.path(ci.Number), ci.Number)
		switch {
		case err != nil: // made again
		case f.upto >= complete(ci.Number):
			y.file = f
		case f.upto <= marker:
			all, err := f.all()
			if err == nil {
				slices.SortFunc(all, func(x, y completed) int { return cmp.Compare(x.at, y.at) })
				for _, x := range all {
					y.add(x.id, x.at)
				}
				from = queue.Index(f.upto) + 1
			}
			_ = f.close() // only read
		default:
			_ = f.close()
		}
		if y.file == nil {
			if err := y.scan(q, from, min(queue.Index(marker), ci.Last)); err != nil {
				return err
			}
		}
		c.mu.cycles = append(c.mu.cycles, y)
	}
	return nil
}

// scan finds the outcomes in the records from one to another.
func (y *completedCycle) scan(q journal, from, to queue.Index) error {
	if from > to {
		return nil
	}
	t := q.NewTailer(from)
	defer t.Close()
	for {
		i, b, ok, err := t.TryNext()
		if err != nil {
			return fmt.Errorf("read journal: %w", err)
		}
		if !ok || i > to {
			return nil
		}
		if err := y.scanRecord(b, engine.Position(i)); err != nil {
			return fmt.Errorf("read record %v: %w", i, err)
		}
	}
}

func (y *completedCycle) scanRecord(b []byte, at engine.Position) error {
	d := decoder{b: b}
	for d.next() {
		switch d.n {
		case opOutcome:
			var x outcomeOp
			if err := x.decode(d.p); err != nil {
				return err
			}
			if x.tail == nil {
				y.add(x.id, at)
			}
		case opLost:
			var l losses
			if err := l.decode(d.p); err != nil {
				return err
			}
			for _, id := range l.orphans {
				y.add(id, at)
			}
		}
	}
	return d.err
}

// release forgets the cycles before a number; their files are deleted.
func (c *completions) release(before uint32) {
	c.mu.Lock()
	var gone []*completedCycle
	c.mu.cycles = slices.DeleteFunc(c.mu.cycles, func(y *completedCycle) bool {
		old := y.cycle < before
		if old {
			gone = append(gone, y)
		}
		return old
	})
	c.mu.Unlock()
	for _, y := range gone {
		if y.file != nil {
			_ = y.file.close() // only read
		}
		_ = c.fs.Remove(c.path(y.cycle)) // what stays is overwritten, or ignored
	}
}

// close lets go of the files.
func (c *completions) close() (err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, y := range c.mu.cycles {
		if y.file != nil {
			err = errors.Join(err, y.file.close())
		}
	}
	c.mu.cycles = nil
	return err
}
