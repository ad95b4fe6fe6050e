package sendq

import (
	"strings"
	"unsafe"

	"github.com/pawl-go/pawl/mesh/internal/wire"
)

// Assembler puts fragments of one stream together.
type Assembler struct {
	MaxTotal int // the largest frame, kind included

	parts map[uint32]*part
}

type part struct {
	frame []byte // nil: its bytes are not wanted
	got   int
	total int
}

// Add takes a fragment. head is the frame as far as it is known when the
// fragment is its first: the caller may look at it and call Skip. whole is the
// frame, kind included, when the fragment is its last; it is the caller's. The
// error is [wire.ErrMalformed]: nothing was taken.
func (a *Assembler) Add(p wire.Piece) (head, whole []byte, err error) {
	t := a.parts[p.Stream]
	first := t == nil
	if first {
		if p.Total <= len(p.Bytes) || p.Total > a.MaxTotal || len(a.parts) >= Active {
			return nil, nil, wire.ErrMalformed
		}
		t = &part{total: p.Total, frame: room(p.Total)}
		if a.parts == nil {
			a.parts = map[uint32]*part{}
		}
		a.parts[p.Stream] = t
	}
	if p.Total != t.total || t.got+len(p.Bytes) > t.total {
		return nil, nil, wire.ErrMalformed
	}
	t.got += len(p.Bytes)
	if t.frame != nil {
		t.frame = append(t.frame, p.Bytes...)
	}
	if first {
		return t.frame, nil, nil
	}
	if t.got < t.total {
		return nil, nil, nil
	}
	delete(a.parts, p.Stream)
	return nil, t.frame, nil
}

// room returns an empty slice with room for n bytes, which are not cleared. To clear
// megabytes at a first fragment takes as long as a small message to another actor may
// be late by, and all that is read of them has been written before.
func room(n int) []byte {
	var b strings.Builder
	b.Grow(n) // the library's way to such memory; nobody else has this string
	b.WriteByte(0)
	return unsafe.Slice(unsafe.StringData(b.String()), n)[:0]
}

// Skip forgets the bytes of the frame whose first fragment was p; what follows of
// it is taken and not kept, and Add never returns it.
func (a *Assembler) Skip(p wire.Piece) {
	if t := a.parts[p.Stream]; t != nil {
		t.frame = nil
	}
}

// Len returns how many frames are under way.
func (a *Assembler) Len() int { return len(a.parts) }
