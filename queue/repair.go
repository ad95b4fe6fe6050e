package queue

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"time"
)

// CheckOptions are the settings of Verify and Repair. The zero value is ready for
// use.
type CheckOptions struct {
	FS            FS                      // nil: the operating system's
	AnyFileSystem bool                    // as in Config
	Progress      func(done, total int64) // of the work; called after each cycle
	// Logger, Now and DryRun are Repair's: what it would do is reported, and
	// nothing is changed.
	Logger *slog.Logger
	Now    func() time.Time
	DryRun bool
}

func (o *CheckOptions) fill() {
	if o.FS == nil {
		o.FS = OS()
	}
	if o.Progress == nil {
		o.Progress = func(int64, int64) {}
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	if o.Now == nil {
		o.Now = time.Now
	}
}

// RepairReport says what Repair did, or would do.
type RepairReport struct {
	Dir   string    `json:"dir"`
	At    time.Time `json:"at"`
	Mends []Mend    `json:"mends"` // empty: there was no damage
	Files []string  `json:"files"` // where the bytes are that were given up
	// Recovery is what the opening after the repair set aside: the torn tail.
	Recovery *Recovery `json:"recovery,omitempty"`
}

// Mend is one change.
type Mend struct {
	Cycle  uint32 `json:"cycle"`
	Offset int64  `json:"offset"` // of the damage in its file
	Bytes  int64  `json:"bytes"`  // given up
	First  Index  `json:"first"`  // of the first entry that is lost; 0: none is
	Lost   int    `json:"lost"`   // entries; -1: not known
	Whole  int    `json:"whole"`  // entries given up with them although they are whole
	Did    string `json:"did"`
	Reason string `json:"reason"` // what was wrong
}

// Repair goes past the damage in the queue in dir, which nobody may have open for
// appending, so that it opens again. No index ever gets another entry:
//
//   - A damaged entry whose place is known keeps its index, and is a *LostError for
//     whoever reads it. What is behind it stays as it is.
//   - Where it cannot be known how many entries are damaged, the cycle ends there:
//     the whole ones behind them in the cycle are given up too, and stand in an
//     entries file, a JSON object a line.
//   - A cycle without a header that can be read, or without a file, is replaced by
//     an empty one. A header with one bad bit is corrected.
//
// The bytes of all that is given up go to torn-* files first, with a report. What
// is damaged beyond everything known to be flushed is a torn tail, which opening
// sets aside; Repair opens and closes the queue when it is done. A second Repair
// finishes one that was interrupted. The error matches ErrNotFound when there is no
// queue.
func Repair(dir string, o CheckOptions) (RepairReport, error) {
	o.fill()
	rep := RepairReport{Dir: dir, At: o.Now()}
	err := repair(dir, &o, &rep)
	if err == nil && !o.DryRun {
		err = reopen(dir, &o, &rep)
	}
	if err != nil {
		return rep, fmt.Errorf("repair queue %s: %w", dir, err)
	}
	return rep, nil
}

// reopen lets recovery do its part. Nothing is appended, so the spare cycle that an
// open queue keeps is the smallest: the disk of a damaged queue may be full.
func reopen(dir string, o *CheckOptions, rep *RepairReport) error {
	q, err := Open(dir, Config{CycleBytes: MinCycleBytes, FS: o.FS, AnyFileSystem: o.AnyFileSystem, Logger: o.Logger, Now: o.Now})
	if err != nil {
		return err
	}
	rep.Recovery = q.Recovered()
	return q.Close()
}

func repair(dir string, o *CheckOptions, rep *RepairReport) (err error) {
	d, err := openDir(o.FS, dir, false, o.AnyFileSystem)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	cycles, err := cycleNumbers(d)
	if err != nil {
		return err
	}
	if len(cycles) == 0 {
		return errNoQueue
	}
	if !o.DryRun {
		lock, err := lockQueue(d, dir, o.Now())
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, lock.Close()) }()
	}
	m := &mender{dir: d, o: o, rep: rep, base: fmt.Sprintf("%srepair-%d", tornPrefix, rep.At.UnixNano())}
	if err := m.run(cycles); err != nil || o.DryRun || len(rep.Mends) == 0 {
		return err
	}
	return writeReport(d, m.base, rep)
}

// mender is the state of one Repair.
type mender struct {
	dir  Dir
	o    *CheckOptions
	rep  *RepairReport
	base string
	size int64 // of all cycles
	done int64
}

func (m *mender) run(cycles []uint32) error {
	sizes := map[uint32]int64{}
	for _, c := range cycles {
		f, err := m.dir.Open(cycleName(c), false)
		if err != nil {
			return err
		}
		sizes[c], err = f.Size()
		if err = errors.Join(err, f.Close()); err != nil {
			return err
		}
		m.size += sizes[c]
	}
	proven, err := m.proofs(cycles)
	if err != nil {
		return err
	}
	for i, c := range cycles {
		if i > 0 {
			for missing := cycles[i-1] + 1; missing < c; missing++ {
				if err := m.anew(missing, "the file is missing"); err != nil {
					return err
				}
			}
		}
		if err := m.cycle(c, slices.Contains(proven[i:], true)); err != nil {
			return fmt.Errorf("cycle %d: %w", c, err)
		}
		m.done += sizes[c]
		m.o.Progress(m.done, m.size)
	}
	return nil
}

