package queue

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"sort"
)

const scanChunk = 1 << 20

var zeros [64 << 10]byte

// scanner reads a cycle file without trusting it. What lies beyond the end of a
// short file reads as zero, like what was never written.
type scanner struct {
	f    io.ReaderAt
	salt uint64
	size int64 // that the cycle should have
	// foreign: the marks speak of the disk of another host, and count for nothing.
	foreign bool
	// dataEnd, once findEnd has found it: from there on the file has nothing but zeros.
	dataEnd int64

	win    []byte
	winOff int64
	err    error // of the disk; ends everything
}

// get gives n bytes at off.
func (s *scanner) get(off int64, n int) []byte {
	if skip := off - s.winOff; skip >= 0 && skip+int64(n) <= int64(len(s.win)) {
		return s.win[skip : skip+int64(n)]
	}
	want := int(max(int64(n), min(scanChunk, s.size-off)))
	if cap(s.win) < want {
		s.win = make([]byte, want)
	}
	s.win, s.winOff = s.win[:want], off
	got, err := s.f.ReadAt(s.win, off)
	if err != nil && !errors.Is(err, io.EOF) && s.err == nil {
		s.err = fmt.Errorf("read cycle at offset %d: %w", off+int64(got), err)
	}
	clear(s.win[got:])
	return s.win[:n]
}

// header decodes the entry at off; present is false when nothing was published
// there.
func (s *scanner) header(off int64) (e entry, present bool, err error) {
	b := s.get(off, entryHeader)
	w := binary.LittleEndian.Uint64(b)
	if uint32(w) == 0 {
		return entry{}, false, nil
	}
	e, err = decodeEntry(w, binary.LittleEndian.Uint64(b[8:]), s.salt, off)
	if s.foreign {
		e.mark = 0
	}
	if err == nil {
		err = e.fits(off, s.size)
	}
	return e, true, err
}

// whole decodes the entry at off and checks all of it.
func (s *scanner) whole(off int64) (e entry, p []byte, present bool, err error) {
	e, present, err = s.header(off)
	if err != nil || !present {
		return e, nil, present, err
	}
	b := s.get(off, int(e.size()))[entryHeader:]
	p = b[:e.length]
	if err := e.proves(p, b[e.length:]); err != nil {
		return e, nil, true, err
	}
	return e, p, true, nil
}

// stop is where and why a walk ended.
type stop struct {
	off  int64  // of the first entry that is not whole, or of the end entry
	seq  uint32 // its sequence number
	over bool   // the cycle has its end entry
	mark int64  // highest mark seen: the cycle was flushed below it
	// reason is empty when there is just nothing more.
	reason string
}

// walk visits the whole entries from the front of the cycle. Entries of a batch
// count only when all of it is whole; visit may see the first ones of one that
// is not.
func (s *scanner) walk(visit func(off int64, seq uint32, e entry, p []byte) error) (stop, error) {
	var st stop
	off, seq, batch := int64(dataStart), uint32(0), false
	st.off = off
	for {
		if off+entryHeader > s.size {
			st.reason = "the end entry is missing"
			break
		}
		e, p, present, err := s.whole(off)
		if s.err != nil {
			return st, s.err
		}
		if err != nil {
			st.reason = err.Error()
			break
		}
		if !present || batch && !e.indexed() {
			if batch {
				st.reason = "batch is not complete"
			}
			break
		}
		st.mark = max(st.mark, e.mark)
		if e.kind == kindEnd {
			st.over = true
			break
		}
		if visit != nil {
			if err := visit(off, seq, e, p); err != nil {
				return st, err
			}
		}
		off += e.size()
		if e.indexed() {
			seq++
		}
		if batch = e.more; !batch {
			st.off, st.seq = off, seq
		}
	}
	return st, nil
}

// remnant is what lies behind the place where a walk stopped.
type remnant struct {
	end   int64 // of the last byte that is not zero; 0: there is none
	whole int   // messages that check
	mark  int64 // highest mark among them
}

// findEnd finds where the data of the file end; next is its NextData. It comes before
// anything is read: what the kernel reads ahead counts as data too, and of a cycle of
// which most was only allocated all would be read then.
func (s *scanner) findEnd(next func(int64) (int64, error)) (err error) {
	k := sort.Search(int(s.size/pageSize), func(k int) bool { // there is nothing from page k on
		off := int64(k) * pageSize
		data, failed := next(off)
		if failed != nil {
			err = fmt.Errorf("seek data: %w", failed)
		}
		return data < off || data >= s.size
	})
	s.dataEnd = int64(k) * pageSize
	return err
}

// rest looks at everything from off on: for the last byte, and for whole entries
// wherever they begin. next is the file's NextData.
func (s *scanner) rest(off int64, next func(int64) (int64, error)) (remnant, error) {
	var r remnant
	if s.dataEnd == 0 {
		if err := s.findEnd(next); err != nil {
			return r, err
		}
	}
	for off < s.dataEnd {
		data, err := next(off)
		if err != nil {
			return r, fmt.Errorf("seek data: %w", err)
		}
		if data > off {
			off = min(data&^(align-1), s.dataEnd)
			continue
		}
		n := min(int64(len(zeros)), s.dataEnd-off)
		b := s.get(off, int(n))
		if s.err != nil {
			return r, s.err
		}
		if bytes.Equal(b, zeros[:n]) {
			off += n
			continue
		}
		off = s.resync(off, off+n, &r)
		if s.err != nil {
			return r, s.err
		}
	}
	return r, nil
}

// resync tries every place of [off, to) that an entry could begin at, and
// returns where to go on: behind an entry that reaches past to, else to.
func (s *scanner) resync(off, to int64, r *remnant) int64 {
	for off < to {
		b := s.get(off, align)
		if binary.LittleEndian.Uint64(b) == 0 {
			off += align
			continue
		}
		for i, v := range b {
			if v != 0 {
				r.end = off + int64(i) + 1
			}
		}
		if off+entryHeader <= s.size {
			if e, _, present, err := s.whole(off); present && err == nil {
				if e.kind == kindData {
					r.whole++
				}
				r.mark = max(r.mark, e.mark)
				off += e.size()
				r.end = off
				continue
			}
		}
		off += align
	}
	return off
}
