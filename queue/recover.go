package queue

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
)

// Recovery reports what Open set aside: the torn tail of a queue whose process
// or host had died. Nothing of it was known to be flushed.
type Recovery struct {
	Cycle   uint32    `json:"cycle"`   // the torn cycle
	Offset  int64     `json:"offset"`  // of the first entry that is not whole
	Index   Index     `json:"index"`   // that it would have had
	Last    Index     `json:"last"`    // last entry kept; 0: none
	Reason  string    `json:"reason"`  // what is wrong with it
	Bytes   int64     `json:"bytes"`   // set aside
	Entries int       `json:"entries"` // whole ones among them, behind the bad one
	Files   []string  `json:"files"`   // where the bytes are now
	At      time.Time `json:"at"`
}

// recovering is the state of one recovery.
type recovering struct {
	q      *Queue
	cycles []uint32
	files  []File // open, of cycles that are not sealed
	stops  []stop
	segs   []*segment
	active int // place in cycles of the one to go on in; len(cycles): a new one
	torn   *Recovery
	tail   remnant
	behind []remnant // of the cycles after the active one
}

// recover reads what is there and makes the queue ready for appending. All
// checks come before the first change.
func (q *Queue) recover() error {
	r := &recovering{q: q}
	if err := r.scan(); err != nil {
		r.closeFiles()
		return err
	}
	if err := r.settle(); err != nil {
		r.closeFiles()
		return err
	}
	return nil
}

func (r *recovering) closeFiles() {
	for i, f := range r.files {
		if f != nil {
			r.q.warn("close cycle", r.segs[i].name, f.Close())
		}
	}
}

// scan opens all cycles, in order, and walks through those without a seal up to
// the first place where the queue ends.
func (r *recovering) scan() error {
	q := r.q
	var err error
	if r.cycles, err = cycleNumbers(q.dir); err != nil {
		return err
	}
	r.active = -1
	for i, c := range r.cycles {
		if i > 0 && c != r.cycles[i-1]+1 {
			missing := cycleName(r.cycles[i-1] + 1)
			return &CorruptError{Path: q.filePath(missing), Cycle: r.cycles[i-1] + 1, Reason: "the file is missing"}
		}
		s, f, h, err := openCycle(q.dir, q.path, c, true)
		if err != nil {
			return err
		}
		r.segs, r.files, r.stops = append(r.segs, s), append(r.files, f), append(r.stops, stop{})
		if s.sealed.Load() && r.active < 0 {
			r.files[i] = nil
			if err := f.Close(); err != nil {
				return fmt.Errorf("close cycle %s: %w", s.name, err)
			}
			continue
		}
		if r.active < 0 {
			if err := r.walk(i, h.stamp); err != nil {
				return err
			}
		}
	}
	if r.active < 0 {
		r.active = len(r.cycles)
		return nil
	}
	return r.judge()
}

