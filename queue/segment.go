package queue

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// segment is one cycle file. The appender's own cycle is held (ref'd) by the
// appender; readers take a reference for as long as they use its file or its
// mapping, so that neither goes away under them.
type segment struct {
	cycle   uint32
	name    string
	salt    uint64
	size    int64 // bytes preallocated
	created time.Time
	cuts    uint32 // see cycleHeader
	copied  bool

	// flushed is the offset below which the cycle is on the disk, once all
	// cycles before it are whole there; 0 until then. It is the mark of new
	// entries.
	flushed atomic.Int64

	// end and count are the length in use and the number of entries, once the
	// cycle is over; end is 0 before.
	end   atomic.Int64
	count atomic.Uint32
	// sealed: flushed, trimmed and stamped; nobody writes to it any more.
	sealed atomic.Bool
	ended  atomic.Int64 // Unix nanoseconds, once it is sealed

	build builder // of a read-only queue, while the cycle grows

	index   sparse
	touched int64 // the helper's: pages below are present
	dropped int64 // the helper's: pages below are not, unless they were read since

	mu struct {
		sync.Mutex
		refs int
		file File
		m    []byte // nil when read with pread
		drop bool   // let go when the last reference is given back
	}
}

func newSegment(h cycleHeader) *segment {
	return &segment{
		cycle: h.cycle, name: cycleName(h.cycle), salt: h.salt, size: h.size, created: time.Unix(0, h.created),
		cuts: h.cuts, copied: h.copied,
	}
}

// scanner reads the file of the cycle without trusting it.
func (s *segment) scanner(f File) *scanner {
	return &scanner{f: f, salt: s.salt, size: s.size, foreign: s.copied}
}

// acquire returns the file and, while the cycle is mapped, its mapping, both
// good until release. open is called when the file is closed at the moment.
func (s *segment) acquire(open func() (File, []byte, error)) (File, []byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mu.file == nil {
		f, m, err := open()
		if err != nil {
			return nil, nil, err
		}
		s.mu.file, s.mu.m, s.mu.drop = f, m, false
	}
	s.mu.refs++
	return s.mu.file, s.mu.m, nil
}

// release gives back a reference. It says whether that closed the file.
func (s *segment) release() (closed bool, err error) {
	s.mu.Lock()
	s.mu.refs--
	f, m := s.takeUnused()
	s.mu.Unlock()
	return f != nil, letGo(f, m)
}

// letGo closes and unmaps as soon as nobody uses the segment; a later acquire
// opens it again.
func (s *segment) letGo() (closed bool, err error) {
	s.mu.Lock()
	s.mu.drop = true
	f, m := s.takeUnused()
	s.mu.Unlock()
	return f != nil, letGo(f, m)
}

func (s *segment) takeUnused() (File, []byte) {
	if s.mu.refs > 0 || !s.mu.drop || s.mu.file == nil {
		return nil, nil
	}
	f, m := s.mu.file, s.mu.m
	s.mu.file, s.mu.m = nil, nil
	s.index.forget(s.sealed.Load())
	return f, m
}

func letGo(f File, m []byte) error {
	if f == nil {
		return nil
	}
	var err error
	if m != nil {
		err = f.Unmap(m)
	}
	return errors.Join(err, f.Close())
}

// last is the index of the cycle's last entry once it is over, 0 if it has none.
func (s *segment) last() Index {
	if n := s.count.Load(); n > 0 {
		return NewIndex(s.cycle, n-1)
	}
	return 0
}

// readHeader reads and checks the header page of a cycle file.
func readHeader(f io.ReaderAt) (cycleHeader, error) {
	var b [headerBytes]byte
	n, err := f.ReadAt(b[:], 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return cycleHeader{}, fmt.Errorf("read cycle header: %w", err)
	}
	return decodeHeader(b[:n])
}

// openCycle opens a file and makes the segment of it; what the stamp promises is
// checked against the length of the file.
func openCycle(dir Dir, path string, cycle uint32, write bool) (*segment, File, cycleHeader, error) {
	name := cycleName(cycle)
	f, err := dir.Open(name, write)
	if err != nil {
		return nil, nil, cycleHeader{}, fmt.Errorf("open cycle %s: %w", name, err)
	}
	h, err := readHeader(f)
	if err == nil && h.cycle != cycle {
		err = fmt.Errorf("decode cycle header: it says cycle %d", h.cycle)
	}
	if err != nil {
		_ = f.Close()
		return nil, nil, h, &CorruptError{Path: path + "/" + name, Cycle: cycle, Reason: err.Error(), Err: err}
	}
	s := newSegment(h)
	size, err := f.Size()
	if err == nil && size < h.stamp.used {
		err = &CorruptError{
			Path: path + "/" + name, Cycle: cycle, Offset: size, Err: ErrTruncated,
			Reason: fmt.Sprintf("the file has %d bytes of %d", size, h.stamp.used),
		}
	}
	if err != nil {
		_ = f.Close()
		return nil, nil, h, err
	}
	if h.stamp.state == stampSealed {
		s.end.Store(h.stamp.used)
		s.count.Store(h.stamp.count)
		s.flushed.Store(h.stamp.used)
		s.ended.Store(h.stamp.at)
		s.sealed.Store(true)
	}
	return s, f, h, nil
}

// cycleNumbers lists the cycles of a directory in order.
func cycleNumbers(dir Dir) ([]uint32, error) {
	names, err := dir.List()
	if err != nil {
		return nil, fmt.Errorf("list queue directory: %w", err)
	}
	var cycles []uint32
	for _, name := range names {
		if c, ok := parseCycleName(name); ok {
			cycles = append(cycles, c)
		}
	}
	slices.Sort(cycles)
	return cycles, nil
}

func isMissing(err error) bool { return errors.Is(err, fs.ErrNotExist) }
