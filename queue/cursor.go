package queue

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"slices"
)

var errBadHeader = errors.New("entry header does not check")

// cursor reads the entries of one cycle in order: from the mapping while there
// is one, else with reads of chunk bytes, so that a cold replay does not fault
// page by page. It belongs to one goroutine.
type cursor struct {
	q     *Queue
	s     *segment // held; nil between cycles
	f     File
	m     []byte
	off   int64
	seq   uint32
	chunk int

	win    []byte // bytes of the file at winOff
	winOff int64
	buf    []byte // copy of the last payload of a mapped cycle
}

// enter takes hold of a cycle and stands at or before entry seq.
func (c *cursor) enter(s *segment, seq uint32) error {
	opened := false
	f, m, err := s.acquire(func() (File, []byte, error) { opened = true; return c.q.openSegment(s) })
	if err != nil {
		if errors.Is(err, ErrSetAside) {
			c.q.forget(s)
		}
		return err
	}
	if opened {
		c.q.evict(s)
	}
	c.s, c.f, c.m = s, f, m
	c.win = c.win[:0]
	c.seq, c.off = s.index.find(seq)
	return nil
}

func (c *cursor) leave() {
	if c.s != nil {
		c.q.release(c.s)
		c.s, c.f, c.m = nil, nil, nil
	}
}

// stepped is what a cursor found at its place.
type stepped int

const (
	stepNone  = stepped(iota) // nothing yet
	stepEntry                 // an entry
	stepNote                  // a note of replication, which has an index
	stepLost                  // the place of an entry that is lost
	stepSkip                  // padding, or an entry before the wanted one
	stepEnd                   // the cycle is over
)

// next reads the entry at the cursor and moves behind it. Entries before want
// are stepped over without a look at their payload. The slice is good until the
// next call. A page that has gone from under the mapping, because the file
// was cut, is an error.
func (c *cursor) next(want uint32) (at stepped, p []byte, err error) {
	if c.m == nil {
		return c.read(want)
	}
	old := debug.SetPanicOnFault(true)
	defer func() {
		debug.SetPanicOnFault(old)
		if r := recover(); r != nil {
			at, p, err = stepNone, nil, c.fault(r)
		}
	}()
	return c.read(want)
}

// fault turns the panic of a fault in the mapping into an error.
func (c *cursor) fault(r any) error {
	if _, fault := r.(interface {
		runtime.Error
		Addr() uintptr
	}); !fault {
		panic(r)
	}
	return c.corrupt("the page is gone, the file was cut", ErrTruncated)
}

func (c *cursor) read(want uint32) (stepped, []byte, error) {
	e, present, err := c.peek()
	if err != nil || !present {
		return stepNone, nil, err
	}
	switch {
	case e.kind == kindEnd:
		return stepEnd, nil, nil
	case e.kind == kindPad:
		c.off += e.size()
		return stepSkip, nil, nil
	case c.seq < want:
		c.off, c.seq = c.off+e.size(), c.seq+1
		return stepSkip, nil, nil
	}
	p, err := c.payload(e)
	if err != nil {
		return stepNone, nil, err
	}
	c.off, c.seq = c.off+e.size(), c.seq+1
	switch {
	case e.kind == kindData:
		return stepEntry, p, nil
	case len(p) > 0 && p[0] != metaLost:
		return stepNote, p[1:], nil
	}
	return stepLost, nil, nil
}

// peek decodes the header of the entry at the cursor; present is false while
// nothing is published there.
func (c *cursor) peek() (e entry, present bool, err error) {
	w, rest, err := c.header()
	if err != nil {
		return entry{}, false, err
	}
	if uint32(w) == 0 {
		if c.m == nil { // sealed: it has an end entry
			return entry{}, false, c.corrupt("nothing is here, but the cycle goes on", nil)
		}
		return entry{}, false, nil
	}
	if e, err = decodeEntry(w, rest, c.s.salt, c.off); err != nil {
		return entry{}, false, c.corrupt(err.Error(), nil)
	}
	if err := e.fits(c.off, c.s.size); err != nil {
		return entry{}, false, c.corrupt(err.Error(), nil)
	}
	return e, true, nil
}

// guarded runs f; a fault in the mapping becomes an error.
func (c *cursor) guarded(f func() error) (err error) {
	old := debug.SetPanicOnFault(true)
	defer func() {
		debug.SetPanicOnFault(old)
		if r := recover(); r != nil {
			err = c.fault(r)
		}
	}()
	return f()
}

// header loads the first word of the entry at the cursor, then the second.
func (c *cursor) header() (w, rest uint64, err error) {
	if c.m != nil {
		if w = loadWord(c.m, c.off); uint32(w) == 0 {
			return 0, 0, nil
		}
		return w, binary.LittleEndian.Uint64(c.m[c.off+8:]), nil
	}
	b, err := c.window(entryHeader)
	if err != nil {
		return 0, 0, err
	}
	return binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint64(b[8:]), nil
}

// payload copies the entry's bytes, for those of a mapping could go, and checks
// them.
func (c *cursor) payload(e entry) ([]byte, error) {
	var p []byte
	if c.m != nil {
		from := c.off + entryHeader
		c.buf = append(c.buf[:0], c.m[from:from+int64(e.length)]...)
		p = c.buf
	} else {
		b, err := c.window(entryHeader + e.length)
		if err != nil {
			return nil, err
		}
		p = b[entryHeader:]
	}
	if checksum(p) != e.crc {
		return nil, c.corrupt(errBadPayload.Error(), nil)
	}
	return slices.Clip(p), nil
}

// window gives n bytes of the file at the cursor.
func (c *cursor) window(n int) ([]byte, error) {
	if skip := c.off - c.winOff; skip >= 0 && skip+int64(n) <= int64(len(c.win)) {
		return c.win[skip : skip+int64(n)], nil
	}
	want := max(n, c.chunk)
	if cap(c.win) < want {
		c.win = make([]byte, want)
	}
	got, err := c.f.ReadAt(c.win[:want], c.off)
	c.win, c.winOff = c.win[:got], c.off
	if got >= n {
		return c.win[:n], nil
	}
	if err == nil || errors.Is(err, io.EOF) {
		return nil, c.corrupt(fmt.Sprintf("the file ends at %d", c.off+int64(got)), ErrTruncated)
	}
	return nil, fmt.Errorf("read cycle %s at offset %d: %w", c.s.name, c.off, err)
}

func (c *cursor) corrupt(reason string, cause error) error {
	return &CorruptError{
		Path: c.q.filePath(c.s.name), Cycle: c.s.cycle, Offset: c.off,
		Index: NewIndex(c.s.cycle, c.seq), Reason: reason, Err: cause,
	}
}

// checkLength reports a live cycle that was cut before the cursor: within the
// last page a mapping reads zeros there, which look like "nothing yet".
func (c *cursor) checkLength() error {
	if c.s == nil {
		return nil
	}
	size, err := c.f.Size()
	if err != nil {
		return fmt.Errorf("look at cycle %s: %w", c.s.name, err)
	}
	if size < c.off {
		return c.corrupt(fmt.Sprintf("the file has %d bytes", size), ErrTruncated)
	}
	return nil
}
