package queue

import (
	"errors"
	"fmt"
	"sync"
)

// TryPrev returns the entry before the tailer's place and moves the tailer in
// front of it, so that TryNext would return the same one; false at the start of
// what is kept. A new tailer made with Last()+1 reads a queue from its end. Slice
// and errors are those of TryNext; after a *LostError the next call goes on before
// that entry.
func (t *Tailer) TryPrev() (Index, []byte, bool, error) {
	if t.fail != nil {
		return 0, nil, false, t.fail
	}
	i, p, ok, err := t.tryPrev()
	if err != nil {
		return 0, nil, false, t.failed(err)
	}
	return i, p, ok, nil
}

func (t *Tailer) tryPrev() (Index, []byte, bool, error) {
	t.c.leave()
	if t.back.c.s == nil {
		if !t.startBack() {
			return 0, nil, false, nil
		}
	}
	b := &t.back
	for {
		if t.q.closed.Load() {
			return 0, nil, false, ErrClosed
		}
		at, ok := b.pop()
		if !ok {
			switch more, err := b.fill(t.q); {
			case errors.Is(err, ErrReleased), err == nil && !more:
				b.c.leave()
				return 0, nil, false, nil
			case err != nil:
				return 0, nil, false, err
			}
			continue
		}
		i := NewIndex(b.c.s.cycle, at.seq)
		b.c.seq, b.c.off = at.seq, at.off
		step, p, err := b.c.next(at.seq)
		if err != nil {
			return 0, nil, false, err
		}
		switch step {
		case stepEntry:
			t.want = i
			return i, p, true, nil
		case stepLost:
			t.want = i
			return 0, nil, false, &LostError{Index: i}
		case stepNote:
			t.want = i
		default:
			return 0, nil, false, b.c.corrupt("an entry that was there is gone", nil)
		}
	}
}

// startBack places the backward reader in front of what the tailer wants, or of
// the end if that comes first.
func (t *Tailer) startBack() bool {
	last := t.q.Last()
	if last == 0 || t.want.Cycle() == 0 { // see enter
		return false
	}
	t.want = min(t.want, last+1)
	t.back = backward{c: cursor{q: t.q, chunk: randomChunk}, cycle: t.want.Cycle(), before: t.want.Seq()}
	return true
}

// place is where an entry begins.
type place struct {
	seq uint32
	off int64
}

// backward reads a cycle from its end: the entries have no way back, so the
// stretch behind a mark of the sparse index is stepped through forwards, and its
// places are then taken from the last one on.
type backward struct {
	c      cursor
	cycle  uint32
	before uint32 // the next stretch ends in front of this sequence number
	places []place
}

func (b *backward) pop() (place, bool) {
	n := len(b.places)
	if n == 0 {
		return place{}, false
	}
	at := b.places[n-1]
	b.places = b.places[:n-1]
	b.before = at.seq
	return at, true
}

// fill finds the stretch in front of before; false at the start of the queue.
func (b *backward) fill(q *Queue) (bool, error) {
	for b.before == 0 {
		b.c.leave()
		if b.cycle--; b.cycle < q.firstCycle() || b.cycle == 0 {
			return false, nil
		}
		b.before = ^uint32(0)
	}
	s, err := q.find(b.cycle)
	if err != nil {
		return false, err
	}
	if err := q.buildIndex(s); err != nil {
		return false, q.goneOr(b.cycle, err)
	}
	if b.c.s != s {
		b.c.leave()
		if err := b.c.enter(s, 0); err != nil {
			return false, q.goneOr(b.cycle, err)
		}
	}
	b.c.seq, b.c.off = s.index.find(b.before - 1)
	for b.c.seq < b.before {
		at := place{b.c.seq, b.c.off}
		step, _, err := b.c.next(^uint32(0))
		if err != nil {
			return false, err
		}
		if step != stepSkip {
			break // the end of the cycle, or of what is there
		}
		if b.c.seq > at.seq {
			b.places = append(b.places, at)
		}
	}
	if len(b.places) == 0 {
		b.before = 0 // an empty cycle
	}
	return true, nil
}

// builder makes the sparse index of a cycle that is not sealed, in a process that
// does not append to it.
type builder struct {
	sync.Mutex // held while a cursor walks: who asks needs its result
	seq        uint32
	off        int64
}

// buildIndex brings the sparse index of a cycle up to its end, if it has none of
// its own: without it each look-up would begin at the front.
func (q *Queue) buildIndex(s *segment) error {
	if !q.readOnly || s.sealed.Load() {
		return nil
	}
	b := &s.build
	b.Lock()
	defer b.Unlock()
	c := cursor{q: q, chunk: tailChunk}
	if err := c.enter(s, 0); err != nil {
		return err
	}
	defer c.leave()
	if c.m == nil {
		return nil // sealed in the meantime: it was loaded
	}
	if b.off == 0 {
		s.index.room(s.size)
		b.off = dataStart
	}
	c.seq, c.off = b.seq, b.off
	for {
		before := place{c.seq, c.off}
		step, _, err := c.next(^uint32(0))
		b.seq, b.off = c.seq, c.off
		if err != nil {
			return fmt.Errorf("index cycle %s: %w", s.name, err)
		}
		if step != stepSkip {
			return nil
		}
		if c.seq > before.seq {
			s.index.add(before.seq, before.off)
		}
	}
}
