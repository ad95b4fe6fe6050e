package queue

import (
	"bytes"
	"encoding/binary"
)

// A survey is what Repair finds in one cycle: where whole entries lie, and the
// gaps between them.
type survey struct {
	gaps []gap
	over bool
	stop int64  // offset of the end entry, or behind the last whole entry
	why  string // nothing more could be read; empty when there is just nothing
	rest int64  // of a cycle that is not over: end of what is not zero behind stop
	mark int64  // highest mark: the cycle was flushed below it
	// batch is where the batch began that stop lies in, 0: in none.
	batch int64
	seq   uint32 // entries up to stop, once all gaps are numbered
	// missing is how many more the seal of a cycle without an end counts, -1 if
	// that is not known.
	missing int
}

// gap is a run of bytes that is no whole entry.
type gap struct {
	off, end int64
	why      string
	lost     int   // entries with an index that were here; -1: not known
	batch    int64 // where the batch began that the gap lies in, 0: in none
	more     bool  // a batch goes on behind it
	seq      uint32
	after    uint32 // entries between it and the next gap
	// anchor is an entry behind the gap whose sequence number the sparse index
	// knows; only set if no other gap is in between.
	anchored bool
	anchor   uint32 // its sequence number
	ahead    uint32 // entries between the gap and it
}

// surveyor walks over a cycle; nothing stops it.
type surveyor struct {
	sc    *scanner
	next  func(int64) (int64, error) // the file's NextData
	marks map[int64]uint32           // of a sparse index that checks: sequence number by offset
	s     survey
	n     uint32 // entries since the last gap
	head  uint32 // entries before the first one
	batch int64
}

func (v *surveyor) run() (survey, error) {
	off := int64(dataStart)
	for {
		var e entry
		var present bool
		err := error(nil)
		if off+entryHeader <= v.sc.size {
			e, _, present, err = v.sc.whole(off)
		}
		if v.sc.err != nil {
			return v.s, v.sc.err
		}
		if err == nil && present && e.kind == kindEnd {
			v.s.over, v.s.stop = true, off
			v.note(off, e)
			return v.s, nil
		}
		if err == nil && present {
			v.note(off, e)
			off += e.size()
			continue
		}
		to, err := v.gap(off, present, err)
		if err != nil || to < 0 {
			return v.s, err
		}
		off = to
	}
}

// note counts a whole entry.
func (v *surveyor) note(off int64, e entry) {
	v.s.mark = max(v.s.mark, e.mark)
	if !e.indexed() {
		return
	}
	if seq, ok := v.marks[off]; ok && len(v.s.gaps) > 0 {
		if g := &v.s.gaps[len(v.s.gaps)-1]; !g.anchored {
			g.anchored, g.anchor, g.ahead = true, seq, v.n
		}
	}
	v.n++
	if len(v.s.gaps) > 0 {
		v.s.gaps[len(v.s.gaps)-1].after = v.n
	} else {
		v.head = v.n
	}
	switch {
	case !e.more:
		v.batch = 0
	case v.batch == 0:
		v.batch = off
	}
}

// gap notes what begins at off and returns where the next whole entry does; -1
// when there is none.
func (v *surveyor) gap(off int64, present bool, bad error) (int64, error) {
	g := gap{off: off, lost: -1, batch: v.batch, why: "nothing was published here, but there is something behind it"}
	if bad != nil {
		g.why = bad.Error()
	}
	if present {
		if e, _, err := v.sc.header(off); err == nil && e.kind != kindEnd { // only the payload is bad
			g.end, g.more, g.lost = off+e.size(), e.more, 0
			if e.indexed() {
				g.lost = 1
			}
			v.s.mark = max(v.s.mark, e.mark)
		}
	}
	if g.lost < 0 {
		to, last, err := v.sc.nextWhole(off, v.next)
		if err != nil {
			return -1, err
		}
		if to < 0 {
			v.s.stop, v.s.rest, v.s.batch = off, last, v.batch
			if last > 0 || bad != nil {
				v.s.why = g.why
			}
			return -1, nil
		}
		g.end = to
	}
	v.s.gaps = append(v.s.gaps, g)
	v.n = 0
	if !g.more {
		v.batch = 0
	} else if v.batch == 0 {
		v.batch = off
	}
	return g.end, nil
}

