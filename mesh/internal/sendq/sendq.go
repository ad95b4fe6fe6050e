// Package sendq holds what waits to be written to one stream, and puts together
// again what arrives on it in pieces. Both are plain structs without locks, clocks
// or I/O: [Queue] takes frames and gives batches, [Assembler] takes fragments and
// gives frames.
//
// Small frames leave in the order they came, all that wait in one batch. A large
// one is cut; each batch carries one fragment of one large frame behind the
// small ones, so a small frame is late by a fragment and not by the frame. What
// goes to the same target as a large frame under way waits behind it, so the
// order to one actor holds.
package sendq

import (
	"slices"

	"github.com/pawl-go/pawl/mesh/internal/wire"
)

const (
	// Active bounds the large frames cut at the same time; more wait their turn. It
	// bounds what a receiver has to keep to put them together.
	Active = 16

	// keepBuffer is the largest batch buffer that is kept for reuse.
	keepBuffer = 256 << 10

	lengthSize = 4
)

// Queue is what waits for one stream.
//
// Invariants, checked by valid in tests:
//
//  1. count is the number of counted frames in small, large and behind large ones.
//  2. bytes is the number of bytes of all frames that wait, fragments already
//     taken of a large one included until its last is taken.
//  3. A target in held has exactly one large frame there, and no frame in small that
//     was pushed after it.
type Queue struct {
	MaxCount int // counted frames that may wait
	MaxBytes int // bytes that may wait, unless nothing does
	// Sent gets each large frame to a target back when its last fragment is taken; nil:
	// nobody wants them.
	Sent func(frame []byte)

	small      []byte // whole frames
	smallCount int
	spare      []byte // the batch before this one, for reuse
	large      []*cut // in the order they came; the first Active take turns
	turn       int
	held       map[string]*cut // by target
	streams    uint32
	count      int
	bytes      int
}

// cut is a large frame under way.
type cut struct {
	item
	stream    uint32
	off       int    // bytes of frame that have left
	followers []item // to the same target, in order
}

type item struct {
	target  string
	frame   []byte
	counted bool
}

// Room reports whether a counted frame of size bytes may enter. One always may
// when nothing waits, however large.
func (q *Queue) Room(size int) bool {
	return q.count == 0 || q.count < q.MaxCount && q.bytes+size <= q.MaxBytes
}

// Free returns how many counted frames may enter by their number alone.
func (q *Queue) Free() int { return max(q.MaxCount-q.count, 0) }

// Bytes returns how many bytes wait.
func (q *Queue) Bytes() int { return q.bytes }

// Empty reports whether nothing waits.
func (q *Queue) Empty() bool { return len(q.small) == 0 && len(q.large) == 0 }

// Push adds a frame, whether there is room or not. Frames to one target leave in
// the order pushed; an empty target has no order. A frame longer than
// [wire.FragmentSize] is kept, a shorter one is copied.
func (q *Queue) Push(target string, frame []byte, counted bool) {
	if counted {
		q.count++
	}
	q.bytes += len(frame)
	if len(q.held) > 0 && target != "" {
		if c := q.held[target]; c != nil {
			if !isLarge(frame) {
				frame = slices.Clone(frame)
			}
			c.followers = append(c.followers, item{target, frame, counted})
			return
		}
	}
	q.admit(item{target, frame, counted}, nil)
}

func isLarge(frame []byte) bool { return len(frame) > wire.FragmentSize }

// admit queues an item that nothing holds back; followers come behind it.
func (q *Queue) admit(it item, followers []item) {
	if !isLarge(it.frame) {
		q.small = append(q.small, it.frame...)
		if it.counted {
			q.smallCount++
		}
		return
	}
	q.streams++
	c := &cut{item: it, stream: q.streams, off: lengthSize, followers: followers}
	q.large = append(q.large, c)
	if it.target == "" {
		return
	}
	if q.held == nil {
		q.held = map[string]*cut{}
	}
	q.held[it.target] = c
}

// Batch takes what is to be written next, or nil if nothing waits. It is valid
// until the next call.
func (q *Queue) Batch() []byte {
	if q.Empty() {
		return nil
	}
	batch := q.small
	q.bytes -= len(batch)
	q.count -= q.smallCount
	q.small, q.smallCount = q.spare[:0], 0
	if len(q.large) > 0 {
		batch = q.cutOne(batch)
	}
	q.spare = batch
	if cap(batch) > keepBuffer {
		q.spare = nil
	}
	return batch
}

// cutOne appends the next fragment of the large frame whose turn it is.
func (q *Queue) cutOne(batch []byte) []byte {
	q.turn %= min(len(q.large), Active)
	c := q.large[q.turn]
	n := min(wire.FragmentSize, len(c.frame)-c.off)
	batch = wire.AppendFragment(batch, c.stream, len(c.frame)-lengthSize, c.frame[c.off:c.off+n])
	c.off += n
	if c.off < len(c.frame) {
		q.turn++
		return batch
	}
	q.bytes -= len(c.frame)
	if c.counted {
		q.count--
	}
	q.large = slices.Delete(q.large, q.turn, q.turn+1)
	q.release(c)
	if q.Sent != nil && c.target != "" {
		q.Sent(c.frame)
	}
	return batch
}

// release lets go what waited behind a large frame that has left.
func (q *Queue) release(c *cut) {
	if c.target == "" {
		return
	}
	delete(q.held, c.target)
	for i, it := range c.followers {
		if isLarge(it.frame) {
			q.admit(it, c.followers[i+1:])
			return
		}
		q.admit(it, nil)
	}
}

// Clear forgets all that waits; the counters of what was pushed are the caller's.
func (q *Queue) Clear() {
	*q = Queue{MaxCount: q.MaxCount, MaxBytes: q.MaxBytes, Sent: q.Sent, streams: q.streams}
}
