package queue

import (
	"context"
	"errors"
	"fmt"
)

// Place is the place of an entry: which one, and where in its cycle. Padding lies
// between entries, so the index alone does not say where a copy goes on.
type Place struct {
	Index  Index
	Offset int64 // 0: behind the entry in front of it, before any padding
}

// Place is where the next entry goes: behind an end entry that is the start of
// the next cycle. On a queue that is open for reading it has no offset.
func (q *Queue) Place() Place {
	if q.readOnly {
		return Place{Index: q.Last() + 1}
	}
	q.w.Lock()
	defer q.w.Unlock()
	return Place{NewIndex(q.w.pseg.cycle, q.w.pseq), q.w.poff}
}

// BeginCycle makes the cycle that the next blocks belong to, on a barred queue:
// it comes before the block that ends the cycle in front of it, and before the
// first block of all. If the cycle being written is empty it is replaced, and if
// the queue has no entry at all, by one of any number; but the one that follows an
// empty copied one is the next, and takes its place if the first block is of it. A
// cycle that is there already is left as it is. Errors are those of Append, and match ErrPlace when it
// is not the turn of that cycle.
func (q *Queue) BeginCycle(h CycleHead) error {
	fail := func(err error) error {
		return fmt.Errorf("begin cycle %d of queue %s: %w", h.Cycle, q.path, err)
	}
	header := cycleHeader{cycle: h.Cycle, size: h.Bytes, salt: h.Salt, created: h.Created.UnixNano(), copied: true}
	if _, err := decodeHeader(header.encode()); err != nil {
		return fail(err)
	}
	p := &q.prep
	p.mu.Lock()
	defer p.mu.Unlock()
	q.w.Lock()
	seg, empty, next, barred := q.w.seg, q.w.off == dataStart, q.w.next, q.w.barred != ""
	q.w.Unlock()
	fresh := empty && q.fresh() && (!seg.copied || h.Cycle != seg.cycle+1)
	same := func(s *segment) bool { return s != nil && s.cycle == h.Cycle && s.salt == h.Salt }
	switch {
	case q.Err() != nil:
		return fail(q.Err())
	case !barred:
		return fail(errNotBarred)
	case same(seg) && (seg.copied || !empty), same(next):
		return nil
	case empty && seg.cycle == h.Cycle, fresh:
		if err := q.replaceEmpty(seg, header); err != nil {
			return fail(err)
		}
		return nil
	case h.Cycle != seg.cycle+1:
		return fail(fmt.Errorf("%w: the last one is %d", ErrPlace, seg.cycle))
	}
	p.discard(q)
	s, err := q.createCycle(header)
	if err == nil {
		p.seg = s
		err = p.end(q)
	}
	if err != nil {
		return fail(err)
	}
	return nil
}

// fresh reports whether the queue has never had an entry, and one cycle.
func (q *Queue) fresh() bool { return q.Last() == 0 && len(q.snapshot()) == 1 }

// skipTo drops the empty first cycle of a queue whose first block is of the next one.
func (q *Queue) skipTo(cycle uint32) error {
	q.prep.mu.Lock()
	defer q.prep.mu.Unlock()
	q.w.Lock()
	seg, empty, next := q.w.seg, q.w.off == dataStart, q.w.next
	q.w.Unlock()
	if !empty || seg.cycle == cycle || next == nil || next.cycle != cycle || !q.fresh() {
		return nil
	}
	return q.replaceEmpty(seg, cycleHeader{cycle: cycle, size: next.size, salt: next.salt, created: next.created.UnixNano(), copied: true})
}

// readyFor makes the queue ready for a block of a cycle. Its marks are of another disk.
// In a cycle of this host's own, where recovery goes by marks, what lies before it must be
// on this disk too.
func (q *Queue) readyFor(cycle uint32) error {
	if q.Last() == 0 {
		if err := q.skipTo(cycle); err != nil {
			return err
		}
	}
	w := &q.w
	w.Lock()
	seg, here := w.seg, w.pseq
	w.Unlock()
	if seg.copied || here == 0 {
		return nil
	}
	return q.WaitDurable(context.Background(), NewIndex(seg.cycle, here-1))
}

// replaceEmpty puts another cycle in the place of the empty one at the end of the
// queue. prep.mu is held, so nobody else makes cycles, and the queue is barred, so
// nobody fills this one.
func (q *Queue) replaceEmpty(old *segment, header cycleHeader) error {
	q.prep.discard(q)
	s, err := q.createCycle(header)
	if err != nil {
		return err
	}
	if s.cycle != old.cycle { // the only one: without it the queue is just empty
		if err := errors.Join(q.dir.Remove(old.name), q.dir.Sync()); err != nil {
			return err
		}
	}
	if err := q.installCycle(s); err != nil {
		return err
	}
	w := &q.w
	w.Lock()
	w.seg, w.m, w.off, w.limit = s, s.mu.m, dataStart, 0
	w.step, w.fresh = dataStart+q.stepBytes(s), dataStart
	w.pseg, w.poff, w.pseq = s, dataStart, 0
	w.begun = q.cfg.Now()
	w.own = append(w.own, s) // the old one stays held: the helper may be looking at it
	if old.flushed.Load() > 0 {
		s.flushed.Store(dataStart)
	}
	q.set.Lock()
	delete(q.set.segs, old.cycle)
	q.set.segs[s.cycle], q.set.top = s, s.cycle
	if q.set.first == old.cycle {
		q.set.first = s.cycle
	}
	q.set.Unlock()
	w.Unlock()
	q.letGo(old) // with its last user: no list of cycles has it any more
	q.prep.top = s.cycle
	return nil
}

