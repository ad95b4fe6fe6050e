package queue

import "fmt"

// AppendNote appends a note: an entry with an index that tailers step over, which
// is how what a copy must know, such as the begin of an epoch, stands in the log
// itself. p is copied. Errors are those of Append; also on a barred queue.
func (q *Queue) AppendNote(p []byte) (Index, error) {
	n := len(p) + 1
	if n > q.w.maxEntry || q.readOnly {
		return 0, q.refuse(n)
	}
	if err := q.lockForNote(entrySize(n)); err != nil {
		return 0, fmt.Errorf("append note to queue %s: %w", q.path, err)
	}
	it := q.writeNote(p)
	q.publishDone()
	q.stepped()
	q.w.Unlock()
	return q.awaitPublished(it)
}

// lockForNote is lockFor for whoever directs the queue, barred or not.
func (q *Queue) lockForNote(need int64) error {
	w := &q.w
	for {
		w.Lock()
		if err := q.Err(); err != nil {
			w.Unlock()
			return err
		}
		if w.off+need <= w.room() {
			return nil
		}
		if q.neverFits(need) {
			w.Unlock()
			return q.refuse(int(need - entryHeader))
		}
		next := w.next
		if next != nil && !next.copied {
			q.roll()
			w.Unlock()
			continue
		}
		w.Unlock()
		if next != nil { // begun by another source, which this one succeeds
			q.prep.mu.Lock()
			q.prep.discard(q)
			q.prep.mu.Unlock()
		}
		if err := q.prep.make(q); err != nil {
			return err
		}
	}
}

// writeNote puts a note at the reserving cursor, where there is room. The writer
// is locked.
func (q *Queue) writeNote(p []byte) *pending {
	w := &q.w
	need := entrySize(len(p) + 1)
	it := w.enqueue(w.off, need, 1)
	b := w.m[w.off+entryHeader:][:len(p)+1]
	b[0] = metaNote
	copy(b[1:], p)
	w.off += need
	it.done, it.crc = true, checksum(b)
	it.word = wordPresent | kindMeta<<kindShift | uint32(len(b))
	return it
}

// OpenCyclesWith makes p the note that each cycle begins with from the next one
// on, so that whoever has a cycle has the note that it stands under. Nil ends
// that. It must be much smaller than a cycle, and makes the largest entry smaller
// by its own size, rounded up to 8 bytes, and 16.
func (q *Queue) OpenCyclesWith(p []byte) error {
	if limit := MaxEntry(MinCycleBytes) / 4; len(p) > limit {
		return fmt.Errorf("begin cycles of queue %s with a note of %d bytes: %w: the limit is %d", q.path, len(p), ErrTooLarge, limit)
	}
	q.w.Lock()
	q.w.opening = append([]byte(nil), p...)
	q.w.Unlock()
	return nil
}

// LastNote finds the last note at or before i in the cycle of i, or else in the
// cycles before it; it matches ErrNotFound when there is none.
func (q *Queue) LastNote(i Index) (Index, []byte, error) {
	fail := func(err error) (Index, []byte, error) {
		return 0, nil, fmt.Errorf("find note before %s in queue %s: %w", i, q.path, err)
	}
	i = min(i, q.Last())
	for cycle := i.Cycle(); cycle > 0 && cycle >= q.firstCycle(); cycle-- {
		to := ^uint32(0)
		if cycle == i.Cycle() {
			to = i.Seq()
		}
		at, p, err := q.lastNoteIn(cycle, to)
		if err != nil {
			return fail(err)
		}
		if at != 0 {
			return at, p, nil
		}
	}
	return fail(fmt.Errorf("%w: there is no note", ErrNotFound))
}

// lastNoteIn walks a cycle up to a sequence number.
func (q *Queue) lastNoteIn(cycle, to uint32) (at Index, note []byte, err error) {
	s, err := q.find(cycle)
	if err != nil {
		return 0, nil, err
	}
	c := cursor{q: q, chunk: tailChunk}
	if err := c.enter(s, 0); err != nil {
		return 0, nil, q.goneOr(cycle, err)
	}
	defer c.leave()
	err = c.guarded(func() error {
		for c.seq <= to {
			e, present, err := c.peek()
			if err != nil || !present || e.kind == kindEnd {
				return err
			}
			if e.kind == kindMeta {
				p, err := c.payload(e)
				if err != nil {
					return err
				}
				if len(p) > 0 && p[0] == metaNote {
					at, note = NewIndex(cycle, c.seq), append(note[:0], p[1:]...)
				}
			}
			c.off += e.size()
			if e.indexed() {
				c.seq++
			}
		}
		return nil
	})
	return at, note, err
}
