package queue

import (
	"errors"
	"fmt"
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
	Appending bool   `json:"appending"`
	Holder    Holder `json:"holder"`
	// Torn are the files in which recoveries have set bytes aside.
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
	// aside. Otherwise it is damage, and Open or the reader refuses.
	Torn bool `json:"torn"`
}

// Damaged says whether there is a problem other than a torn tail.
func (r *Report) Damaged() bool {
	for _, p := range r.Problems {
		if !p.Torn {
			return true
		}
	}
	return false
}

// Verify reads every byte of the queue in dir and checks it; nothing is written.
// An error means that it could not look; what it found wrong is in the report.
func Verify(dir string) (Report, error) { return VerifyFS(OS(), dir) }

// VerifyFS is Verify on another file system.
func VerifyFS(fsys FS, dir string) (Report, error) {
	r := Report{Dir: dir}
	d, err := fsys.OpenDir(dir, false)
	if err != nil {
		return r, fmt.Errorf("verify queue %s: %w", dir, err)
	}
	v := verifier{dir: d, r: &r}
	if err := errors.Join(v.run(), d.Close()); err != nil {
		return r, fmt.Errorf("verify queue %s: %w", dir, err)
	}
	return r, nil
}

type verifier struct {
	dir     Dir
	r       *Report
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
		return fmt.Errorf("%w: there are no cycle files, so this is no queue; an engine has its own in the folder \"journal\" of its data", ErrNotFound)
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
	}
	return nil
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
	sc := scanner{f: f, salt: s.salt, size: s.size}
	inBatch := false
	end, err := sc.walk(func(_ int64, _ uint32, e entry, p []byte) error {
		if e.kind == kindPad {
			cr.Padding += e.size()
			return nil
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
// first), in order. The payload is good until the next step. An error ends it.
func (q *Queue) Entries(from Index) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		t := q.NewTailer(from)
		defer t.Close()
		for {
			i, p, ok, err := t.TryNext()
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