// Apply appends a block that a BlockReader of another queue has read, on a barred
// queue: the same bytes at the same place. Readers see all of it or nothing. It
// checks every byte before it changes anything: a block that does not prove itself
// matches ErrBadBlock, one that is not the next (see Place) or whose cycle has not
// begun ErrPlace. It is as durable as an append; wait with WaitDurable. Only one
// call of this or ApplyProved may run at a time.
func (q *Queue) Apply(b Block) error {
	if err := q.readyFor(b.Cycle); err != nil {
		return q.unapplied(&b, err)
	}
	w := &q.w
	w.Lock()
	err := q.placeFor(&b)
	head := w.seg.head()
	w.Unlock()
	// Outside the lock: only one Apply runs, and nobody else appends.
	var p *Proved
	if err == nil {
		p, err = b.Prove(head, nil)
	}
	if err != nil {
		return q.unapplied(&b, err)
	}
	return q.ApplyProved(p)
}

// ApplyProved is Apply for a block that has been proved, and does not look at its bytes
// again. A proof against another head than that of the cycle is none: ErrBadBlock.
func (q *Queue) ApplyProved(p *Proved) error {
	b := &p.b
	if err := q.readyFor(b.Cycle); err != nil {
		return q.unapplied(b, err)
	}
	w := &q.w
	w.Lock()
	err := q.placeFor(b)
	if err == nil && (w.seg.salt != p.head.Salt || w.seg.size != p.head.Bytes) {
		err = fmt.Errorf("%w: it is proved for another cycle %d", ErrBadBlock, b.Cycle)
	}
	if err != nil {
		w.Unlock()
		return q.unapplied(b, err)
	}
	for _, at := range p.begins {
		w.seg.index.add(at.seq, at.off)
	}
	q.publishBlock(b)
	w.Unlock()
	if _, err := q.appended(0); err != nil {
		return q.unapplied(b, err)
	}
	return nil
}

func (q *Queue) unapplied(b *Block, err error) error {
	return fmt.Errorf("apply block %s of %d entries to queue %s: %w", b.First(), b.Entries, q.path, err)
}

// placeFor says whether the block is the next one. The writer is locked.
func (q *Queue) placeFor(b *Block) error {
	w := &q.w
	switch {
	case q.Err() != nil:
		return q.Err()
	case w.barred == "" || w.head != nil:
		return errNotBarred
	case len(b.Bytes) == 0:
		return fmt.Errorf("%w: it is empty", ErrBadBlock)
	case w.seg.cycle != b.Cycle || w.off != b.Offset || w.pseq != b.Seq:
		return fmt.Errorf("%w: the next is %s at offset %d", ErrPlace, NewIndex(w.seg.cycle, w.pseq), w.off)
	case b.End && w.next == nil:
		return fmt.Errorf("%w: it ends cycle %d, and cycle %d has not begun", ErrPlace, b.Cycle, b.Cycle+1)
	}
	return nil
}

// publishBlock copies a checked block and publishes its first word last. The
// writer is locked.
func (q *Queue) publishBlock(b *Block) {
	w := &q.w
	seg, m := w.seg, w.m
	copy(m[b.Offset+align:], b.Bytes[align:])
	w.off += int64(len(b.Bytes))
	w.pseq += b.Entries
	if b.End {
		next := w.next
		w.next = nil
		w.own = append(w.own, next)
		q.set.Lock()
		q.set.segs[next.cycle], q.set.top = next, next.cycle
		q.set.Unlock()
		seg.count.Store(w.pseq)
		storeWord(m, b.Offset, b.firstWord())
		seg.end.Store(w.off)
		w.unflushed = append(w.unflushed, seg)
		w.sealing = append(w.sealing, seg)
		w.seg, w.m, w.off = next, next.mu.m, dataStart
		w.step, w.fresh = dataStart+q.stepBytes(next), dataStart
		w.pseg, w.pseq = next, 0
		w.begun = q.cfg.Now()
		q.kickHelper()
	} else {
		storeWord(m, b.Offset, b.firstWord())
	}
	w.poff = w.off
	if b.Entries > 0 {
		q.last.Store(uint64(NewIndex(b.Cycle, b.Seq+b.Entries-1)))
	}
	q.stepped()
}
