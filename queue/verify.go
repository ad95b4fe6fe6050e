package queue

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"
	"time"
)

// Report is what Verify and Stats found.
type Report struct {
	Dir      string        `json:"dir"`
	Cycles   []CycleReport `json:"cycles"`
	Entries  int64         `json:"entries"`
	Bytes    int64         `json:"bytes"` // in use, with headers
	First    Index         `json:"first"` // 0: none
	Last     Index         `json:"last"`
	Problems []Problem     `json:"problems"`
	// Appending says whether a process has the queue open for appending, and
	// which. What it writes meanwhile may look like a torn tail.
	Appending bool           `json:"appending"`
	Holder    Holder         `json:"holder"`
	Positions []PositionInfo `json:"positions"`
	// Torn are the files in which recoveries, repairs and SetAside have put bytes.
	Torn []string `json:"torn"`
}

// CycleReport is one cycle's part of a Report.
type CycleReport struct {
	Number  uint32    `json:"number"`
	Entries uint32    `json:"entries"`
	Used    int64     `json:"used"`    // bytes up to the last whole entry
	Length  int64     `json:"length"`  // of the file
	Payload int64     `json:"payload"` // bytes in entries
	Batches int64     `json:"batches"` // of more than one entry
	Padding int64     `json:"padding"` // abandoned slots
	Notes   int64     `json:"notes"`   // of replication, counted as entries
	Lost    int64     `json:"lost"`    // given up by Repair, counted as entries
	Over    bool      `json:"over"`    // has its end entry
	Sealed  bool      `json:"sealed"`
	Created time.Time `json:"created"`
	Flushed int64     `json:"flushed"` // known to be flushed below this offset
}

// Problem is something that is not as it should be.
type Problem struct {
	Path   string `json:"path"`
	Cycle  uint32 `json:"cycle"`
	Offset int64  `json:"offset"`
	Index  Index  `json:"index"`
	Reason string `json:"reason"`
	// Torn: behind everything known to be flushed, so the next Open sets it
	// aside. Hint: what is wrong matters to no entry, and is made again or passed
	// over. Otherwise it is damage, and Open or the reader refuses.
	Torn bool `json:"torn"`
	Hint bool `json:"hint"`
}

// Damaged says whether there is a problem other than a torn tail or a hint.
func (r *Report) Damaged() bool {
	return slices.ContainsFunc(r.Problems, func(p Problem) bool { return !p.Torn && !p.Hint })
}

// Verify reads every byte of the queue in dir and checks it; nothing is written.
// An error means that it could not look; what it found wrong is in the report.
func Verify(dir string, o CheckOptions) (Report, error) {
	o.fill()
	r := Report{Dir: dir}
	d, err := openDir(o.FS, dir, false, o.AnyFileSystem)
	if err != nil {
		return r, fmt.Errorf("verify queue %s: %w", dir, err)
	}
	v := verifier{dir: d, r: &r, o: &o}
	if err := errors.Join(v.run(), d.Close()); err != nil {
		return r, fmt.Errorf("verify queue %s: %w", dir, err)
	}
	return r, nil
}

type verifier struct {
	dir     Dir
	r       *Report
	o       *CheckOptions
	stopped int // place in r.Cycles at which the queue ends; -1: it did not
}

func (v *verifier) run() error {
	held, by, err := v.dir.Locked(lockName)
	if err != nil {
		return fmt.Errorf("look at lock: %w", err)
	}
	if v.r.Appending = held; held {
		v.r.Holder = parseHolder(by)
	}
	names, err := v.dir.List()
	if err != nil {
		return fmt.Errorf("list queue directory: %w", err)
	}
	var cycles []uint32
	for _, name := range names {
		if c, ok := parseCycleName(name); ok {
			cycles = append(cycles, c)
		} else if strings.HasPrefix(name, tornPrefix) {
			v.r.Torn = append(v.r.Torn, name)
		}
	}
	if len(cycles) == 0 {
		return errNoQueue
	}
	slices.Sort(cycles)
	v.stopped = -1
	for i, c := range cycles {
		if i > 0 && c != cycles[i-1]+1 {
			v.problem(cycles[i-1]+1, 0, 0, "the file is missing", false)
		}
		if err := v.cycle(c); err != nil {
			return err
		}
		v.o.Progress(int64(i+1), int64(len(cycles)))
	}
	return v.positions()
}

