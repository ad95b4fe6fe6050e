package queue

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"
)

// CycleHead is what a cycle and its copies have in common besides their entries.
type CycleHead struct {
	Cycle   uint32
	Bytes   int64  // preallocated
	Salt    uint64 // that the checks of its entries depend on
	Created time.Time
}

// Block is a run of whole entries of one cycle as they lie in its file: batches
// are not cut apart, padding and notes are there. Its bytes prove themselves
// against the head of the cycle, and mean nothing at another place.
type Block struct {
	Cycle   uint32
	Offset  int64  // of the bytes in the file
	Seq     uint32 // of the first entry with an index at or behind Offset
	Entries uint32 // with an index; may be 0
	End     bool   // the last entry ends the cycle
	Bytes   []byte
}

// First is the index of the block's first entry, Next the one behind its last.
func (b *Block) First() Index { return NewIndex(b.Cycle, b.Seq) }

// Next is the index that the entry behind the block has: in the next cycle when
// the block ends its own.
func (b *Block) Next() Index {
	if b.End {
		return NewIndex(b.Cycle+1, 0)
	}
	return NewIndex(b.Cycle, b.Seq+b.Entries)
}

// Head describes a cycle for its copies. Errors are those of Read.
func (q *Queue) Head(cycle uint32) (CycleHead, error) {
	s, err := q.find(cycle)
	if err == nil && s.size == 0 { // a reader that has not opened it yet
		c := cursor{q: q, chunk: randomChunk}
		if err = c.enter(s, 0); err == nil {
			c.leave()
		}
	}
	if err != nil {
		return CycleHead{}, fmt.Errorf("describe cycle %d of queue %s: %w", cycle, q.path, q.goneOr(cycle, err))
	}
	return s.head(), nil
}

func (s *segment) head() CycleHead {
	return CycleHead{Cycle: s.cycle, Bytes: s.size, Salt: s.salt, Created: s.created}
}

// BlockReader reads the queue in blocks, for a copy of it. It belongs to one
// goroutine at a time.
type BlockReader struct {
	t    *Tailer
	from Place
	buf  []byte
}

// NewBlockReader makes a reader that begins at a place, that of a copy above all:
// with the entry there, or with all of its batch, or with the first one behind it
// that is there. The zero place is the start of the queue. Reading fails with
// ErrPlace if no entry can be at that offset.
func (q *Queue) NewBlockReader(from Place) *BlockReader {
	return &BlockReader{t: q.NewTailer(from.Index), from: from}
}

// Close ends the reader.
func (r *BlockReader) Close() { r.t.Close() }

// ReadInto has the next block read into b, if it is large enough. What a block lies in
// is read into again by the next call of TryNext.
func (r *BlockReader) ReadInto(b []byte) { r.buf = b }

// TryNext returns the next block, of at most n bytes unless a single batch is
// longer, or false when there is nothing yet. The bytes are good until the next
// call. Errors are those of a tailer, and as final.
func (r *BlockReader) TryNext(n int) (Block, bool, error) {
	if r.t.fail != nil {
		return Block{}, false, r.t.fail
	}
	b, ok, err := r.tryNext(n)
	if err != nil {
		return Block{}, false, r.t.failed(err)
	}
	return b, ok, nil
}

// Next is TryNext, but waits until ctx ends.
func (r *BlockReader) Next(ctx context.Context, n int) (Block, error) {
	var b Block
	err := r.t.await(ctx, func() (ok bool, err error) {
		b, ok, err = r.TryNext(n)
		return ok, err
	})
	return b, err
}

