package queue

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// writer is the appending end: one mutex, under which an entry gets its place,
// is copied, and is published.
type writer struct {
	sync.Mutex
	maxEntry int

	// The reserving cursor: where the next entry goes.
	seg   *segment
	m     []byte // mapping of seg
	off   int64
	limit int64 // off may not pass it: behind it is the room for the end entry
	step  int64 // the helper is woken when off passes it

	// The publishing cursor: what readers see. It lags only while slots are
	// open.
	pseg *segment
	poff int64
	pseq uint32

	head, tail *pending // entries written behind an open slot, and that slot
	next       *segment // prepared cycle, held; nil until the helper made it
	unflushed  []*segment
	sealing    []*segment // over, to be sealed by the helper, in order
	own        []*segment // held by the appender: not sealed yet

	// Not on the path of an append, and so not in the way of its cache lines.
	fresh   int64         // off while seg has no entry but the note it begins with
	begun   time.Time     // when seg became the one to write to; kept if Config.RollEvery is set
	barred  string        // why nothing may be appended, see Bar; then limit is 0
	drained chan struct{} // closed when no slot is open any more; nil: nobody waits
	opening []byte        // the note that begins each cycle, see OpenCyclesWith
}

// Append adds an entry and returns its index; p is copied. The entry is visible
// to readers when Append returns, and as durable as Config.Durability says.
//
// The error matches ErrTooLarge when p can never fit, ErrFull when the disk has
// no room for the next cycle (nothing was appended; try again later),
// ErrClosed, ErrReadOnly, or is a *FlushError: then the entry may be there or not.
func (q *Queue) Append(p []byte) (Index, error) {
	crc := checksum(p)
	need := entrySize(len(p))
	if len(p) > q.w.maxEntry || q.readOnly {
		return 0, q.refuse(len(p))
	}
	if err := q.lockFor(need); err != nil {
		return 0, err
	}
	w := &q.w
	off, m := w.off, w.m
	word := uint32(wordPresent | len(p))
	copy(m[off+entryHeader:off+need], p)
	w.off += need
	if w.head != nil {
		it := w.enqueue(off, need, 1)
		it.done, it.word, it.crc = true, word, crc
		q.stepped()
		w.Unlock()
		return q.awaitPublished(it)
	}
	seg := w.seg
	storeWord(m, off, putEntry(m, seg.salt, off, word, uint32(seg.flushed.Load()/align), crc))
	i := NewIndex(seg.cycle, w.pseq)
	seg.index.add(w.pseq, off)
	w.pseq++
	w.poff = w.off
	q.last.Store(uint64(i))
	q.stepped()
	w.Unlock()
	return q.appended(i)
}

// AppendBatch adds entries with contiguous indexes and returns the first one.
// Readers see all of them or none, and so does recovery: a batch of which a
// power cut took a part is taken back whole. It must fit into one cycle (see
// MaxEntry). An empty batch does nothing and returns 0. Errors are those of
// Append.
func (q *Queue) AppendBatch(ps ...[]byte) (first Index, err error) {
	if len(ps) == 0 {
		return 0, nil
	}
	if len(ps) == 1 {
		return q.Append(ps[0])
	}
	var need int64
	var few [16]uint32
	crcs := few[:0]
	for _, p := range ps {
		need += entrySize(len(p))
		crcs = append(crcs, checksum(p))
		if len(p) > q.w.maxEntry {
			return 0, q.refuse(len(p))
		}
	}
	if room := q.cfg.CycleBytes - dataStart - entryHeader; need > room || q.readOnly {
		return 0, q.refuse(int(need))
	}
	if err := q.lockFor(need); err != nil {
		return 0, err
	}
	w := &q.w
	start, seg, m := w.off, w.seg, w.m
	mark := uint32(seg.flushed.Load() / align)
	var firstWord uint64
	off, seq := start, w.pseq
	direct := w.head == nil
	for i, p := range ps {
		word := uint32(wordPresent | len(p))
		if i < len(ps)-1 {
			word |= wordMore
		}
		copy(m[off+entryHeader:], p)
		v := putEntry(m, seg.salt, off, word, mark, crcs[i])
		switch {
		case i == 0:
			firstWord = v
		default: // unreachable for readers until the first word is there
			storeWord(m, off, v)
		}
		if direct {
			seg.index.add(seq, off)
			seq++
		}
		off += entrySize(len(p))
	}
	w.off = off
	if !direct {
		it := w.enqueue(start, need, len(ps))
		it.done, it.first = true, firstWord
		q.stepped()
		w.Unlock()
		return q.awaitPublished(it)
	}
	storeWord(m, start, firstWord)
	first = NewIndex(seg.cycle, w.pseq)
	w.pseq = seq
	w.poff = off
	last := NewIndex(seg.cycle, seq-1)
	q.last.Store(uint64(last))
	q.stepped()
	w.Unlock()
	if _, err := q.appended(last); err != nil {
		return 0, err
	}
	return first, nil
}

