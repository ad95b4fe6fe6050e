package mesh

import (
	"reflect"
	"sync"
)

// chunks is a queue of envelopes in pieces that do not move: it grows without
// copying, and what is worked off is used again. Its owner guards it.
type chunks[M any] struct {
	head, tail *chunk[M]
	made       int          // of small
	small      [2]*chunk[M] // for who seldom has more than a few: one is filled, one worked off
	large      *sync.Pool   // of large ones, shared by the node's actors that take an M
}

type chunk[M any] struct {
	slots []envelope[M]
	next  *chunk[M]
}

const (
	smallChunk = 4 // slots that an idle actor keeps, twice
	largeChunk = 128
)

// chunkPool returns where the node's actors that take an M keep their large chunks.
func chunkPool[M any](n *Node) *sync.Pool {
	pool, _ := n.spareChunks.LoadOrStore(reflect.TypeFor[M](), new(sync.Pool))
	return pool.(*sync.Pool)
}

// push adds an envelope.
func (q *chunks[M]) push(e envelope[M]) {
	t := q.tail
	if t == nil || len(t.slots) == cap(t.slots) {
		t = q.grow()
	}
	t.slots = append(t.slots, e)
}

// grow adds a chunk at the end.
func (q *chunks[M]) grow() *chunk[M] {
	c := q.free()
	if q.tail == nil {
		q.head = c
	} else {
		q.tail.next = c
	}
	q.tail = c
	return c
}

func (q *chunks[M]) free() *chunk[M] {
	if q.tail == nil {
		for i, c := range q.small {
			if c != nil {
				q.small[i] = nil
				return c
			}
		}
		if q.made < len(q.small) {
			q.made++
			return &chunk[M]{slots: make([]envelope[M], 0, smallChunk)}
		}
	}
	if c, ok := q.large.Get().(*chunk[M]); ok {
		return c
	}
	return &chunk[M]{slots: make([]envelope[M], 0, largeChunk)}
}

// take removes all that is there.
func (q *chunks[M]) take() *chunk[M] {
	c := q.head
	q.head, q.tail = nil, nil
	return c
}

// giveBack takes a small chunk that is worked off; its slots are zero.
func (q *chunks[M]) giveBack(c *chunk[M]) {
	if q.small[0] == nil {
		q.small[0] = c
	} else {
		q.small[1] = c
	}
}

// rest returns the envelopes from the one at pos of the first chunk on.
func (c *chunk[M]) rest(pos int) (all []envelope[M]) {
	for ; c != nil; c = c.next {
		all = append(all, c.slots[pos:]...)
		pos = 0
	}
	return all
}
