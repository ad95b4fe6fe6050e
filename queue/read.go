package queue

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"
)

const (
	tailChunk   = 256 << 10 // a tailer's reads of a sealed cycle
	randomChunk = 8 << 10   // a single look-up's: the sparse index leads to the page
	maxOpen     = 8         // sealed cycles kept open besides those in use
)

// Read returns a copy of entry i. The error matches ErrReleased for an entry
// before the first kept one and ErrNotFound for one that is not there (yet), or
// that is a note of replication; it is a *CorruptError when the entry does not
// check and a *LostError when Repair has given it up.
func (q *Queue) Read(i Index) ([]byte, error) {
	fail := func(err error) ([]byte, error) {
		return nil, fmt.Errorf("read entry %s of queue %s: %w", i, q.path, err)
	}
	if q.closed.Load() {
		return fail(ErrClosed)
	}
	if !q.readOnly && uint64(i) > q.last.Load() {
		return fail(ErrNotFound)
	}
	s, err := q.find(i.Cycle())
	if err != nil {
		return fail(err)
	}
	c := cursor{q: q, chunk: randomChunk}
	if err := c.enter(s, i.Seq()); err != nil {
		return fail(q.goneOr(i.Cycle(), err))
	}
	defer c.leave()
	for {
		at, p, err := c.next(i.Seq())
		switch {
		case err != nil:
			return fail(err)
		case at == stepNone, at == stepEnd:
			return fail(ErrNotFound)
		case at == stepNote:
			return fail(fmt.Errorf("%w: a note of replication is there", ErrNotFound))
		case at == stepLost:
			return fail(&LostError{Index: i})
		case at == stepEntry && c.m == nil:
			return append(make([]byte, 0, len(p)), p...), nil // not the whole window
		case at == stepEntry:
			return p, nil // this cursor's own copy
		}
	}
}

// find gives a cycle. A read-only queue looks into the directory for one that
// it has not seen.
func (q *Queue) find(cycle uint32) (*segment, error) {
	s, first := q.lookup(cycle)
	if s == nil && q.readOnly {
		if err := q.rescan(); err != nil {
			return nil, err
		}
		s, first = q.lookup(cycle)
	}
	if s != nil {
		return s, nil
	}
	if cycle > 0 && cycle < first {
		return nil, fmt.Errorf("%w: the first kept cycle is %d", ErrReleased, first)
	}
	return nil, ErrNotFound
}

func (q *Queue) lookup(cycle uint32) (s *segment, first uint32) {
	q.set.RLock()
	defer q.set.RUnlock()
	return q.set.segs[cycle], q.set.first
}

// goneOr turns the error of a file that was released in the meantime.
func (q *Queue) goneOr(cycle uint32, err error) error {
	if isMissing(err) {
		return fmt.Errorf("%w: cycle %d", ErrReleased, cycle)
	}
	return err
}

// openSegment opens a cycle that is not the appender's, for reading; one that
// is not sealed is mapped, since it grows. Called with the segment's lock held.
func (q *Queue) openSegment(s *segment) (File, []byte, error) {
	if q.closed.Load() {
		return nil, nil, ErrClosed
	}
	o, f, h, err := openCycle(q.dir, q.path, s.cycle, false)
	if err != nil {
		return nil, nil, err
	}
	if s.size == 0 { // first sight, in a read-only queue
		s.salt, s.size, s.created, s.cuts, s.copied = o.salt, o.size, o.created, o.cuts, o.copied
	}
	if s.salt != o.salt || s.cuts != o.cuts {
		return nil, nil, errors.Join(fmt.Errorf("open cycle %s: %w", s.name, ErrSetAside), f.Close())
	}
	if o.sealed.Load() {
		s.end.Store(o.end.Load())
		s.count.Store(o.count.Load())
		s.ended.Store(o.ended.Load())
		s.sealed.Store(true)
		loadIndex(f, s, h.stamp)
		return f, nil, nil
	}
	m, err := f.Map(s.size, false)
	if err != nil {
		return nil, nil, errors.Join(fmt.Errorf("map cycle %s: %w", s.name, err), f.Close())
	}
	return f, m, nil
}

