package queue

import (
	"fmt"
	"math"
	"time"
)

// Retention says when a sealed cycle is deleted: as soon as one of the limits
// that are set says so, oldest first, and never before what a position that
// holds back has read (see PositionOptions). A zero limit is none. The cycle
// that is being written always stays.
type Retention struct {
	// Age deletes a cycle once its last entry is older. All younger entries are
	// kept.
	Age time.Duration
	// Bytes deletes cycles while all together use more: it bounds the disk space,
	// but for the cycle that is being written and the next one, which have their
	// full size there.
	Bytes int64
	// Entries deletes a cycle when there are at least so many entries without it:
	// the newest ones, as many as this, are kept.
	Entries int64
}

// releasable is how many of the cycles, oldest first, the limits let go.
func (r Retention) releasable(cycles []CycleInfo, now time.Time) int {
	var bytes, entries int64
	for _, c := range cycles {
		bytes += c.Bytes
		entries += int64(c.Entries)
	}
	for n, c := range cycles {
		old := r.Age > 0 && now.Sub(c.Ended) > r.Age
		large := r.Bytes > 0 && bytes > r.Bytes
		many := r.Entries > 0 && entries-int64(c.Entries) >= r.Entries
		if !c.Sealed || !old && !large && !many {
			return n
		}
		bytes -= c.Bytes
		entries -= int64(c.Entries)
	}
	return len(cycles)
}

// retain applies Config.Retain.
func (q *Queue) retain(now time.Time) error {
	cycles := q.Cycles()
	n := q.cfg.Retain.releasable(cycles, now)
	if n == 0 {
		return nil
	}
	return q.ReleaseBefore(NewIndex(cycles[n-1].Number+1, 0))
}

// ReleaseBefore deletes the sealed cycles all of whose entries lie below i,
// oldest first, but none that holds an entry which a position that holds back
// has yet to read. Tailers that are inside a deleted cycle read it to its end. It
// deletes nothing else, so entries below i may stay.
func (q *Queue) ReleaseBefore(i Index) error {
	if q.readOnly {
		return fmt.Errorf("release cycles of queue %s: %w", q.path, ErrReadOnly)
	}
	q.releasing.Lock()
	defer q.releasing.Unlock()
	held := Index(math.MaxUint64)
	for asked := false; ; {
		if q.closed.Load() {
			return fmt.Errorf("release cycles of queue %s: %w", q.path, ErrClosed)
		}
		_, first := q.lookup(0)
		s, _ := q.lookup(first)
		if s == nil || !s.sealed.Load() || !s.below(i) {
			return nil
		}
		if !asked {
			var err error
			if held, err = q.heldBack(); err != nil {
				return fmt.Errorf("release cycles of queue %s: %w", q.path, err)
			}
			asked = true
		}
		if !s.below(held) {
			return nil
		}
		if err := q.deleteCycle(s); err != nil {
			return fmt.Errorf("release cycle %s of queue %s: %w", s.name, q.path, err)
		}
	}
}

// below says whether all entries of a sealed cycle lie below i.
func (s *segment) below(i Index) bool { return s.cycle < i.Cycle() || s.last() < i }

// deleteCycle deletes the first cycle. Each one is gone durably before the next
// is touched: a power cut must not leave a gap.
func (q *Queue) deleteCycle(s *segment) error {
	q.set.Lock()
	delete(q.set.segs, s.cycle)
	q.set.first = s.cycle + 1
	q.set.Unlock()
	q.letGo(s)
	if err := q.dir.Remove(s.name); err != nil {
		return err
	}
	if err := q.dir.Sync(); err != nil {
		return err
	}
	q.tell(FileDeleted, s)
	return nil
}
