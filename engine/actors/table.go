// Package actors is the table in which each side of the contract finds what it
// knows of an actor. There is an entry for every live actor, so its room counts:
// a Go map with the name as key takes about 80 bytes an actor beside the entry, and
// never gives them back. This one takes a word in the entry and about one beside it.
//
// It is a table with chains that grows, and shrinks, one bucket at a time (linear
// hashing), so that no single call pays for a million:
//
//	buckets:  0  1  2 | 3  4  5        6 buckets; the next to be split is 2
//	          |  |      |     |
//	          a  b      d     e        an entry is in bucket hash mod 8, or, where
//	          |                        there is no such bucket yet, hash mod 4
//	          c
package actors

import (
	"hash/maphash"
	"math/bits"

	"github.com/pawl-go/pawl/engine"
)

// Entry is what a table holds, usually a pointer. An entry is in one table at most.
type Entry[T any] interface {
	comparable
	// Actor is the name under which it is found. It does not change.
	Actor() engine.Actor
	// Behind is room for the table in the entry: the one behind it in its chain.
	Behind() *T
}

// Table finds entries by the names of their actors. It is not safe for concurrent
// use.
type Table[T Entry[T]] struct {
	seed     maphash.Seed
	segments []*segment[T]
	buckets  int // in use: all of the segments but for the end of the last one
	len      int
}

// segment is so many first entries of chains.
type segment[T any] [segmentSize]T

const segmentSize = 256

// NewTable makes an empty table.
func NewTable[T Entry[T]]() *Table[T] {
	t := &Table[T]{seed: maphash.MakeSeed()}
	t.segments = []*segment[T]{new(segment[T])}
	t.buckets = segmentSize
	return t
}

// Len is the number of entries.
func (t *Table[T]) Len() int { return t.len }

// Get finds the entry of an actor; the zero T if there is none.
func (t *Table[T]) Get(id engine.Actor) (x T) {
	var none T
	for x = *t.bucket(t.index(id)); x != none; x = *x.Behind() {
		if name := x.Actor(); name.ID == id.ID && name.Type == id.Type {
			return x
		}
	}
	return none
}

// Put adds an entry. There must be none of its actor.
func (t *Table[T]) Put(x T) {
	t.len++
	switch {
	case t.len > t.buckets:
		t.split()
	case t.len < t.buckets/4 && t.buckets > segmentSize:
		t.merge()
		t.merge()
	}
	push(t.bucket(t.index(x.Actor())), x)
}

// Remove takes an entry out, and reports whether it was there. No other entry
// is moved.
func (t *Table[T]) Remove(x T) bool {
	var none T
	for at := t.bucket(t.index(x.Actor())); *at != none; at = (*at).Behind() {
		if *at == x {
			*at, *x.Behind() = *x.Behind(), none
			t.len--
			return true
		}
	}
	return false
}

// All yields every entry, in no order. The one yielded may be removed meanwhile;
// nothing else may be changed.
func (t *Table[T]) All(yield func(T) bool) {
	var none T
	for i := range t.buckets {
		for x := *t.bucket(i); x != none; {
			behind := *x.Behind()
			if !yield(x) {
				return
			}
			x = behind
		}
	}
}

// index is the bucket of an actor.
func (t *Table[T]) index(id engine.Actor) int {
	h := maphash.String(t.seed, id.ID) ^ bits.RotateLeft64(maphash.String(t.seed, id.Type), 1)
	mask := 1<<bits.Len(uint(t.buckets-1)) - 1
	i := int(h) & mask
	if i >= t.buckets {
		i &= mask >> 1
	}
	return i
}

func (t *Table[T]) bucket(i int) *T { return &t.segments[i/segmentSize][i%segmentSize] }

// split adds a bucket, and moves there what belongs there.
func (t *Table[T]) split() {
	if t.buckets%segmentSize == 0 {
		t.segments = append(t.segments, new(segment[T]))
	}
	t.buckets++
	t.spread(t.partner())
}

// merge gives the last bucket up.
func (t *Table[T]) merge() {
	if t.buckets == segmentSize {
		return
	}
	last := t.buckets - 1
	t.buckets--
	t.spread(last)
	if t.buckets%segmentSize == 0 {
		t.segments[len(t.segments)-1] = nil
		t.segments = t.segments[:len(t.segments)-1]
	}
}

// partner is the bucket that had the entries of the last one before there was that.
func (t *Table[T]) partner() int {
	last := t.buckets - 1
	return last &^ (1 << (bits.Len(uint(last)) - 1))
}

// spread puts the entries of a bucket into those where they belong now.
func (t *Table[T]) spread(i int) {
	var none T
	x := *t.bucket(i)
	*t.bucket(i) = none
	for x != none {
		behind := *x.Behind()
		push(t.bucket(t.index(x.Actor())), x)
		x = behind
	}
}

// push makes x the first of a chain.
func push[T Entry[T]](first *T, x T) { *x.Behind(), *first = *first, x }