// walk reads cycle i; if the queue ends in it, it becomes the active one.
func (r *recovering) walk(i int, st stamp) error {
	s := r.segs[i]
	s.index.room(s.size)
	sc := s.scanner(r.files[i])
	if err := sc.findEnd(r.files[i].NextData); err != nil {
		return fmt.Errorf("scan cycle %s: %w", s.name, err)
	}
	end, err := sc.walk(func(off int64, seq uint32, e entry, _ []byte) error {
		if e.indexed() {
			s.index.add(seq, off)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("scan cycle %s: %w", s.name, err)
	}
	if st.state != stampNone {
		end.mark = max(end.mark, st.used)
	}
	r.stops[i] = end
	if end.over {
		s.count.Store(end.seq)
		s.end.Store(end.off + entryHeader)
		return nil
	}
	s.index.cut(end.seq)
	if r.tail, err = sc.rest(end.off, r.files[i].NextData); err != nil {
		return fmt.Errorf("scan cycle %s: %w", s.name, err)
	}
	r.stops[i].mark = max(end.mark, r.tail.mark)
	r.active = i
	return nil
}

// judge tells a clean end from a torn one and from damage.
func (r *recovering) judge() error {
	s, end := r.segs[r.active], r.stops[r.active]
	size, err := r.files[r.active].Size()
	if err != nil {
		return fmt.Errorf("look at cycle %s: %w", s.name, err)
	}
	flushed := end.mark
	var behind remnant
	for i := r.active + 1; i < len(r.cycles); i++ {
		later := r.segs[i]
		rest, err := later.scanner(r.files[i]).rest(dataStart, r.files[i].NextData)
		if err != nil {
			return fmt.Errorf("scan cycle %s: %w", later.name, err)
		}
		if rest.mark > 0 || later.sealed.Load() {
			flushed = s.size // its first mark says that all before it is flushed
		}
		r.behind = append(r.behind, rest)
		behind.whole += rest.whole
		behind.end += rest.end
	}
	reason := end.reason
	switch {
	case reason == "" && size < end.off:
		reason = fmt.Sprintf("the file ends at %d", size)
	case reason == "" && r.tail.end > 0:
		reason = "nothing was published here, but there is something behind it"
	case reason == "" && (behind.end > 0 || flushed > end.off):
		reason = "the cycle has no end entry"
	}
	if end.off < flushed {
		return &CorruptError{
			Path: r.q.filePath(s.name), Cycle: s.cycle, Offset: end.off, Index: NewIndex(s.cycle, end.seq),
			Reason: fmt.Sprintf("%s; the cycle is known to have been flushed up to %d", reason, flushed),
		}
	}
	if r.tail.end > 0 || behind.end > 0 {
		r.torn = &Recovery{
			Cycle: s.cycle, Offset: end.off, Index: NewIndex(s.cycle, end.seq), Last: r.last(),
			Reason: reason, Entries: r.tail.whole + behind.whole, At: r.q.cfg.Now(),
		}
	}
	return nil
}

// last is the index of the last whole entry.
func (r *recovering) last() Index {
	for i := min(r.active, len(r.segs)-1); i >= 0; i-- {
		n := r.segs[i].count.Load()
		if i == r.active {
			n = r.stops[i].seq
		}
		if n > 0 {
			return NewIndex(r.segs[i].cycle, n-1)
		}
	}
	return 0
}

// settle makes the changes: sets aside, cuts off, flushes, and puts the
// appender at the end.
func (r *recovering) settle() error {
	q := r.q
	if err := r.removeLeftovers(); err != nil {
		return err
	}
	if r.torn != nil {
		if err := r.setAside(); err != nil {
			return fmt.Errorf("set aside torn tail: %w", err)
		}
		q.recovery = r.torn
		q.cfg.Logger.Warn("queue: set a torn tail aside", "path", q.path, "report", r.torn)
	}
	// Prepared, never used. The last one goes first, durably: a gap between two
	// cycles would look like damage.
	for i := len(r.cycles) - 1; i > r.active; i-- {
		if err := errors.Join(r.files[i].Close(), r.remove(i)); err != nil {
			return fmt.Errorf("remove spare cycle %s: %w", r.segs[i].name, err)
		}
		r.files[i] = nil
	}
	n := min(r.active, len(r.cycles))
	for i := range n {
		if err := r.keep(i); err != nil {
			return err
		}
	}
	q.prep.top = 0
	if n > 0 {
		q.prep.top = r.cycles[n-1]
	}
	s, err := r.begin()
	if err != nil {
		return err
	}
	// What a dead process left in the page cache counts as kept only once it
	// is on the disk.
	if err := errors.Join(s.mu.file.Sync(), q.dir.Sync()); err != nil {
		return q.fail(s.name, err)
	}
	if q.set.first = s.cycle; n > 0 {
		q.set.first = r.cycles[0]
	}
	q.set.segs[s.cycle], q.set.top = s, s.cycle
	last := r.last()
	q.last.Store(uint64(last))
	q.durable.Store(uint64(last))
	if err := q.setBackPositions(); err != nil {
		return fmt.Errorf("set back positions: %w", err)
	}
	return nil
}

func (r *recovering) remove(i int) error {
	if r.segs[i].name == "" {
		return nil // done by setAside
	}
	return errors.Join(r.q.dir.Remove(r.segs[i].name), r.q.dir.Sync())
}

// keep takes over a cycle that is over; one without a seal is sealed later.
func (r *recovering) keep(i int) error {
	q, s, f := r.q, r.segs[i], r.files[i]
	q.set.segs[s.cycle] = s
	if s.sealed.Load() {
		return nil
	}
	if err := f.Sync(); err != nil {
		return q.fail(s.name, err)
	}
	s.flushed.Store(s.end.Load())
	s.mu.file, s.mu.refs = f, 1
	r.files[i] = nil
	q.w.own = append(q.w.own, s)
	q.w.sealing = append(q.w.sealing, s)
	return nil
}

// begin puts the cursors at the end of the active cycle, or of a new one.
func (r *recovering) begin() (*segment, error) {
	q, w := r.q, &r.q.w
	var s *segment
	off, seq := int64(dataStart), uint32(0)
	if r.active < len(r.cycles) {
		s = r.segs[r.active]
		off, seq = r.stops[r.active].off, r.stops[r.active].seq
		f := r.files[r.active]
		if err := f.Allocate(s.size); err != nil {
			return nil, full(err, q.filePath(s.name), s.size)
		}
		m, err := f.Map(s.size, true)
		if err != nil {
			return nil, fmt.Errorf("map cycle %s: %w", s.name, err)
		}
		s.mu.file, s.mu.m, s.mu.refs = f, m, 1
		r.files[r.active] = nil
	} else {
		var err error
		if s, err = q.createCycle(q.newCycle(q.prep.top + 1)); err != nil {
			return nil, err
		}
		if err := q.installCycle(s); err != nil {
			return nil, err
		}
	}
	s.flushed.Store(off)
	q.prep.top = s.cycle
	w.seg, w.m, w.off, w.limit = s, s.mu.m, off, s.size-entryHeader
	w.pseg, w.poff, w.pseq = s, off, seq
	w.fresh = dataStart
	w.begun = r.begun(s, off)
	w.own = append(w.own, s)
	return s, nil
}

// begun is when a cycle became the one to write to: when the one before it was
// over, for it may have been prepared long before. Of one that is empty it is now.
func (r *recovering) begun(s *segment, off int64) time.Time {
	if off == dataStart {
		return r.q.cfg.Now()
	}
	if r.active > 0 && r.active < len(r.segs) {
		if ended := time.Unix(0, r.segs[r.active-1].ended.Load()); ended.After(s.created) {
			return ended
		}
	}
	return s.created
}

// removeLeftovers deletes cycles that were being made.
func (r *recovering) removeLeftovers() error {
	names, err := r.q.dir.List()
	if err != nil {
		return fmt.Errorf("list queue directory: %w", err)
	}
	for _, name := range names {
		if strings.HasSuffix(name, cycleSuffix+tempSuffix) {
			if err := r.q.dir.Remove(name); err != nil {
				return fmt.Errorf("remove leftover: %w", err)
			}
		}
	}
	return nil
}

// setAside copies the torn bytes of the active cycle and moves later cycles that
// hold any, with a report; only then it clears the tail. A crash in between
// leads here again.
func (r *recovering) setAside() error {
	q, s, t := r.q, r.segs[r.active], r.torn
	base := fmt.Sprintf("%s%010d-%d-%d", tornPrefix, s.cycle, t.Offset, t.At.UnixNano())
	if r.tail.end > t.Offset {
		name := base + ".bytes"
		if err := r.copyTail(name, t.Offset, r.tail.end); err != nil {
			return err
		}
		t.Files = append(t.Files, name)
		t.Bytes += r.tail.end - t.Offset
	}
	for i := len(r.cycles) - 1; i > r.active; i-- { // the last one first, as in settle
		later := r.segs[i]
		if r.behind[i-r.active-1].end == 0 {
			if err := r.remove(i); err != nil {
				return err
			}
			later.name = ""
			continue
		}
		name := fmt.Sprintf("%s-%d.cycle", base, later.cycle)
		size, err := r.files[i].Size()
		if err == nil {
			err = errors.Join(q.dir.Rename(later.name, name), q.dir.Sync())
		}
		if err != nil {
			return err
		}
		t.Files = append(t.Files, name)
		t.Bytes += max(size-dataStart, 0)
		later.name = ""
	}
	if err := writeReport(q.dir, base, t); err != nil {
		return err
	}
	f := r.files[r.active]
	for off := t.Offset; off < r.tail.end; off += pageSize {
		if _, err := f.WriteAt(zeros[:min(pageSize, r.tail.end-off)], off); err != nil {
			return fmt.Errorf("clear tail of %s: %w", s.name, err)
		}
	}
	return f.Sync()
}

func (r *recovering) copyTail(name string, from, to int64) error {
	b := make([]byte, to-from)
	n, err := r.files[r.active].ReadAt(b, from)
	if n < len(b) && !errors.Is(err, io.EOF) { // a short file has no more
		return fmt.Errorf("read torn tail: %w", err)
	}
	return writeFile(r.q.dir, name, b[:n])
}

// writeReport makes the report on what was set aside, and with it the names of
// the files durable.
func writeReport(dir Dir, base string, report any) error {
	b, err := json.MarshalIndent(report, "", "  ")
	if err != nil {
		return err
	}
	if err := writeFile(dir, base+".json", append(b, '\n')); err != nil {
		return err
	}
	return dir.Sync()
}

// writeFile makes a file with the content, flushed.
func writeFile(dir Dir, name string, b []byte) error {
	f, err := dir.Create(name)
	if err != nil {
		return err
	}
	_, err = f.WriteAt(b, 0)
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}