// loadIndex reads the stored sparse index. Without one reading starts at the
// front of the cycle, which is slow and right.
func loadIndex(f File, s *segment, st stamp) {
	if b := storedIndex(f, s, st); b != nil {
		s.index.load(b)
	}
}

// storedIndex reads the index behind a sealed cycle; nil if it does not check.
func storedIndex(f File, s *segment, st stamp) []byte {
	if st.state != stampSealed || st.indexLen == 0 || int64(st.indexLen) > s.size/pageSize+1 {
		return nil
	}
	b := make([]byte, st.indexLen*8)
	n, err := f.ReadAt(b, st.used)
	if n < len(b) || err != nil && !errors.Is(err, io.EOF) || checksum(b) != st.indexCRC {
		return nil
	}
	return b
}

// storedMarks is that index by offset.
func storedMarks(f File, s *segment, st stamp) map[int64]uint32 {
	marks := map[int64]uint32{}
	b := storedIndex(f, s, st)
	for ; len(b) >= 8; b = b[8:] {
		v := binary.LittleEndian.Uint64(b)
		marks[int64(uint32(v))*align] = uint32(v >> 32)
	}
	return marks
}

// evict notes that a cycle was opened for a reader, and lets go of the one that
// was opened longest ago when there are many. Those in use stay until they are
// given back.
func (q *Queue) evict(s *segment) {
	q.opened.Lock()
	q.opened.list = append(q.opened.list, s)
	var old *segment
	if len(q.opened.list) > maxOpen {
		old = q.opened.list[0]
		q.opened.list = slices.Delete(q.opened.list, 0, 1)
	}
	q.opened.Unlock()
	if old != nil && old != s {
		q.letGo(old)
	}
}

// unmapOld lets go of sealed cycles but the newest ones, so that memory does
// not grow with the queue.
func (q *Queue) unmapOld() {
	q.set.RLock()
	defer q.set.RUnlock()
	held := 0
	for c := q.set.top; c >= q.set.first && c > 0; c-- {
		s := q.set.segs[c]
		if s == nil || !s.sealed.Load() {
			continue
		}
		if held++; held > maxHeld {
			q.letGo(s)
			return // older ones were let go when they were that old
		}
	}
}

// Unmap gives up the mappings and open files of the sealed cycles that lie
// below the index; they are read with ordinary reads from then on. Without it
// the newest few stay mapped.
func (q *Queue) Unmap(before Index) {
	q.set.RLock()
	defer q.set.RUnlock()
	for c, s := range q.set.segs {
		if c < before.Cycle() && s.sealed.Load() {
			q.letGo(s)
		}
	}
}

// CycleInfo describes one cycle file.
type CycleInfo struct {
	Number  uint32    `json:"number"`
	Path    string    `json:"path"`
	Bytes   int64     `json:"bytes"`   // in use, with the header page; grows until the cycle is over
	First   Index     `json:"first"`   // 0 when it has no entry
	Last    Index     `json:"last"`    // 0 when it has no entry
	Entries uint32    `json:"entries"` // published
	Sealed  bool      `json:"sealed"`  // over, flushed and trimmed
	Created time.Time `json:"created"`
	Ended   time.Time `json:"ended"` // when it was sealed; zero before
}

func (s *segment) info(q *Queue) CycleInfo {
	ci := CycleInfo{
		Number: s.cycle, Path: q.filePath(s.name), Bytes: s.end.Load(), Entries: s.count.Load(),
		Sealed: s.sealed.Load(), Created: s.created,
	}
	if ci.Sealed {
		ci.Ended = time.Unix(0, s.ended.Load())
	}
	if ci.Entries > 0 {
		ci.First, ci.Last = NewIndex(s.cycle, 0), s.last()
	}
	return ci
}
