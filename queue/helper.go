package queue

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"sync"
	"syscall"
	"time"
)

const (
	touchAhead = 1 << 20  // bytes in front of the cursor that are kept present
	slowPace   = 40 << 20 // bytes a second up to which an appender is slow, see pace
	maxHeld    = 2        // sealed cycles that stay mapped until Unmap
)

// stepBytes is how far the cursor moves between two kicks of the helper.
func (q *Queue) stepBytes(s *segment) int64 { return min(touchAhead/4, s.size/8) }

// help is the queue's helper: it keeps the pages in front of the cursor present,
// prepares the next cycle before it is needed, and seals the ones that are over.
func (q *Queue) help() {
	var p pace
	for {
		select {
		case <-q.quit:
			return
		case <-q.kick:
		}
		q.touch(&p)
		q.prep.ahead(q)
		q.sealReady()
	}
}

// pace is how fast the appender moves. In front of a slow one the helper writes
// zeros to the disk, so that the extents are written ones when somebody flushes
// them: the first flush of one that was only allocated also has the file system
// change, and commit, what it knows of the extent. Waiting for that made small
// flushes a fifth longer on ext4 with a journal. But it writes everything twice,
// which at 60 MB/s cost more than half of the flushes. See decision 0053.
type pace struct{ last time.Time }

// slow says whether the appender has taken its time for the last n bytes. The first
// time it has.
func (p *pace) slow(n int64, now time.Time) bool {
	took := now.Sub(p.last)
	p.last = now
	return float64(n) <= took.Seconds()*slowPace
}

// touch brings in the pages that the appender will reach next.
func (q *Queue) touch(p *pace) {
	q.w.Lock()
	s, off := q.w.seg, q.w.off
	q.w.Unlock()
	q.dropBehind(s, off)
	from := max(s.touched, off&^(pageSize-1))
	to := min((off+touchAhead)&^(pageSize-1), s.size)
	if from >= to {
		return
	}
	f, m := s.mu.file, s.mu.m
	err := f.Touch(m, from, to-from)
	if slow := p.slow(to-from, time.Now()); err == nil && slow && q.cfg.Durability != Process {
		if err := q.flushTouched(s, from, to); err != nil {
			q.cfg.Logger.Error("queue: flush failed, no more entries are taken", "error", err)
			return
		}
		err = f.Touch(m, from, to-from)
	}
	q.warn("touch cycle", s.name, err)
	s.touched = to
}

// keepBehind is how much of what was appended stays in the memory of the
// process: readers are mostly near the end.
const keepBehind = 1 << 20

// dropBehind lets pages go that the appender has left behind, so that the
// memory of the process does not grow with its cycles.
func (q *Queue) dropBehind(s *segment, off int64) {
	behind := (off - keepBehind) &^ (pageSize - 1)
	if behind-s.dropped < keepBehind {
		return
	}
	q.warn("drop pages of cycle", s.name, s.mu.file.Drop(s.mu.m, s.dropped, behind-s.dropped))
	s.dropped = behind
}

// flushTouched flushes pages touched ahead. An error is final before any leader
// can report a flush of its own (see touchFailed).
func (q *Queue) flushTouched(s *segment, from, to int64) error {
	q.touching.Lock()
	defer q.touching.Unlock()
	if err := s.mu.file.Flush(s.mu.m, from, to-from); err != nil {
		return q.fail(s.name, err)
	}
	return nil
}

// preparer makes the next cycle: allocated, durable in the directory, mapped, and
// its first pages present.
type preparer struct {
	mu  sync.Mutex // held across file system calls: who wants it needs the file
	seg *segment   // under way, still with its temporary name
	top uint32     // number of the newest cycle made
}

// ahead prepares the next cycle if it is time.
func (p *preparer) ahead(q *Queue) {
	q.w.Lock()
	due := q.w.next == nil && q.w.off > q.w.seg.size/2 && !q.closed.Load() && q.w.barred == ""
	q.w.Unlock()
	if !due {
		return
	}
	if err := p.make(q); err != nil {
		// Not a failure yet: the append that needs the cycle tries again.
		q.cfg.Logger.Debug("queue: prepare next cycle", "path", q.path, "error", err)
	}
}

// make returns once w.next is there, made on the spot if the helper was late.
func (p *preparer) make(q *Queue) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.begin(q); err != nil {
		return err
	}
	return p.end(q)
}

// begin creates the file, unless the next cycle is there or under way.
func (p *preparer) begin(q *Queue) error {
	q.w.Lock()
	done := q.w.next != nil
	q.w.Unlock()
	if done || p.seg != nil {
		return nil
	}
	s, err := q.createCycle(q.newCycle(p.top + 1))
	if err != nil {
		return err
	}
	p.seg = s
	return nil
}

// end makes the file durable under its name and hands it to the appender.
func (p *preparer) end(q *Queue) error {
	s := p.seg
	if s == nil {
		return nil
	}
	if err := q.installCycle(s); err != nil {
		return err
	}
	p.seg, p.top = nil, s.cycle
	q.warn("touch cycle", s.name, s.mu.file.Touch(s.mu.m, 0, min(touchAhead, s.size)))
	q.w.Lock()
	q.w.next = s
	q.w.Unlock()
	return nil
}