// refuse explains why an entry can never be appended here.
func (q *Queue) refuse(n int) error {
	if q.readOnly {
		return fmt.Errorf("append to queue %s: %w", q.path, ErrReadOnly)
	}
	return fmt.Errorf("append %d bytes to queue %s: %w: the limit for cycles of %d bytes is %d; open it with larger ones",
		n, q.path, ErrTooLarge, q.cfg.CycleBytes, q.w.maxEntry)
}

// lockFor locks the writer with room for need bytes at its reserving cursor,
// rolling to the next cycle if it must. On an error the writer is not locked. See
// lockForNote for the same on a barred queue.
func (q *Queue) lockFor(need int64) error {
	w := &q.w
	for {
		w.Lock()
		if q.closed.Load() || q.failed.Load() != nil {
			w.Unlock()
			return fmt.Errorf("append to queue %s: %w", q.path, q.Err())
		}
		if w.off+need <= w.limit {
			return nil
		}
		if err := q.refusal(); err != nil {
			w.Unlock()
			return fmt.Errorf("append to queue %s: %w", q.path, err)
		}
		if q.neverFits(need) {
			w.Unlock()
			return q.refuse(int(need - entryHeader))
		}
		if w.next != nil {
			q.roll()
			w.Unlock()
			continue
		}
		w.Unlock()
		if err := q.prep.make(q); err != nil {
			return fmt.Errorf("append to queue %s: %w", q.path, err)
		}
	}
}

// neverFits says whether an entry does not even fit behind the note that each
// cycle begins with. The writer is locked.
func (q *Queue) neverFits(need int64) bool {
	w := &q.w
	return w.off == w.fresh && w.fresh > dataStart && w.off+need > max(q.cfg.CycleBytes, w.seg.size)-entryHeader
}

// roll ends the cycle at the reserving cursor and goes on in the prepared one.
// The writer is locked.
func (q *Queue) roll() {
	w := &q.w
	next := w.next
	w.next = nil
	w.own = append(w.own, next)
	old, off := w.seg, w.off
	w.seg, w.m, w.off = next, next.mu.m, dataStart
	if w.barred == "" {
		w.limit = w.room()
	}
	w.step = dataStart + q.stepBytes(next)
	if q.cfg.RollEvery > 0 {
		w.begun = q.cfg.Now()
	}
	q.set.Lock()
	q.set.segs[next.cycle] = next
	q.set.top = next.cycle
	q.set.Unlock()
	if w.head != nil {
		it := w.enqueueAt(old, off, entryHeader, 0)
		it.done, it.next = true, next
	} else {
		q.publishEnd(old, off, next)
	}
	if w.opening != nil {
		q.writeNote(w.opening)
		q.publishDone()
	}
	w.fresh = w.off
	q.kickHelper()
}

// publishEnd closes a cycle to readers and moves the publishing cursor on.
func (q *Queue) publishEnd(old *segment, off int64, next *segment) {
	w := &q.w
	m := old.mu.m
	const word = wordPresent | kindEnd<<kindShift
	old.count.Store(w.pseq)
	storeWord(m, off, putEntry(m, old.salt, off, word, uint32(old.flushed.Load()/align), 0))
	old.end.Store(off + entryHeader)
	w.unflushed = append(w.unflushed, old)
	w.sealing = append(w.sealing, old)
	w.pseg, w.poff, w.pseq = next, dataStart, 0
}

// stepped wakes the helper each time the cursor has moved by a step.
func (q *Queue) stepped() {
	if q.w.off >= q.w.step {
		q.w.step = q.w.off + q.stepBytes(q.w.seg)
		q.kickHelper()
	}
}

func (q *Queue) kickHelper() {
	select {
	case q.kick <- struct{}{}:
	default:
	}
}

// appended finishes an append outside the mutex: wakes tailers, flushes.
func (q *Queue) appended(i Index) (Index, error) {
	if q.waiting.n.Load() != 0 {
		q.waiting.wake()
	}
	if q.cfg.Durability == EveryAppend {
		if err := q.WaitDurable(context.Background(), i); err != nil {
			return 0, err
		}
	}
	return i, nil
}