func (r *BlockReader) tryNext(n int) (Block, bool, error) {
	t := r.t
	c := &t.c
	if t.q.closed.Load() {
		return Block{}, false, ErrClosed
	}
	if c.s == nil {
		if ok, err := t.enter(); !ok || err != nil {
			return Block{}, false, err
		}
		if err := r.enter(); err != nil {
			return Block{}, false, err
		}
	}
	b := Block{Cycle: c.s.cycle, Offset: c.off, Seq: c.seq}
	end, err := r.span(&b, n)
	if err == nil && end == b.Offset && t.replaced() {
		c.leave()
		return r.tryNext(n)
	}
	if err != nil || end == b.Offset {
		return Block{}, false, err
	}
	if cap(r.buf) < int(end-b.Offset) {
		r.buf = make([]byte, end-b.Offset)
	}
	b.Bytes = r.buf[:end-b.Offset]
	if got, err := c.f.ReadAt(b.Bytes, b.Offset); got < len(b.Bytes) {
		if err == nil || errors.Is(err, io.EOF) {
			return Block{}, false, c.corrupt(fmt.Sprintf("the file ends at %d", b.Offset+int64(got)), ErrTruncated)
		}
		return Block{}, false, fmt.Errorf("read cycle %s: %w", c.s.name, err)
	}
	t.want = b.Next()
	if b.End {
		t.left = c.s
		c.leave()
	}
	return b, true, nil
}

// enter steps to the place where the reader begins, from the front of the cycle:
// whether a mark of the sparse index lies inside a batch only that tells.
func (r *BlockReader) enter() error {
	t, c := r.t, &r.t.c
	from := r.from
	if t.want != from.Index || t.want.Cycle() != c.s.cycle {
		from = Place{Index: NewIndex(c.s.cycle, 0)} // it has come here from the cycle before
	}
	start := place{0, dataStart}
	if from.Index.Seq() == 0 && from.Offset <= dataStart {
		c.seq, c.off = start.seq, start.off
		return nil
	}
	return c.guarded(func() error {
		for c.seq, c.off = 0, dataStart; c.off != from.Offset; {
			e, present, err := c.peek()
			if err != nil {
				return err
			}
			if !present || e.kind == kindEnd || from.Offset == 0 && e.indexed() && c.seq == from.Index.Seq() {
				break
			}
			c.off += e.size()
			if e.indexed() {
				c.seq++
			}
			if !e.more && (e.indexed() || from.Offset > 0) {
				start = place{c.seq, c.off}
			}
		}
		if from.Offset > 0 && (start != place{from.Index.Seq(), from.Offset}) {
			return fmt.Errorf("%w: entry %s is not at offset %d", ErrPlace, from.Index, from.Offset)
		}
		c.seq, c.off = start.seq, start.off
		return nil
	})
}

// span walks the headers of whole batches from the cursor on, which it leaves
// behind them.
func (r *BlockReader) span(b *Block, n int) (end int64, err error) {
	c := &r.t.c
	end = c.off
	err = c.guarded(func() error {
		seq := c.seq
		for {
			e, present, err := c.peek()
			if err != nil {
				return err
			}
			if !present || end > b.Offset && c.off+e.size() > b.Offset+int64(n) {
				break
			}
			c.off += e.size()
			if e.indexed() {
				c.seq++
			}
			if !e.more {
				end, seq = c.off, c.seq
			}
			if b.End = e.kind == kindEnd; b.End {
				break
			}
		}
		c.off, c.seq = end, seq
		b.Entries = seq - b.Seq
		return nil
	})
	return end, err
}

// BlockEntry is an entry of a Block, of any kind.
type BlockEntry struct {
	Offset  int64  // in the file of the cycle
	Index   Index  // 0: it has none, being padding or the end of the cycle
	More    bool   // the next entry belongs to the same batch
	Note    bool   // Payload is what AppendNote was given
	End     bool   // it ends the cycle
	Payload []byte // shares the bytes of the block
	Sum     uint32 // CRC32C of Payload
}

// Check proves a block, whole, against the head of its cycle, and shows visit each
// of its entries, in order. It returns the first error of visit, as it is, or one that
// matches ErrBadBlock; visit may have seen entries by then. The block is trusted in
// nothing, but the head must be right.
func (b *Block) Check(head CycleHead, visit func(BlockEntry) error) error {
	return b.walk(head, func(e entry, off int64, seq uint32, p []byte) error {
		return visit(e.of(b.Cycle, seq, off, p))
	})
}

