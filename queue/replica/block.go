package replica

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"time"

	"github.com/pawl-go/pawl/queue"
	"github.com/pawl-go/pawl/queue/replica/core"
)

// piece is what one host sends another of a queue: a block as it lies in the
// file, with what the cycle needs to be begun.
type piece struct {
	head  queue.CycleHead // of its cycle
	next  queue.CycleHead // of the cycle behind it, when the block ends its own
	block queue.Block
}

// errBlock is wrapped when a block cannot be taken apart.
var errBlock = errors.New("block does not check")

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// The format of an entry, as the comment of package queue draws it.
const (
	entryHeader = 16
	entryAlign  = 8
	dataStart   = 4096

	kindData = 0
	kindPad  = 1
	kindEnd  = 2
	kindMeta = 3

	metaNote = 1
)

// walker takes the entries of a block apart, in order. It trusts nothing.
type walker struct {
	block *queue.Block
	salt  uint64
	at    int // in the bytes
	seq   uint32
	entry core.Entry // the last one with an index
	kind  uint32     // of the last one of all
}

func (p *piece) walk() *walker {
	return &walker{block: &p.block, salt: p.head.Salt, seq: p.block.Seq}
}

// next goes on to the next entry of any kind; false at the end. The payload shares
// the block's bytes.
func (w *walker) next() (bool, error) {
	b := w.block.Bytes[w.at:]
	bad := func(why string) (bool, error) {
		return false, fmt.Errorf("%w: cycle %d at offset %d: %s", errBlock, w.block.Cycle, w.block.Offset+int64(w.at), why)
	}
	switch {
	case len(b) == 0:
		return false, nil
	case w.kind == kindEnd:
		return bad("something is behind the end")
	case len(b) < entryHeader:
		return bad("it is cut")
	}
	word, check, mark := binary.LittleEndian.Uint32(b), binary.LittleEndian.Uint32(b[4:]), binary.LittleEndian.Uint32(b[8:])
	x := mix(w.salt, w.block.Offset+int64(w.at), word, mark)
	n := int(word & (1<<28 - 1))
	size := (entryHeader + n + entryAlign - 1) &^ (entryAlign - 1)
	if word>>31 == 0 || uint32(x>>32) != binary.LittleEndian.Uint32(b[12:]) || size > len(b) {
		return bad("bad header")
	}
	p := b[entryHeader : entryHeader+n : entryHeader+n]
	if crc32.Checksum(p, castagnoli) != check^uint32(x) {
		return bad("bad payload")
	}
	w.at += size
	if w.kind = word >> 28 & 3; w.kind == kindPad || w.kind == kindEnd {
		return true, nil
	}
	w.entry = core.Entry{Index: queue.NewIndex(w.block.Cycle, w.seq), More: word&(1<<30) != 0, Payload: p}
	if w.kind == kindMeta && n > 0 && p[0] == metaNote {
		w.entry.Control, w.entry.Payload = true, p[1:]
	}
	w.seq++
	return true, nil
}

// indexed says whether the entry that next went on to has an index.
func (w *walker) indexed() bool { return w.kind == kindData || w.kind == kindMeta }

// mix is how the checks of an entry depend on its place.
func mix(salt uint64, off int64, word, mark uint32) uint64 {
	x := salt ^ (uint64(mark)<<32 | uint64(word))
	x *= 0x9E3779B97F4A7C15
	x ^= x >> 32
	x += uint64(off)
	x *= 0xD6E8FEB86659FD93
	return x ^ x>>32
}

// entries lists the entries of a block that have an index.
func (p *piece) entries() ([]core.Entry, error) {
	entries := make([]core.Entry, 0, min(int(p.block.Entries), len(p.block.Bytes)/entryHeader))
	w := p.walk()
	for {
		ok, err := w.next()
		if err != nil {
			return nil, err
		}
		if !ok {
			break
		}
		if w.indexed() {
			entries = append(entries, w.entry)
		}
	}
	n := len(entries)
	if n != int(p.block.Entries) || n > 0 && entries[n-1].More || w.kind == kindEnd != p.block.End {
		return nil, fmt.Errorf("%w: %d entries in cycle %d, want %d, in whole batches", errBlock, n, p.block.Cycle, p.block.Entries)
	}
	return entries, nil
}