// number finds how many entries were lost in each gap; count is the number of
// entries that the seal gives, -1 if there is none. It stops at the first gap
// that cannot be numbered.
func (v *surveyor) number(count int64) survey {
	s := &v.s
	s.missing = -1
	seq := v.head
	for i := range s.gaps {
		g := &s.gaps[i]
		g.seq = seq
		if g.lost < 0 {
			g.lost = v.lostIn(i, seq, count)
		}
		if g.lost < 0 {
			return *s
		}
		seq += uint32(g.lost) + g.after
	}
	s.seq = seq
	if count >= int64(seq) && !s.over {
		s.missing = int(count - int64(seq))
	}
	return *s
}

// lostIn numbers gap i by the sparse index, or by the seal if it is the last one
// that is not known.
func (v *surveyor) lostIn(i int, seq uint32, count int64) int {
	g := &v.s.gaps[i]
	lost := int64(-1)
	switch {
	case g.anchored:
		lost = int64(g.anchor) - int64(g.ahead) - int64(seq)
	case count >= 0 && v.s.over:
		lost = count - int64(seq) - int64(g.after)
		for _, later := range v.s.gaps[i+1:] {
			if later.lost < 0 {
				return -1
			}
			lost -= int64(later.lost) + int64(later.after)
		}
	}
	if lost < 0 || lost*entryHeader > g.end-g.off || g.end-g.off > maxLength {
		return -1
	}
	return int(lost)
}

// nextWhole finds the next whole entry behind a bad place, -1 when there is none,
// and then the end of what is not zero.
func (s *scanner) nextWhole(off int64, next func(int64) (int64, error)) (at, last int64, err error) {
	for off += align; off < s.size; {
		data, err := next(off)
		if err != nil {
			return -1, 0, err
		}
		if data > off {
			off = min(data&^(align-1), s.size)
			continue
		}
		n := min(int64(len(zeros)), s.size-off)
		if b := s.get(off, int(n)); s.err == nil && bytes.Equal(b, zeros[:n]) {
			off += n
			continue
		}
		for to := off + n; off < to && s.err == nil; off += align {
			if binary.LittleEndian.Uint64(s.get(off, align)) == 0 {
				continue
			}
			last = off + align
			if off+entryHeader > s.size {
				continue
			}
			if _, _, present, err := s.whole(off); present && err == nil {
				return off, last, s.err
			}
		}
		if s.err != nil {
			return -1, 0, s.err
		}
	}
	return -1, last, nil
}

// lostEntries are entries that fill a gap and keep the indexes of what was there;
// none is padding.
func lostEntries(g gap, salt uint64) []byte {
	b := make([]byte, g.end-g.off)
	put := func(at int64, word uint32) {
		encodeEntry(b[at:], salt, g.off+at, word, checksum(b[at+entryHeader:][:word&lengthMask]))
	}
	more := uint32(0)
	if g.batch > 0 || g.more {
		more = wordMore
	}
	at := int64(0)
	for range g.lost - 1 {
		put(at, wordPresent|kindMeta<<kindShift|more)
		at += entryHeader
	}
	kind := uint32(kindMeta)
	if g.lost == 0 {
		kind = kindPad
	}
	if !g.more {
		more = 0
	}
	put(at, wordPresent|kind<<kindShift|more|uint32(g.end-g.off-at-entryHeader))
	return b
}

// endEntry is the entry that ends a cycle at off.
func endEntry(salt uint64, off int64) []byte {
	b := make([]byte, entryHeader)
	encodeEntry(b, salt, off, wordPresent|kindEnd<<kindShift, 0)
	return b
}

// encodeEntry writes the header of an entry without a mark into b.
func encodeEntry(b []byte, salt uint64, off int64, word, crc uint32) {
	x := mix(salt, off, word, 0)
	binary.LittleEndian.PutUint64(b, uint64(word)|uint64(crc^uint32(x))<<32)
	binary.LittleEndian.PutUint64(b[8:], x&^0xffffffff)
}
