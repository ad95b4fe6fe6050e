package service

import (
	"encoding/binary"
	"hash/crc32"
	"math"

	"github.com/pawl-go/pawl/queue"
)

const frameMagic = 0xB1

// Flags of a frame, in the order of its fields.
const (
	hasTime = 1 << iota
	hasHistory
	hasOrdinal
	hasOrder
	hasPositions
	hasType
	hasReason
	knownFlags = 1<<iota - 1
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// frame is an entry in its parts, as the format has them. Decoding into the same
// frame again reuses its slices; its bytes are those of the entry.
type frame struct {
	kind    Kind
	flags   byte
	time    int64 // Unix nanoseconds; 0: none
	history []Hop
	ordinal uint64

	check uint32 // of the cause
	runs  []Hop  // before that of the cause; Index is the last of the run

	begin     queue.Index // with positions: of the Begin that counts; 0: this entry
	positions []Hop       // Index is the last handled one; 0: none yet

	typ, reason, payload []byte
}

func (f *frame) has(flag byte) bool { return f.flags&flag != 0 }

// cause is the input that the entry comes from; it has a history.
func (f *frame) cause() Hop { return f.history[0] }

// append writes the frame but for its payload. Whether it has an order and
// positions its flags say; what else it has, its fields.
func (f *frame) append(b []byte) []byte {
	flags := f.flags & (hasOrder | hasPositions)
	if f.time != 0 {
		flags |= hasTime
	}
	if len(f.history) > 0 {
		flags |= hasHistory
	}
	if f.ordinal > 0 {
		flags |= hasOrdinal
	}
	if len(f.typ) > 0 {
		flags |= hasType
	}
	if len(f.reason) > 0 {
		flags |= hasReason
	}
	b = append(b, frameMagic, byte(f.kind), flags)
	if flags&hasTime != 0 {
		b = binary.AppendVarint(b, f.time)
	}
	if flags&hasHistory != 0 {
		b = appendHops(b, f.history)
	}
	if flags&hasOrdinal != 0 {
		b = binary.AppendUvarint(b, f.ordinal)
	}
	if flags&hasOrder != 0 {
		b = binary.LittleEndian.AppendUint32(b, f.check)
		b = appendHops(b, f.runs)
	}
	if flags&hasPositions != 0 {
		b = binary.AppendUvarint(b, uint64(f.begin))
		b = appendHops(b, f.positions)
	}
	if flags&hasType != 0 {
		b = appendBytes(b, f.typ)
	}
	if flags&hasReason != 0 {
		b = appendBytes(b, f.reason)
	}
	return b
}

func appendHops(b []byte, hs []Hop) []byte {
	b = binary.AppendUvarint(b, uint64(len(hs)))
	for _, h := range hs {
		b = binary.AppendUvarint(b, uint64(h.Source))
		b = binary.AppendUvarint(b, uint64(h.Index))
	}
	return b
}

func appendBytes(b, p []byte) []byte {
	return append(binary.AppendUvarint(b, uint64(len(p))), p...)
}

// decode takes an entry apart, strictly: what it takes, append would write the
// same. The error is a *FormatError.
func (f *frame) decode(p []byte) error {
	*f = frame{history: f.history[:0], runs: f.runs[:0], positions: f.positions[:0]}
	if len(p) < 3 || p[0] != frameMagic {
		return &FormatError{"it does not begin as one"}
	}
	f.kind, f.flags = Kind(p[1]), p[2]
	switch {
	case f.kind > Dead:
		return &FormatError{f.kind.String() + " is not known: a newer version has written it"}
	case f.flags&^knownFlags != 0:
		return &FormatError{"a flag is not known: a newer version has written it"}
	}
	r := fieldReader{rest: p[3:]}
	if f.has(hasTime) {
		f.time = r.zigzag()
		r.require(f.time != 0)
	}
	if f.has(hasHistory) {
		f.history = r.hops(f.history)
		r.require(len(f.history) > 0 && len(f.history) <= MaxHops)
	}
	if f.has(hasOrdinal) {
		f.ordinal = r.number()
		r.require(f.ordinal > 0 && f.ordinal <= math.MaxInt32)
	}
	if f.has(hasOrder) {
		f.check = r.fixed32()
		f.runs = r.hops(f.runs)
	}
	if f.has(hasPositions) {
		f.begin = queue.Index(r.number())
		f.positions = r.hops(f.positions)
	}
	if f.has(hasType) {
		f.typ = r.bytes()
		r.require(len(f.typ) > 0)
	}
	if f.has(hasReason) {
		f.reason = r.bytes()
		r.require(len(f.reason) > 0)
	}
	f.payload = r.rest
	r.require(f.coherent())
	if r.bad {
		return &FormatError{"a field does not read"}
	}
	return nil
}

// coherent says whether the fields are those that the kind has.
func (f *frame) coherent() bool {
	switch f.kind {
	case Order:
		return f.has(hasHistory) && f.has(hasOrder) && !f.has(hasOrdinal|hasType|hasReason) && len(f.payload) == 0
	case Begin:
		return f.flags == hasPositions && len(f.payload) == 0
	case Dead:
		return f.has(hasHistory) && f.has(hasReason) && !f.has(hasOrdinal)
	}
	published := !f.has(hasHistory | hasOrdinal | hasOrder | hasPositions)
	first := f.has(hasHistory) && f.has(hasOrder) && !f.has(hasOrdinal)
	later := f.has(hasHistory) && f.has(hasOrdinal) && !f.has(hasOrder|hasPositions)
	return !f.has(hasReason) && (published || first || later)
}

// fieldReader reads fields; after a bad one it gives zeros.
type fieldReader struct {
	rest []byte
	bad  bool
}

func (r *fieldReader) require(ok bool) { r.bad = r.bad || !ok }

func (r *fieldReader) number() uint64 {
	v, n := binary.Uvarint(r.rest)
	if n <= 0 || (n > 1 && r.rest[n-1] == 0) { // too short, too long, or not the shortest form
		r.bad, r.rest = true, nil
		return 0
	}
	r.rest = r.rest[n:]
	return v
}

func (r *fieldReader) zigzag() int64 {
	u := r.number()
	return int64(u>>1) ^ -int64(u&1)
}

func (r *fieldReader) fixed32() uint32 {
	if len(r.rest) < 4 {
		r.bad, r.rest = true, nil
		return 0
	}
	v := binary.LittleEndian.Uint32(r.rest)
	r.rest = r.rest[4:]
	return v
}

func (r *fieldReader) hops(hs []Hop) []Hop {
	n := r.number()
	if n > uint64(len(r.rest)/2) { // each takes two bytes at least
		r.bad = true
		return hs
	}
	for range n {
		source := r.number()
		r.require(source > 0 && source <= math.MaxUint32)
		hs = append(hs, Hop{Source: uint32(source), Index: queue.Index(r.number())})
	}
	return hs
}

func (r *fieldReader) bytes() []byte {
	n := r.number()
	if n > uint64(len(r.rest)) {
		r.bad = true
		return nil
	}
	p := r.rest[:n]
	r.rest = r.rest[n:]
	return p
}
