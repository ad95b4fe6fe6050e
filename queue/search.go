package queue

import (
	"errors"
	"fmt"
)

// Search finds the first entry for which compare is not below 0, by halving: the
// entries must be in the order that compare sees, those below the sought one
// (compare < 0) before it (0) and those above it (> 0). A sequence number or a
// time in the messages is such an order. The payload is good during the call.
//
// It returns the index of that entry, and whether compare gave 0 there; when all
// entries are below, Last()+1 and false. It looks at about log2(n) entries. A
// *LostError is not an error here: a lost entry is passed over. Other errors are
// those of Read.
func (q *Queue) Search(compare func(i Index, p []byte) int) (Index, bool, error) {
	fail := func(err error) (Index, bool, error) {
		return 0, false, fmt.Errorf("search queue %s: %w", q.path, err)
	}
	if q.closed.Load() {
		return fail(ErrClosed)
	}
	first, last := q.First(), q.Last()
	if first == 0 {
		return last + 1, false, nil
	}
	t := q.NewTailer(first)
	defer t.Close()
	t.c.chunk = randomChunk
	probe := func(i Index) (found, error) {
		if s, err := q.find(i.Cycle()); err == nil {
			if err := q.buildIndex(s); err != nil {
				return found{}, err
			}
		}
		return t.at(i, last, compare)
	}
	f, err := search(first, last, probe)
	if err != nil {
		return fail(err)
	}
	return f.index, f.order == 0, nil
}

// found is the first entry at or after some index, and what compare says of it;
// behind the end it is Last()+1, and above everything.
type found struct {
	index Index
	order int
}

// at finds the first entry at or after i, up to last.
func (t *Tailer) at(i, last Index, compare func(Index, []byte) int) (found, error) {
	t.Seek(i)
	for {
		at, p, ok, err := t.tryNext()
		if _, lost := errors.AsType[*LostError](err); lost {
			continue
		}
		if err != nil {
			return found{}, err
		}
		if !ok || at > last {
			return found{index: last + 1, order: 1}, nil
		}
		return found{index: at, order: compare(at, p)}, nil
	}
}

// search is the halving: first over the cycles, by the first entry at or after
// the start of each, then over the sequence numbers of the one that is left. A
// sequence number that the cycle does not have is answered with an entry of a
// later one, which is never below.
func search(first, last Index, probe func(Index) (found, error)) (found, error) {
	lo, hi := first.Cycle(), last.Cycle()
	for lo < hi {
		mid := lo + (hi-lo+1)/2
		f, err := probe(NewIndex(mid, 0))
		if err != nil {
			return found{}, err
		}
		if f.order < 0 {
			lo = max(mid, f.index.Cycle())
		} else {
			hi = mid - 1
		}
	}
	from, to := first.Seq(), ^uint32(0)
	if lo != first.Cycle() {
		from = 0
	}
	if lo == last.Cycle() {
		to = last.Seq() + 1
	}
	for from < to {
		mid := from + (to-from)/2
		f, err := probe(NewIndex(lo, mid))
		switch {
		case err != nil:
			return found{}, err
		case f.order < 0 && f.index.Cycle() == lo:
			from = f.index.Seq() + 1
		case f.order < 0:
			return found{}, fmt.Errorf("%w: entry %s is below one before it", errOrder, f.index)
		default:
			to = mid
		}
	}
	return probe(NewIndex(lo, to))
}