// discard removes what was prepared and never used: the queue is closed, or takes
// its cycles from elsewhere. mu is held.
func (p *preparer) discard(q *Queue) {
	q.w.Lock()
	next := q.w.next
	q.w.next = nil
	p.top = q.w.seg.cycle
	q.w.Unlock()
	for _, s := range []*segment{p.seg, next} {
		if s == nil {
			continue
		}
		name := s.name
		if s == p.seg {
			name += tempSuffix
		}
		q.letGo(s)
		q.release(s)
		if err := q.dir.Remove(name); err != nil {
			q.warn("remove spare cycle", name, err)
		} else if s != p.seg {
			q.tell(FileDeleted, s)
		}
	}
	p.seg = nil
}

// newCycle is the header of a cycle of this queue's own.
func (q *Queue) newCycle(cycle uint32) cycleHeader {
	return newCycleHeader(cycle, q.cfg.CycleBytes, q.cfg.Now())
}

func newCycleHeader(cycle uint32, size int64, now time.Time) cycleHeader {
	var salt [8]byte
	_, _ = rand.Read(salt[:]) // never fails
	return cycleHeader{cycle: cycle, size: size, salt: binary.LittleEndian.Uint64(salt[:]), created: now.UnixNano()}
}

// createCycle makes a cycle file under a temporary name, held once for the
// appender. A disk without room gives a *FullError and leaves nothing behind.
func (q *Queue) createCycle(h cycleHeader) (*segment, error) {
	name, size := cycleName(h.cycle), h.size
	tmp := name + tempSuffix
	f, err := q.dir.Create(tmp)
	if err != nil {
		return nil, fmt.Errorf("create cycle %s: %w", name, full(err, q.filePath(name), size))
	}
	var m []byte
	if err = f.Allocate(size); err == nil {
		_, err = f.WriteAt(h.encode(), 0)
	}
	if err == nil {
		m, err = f.Map(size, true)
	}
	if err != nil {
		err = errors.Join(err, f.Close(), q.dir.Remove(tmp))
		return nil, fmt.Errorf("create cycle %s: %w", name, full(err, q.filePath(name), size))
	}
	s := newSegment(h)
	s.index.room(size)
	s.mu.file, s.mu.m, s.mu.refs = f, m, 1
	return s, nil
}

// full turns a disk without room into the error that says so.
func full(err error, path string, need int64) error {
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		return &FullError{Path: path, Need: need, Err: err}
	}
	return err
}

// installCycle gives the file its name, durably, content first: a cycle under
// its name has a whole header.
func (q *Queue) installCycle(s *segment) error {
	if err := s.mu.file.Sync(); err != nil {
		return q.fail(s.name+tempSuffix, err)
	}
	if err := q.dir.Rename(s.name+tempSuffix, s.name); err != nil {
		return fmt.Errorf("name cycle %s: %w", s.name, full(err, q.filePath(s.name), pageSize))
	}
	if err := q.dir.Sync(); err != nil {
		return q.fail("", err)
	}
	q.tell(FileCreated, s)
	return nil
}

// fail makes a failed flush final.
func (q *Queue) fail(name string, err error) error {
	q.failed.CompareAndSwap(nil, &FlushError{Path: q.filePath(name), Durable: q.Durable(), Err: err})
	return q.failed.Load()
}

// sealReady seals the cycles that are over, oldest first.
func (q *Queue) sealReady() {
	for {
		q.w.Lock()
		if len(q.w.sealing) == 0 {
			q.w.Unlock()
			return
		}
		s := q.w.sealing[0]
		q.w.Unlock()
		// Its end is published, so flushing what is published flushes it.
		if s.flushed.Load() < s.end.Load() && q.flushEnd() != nil {
			return
		}
		q.warn("seal cycle", s.name, q.seal(s))
		s.sealed.Store(true)
		q.w.Lock()
		q.w.sealing = slices.Delete(q.w.sealing, 0, 1)
		q.w.own = slices.DeleteFunc(q.w.own, func(o *segment) bool { return o == s })
		q.w.Unlock()
		q.release(s)
		q.unmapOld()
		q.kickTend()
		if q.cfg.OnRoll != nil {
			q.cfg.OnRoll(s.info(q))
		}
	}
}

// flushEnd flushes up to the end entry of every cycle that is over.
func (q *Queue) flushEnd() error {
	q.flush.seize()
	q.lead()
	if fe := q.failed.Load(); fe != nil {
		return fe
	}
	return nil
}

// seal writes the sparse index and the stamp, and trims the file. All of it
// can be made again from the entries.
func (q *Queue) seal(s *segment) error {
	f, end := s.mu.file, s.end.Load()
	st := stamp{state: stampSealed, count: s.count.Load(), used: end, at: q.cfg.Now().UnixNano()}
	s.ended.Store(st.at)
	index := s.index.encode()
	if _, err := f.WriteAt(index, end); err == nil {
		st.indexLen, st.indexCRC = uint32(len(index)/8), checksum(index)
	} else {
		index = nil
	}
	err := f.Truncate(end + int64(len(index)))
	if err == nil {
		err = f.Sync() // the index before the stamp that points to it
	}
	if err == nil {
		_, err = f.WriteAt(st.encode(s.salt), stampOffset)
	}
	if err == nil {
		err = f.Sync()
	}
	return err
}

// stampClosed notes in the current cycle how far it is flushed.
func (q *Queue) stampClosed() {
	q.w.Lock()
	s := q.w.pseg
	st := stamp{state: stampClosed, count: q.w.pseq, used: q.w.poff, at: q.cfg.Now().UnixNano()}
	q.w.Unlock()
	_, err := s.mu.file.WriteAt(st.encode(s.salt), stampOffset)
	if err == nil {
		err = s.mu.file.Sync()
	}
	q.warn("stamp cycle", s.name, err)
}