// proofs says for each cycle whether the one behind it proves that it was flushed.
func (m *mender) proofs(cycles []uint32) ([]bool, error) {
	proof := make([]bool, len(cycles)+1)
	for i, c := range cycles {
		if i == 0 {
			continue
		}
		s, f, h, err := openCycle(m.dir, m.rep.Dir, c, false)
		if _, corrupt := errors.AsType[*CorruptError](err); corrupt {
			proof[i] = true // it had been whole: it gets its name after its header was flushed
			continue
		}
		if err != nil {
			return nil, err
		}
		rest, err := s.scanner(f).rest(dataStart, f.NextData)
		proof[i] = rest.mark > 0 || h.stamp.state == stampSealed
		if err = errors.Join(err, f.Close()); err != nil {
			return nil, err
		}
	}
	return proof[1:], nil
}

// cycle mends one file. proven: a cycle behind it says that it was flushed whole.
func (m *mender) cycle(c uint32, proven bool) (err error) {
	name := cycleName(c)
	f, err := m.dir.Open(name, !m.o.DryRun)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	h, err := readHeader(f)
	if err == nil && h.cycle != c {
		err = fmt.Errorf("the header is that of cycle %d", h.cycle)
	}
	if err != nil {
		if h, err = m.header(f, c, err); err != nil || h.cycle == 0 {
			return err
		}
	}
	s := newSegment(h)
	v := surveyor{sc: s.scanner(f), next: f.NextData, marks: storedMarks(f, s, h.stamp)}
	if _, err := v.run(); err != nil {
		return err
	}
	count := int64(-1)
	if h.stamp.state == stampSealed {
		count = int64(h.stamp.count)
	}
	found := v.number(count)
	flushed := max(found.mark, h.stamp.used)
	if proven {
		flushed = s.size
	}
	return m.mend(f, s, found, flushed)
}

// header corrects the header of a cycle if one bit of it is bad; else it makes
// the cycle anew, and returns an empty header.
func (m *mender) header(f File, c uint32, bad error) (cycleHeader, error) {
	var b [headerBytes]byte
	if n, err := f.ReadAt(b[:], 0); err != nil && !errors.Is(err, io.EOF) || n < stampOffset {
		return cycleHeader{}, m.anew(c, bad.Error())
	}
	for bit := range stampOffset * 8 {
		b[bit/8] ^= 1 << (bit % 8)
		if h, err := decodeHeader(b[:]); err == nil && h.cycle == c {
			m.did(Mend{Cycle: c, Offset: int64(bit / 8), Did: "corrected one bit of the header", Reason: bad.Error()})
			if m.o.DryRun {
				return h, nil
			}
			_, err := f.WriteAt(b[:stampOffset], 0)
			return h, errors.Join(err, f.Sync())
		}
		b[bit/8] ^= 1 << (bit % 8)
	}
	return cycleHeader{}, m.anew(c, bad.Error())
}

func (m *mender) did(d Mend) { m.rep.Mends = append(m.rep.Mends, d) }

// anew puts an empty cycle that is over in the place of one that cannot be read,
// whose file is kept under another name.
func (m *mender) anew(c uint32, reason string) error {
	m.did(Mend{Cycle: c, First: NewIndex(c, 0), Lost: -1, Did: "replaced the cycle by an empty one", Reason: reason})
	if m.o.DryRun {
		return nil
	}
	name := cycleName(c)
	h := newCycleHeader(c, MinCycleBytes, m.o.Now())
	b := make([]byte, dataStart+entryHeader)
	copy(b, h.encode())
	copy(b[dataStart:], endEntry(h.salt, dataStart))
	if err := m.dir.Remove(name + tempSuffix); err != nil && !isMissing(err) {
		return err
	}
	if err := writeFile(m.dir, name+tempSuffix, b); err != nil {
		return err
	}
	kept := fmt.Sprintf("%s-%d.cycle", m.base, c)
	if err := m.dir.Rename(name, kept); err == nil {
		m.rep.Files = append(m.rep.Files, kept)
	} else if !isMissing(err) {
		return err
	}
	return errors.Join(m.dir.Rename(name+tempSuffix, name), m.dir.Sync())
}

