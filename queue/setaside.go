package queue

import (
	"errors"
	"fmt"
	"slices"
)

// SetAside takes everything from an index on out of the queue in dir, which
// nobody may have open for appending: the entries are in no history that counts.
// They are kept in torn-* files with a report, as Open does with a torn tail; a
// batch is never cut apart. Tailers of other processes that had read that far are
// told with ErrSetAside; positions behind the cut are set back when the queue is
// opened. The result is nil when there is nothing to set aside.
func SetAside(dir string, cfg Config, from Index, reason string) (*Recovery, error) {
	fail := func(err error) (*Recovery, error) {
		return nil, fmt.Errorf("set aside entries of queue %s from %s on: %w", dir, from, err)
	}
	if err := cfg.validate(); err != nil {
		return fail(err)
	}
	q := newQueue(dir, cfg)
	d, err := openDir(cfg.FS, dir, false, cfg.AnyFileSystem)
	if err != nil {
		return fail(err)
	}
	q.dir = d
	err = q.openForAppend()
	var rec *Recovery
	if err == nil && from <= q.Last() {
		rec, err = q.setAsideFrom(from, reason)
	}
	q.closed.Store(true)
	q.releaseOwn()
	q.dropAll()
	if q.lock != nil {
		err = errors.Join(err, q.lock.Close())
	}
	if err = errors.Join(err, d.Close()); err != nil {
		return fail(err)
	}
	return rec, nil
}

func (q *Queue) setAsideFrom(from Index, reason string) (*Recovery, error) {
	if first := q.First(); from < first {
		from = first
	}
	r := q.NewBlockReader(Place{Index: from})
	defer r.Close()
	b, ok, err := r.TryNext(1)
	switch {
	case err != nil:
		return nil, err
	case !ok:
		return nil, ErrNotFound
	case b.First() < from && b.Entries > 0:
		return nil, fmt.Errorf("%w: the batch begins at %s", ErrPlace, b.First())
	}
	s, err := q.find(b.Cycle)
	if err != nil {
		return nil, err
	}
	segs := slices.DeleteFunc(q.snapshot(), func(o *segment) bool { return o.cycle <= s.cycle })
	t := &Recovery{Cycle: s.cycle, Offset: b.Offset, Index: from, Reason: reason, At: q.cfg.Now()}
	for _, o := range append([]*segment{s}, segs...) {
		n, err := q.countFrom(o, from)
		if err != nil {
			return nil, err
		}
		t.Entries += n
	}
	if b.Seq > 0 {
		t.Last = NewIndex(b.Cycle, b.Seq-1)
	}
	return t, q.cutAt(t, s, segs)
}

// countFrom counts the entries of a cycle from an index on.
func (q *Queue) countFrom(s *segment, from Index) (int, error) {
	f, err := q.dir.Open(s.name, false)
	if err != nil {
		return 0, err
	}
	end, err := s.scanner(f).walk(nil)
	if err = errors.Join(err, f.Close()); err != nil {
		return 0, err
	}
	n := int(end.seq)
	if s.cycle == from.Cycle() {
		n -= int(from.Seq())
	}
	return max(n, 0), nil
}

// cutAt keeps what is cut off in files of its own first. Then the later cycles
// go, the last one first, for a gap between two would look like damage, and then
// the first one is replaced by what is left of it: a new file, so that mappings
// of the old one show what they showed.
func (q *Queue) cutAt(t *Recovery, s *segment, later []*segment) error {
	base := fmt.Sprintf("%s%010d-%d-%d", tornPrefix, s.cycle, t.Offset, t.At.UnixNano())
	f, err := q.dir.Open(s.name, false)
	if err != nil {
		return err
	}
	err = q.keepTail(t, f, s, base)
	for _, o := range slices.Backward(later) {
		if err != nil {
			break
		}
		err = q.keepCycle(t, o, base)
	}
	if err == nil {
		err = writeReport(q.dir, base, t)
	}
	if err == nil {
		err = q.replaceCut(f, s, t.Offset)
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	q.cfg.Logger.Warn("queue: set entries aside", "path", q.path, "report", t)
	return nil
}

// keepTail copies what is behind the cut.
func (q *Queue) keepTail(t *Recovery, f File, s *segment, base string) error {
	rest, err := s.scanner(f).rest(t.Offset, f.NextData)
	if err != nil || rest.end <= t.Offset {
		return err
	}
	b := make([]byte, rest.end-t.Offset)
	n, err := f.ReadAt(b, t.Offset)
	if n < len(b) {
		return err
	}
	t.Files, t.Bytes = append(t.Files, base+".bytes"), t.Bytes+int64(n)
	return writeFile(q.dir, base+".bytes", b)
}

// keepCycle takes a later cycle out; one without an entry is just deleted.
func (q *Queue) keepCycle(t *Recovery, s *segment, base string) error {
	if n, err := q.countFrom(s, 0); err != nil || n == 0 {
		return errors.Join(err, q.dir.Remove(s.name), q.dir.Sync())
	}
	name := fmt.Sprintf("%s-%d.cycle", base, s.cycle)
	t.Files = append(t.Files, name)
	return errors.Join(q.dir.Rename(s.name, name), q.dir.Sync())
}

// replaceCut makes the file new with its entries up to the cut. A cycle of which
// nothing is left is replaced by none: the next one has that number, and is
// another one.
func (q *Queue) replaceCut(f File, s *segment, cut int64) error {
	if cut == dataStart {
		return errors.Join(q.dir.Remove(s.name), q.dir.Sync())
	}
	h := cycleHeader{cycle: s.cycle, size: s.size, salt: s.salt, created: s.created.UnixNano(), cuts: s.cuts + 1, copied: s.copied}
	b := make([]byte, cut-dataStart)
	if n, err := f.ReadAt(b, dataStart); n < len(b) {
		return err
	}
	n, err := q.createCycle(h)
	if err != nil {
		return err
	}
	if _, err = n.mu.file.WriteAt(b, dataStart); err == nil {
		err = q.installCycle(n)
	}
	closed, cerr := n.letGo()
	if !closed {
		_, cerr = n.release()
	}
	return errors.Join(err, cerr)
}
