package queue

import (
	"errors"
	"fmt"
	"slices"
	"sync"
)

// First is the index of the first kept entry, 0 when there is none.
func (q *Queue) First() Index {
	last := q.Last()
	if last == 0 {
		return 0
	}
	c := q.firstCycle()
	if !q.readOnly {
		// A cycle may hold padding only.
		for s, _ := q.lookup(c); s != nil && s.end.Load() > 0 && s.count.Load() == 0; s, _ = q.lookup(c) {
			c++
		}
	}
	if i := NewIndex(c, 0); c > 0 && i <= last {
		return i
	}
	return 0
}

// firstCycle is the lowest cycle kept, 0 when there is none.
func (q *Queue) firstCycle() uint32 {
	if q.readOnly {
		q.warn("list", "", q.rescan())
	}
	_, first := q.lookup(0)
	return first
}

// Cycles describes the kept cycles in order; the last one is being written. A
// prepared cycle that nothing was written to is left out. On a queue that is
// open for reading it looks at the files; cycles that cannot be read are
// left out.
func (q *Queue) Cycles() []CycleInfo {
	var infos []CycleInfo
	if q.readOnly {
		last := q.Last() // brings the follower to the end
		q.warn("list", "", q.rescan())
		for _, s := range q.snapshot() {
			ci, err := q.statCycle(s, last)
			if err != nil {
				q.warn("look at cycle", s.name, err)
				continue
			}
			if ci.Entries > 0 || ci.Number == q.firstCycleSeen() {
				infos = append(infos, ci)
			}
		}
		return infos
	}
	q.w.Lock()
	live := q.w.pseg.info(q)
	live.Bytes, live.Entries = q.w.poff, q.w.pseq
	q.w.Unlock()
	if live.Entries > 0 {
		live.First, live.Last = NewIndex(live.Number, 0), NewIndex(live.Number, live.Entries-1)
	}
	for _, s := range q.snapshot() {
		if s.cycle < live.Number {
			infos = append(infos, s.info(q))
		}
	}
	return append(infos, live)
}

func (q *Queue) firstCycleSeen() uint32 {
	_, first := q.lookup(0)
	return first
}

// snapshot lists the known segments in order.
func (q *Queue) snapshot() []*segment {
	q.set.RLock()
	defer q.set.RUnlock()
	segs := make([]*segment, 0, len(q.set.segs))
	for _, s := range q.set.segs {
		segs = append(segs, s)
	}
	slices.SortFunc(segs, func(a, b *segment) int { return int(a.cycle) - int(b.cycle) })
	return segs
}

// rescan brings a read-only queue's list of cycles up to the directory.
func (q *Queue) rescan() error {
	cycles, err := cycleNumbers(q.dir)
	if err != nil {
		return err
	}
	q.set.Lock()
	defer q.set.Unlock()
	for _, c := range cycles {
		if q.set.segs[c] == nil {
			q.set.segs[c] = &segment{cycle: c, name: cycleName(c)}
		}
	}
	for c, s := range q.set.segs {
		if _, ok := slices.BinarySearch(cycles, c); !ok {
			delete(q.set.segs, c)
			q.letGo(s)
		}
	}
	if len(cycles) > 0 {
		q.set.first, q.set.top = cycles[0], cycles[len(cycles)-1]
	}
	return nil
}

// statCycle counts a cycle of a read-only queue.
func (q *Queue) statCycle(s *segment, last Index) (CycleInfo, error) {
	c := cursor{q: q, chunk: tailChunk}
	if err := c.enter(s, ^uint32(0)); err != nil {
		return CycleInfo{}, err
	}
	defer c.leave()
	ci := s.info(q)
	if !ci.Sealed {
		for at := stepSkip; at == stepSkip && !(s.cycle == last.Cycle() && c.seq > last.Seq()); {
			var err error
			if at, _, err = c.next(^uint32(0)); err != nil {
				break // a torn tail: it has as many entries as can be read
			}
		}
		ci.Bytes, ci.Entries = c.off, c.seq
		if ci.Entries > 0 {
			ci.First, ci.Last = NewIndex(s.cycle, 0), NewIndex(s.cycle, ci.Entries-1)
		}
	}
	return ci, nil
}

// follower is how a read-only queue knows its last entry: it steps over entries
// up to the end each time it is asked.
type follower struct {
	mu  sync.Mutex // held over the walk: who asks needs its result
	c   cursor
	end Index
}

func (r *follower) last(q *Queue) Index {
	r.mu.Lock()
	defer r.mu.Unlock()
	if q.closed.Load() {
		r.c.leave()
		return r.end
	}
	if err := r.walk(q); err != nil && !errors.Is(err, ErrNotFound) {
		q.warn("follow", "", err)
		r.c.leave()
	}
	return r.end
}

func (r *follower) walk(q *Queue) error {
	if r.c.q == nil {
		r.c = cursor{q: q, chunk: tailChunk}
	}
	cycle := r.end.Cycle()
	if r.c.s == nil {
		if err := q.rescan(); err != nil {
			return err
		}
		var err error
		if cycle, err = q.lastBegun(cycle); err != nil || cycle == 0 {
			return err
		}
		s, err := q.find(cycle)
		if err != nil {
			return err
		}
		if err := r.c.enter(s, r.end.Seq()); err != nil {
			return q.goneOr(cycle, err)
		}
	}
	for {
		at, _, err := r.c.next(^uint32(0))
		if r.c.seq > 0 {
			r.end = NewIndex(r.c.s.cycle, r.c.seq-1)
		}
		switch {
		case err != nil:
			return err
		case at == stepNone:
			return nil
		case at == stepEnd:
			next := r.c.s.cycle + 1
			r.c.leave()
			s, err := q.find(next)
			if err != nil {
				return err
			}
			if err := r.c.enter(s, 0); err != nil {
				return q.goneOr(next, err)
			}
		}
	}
}

// lastBegun is the highest cycle from the given one on in which an entry, or its
// end, is published; 0 when none is.
func (q *Queue) lastBegun(from uint32) (uint32, error) {
	segs := q.snapshot()
	for _, s := range slices.Backward(segs) {
		if s.cycle < from {
			break
		}
		c := cursor{q: q, chunk: randomChunk}
		if err := c.enter(s, 0); err != nil {
			if isMissing(err) {
				continue
			}
			return 0, fmt.Errorf("look at cycle %s: %w", s.name, err)
		}
		w, _, err := c.header()
		c.leave()
		if err == nil && uint32(w) != 0 {
			return s.cycle, nil
		}
	}
	if len(segs) > 0 {
		return segs[0].cycle, nil
	}
	return 0, nil
}
