package queue

import (
	"encoding/binary"
	"sort"
	"sync/atomic"
)

// sparse is the index of one cycle: the sequence number and place of the first
// entry that begins in each page. One goroutine adds, under the appender's
// mutex; any number look up. Its capacity is fixed, so nothing moves.
type sparse struct {
	marks atomic.Pointer[[]uint64] // sequence << 32 | offset / align
	n     atomic.Int32
	page  int64 // the adder's: last page with a mark
}

// room allocates for a cycle of the given size.
func (x *sparse) room(size int64) {
	m := make([]uint64, size/pageSize+1)
	x.marks.Store(&m)
	x.n.Store(0)
	x.page = 0
}

func (x *sparse) add(seq uint32, off int64) {
	page := off / pageSize
	if page == x.page {
		return
	}
	x.page = page
	n := x.n.Load()
	(*x.marks.Load())[n] = uint64(seq)<<32 | uint64(off/align)
	x.n.Store(n + 1)
}

// find gives the last mark at or before seq.
func (x *sparse) find(seq uint32) (atSeq uint32, off int64) {
	p := x.marks.Load()
	if p == nil {
		return 0, dataStart
	}
	m := (*p)[:x.n.Load()]
	i := sort.Search(len(m), func(i int) bool { return uint32(m[i]>>32) > seq })
	if i == 0 {
		return 0, dataStart
	}
	return uint32(m[i-1] >> 32), int64(uint32(m[i-1])) * align
}

// encode is the form stored behind a sealed cycle.
func (x *sparse) encode() []byte {
	p := x.marks.Load()
	if p == nil {
		return nil
	}
	m := (*p)[:x.n.Load()]
	b := make([]byte, 0, len(m)*8)
	for _, v := range m {
		b = binary.LittleEndian.AppendUint64(b, v)
	}
	return b
}

// load takes a stored index; it was checked by its checksum.
func (x *sparse) load(b []byte) {
	m := make([]uint64, len(b)/8)
	for i := range m {
		m[i] = binary.LittleEndian.Uint64(b[i*8:])
	}
	x.n.Store(0)
	x.marks.Store(&m)
	x.n.Store(int32(len(m)))
}

// forget frees the index of a sealed cycle; look-ups then start at the front
// until it is loaded again.
func (x *sparse) forget(sealed bool) {
	if sealed {
		x.n.Store(0)
		x.marks.Store(nil)
	}
}

// cut takes back the marks at and behind seq.
func (x *sparse) cut(seq uint32) {
	m := (*x.marks.Load())
	n := x.n.Load()
	for n > 0 && uint32(m[n-1]>>32) >= seq {
		n--
	}
	x.n.Store(n)
	x.page = 0
	if n > 0 {
		x.page = int64(uint32(m[n-1])) * align / pageSize
	}
}