// positions looks at the files of the positions.
func (v *verifier) positions() error {
	infos, err := positions(v.dir, v.r.Dir)
	if err != nil {
		return fmt.Errorf("list positions: %w", err)
	}
	v.r.Positions = infos
	for _, p := range infos {
		name := p.Name + positionSuffix
		st, err := openPosition(v.dir, v.r.Dir, name, false)
		switch {
		case isMissing(err):
		case err != nil:
			v.r.Problems = append(v.r.Problems, Problem{Path: v.r.Dir + "/" + name, Reason: err.Error()})
		case st.torn:
			v.hint(name, 0, slotOffset(st.newest+1), "a slot does not check: the position may be an older one")
		}
	}
	return nil
}

func (v *verifier) hint(name string, cycle uint32, off int64, reason string) {
	v.r.Problems = append(v.r.Problems, Problem{Path: v.r.Dir + "/" + name, Cycle: cycle, Offset: off, Reason: reason, Hint: true})
}

// hints looks at what stands in a cycle besides entries.
func (v *verifier) hints(s *segment, f File, st stamp, size int64) error {
	b := make([]byte, dataStart)
	if n, err := f.ReadAt(b, 0); n < len(b) {
		if errors.Is(err, io.EOF) {
			err = nil // the entries say so
		}
		return err
	}
	// From this read: the appender may have sealed it since the header was read.
	if h, err := decodeHeader(b); err == nil && h.stamp.state == stampNone && !allZero(b[stampOffset:headerBytes]) {
		v.hint(s.name, s.cycle, stampOffset, "the seal does not check")
	}
	if !allZero(b[headerBytes:]) {
		v.hint(s.name, s.cycle, headerBytes, "bytes of the header page that nothing uses are not zero")
	}
	if st.state != stampSealed {
		return nil
	}
	index := storedIndex(f, s, st)
	if st.indexLen > 0 && index == nil {
		v.hint(s.name, s.cycle, st.used, "the sparse index does not check: look-ups begin at the front")
	}
	if end := st.used + int64(st.indexLen)*8; size != end {
		v.hint(s.name, s.cycle, min(size, end), fmt.Sprintf("the file has %d bytes, its seal says %d", size, end))
	}
	return nil
}

func allZero(b []byte) bool {
	for ; len(b) > len(zeros); b = b[len(zeros):] {
		if !bytes.Equal(b[:len(zeros)], zeros[:]) {
			return false
		}
	}
	return bytes.Equal(b, zeros[:len(b)])
}

func (v *verifier) problem(cycle uint32, off int64, i Index, reason string, torn bool) {
	v.r.Problems = append(v.r.Problems, Problem{
		Path: v.r.Dir + "/" + cycleName(cycle), Cycle: cycle, Offset: off, Index: i, Reason: reason, Torn: torn,
	})
}

func (v *verifier) cycle(c uint32) error {
	s, f, h, err := openCycle(v.dir, v.r.Dir, c, false)
	if corrupt, ok := errors.AsType[*CorruptError](err); ok {
		v.problem(c, corrupt.Offset, corrupt.Index, corrupt.Reason, false)
		return nil
	}
	if isMissing(err) {
		return nil // released in the meantime
	}
	if err != nil {
		return err
	}
	err = v.entries(s, f, h)
	return errors.Join(err, f.Close())
}

