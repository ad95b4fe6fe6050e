package queue

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"strconv"
	"strings"
	"sync/atomic"
	"unsafe"
)

// The package comment draws the format; the numbers are here.
const (
	pageSize    = 4096
	dataStart   = 4096 // first entry of a cycle
	entryHeader = 16
	align       = 8
	maxLength   = 1<<28 - 1 // of an entry

	magic       = "PAWLCYC\n"
	version     = 1
	versionCopy = 2 // of cycles that have a flag or a count of cuts
	stampOffset = 64
	headerBytes = 128 // used of the header page

	wordPresent = 1 << 31
	wordMore    = 1 << 30 // the next entry belongs to the same batch
	kindShift   = 28
	kindMask    = 3 << kindShift
	lengthMask  = maxLength
)

// The kinds of entries.
const (
	kindData = uint32(iota) // a message
	kindPad                 // an abandoned slot: skipped, has no index
	kindEnd                 // the cycle is over
	kindMeta                // takes an index but is no message: a note, or a place whose message is lost
)

// The first byte of the payload of a kindMeta says what it is. One without a
// payload is a lost place too.
const (
	metaLost = byte(iota) // what was here is lost, see Repair; the rest is zero
	metaNote              // of replication, see AppendNote
)

const (
	stampNone   = uint32(iota)
	stampClosed // the appender closed the queue: flushed up to used
	stampSealed // the cycle is over and flushed; used and count are final
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// checksum is the part of an entry's check that needs only its payload.
func checksum(p []byte) uint32 { return crc32.Update(0, castagnoli, p) }

// entrySize is the room that n bytes of payload take in a cycle.
func entrySize(n int) int64 { return int64(entryHeader+n+align-1) &^ (align - 1) }

// mix binds an entry's header to its place: the high half of the result is the
// check of the header, the low half is folded into that of the payload. Each
// step is a bijection of 64 bits, so different inputs of the same salt collide
// once in 2^32 only by the truncation.
func mix(salt uint64, off int64, word, mark uint32) uint64 {
	x := salt ^ (uint64(mark)<<32 | uint64(word))
	x *= 0x9E3779B97F4A7C15
	x ^= x >> 32
	x += uint64(off)
	x *= 0xD6E8FEB86659FD93
	return x ^ x>>32
}

// putEntry writes everything of the entry at off but its first eight bytes,
// and returns those; storeWord publishes them. mark is in units of align.
func putEntry(m []byte, salt uint64, off int64, word, mark, crc uint32) uint64 {
	x := mix(salt, off, word, mark)
	binary.LittleEndian.PutUint64(m[off+8:], uint64(mark)|x&^0xffffffff)
	return uint64(word) | uint64(crc^uint32(x))<<32
}

// storeWord publishes an entry: whoever sees the word sees all before it.
func storeWord(m []byte, off int64, w uint64) {
	atomic.StoreUint64((*uint64)(unsafe.Pointer(&m[off])), leWord(w))
}

func loadWord(m []byte, off int64) uint64 {
	return leWord(atomic.LoadUint64((*uint64)(unsafe.Pointer(&m[off]))))
}

// bigEndian is true where the processor's order is not the file's.
var bigEndian = binary.NativeEndian.Uint16([]byte{0, 1}) == 1

func leWord(w uint64) uint64 {
	if bigEndian {
		var b [8]byte
		binary.LittleEndian.PutUint64(b[:], w)
		return binary.NativeEndian.Uint64(b[:])
	}
	return w
}

// entry is a decoded entry header.
type entry struct {
	kind   uint32
	more   bool
	length int
	mark   int64  // the cycle was known to be flushed below this offset; 0: nothing known
	crc    uint32 // what checksum(payload) must be
}

func (e entry) size() int64 { return entrySize(e.length) }

// indexed says whether the entry takes an index.
func (e entry) indexed() bool { return e.kind == kindData || e.kind == kindMeta }

// What a whole entry is not.
var (
	errNotWhole   = errors.New("an entry is not whole")
	errPasses     = errors.New("entry passes the end of the cycle")
	errBadPayload = errors.New("payload does not check")
	errBadPadding = errors.New("bytes behind the payload are not zero")
)

// fits says whether an entry can be at off of a cycle of size bytes, which ends with
// an end entry.
func (e entry) fits(off, size int64) error {
	switch {
	case e.kind == kindEnd && (e.length != 0 || e.more):
		return errBadHeader
	case e.kind != kindEnd && off+e.size() > size-entryHeader:
		return errPasses
	}
	return nil
}

// proves checks the payload, and the bytes behind it up to where the next entry
// begins.
func (e entry) proves(p, padding []byte) error {
	if checksum(p) != e.crc {
		return errBadPayload
	}
	for _, b := range padding {
		if b != 0 {
			return errBadPadding
		}
	}
	return nil
}

// decodeEntry reads the header of the entry at off, given its first word as it
// was loaded and the eight bytes behind it. It never looks at the payload.
func decodeEntry(w, rest, salt uint64, off int64) (entry, error) {
	word, mark := uint32(w), uint32(rest)
	x := mix(salt, off, word, mark)
	if uint32(x>>32) != uint32(rest>>32) {
		return entry{}, errBadHeader
	}
	e := entry{
		kind:   word & kindMask >> kindShift,
		more:   word&wordMore != 0,
		length: int(word & lengthMask),
		mark:   int64(mark) * align,
		crc:    uint32(w>>32) ^ uint32(x),
	}
	if word&wordPresent == 0 || e.mark > off {
		return entry{}, errBadHeader
	}
	return e, nil
}

// cycleHeader is the first page of a cycle.
type cycleHeader struct {
	cycle   uint32
	size    int64 // bytes the cycle was preallocated to
	salt    uint64
	created int64 // Unix nanoseconds

	// Since version 2, and kept in version 1 files as zero.
	cuts   uint32 // how often a tail of the cycle was set aside
	copied bool   // the entries came from another host, and so did their marks

	stamp stamp
}

const headerCopied = 1 // flag

// stamp is written when a cycle is sealed or the queue is closed. It is a hint:
// without it the cycle is scanned.
type stamp struct {
	state    uint32
	count    uint32 // entries
	used     int64  // bytes, with the end entry
	at       int64  // Unix nanoseconds
	indexLen uint32 // words of the sparse index, stored at used
	indexCRC uint32
}

func (h *cycleHeader) encode() []byte {
	b := make([]byte, headerBytes)
	copy(b, magic)
	le := binary.LittleEndian
	le.PutUint32(b[8:], version)
	if h.copied || h.cuts > 0 {
		le.PutUint32(b[8:], versionCopy)
	}
	le.PutUint32(b[12:], dataStart)
	le.PutUint32(b[16:], h.cycle)
	le.PutUint32(b[20:], h.cuts)
	if h.copied {
		le.PutUint32(b[48:], headerCopied)
	}
	le.PutUint64(b[24:], uint64(h.size))
	le.PutUint64(b[32:], h.salt)
	le.PutUint64(b[40:], uint64(h.created))
	le.PutUint32(b[60:], checksum(b[:60]))
	copy(b[stampOffset:], h.stamp.encode(h.salt))
	return b
}

func (s *stamp) encode(salt uint64) []byte {
	b := make([]byte, headerBytes-stampOffset)
	if s.state == stampNone {
		return b
	}
	le := binary.LittleEndian
	le.PutUint32(b, s.state)
	le.PutUint32(b[4:], s.count)
	le.PutUint64(b[8:], uint64(s.used))
	le.PutUint64(b[16:], uint64(s.at))
	le.PutUint32(b[24:], s.indexLen)
	le.PutUint32(b[28:], s.indexCRC)
	le.PutUint32(b[60:], stampCheck(b, salt))
	return b
}

func stampCheck(b []byte, salt uint64) uint32 { return checksum(b[:60]) ^ uint32(salt) }

// decodeHeader reads the header page; a stamp that does not check counts as none.
func decodeHeader(b []byte) (cycleHeader, error) {
	var h cycleHeader
	if len(b) < headerBytes {
		return h, fmt.Errorf("decode cycle header: %d bytes: %w", len(b), ErrTruncated)
	}
	le := binary.LittleEndian
	switch {
	case string(b[:8]) != magic:
		return h, fmt.Errorf("decode cycle header: not a cycle file")
	case le.Uint32(b[60:]) != checksum(b[:60]):
		return h, fmt.Errorf("decode cycle header: check does not match")
	case le.Uint32(b[8:]) != version && le.Uint32(b[8:]) != versionCopy || le.Uint32(b[12:]) != dataStart:
		return h, fmt.Errorf("decode cycle header: format version %d, want %d or %d", le.Uint32(b[8:]), version, versionCopy)
	}
	h.cycle = le.Uint32(b[16:])
	h.size = int64(le.Uint64(b[24:]))
	h.salt = le.Uint64(b[32:])
	h.created = int64(le.Uint64(b[40:]))
	h.cuts = le.Uint32(b[20:])
	h.copied = le.Uint32(b[48:])&headerCopied != 0
	if h.cycle == 0 || h.size < MinCycleBytes || h.size > MaxCycleBytes || h.size%pageSize != 0 {
		return h, fmt.Errorf("decode cycle header: cycle %d of %d bytes", h.cycle, h.size)
	}
	s := b[stampOffset:headerBytes]
	if st := le.Uint32(s); (st == stampClosed || st == stampSealed) && le.Uint32(s[60:]) == stampCheck(s, h.salt) {
		h.stamp = stamp{
			state: st, count: le.Uint32(s[4:]), used: int64(le.Uint64(s[8:])), at: int64(le.Uint64(s[16:])),
			indexLen: le.Uint32(s[24:]), indexCRC: le.Uint32(s[28:]),
		}
		if h.stamp.used < dataStart || h.stamp.used > h.size {
			h.stamp = stamp{}
		}
	}
	return h, nil
}

const (
	cycleSuffix = ".cycle"
	tempSuffix  = ".new"
	tornPrefix  = "torn-"
	lockName    = "lock"
)

// cycleName is the file name of a cycle; names sort like numbers.
func cycleName(cycle uint32) string { return fmt.Sprintf("%010d%s", cycle, cycleSuffix) }

// parseCycleName is the inverse of cycleName.
func parseCycleName(name string) (uint32, bool) {
	digits, ok := strings.CutSuffix(name, cycleSuffix)
	if !ok || len(digits) != 10 {
		return 0, false
	}
	n, err := strconv.ParseUint(digits, 10, 32)
	return uint32(n), err == nil && n > 0
}