// from cuts off what lies before an offset, which must be padding: a copy that
// has it already.
func (p *piece) from(off int64) error {
	w := p.walk()
	for w.block.Offset+int64(w.at) < off {
		if ok, err := w.next(); err != nil || !ok || w.kind != kindPad {
			return fmt.Errorf("%w: entry %s is here already (%w)", queue.ErrPlace, p.block.First(), err)
		}
	}
	if at := p.block.Offset + int64(w.at); at != off {
		return fmt.Errorf("%w: an entry is at offset %d and not at %d", queue.ErrPlace, at, off)
	}
	p.block.Bytes, p.block.Offset = p.block.Bytes[w.at:], off
	return nil
}

// cutEnd takes the entry that ends the cycle off the block, as a block of its own;
// nil if there is none.
func (p *piece) cutEnd() *queue.Block {
	b := &p.block
	if !b.End {
		return nil
	}
	n := len(b.Bytes) - entryHeader
	end := &queue.Block{
		Cycle: b.Cycle, Offset: b.Offset + int64(n), Seq: b.Seq + b.Entries, End: true, Bytes: b.Bytes[n:],
	}
	b.Bytes, b.End = b.Bytes[:n], false
	return end
}

const headBytes = 28

func appendHead(b []byte, h queue.CycleHead) []byte {
	le := binary.LittleEndian
	b = le.AppendUint32(b, h.Cycle)
	b = le.AppendUint64(b, uint64(h.Bytes))
	b = le.AppendUint64(b, h.Salt)
	return le.AppendUint64(b, uint64(h.Created.UnixNano()))
}

func cutHead(b []byte) (queue.CycleHead, []byte) {
	le := binary.LittleEndian
	return queue.CycleHead{
		Cycle: le.Uint32(b), Bytes: int64(le.Uint64(b[4:])), Salt: le.Uint64(b[12:]),
		Created: time.Unix(0, int64(le.Uint64(b[20:]))),
	}, b[headBytes:]
}

const pieceFixed = headBytes + 8 + 4 + 4 + 1 + 4

// appendTo appends the encoding of a piece:
//
//	0      28       36    40        44     45       49      77
//	│ head │ offset │ seq │ entries │ ends │ length │ next? │ bytes ...
//
// The head of the next cycle is there when the block ends its own. A head is cycle,
// bytes, salt and time, of 4, 8, 8 and 8 bytes. All numbers are little endian.
func (p *piece) appendTo(b []byte) []byte {
	le := binary.LittleEndian
	b = appendHead(b, p.head)
	b = le.AppendUint64(b, uint64(p.block.Offset))
	b = le.AppendUint32(b, p.block.Seq)
	b = le.AppendUint32(b, p.block.Entries)
	if p.block.End {
		b = append(b, 1)
	} else {
		b = append(b, 0)
	}
	b = le.AppendUint32(b, uint32(len(p.block.Bytes)))
	if p.block.End {
		b = appendHead(b, p.next)
	}
	return append(b, p.block.Bytes...)
}

// cutPiece reads a piece off b; its bytes share b.
func cutPiece(b []byte) (piece, []byte, error) {
	le := binary.LittleEndian
	var p piece
	bad := func(why string) (piece, []byte, error) { return p, nil, fmt.Errorf("%w: %s", errBlock, why) }
	if len(b) < pieceFixed {
		return bad("it is cut")
	}
	p.head, b = cutHead(b)
	p.block = queue.Block{
		Cycle: p.head.Cycle, Offset: int64(le.Uint64(b)), Seq: le.Uint32(b[8:]), Entries: le.Uint32(b[12:]), End: b[16] == 1,
	}
	n := uint64(le.Uint32(b[17:]))
	ends := b[16]
	b = b[21:]
	if p.block.Offset < dataStart || p.block.Offset > queue.MaxCycleBytes || ends > 1 {
		return bad("a wild place")
	}
	if p.block.End {
		if len(b) < headBytes {
			return bad("it is cut")
		}
		p.next, b = cutHead(b)
	}
	if n > uint64(len(b)) {
		return bad("it is cut")
	}
	p.block.Bytes = b[:n:n]
	return p, b[n:], nil
}
