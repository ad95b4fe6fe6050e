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
	head   queue.CycleHead // of its cycle
	next   queue.CycleHead // of the cycle behind it, when the block ends its own
	block  queue.Block
	proved *queue.Proved // the block, once it is; nil again when it is cut
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

// prove proves the block, and lists its entries that have an index. Their payloads
// share its bytes.
func (p *piece) prove() (entries []core.Entry, err error) {
	entries = make([]core.Entry, 0, min(int(p.block.Entries), len(p.block.Bytes)/entryHeader))
	p.proved, err = p.block.Prove(p.head, func(e queue.BlockEntry) error {
		if e.Index != 0 {
			entries = append(entries, entryOf(e))
		}
		return nil
	})
	if err != nil {
		return nil, p.bad(err)
	}
	return entries, nil
}

// each shows visit the entries that have an index, each once it is proved.
func (p *piece) each(visit func(core.Entry) error) error {
	err := p.block.Check(p.head, func(e queue.BlockEntry) error {
		if e.Index == 0 {
			return nil
		}
		return visit(entryOf(e))
	})
	if errors.Is(err, queue.ErrBadBlock) {
		return p.bad(err)
	}
	return err
}

func entryOf(e queue.BlockEntry) core.Entry {
	return core.Entry{Index: e.Index, More: e.More, Control: e.Note, Payload: e.Payload, Check: e.Sum}
}

func (p *piece) bad(err error) error {
	return fmt.Errorf("%w: cycle %d: %w", errBlock, p.block.Cycle, err)
}

// applyTo appends the block to the queue.
func (p *piece) applyTo(q *queue.Queue) error {
	if p.proved != nil {
		return q.ApplyProved(p.proved)
	}
	return q.Apply(p.block)
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
	p.proved = nil
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
	p.proved = nil
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

// appendHead appends the encoding of a piece without its bytes:
//
//	0      28       36    40        44     45       49      77
//	│ head │ offset │ seq │ entries │ ends │ length │ next? │
//
// The head of the next cycle is there when the block ends its own. A head is cycle,
// bytes, salt and time, of 4, 8, 8 and 8 bytes. All numbers are little endian.
func (p *piece) appendHead(b []byte) []byte {
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
	return b
}

// cutPiece reads a piece off b, and its bytes off blocks, which it shares.
func cutPiece(b, blocks []byte) (p piece, rest, restBlocks []byte, err error) {
	le := binary.LittleEndian
	bad := func(why string) (piece, []byte, []byte, error) {
		return p, nil, nil, fmt.Errorf("%w: %s", errBlock, why)
	}
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
	if n > uint64(len(blocks)) {
		return bad("it is cut")
	}
	p.block.Bytes = blocks[:n:n]
	return p, b, blocks[n:], nil
}