// Proved is a block that has proved itself: ApplyProved believes it. Its bytes must stay
// as they are.
type Proved struct {
	b      Block
	head   CycleHead
	begins []place // the first entry with an index in each page
}

// Prove is Check, and keeps what it has found out.
func (b Block) Prove(head CycleHead, visit func(BlockEntry) error) (*Proved, error) {
	p := &Proved{b: b, head: head}
	page := int64(-1)
	err := b.walk(head, func(e entry, off int64, seq uint32, payload []byte) error {
		if at := off / pageSize; at != page && e.indexed() {
			page = at
			p.begins = append(p.begins, place{seq, off})
		}
		if visit == nil {
			return nil
		}
		return visit(e.of(b.Cycle, seq, off, payload))
	})
	if err != nil {
		return nil, err
	}
	return p, nil
}

// walk proves the block; visit sees entries that are proved.
func (b *Block) walk(head CycleHead, visit func(e entry, off int64, seq uint32, p []byte) error) error {
	bad := func(off int64, reason string) error {
		return fmt.Errorf("%w: at offset %d: %s", ErrBadBlock, off, reason)
	}
	off, seq, to, more := b.Offset, b.Seq, b.Offset+int64(len(b.Bytes)), false
	if off < dataStart || off%align != 0 || to > head.Bytes || len(b.Bytes)%align != 0 {
		return bad(off, fmt.Sprintf("%d bytes do not fit into a cycle of %d", len(b.Bytes), head.Bytes))
	}
	end := false
	for off < to {
		if end || to-off < entryHeader {
			return bad(off, "there is something behind the last entry")
		}
		e, p, err := wholeEntry(b.Bytes[off-b.Offset:], head, off)
		switch {
		case err != nil:
			return bad(off, err.Error())
		case more && !e.indexed():
			return bad(off, "a batch is not whole")
		}
		if err := visit(e, off, seq, p); err != nil {
			return err
		}
		if e.indexed() {
			seq++
		}
		end, more = e.kind == kindEnd, e.more
		off += e.size()
	}
	if more || end != b.End || seq != b.Seq+b.Entries {
		return bad(off, fmt.Sprintf("%d entries, want %d; a batch goes on: %t; the cycle ends: %t, want %t", seq-b.Seq, b.Entries, more, end, b.End))
	}
	return nil
}

// wholeEntry decodes the entry at the front of b, which is that at off of its file,
// and checks all of it.
func wholeEntry(b []byte, head CycleHead, off int64) (e entry, p []byte, err error) {
	w := binary.LittleEndian.Uint64(b)
	if uint32(w) == 0 {
		return e, nil, errNotWhole
	}
	if e, err = decodeEntry(w, binary.LittleEndian.Uint64(b[8:]), head.Salt, off); err == nil {
		err = e.fits(off, head.Bytes)
	}
	if err != nil {
		return e, nil, err
	}
	if e.size() > int64(len(b)) {
		return e, nil, errNotWhole
	}
	p = b[entryHeader : entryHeader+e.length]
	return e, p, e.proves(p, b[entryHeader+e.length:e.size()])
}

// of shows an entry of a block as others see it.
func (e entry) of(cycle, seq uint32, off int64, p []byte) BlockEntry {
	be := BlockEntry{Offset: off, More: e.more, End: e.kind == kindEnd, Payload: slices.Clip(p), Sum: e.crc}
	if e.indexed() {
		be.Index = NewIndex(cycle, seq)
	}
	if e.kind == kindMeta && len(p) > 0 && p[0] == metaNote {
		be.Note, be.Payload = true, be.Payload[1:]
		be.Sum = checksum(be.Payload)
	}
	return be
}

// firstWord is what publishes the block.
func (b *Block) firstWord() uint64 { return binary.LittleEndian.Uint64(b.Bytes) }