func (v *verifier) entries(s *segment, f File, h cycleHeader) error {
	size, err := f.Size()
	if err != nil {
		return fmt.Errorf("look at cycle %s: %w", s.name, err)
	}
	cr := CycleReport{Number: s.cycle, Length: size, Sealed: s.sealed.Load(), Created: s.created}
	sc := s.scanner(f)
	inBatch := false
	if err := v.hints(s, f, h.stamp, size); err != nil {
		return fmt.Errorf("look at cycle %s: %w", s.name, err)
	}
	end, err := sc.walk(func(_ int64, _ uint32, e entry, p []byte) error {
		switch {
		case e.kind == kindPad:
			cr.Padding += e.size()
			return nil
		case e.kind == kindMeta && (len(p) == 0 || p[0] == metaLost):
			cr.Lost++
		case e.kind == kindMeta:
			cr.Notes++
		}
		cr.Payload += int64(len(p))
		if e.more && !inBatch {
			cr.Batches++
		}
		inBatch = e.more
		return nil
	})
	if err != nil {
		return fmt.Errorf("scan cycle %s: %w", s.name, err)
	}
	cr.Entries, cr.Used, cr.Over = end.seq, end.off, end.over
	cr.Flushed = max(end.mark, h.stamp.used)
	at := NewIndex(s.cycle, end.seq)
	switch {
	case end.over && cr.Sealed && h.stamp.count != end.seq:
		v.problem(s.cycle, end.off, at, fmt.Sprintf("the seal counts %d entries, there are %d", h.stamp.count, end.seq), false)
	case !end.over:
		rest, err := sc.rest(end.off, f.NextData)
		if err != nil {
			return fmt.Errorf("scan cycle %s: %w", s.name, err)
		}
		cr.Flushed = max(cr.Flushed, rest.mark)
		switch {
		case end.reason == "" && rest.end > 0:
			end.reason = "nothing was published here, but there is something behind it"
		case end.reason == "" && end.off < cr.Flushed:
			end.reason = "entries are missing"
		}
		if end.reason != "" {
			v.problem(s.cycle, end.off, at, end.reason, end.off >= cr.Flushed)
		}
	}
	v.add(cr, end)
	return nil
}

// add takes a cycle into the report. Entries behind the place where the queue
// ended do not count.
func (v *verifier) add(cr CycleReport, end stop) {
	r := v.r
	if v.stopped >= 0 && (cr.Entries > 0 || end.over) {
		was := r.Cycles[v.stopped]
		// Its own marks, or none: they say whether the earlier end was flushed.
		v.problem(was.Number, was.Used, NewIndex(was.Number, was.Entries), "the cycle has no end entry, but the next one has entries", cr.Flushed == 0)
		v.stopped = -1
	}
	r.Cycles = append(r.Cycles, cr)
	if !end.over && v.stopped < 0 {
		v.stopped = len(r.Cycles) - 1
	}
	r.Entries += int64(cr.Entries)
	r.Bytes += cr.Used
	if cr.Entries > 0 {
		if r.First == 0 {
			r.First = NewIndex(cr.Number, 0)
		}
		r.Last = NewIndex(cr.Number, cr.Entries-1)
	}
}

// Entry is one message as Entries yields it.
type Entry struct {
	Index   Index
	Offset  int64 // in the file of its cycle
	Payload []byte
}

// Entries yields the entries that are there now, from an index on (0: the
// first), in order. The payload is good until the next step. An error ends it,
// but for a *LostError, behind which it goes on.
func (q *Queue) Entries(from Index) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		t := q.NewTailer(from)
		defer t.Close()
		for {
			i, p, ok, err := t.TryNext()
			if lost, ok := errors.AsType[*LostError](err); ok {
				if !yield(Entry{Index: lost.Index}, err) {
					return
				}
				continue
			}
			if err != nil {
				yield(Entry{}, err)
				return
			}
			if !ok {
				return
			}
			if !yield(Entry{Index: i, Offset: t.c.off - entrySize(len(p)), Payload: p}, nil) {
				return
			}
		}
	}
}

// Stats is a cheap look at an open queue.
type Stats struct {
	Cycles  int   `json:"cycles"`
	Sealed  int   `json:"sealed"`
	Entries int64 `json:"entries"`
	Bytes   int64 `json:"bytes"` // in use
	First   Index `json:"first"`
	Last    Index `json:"last"`
	Durable Index `json:"durable"`
}

// Stats counts without reading entries, but for the cycles of a read-only queue
// that are not sealed.
func (q *Queue) Stats() Stats {
	s := Stats{First: q.First(), Last: q.Last(), Durable: q.Durable()}
	for _, c := range q.Cycles() {
		s.Cycles++
		if c.Sealed {
			s.Sealed++
		}
		s.Entries += int64(c.Entries)
		s.Bytes += c.Bytes
	}
	return s
}
