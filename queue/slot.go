package queue

import (
	"encoding/binary"
	"fmt"
)

// Slot is a place in the queue that its owner fills without a copy. It must
// be ended with Commit or Abandon: until then everything that was appended
// behind it stays unseen, and its appenders wait. A Slot belongs to one
// goroutine at a time.
type Slot struct {
	q  *Queue
	it *pending
	b  []byte
}

// pending is a place between the publishing and the reserving cursor: an open
// slot, or an entry, batch or roll behind one.
type pending struct {
	seg     *segment
	off     int64
	need    int64
	entries int // data entries; 0 for a pad or an end
	done    bool
	word    uint32
	crc     uint32
	first   uint64   // of a batch: its first word, ready
	next    *segment // of a roll
	index   Index    // once published
	wait    chan error
	link    *pending
}

func (w *writer) enqueue(off, need int64, entries int) *pending {
	return w.enqueueAt(w.seg, off, need, entries)
}

func (w *writer) enqueueAt(seg *segment, off, need int64, entries int) *pending {
	it := &pending{seg: seg, off: off, need: need, entries: entries, wait: make(chan error, 1)}
	if w.tail == nil {
		w.head = it
	} else {
		w.tail.link = it
	}
	w.tail = it
	return it
}

// Reserve takes a place for an entry of n bytes. The order of the queue is that
// of the reservations. Errors are those of Append. A goroutine that holds an
// open slot must not Append: it would wait for itself; it may Reserve again.
func (q *Queue) Reserve(n int) (*Slot, error) {
	if n < 0 || n > q.w.maxEntry || q.readOnly {
		return nil, q.refuse(n)
	}
	need := entrySize(n)
	if err := q.lockFor(need); err != nil {
		return nil, err
	}
	w := &q.w
	off := w.off
	w.off += need
	it := w.enqueue(off, need, 1)
	it.word = uint32(wordPresent | n)
	b := w.m[off+entryHeader : off+entryHeader+int64(n) : off+entryHeader+int64(n)]
	// Hold the mapping: the slot may outlive the queue. It is open, so this
	// cannot fail.
	it.seg.mu.Lock()
	it.seg.mu.refs++
	it.seg.mu.Unlock()
	q.stepped()
	w.Unlock()
	return &Slot{q: q, it: it, b: b}, nil
}

// Bytes is the place to write to, all zero at first. It must not be touched
// after Commit or Abandon.
func (s *Slot) Bytes() []byte { return s.b }

// Commit publishes the entry and returns its index once every earlier slot is
// committed or abandoned. Errors are ErrClosed and, under EveryAppend, a
// *FlushError.
func (s *Slot) Commit() (Index, error) {
	if s.it == nil {
		return 0, fmt.Errorf("commit slot: %w", errSlotDone)
	}
	return s.q.finish(s, s.it.word, 1)
}

// Abandon gives the place up. It stays in the file as padding that readers
// skip; it takes no index. Abandon does not wait; after Commit it does nothing.
func (s *Slot) Abandon() {
	if s.it != nil {
		pad := s.it.word | kindPad<<kindShift
		_, _ = s.q.finish(s, pad, 0) // a pad waits for nothing and has no failure of its own
	}
}

func (q *Queue) finish(s *Slot, word uint32, entries int) (Index, error) {
	it, crc := s.it, checksum(s.b)
	s.it, s.b = nil, nil
	w := &q.w
	w.Lock()
	if q.closed.Load() {
		w.Unlock()
		q.release(it.seg)
		return 0, fmt.Errorf("commit slot: %w", ErrClosed)
	}
	it.done, it.word, it.crc, it.entries = true, word, crc, entries
	q.publishDone()
	w.Unlock()
	q.release(it.seg)
	if entries == 0 {
		_, err := q.appended(0)
		return 0, err
	}
	return q.awaitPublished(it)
}

// publishDone publishes the finished run at the head and wakes its appenders.
// The writer is locked.
func (q *Queue) publishDone() {
	w := &q.w
	for it := w.head; it != nil && it.done; it = w.head {
		w.head = it.link
		if w.head == nil {
			w.tail = nil
			if w.drained != nil {
				close(w.drained)
				w.drained = nil
			}
		}
		if it.next != nil {
			q.publishEnd(it.seg, it.off, it.next)
			q.kickHelper()
			continue
		}
		q.publishPending(it)
		it.wait <- nil // one slot, sent once
	}
}

func (q *Queue) publishPending(it *pending) {
	w, m := &q.w, it.seg.mu.m
	first := it.first
	if it.entries > 1 {
		q.indexBatch(m, it)
	} else {
		first = putEntry(m, it.seg.salt, it.off, it.word, uint32(it.seg.flushed.Load()/align), it.crc)
		if it.entries == 1 {
			it.seg.index.add(w.pseq, it.off)
		}
	}
	storeWord(m, it.off, first)
	w.poff = it.off + it.need
	if it.entries > 0 {
		w.pseq += uint32(it.entries)
		it.index = NewIndex(it.seg.cycle, w.pseq-uint32(it.entries))
		q.last.Store(uint64(NewIndex(it.seg.cycle, w.pseq-1)))
	}
}

// indexBatch walks a batch that is in place but for its first word.
func (q *Queue) indexBatch(m []byte, it *pending) {
	off, word := it.off, uint32(it.first)
	for k := range it.entries {
		it.seg.index.add(q.w.pseq+uint32(k), off)
		off += entrySize(int(word & lengthMask))
		if k < it.entries-1 {
			word = binary.LittleEndian.Uint32(m[off:])
		}
	}
}

// failPending ends all waits behind open slots: the queue closes.
func (q *Queue) failPending() {
	for it := q.w.head; it != nil; it = it.link {
		if it.done && it.next == nil {
			it.wait <- ErrClosed
		}
	}
	q.w.head, q.w.tail = nil, nil
}

// awaitPublished waits until every earlier slot has ended.
func (q *Queue) awaitPublished(it *pending) (Index, error) {
	if err := <-it.wait; err != nil {
		return 0, fmt.Errorf("append to queue %s: %w", q.path, err)
	}
	if _, err := q.appended(it.index + Index(it.entries-1)); err != nil {
		return 0, err
	}
	return it.index, nil
}
