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

// entryHeader is the size of the entry that ends a cycle, and dataStart the offset of
// the first entry of one, as the comment of package queue draws them.
const (
	entryHeader = 16
	dataStart   = 4096
)

// entries lists the entries of a block that have an index. Their payloads share its
// bytes.
func (p *piece) entries() ([]core.Entry, error) {
	entries := make([]core.Entry, 0, min(int(p.block.Entries), len(p.block.Bytes)/entryHeader))
	err := p.block.Check(p.head, func(e queue.BlockEntry) error {
		if e.Index != 0 {
			entries = append(entries, core.Entry{Index: e.Index, More: e.More, Control: e.Note, Payload: e.Payload})
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("%w: cycle %d: %w", errBlock, p.block.Cycle, err)
	}
	return entries, nil
}

// from cuts off what lies before an offset, which must be padding: a copy that
// has it already.
func (p *piece) from(off int64) error {
	b := &p.block
	at := b.Offset // the first place at or behind off where an entry begins, or the end
	err := b.Check(p.head, func(e queue.BlockEntry) error {
		padding := e.Index == 0 && !e.End
		if e.Offset < off && !padding {
			return fmt.Errorf("%w: entry %s is here already", queue.ErrPlace, b.First())
		}
		if at < off {
			at = e.Offset
		}
		return nil
	})
	if err == nil && at < off {
		at = b.Offset + int64(len(b.Bytes))
	}
	if err == nil && at != off {
		err = fmt.Errorf("%w: an entry is at offset %d and not at %d", queue.ErrPlace, at, off)
	}
	if err != nil {
		return err
	}
	b.Bytes, b.Offset = b.Bytes[off-b.Offset:], off
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