// mend makes a cycle whole again. What lies at or behind flushed is left to Open.
func (m *mender) mend(f File, s *segment, found survey, flushed int64) error {
	cut := int64(-1)
	var fills []gap
	for _, g := range found.gaps {
		if g.off >= flushed {
			return m.write(f, s, fills, -1)
		}
		if g.lost < 0 {
			if cut = g.off; g.batch > 0 {
				cut = g.batch
			}
			fills, lost := m.inFrontOf(cut, fills)
			d := Mend{Cycle: s.cycle, Offset: g.off, Lost: -1, Did: "ended the cycle in front of it", Reason: g.why}
			before, err := m.keepWhole(f, s, cut, g, &d)
			if err != nil {
				return err
			}
			d.First = NewIndex(s.cycle, g.seq-before-lost)
			m.did(d)
			return m.write(f, s, fills, cut)
		}
		d := Mend{Cycle: s.cycle, Offset: g.off, Bytes: g.end - g.off, Lost: g.lost, Did: "gave up what was there; the entries behind it keep their indexes", Reason: g.why}
		if g.lost > 0 {
			d.First = NewIndex(s.cycle, g.seq)
		}
		m.did(d)
		fills = append(fills, g)
	}
	if !found.over && found.stop < flushed {
		if cut = found.stop; found.batch > 0 {
			cut = found.batch
		}
		var lost uint32
		fills, lost = m.inFrontOf(cut, fills)
		why := found.why
		if why == "" {
			why = "the cycle has no end entry"
		}
		d := Mend{
			Cycle: s.cycle, Offset: found.stop, Bytes: max(found.rest-cut, 0), First: NewIndex(s.cycle, found.seq-lost),
			Lost: found.missing, Did: "ended the cycle in front of it", Reason: why,
		}
		if d.Lost == 0 {
			d.First, d.Did = 0, "wrote the end entry"
		}
		m.did(d)
		if err := m.keepBytes(f, s.cycle, cut, max(found.rest, found.stop)); err != nil {
			return err
		}
	}
	return m.write(f, s, fills, cut)
}

// inFrontOf leaves out the gaps that a cut gives up too, with what was noted of them: those
// of the batch that it ends in front of. lost is how many entries were lost there.
func (m *mender) inFrontOf(cut int64, fills []gap) (kept []gap, lost uint32) {
	kept = fills
	for n := len(fills); n > 0 && fills[n-1].off >= cut; n-- {
		lost += uint32(fills[n-1].lost)
		kept = fills[:n-1]
		m.rep.Mends = m.rep.Mends[:len(m.rep.Mends)-1]
	}
	return kept, lost
}

// write fills the gaps, after their bytes are kept, and ends the cycle at cut if
// that is not -1. The seal goes: opening makes it again.
func (m *mender) write(f File, s *segment, fills []gap, cut int64) error {
	if m.o.DryRun || len(fills) == 0 && cut < 0 {
		return nil
	}
	for _, g := range fills {
		if err := m.keepBytes(f, s.cycle, g.off, g.end); err != nil {
			return err
		}
	}
	if err := m.dir.Sync(); err != nil {
		return err
	}
	if _, err := f.WriteAt((&stamp{}).encode(s.salt), stampOffset); err != nil {
		return err
	}
	for _, g := range fills {
		if _, err := f.WriteAt(lostEntries(g, s.salt), g.off); err != nil {
			return err
		}
	}
	if cut >= 0 {
		if _, err := f.WriteAt(endEntry(s.salt, cut), cut); err != nil {
			return err
		}
		if err := f.Truncate(cut + entryHeader); err != nil {
			return err
		}
	}
	return f.Sync()
}

// keepBytes copies a part of a cycle into a file of its own.
func (m *mender) keepBytes(f File, cycle uint32, from, to int64) error {
	if m.o.DryRun || to <= from {
		return nil
	}
	b := make([]byte, to-from)
	n, err := f.ReadAt(b, from)
	if n < len(b) && !errors.Is(err, io.EOF) {
		return err
	}
	name := fmt.Sprintf("%s-%d-%d.bytes", m.base, cycle, from)
	m.rep.Files = append(m.rep.Files, name)
	return writeFile(m.dir, name, b[:n])
}

// keepWhole keeps what is behind a cut in front of a gap: the bytes, and the whole
// entries among them in a form that can be read. It counts those, and gives the
// number of them in front of the gap, which are of its batch.
func (m *mender) keepWhole(f File, s *segment, cut int64, g gap, d *Mend) (before uint32, err error) {
	sc := s.scanner(f)
	var lines []byte
	end := g.end
	for at := cut - align; ; {
		if at, _, err = sc.nextWhole(at, f.NextData); err != nil {
			return 0, err
		}
		if at < 0 {
			break
		}
		e, p, _, err := sc.whole(at)
		if err != nil {
			return 0, err
		}
		if e.indexed() && at < g.off {
			before++
		}
		if e.kind == kindData {
			line, err := json.Marshal(struct {
				Offset  int64  `json:"offset"`
				Payload []byte `json:"payload"`
			}{at, p})
			if err != nil {
				return 0, err
			}
			lines = append(append(lines, line...), '\n')
			d.Whole++
		}
		at += e.size()
		end = max(end, at)
		at -= align
	}
	d.Bytes = end - cut
	if err := m.keepBytes(f, s.cycle, cut, end); err != nil || m.o.DryRun || d.Whole == 0 {
		return before, err
	}
	name := fmt.Sprintf("%s-%d-%d.entries", m.base, s.cycle, cut)
	m.rep.Files = append(m.rep.Files, name)
	return before, writeFile(m.dir, name, lines)
}
