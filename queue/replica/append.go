package replica

import (
	"context"
	"fmt"

	"github.com/pawl-go/pawl/queue"
	"github.com/pawl-go/pawl/queue/replica/core"
)

// Append adds an entry at the source and returns its index; p is copied. It returns
// when the strategy of the queue lets it: under Any, Majority and All once the entry
// counts, under Unbounded at once, under MaxGap once few enough before it do not.
//
// Nothing was appended when the error is a *LockedError: this host is not the
// source, or not yet (it says for whom it waits); a *LeaseError: it is the source, and
// has not heard enough hosts for the lease timeout (under OrFail at once, else when ctx
// has ended); a *GapError, under a strategy with OrFail; or one of queue.Append, such as one that matches queue.ErrFull. The entry
// is there, and its index is returned, when it is an *UncertainError: ctx has ended,
// or this host has ceased to be the source.
func (q *Queue) Append(ctx context.Context, p []byte) (queue.Index, error) {
	return q.AppendBatch(ctx, p)
}

// AppendBatch adds entries with contiguous indexes, and returns the first one.
// Readers at all hosts see all of them or none. An empty batch does nothing and
// returns 0. Errors are those of Append.
func (q *Queue) AppendBatch(ctx context.Context, ps ...[]byte) (first queue.Index, err error) {
	if len(ps) == 0 {
		return 0, nil
	}
	if err := q.awaitLease(ctx); err != nil {
		return 0, fmt.Errorf("append to replicated queue %s: %w", q.cfg.Name, err)
	}
	q.mu.Lock()
	first, last, err := q.append(ps)
	if err != nil {
		q.mu.Unlock()
		return 0, fmt.Errorf("append to replicated queue %s: %w", q.cfg.Name, err)
	}
	var w *waiter
	if q.holds() && q.mu.core.Ahead() < q.untold() {
		w = q.mu.appends.add(last)
	}
	if w != nil && len(q.mu.appends.list) == 1 {
		q.dealAlone(first)
	} else {
		q.mu.Unlock()
		q.in.kick()
	}
	if w == nil {
		return first, nil
	}
	if err := q.await(ctx, &q.mu.appends, w); err != nil {
		return first, &UncertainError{First: first, Last: last, Err: err}
	}
	return first, nil
}

// append appends if the core lets it, and notes it for the core. mu is held.
func (q *Queue) append(ps [][]byte) (first, last queue.Index, err error) {
	switch {
	case q.mu.fail != nil:
		return 0, 0, q.mu.fail
	case len(ps) > core.MaxUpdateEntries:
		return 0, 0, errTooMany
	}
	if err := q.mu.core.Admit(); err != nil {
		return 0, 0, err
	}
	if first, err = q.mu.q.AppendBatch(ps...); err != nil {
		return 0, 0, err
	}
	last = first + queue.Index(len(ps)-1)
	r := run{first: first, last: last}
	for _, p := range ps {
		r.bytes += uint64(len(p))
	}
	q.note(r)
	return first, last, nil
}

// note adds a run to what the core is told next. mu is held.
func (q *Queue) note(r run) {
	if len(q.mu.asides) > 0 {
		q.reused(r.first)
	}
	if q.mu.mine.first == 0 {
		q.mu.mine.first = r.first
	}
	q.mu.mine.last = r.last
	if n := len(q.mu.fresh); n > 0 && q.mu.fresh[n-1].last+1 == r.first {
		f := &q.mu.fresh[n-1]
		f.last, f.bytes = r.last, f.bytes+r.bytes
		return
	}
	q.mu.fresh = append(q.mu.fresh, r)
}

// holds says whether the strategy may hold appends back.
func (q *Queue) holds() bool {
	return q.cfg.Replica.Acknowledge && q.cfg.Replica.Strategy.String() != core.Unbounded().String()
}

// Gap is the number of messages that a crash of the source could lose: those at
// the end of the queue that do not count, or, without acknowledgements, that have
// not been sent to all sinks.
func (q *Queue) Gap() uint64 {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.mu.core.Gap() + q.untold()
}

// untold is the number of messages that the core has not been told of. mu is held.
func (q *Queue) untold() (n uint64) {
	for _, r := range q.mu.fresh {
		n += uint64(r.last-r.first) + 1
	}
	return n
}

// Held is the highest index that at least k other hosts hold by their
// acknowledgements: 1 for any, the number of sinks for all. Only the source knows;
// elsewhere it is 0.
func (q *Queue) Held(k int) queue.Index {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.mu.core.Held(k)
}

// Counted is the index of the last entry that counts, as far as this host knows.
func (q *Queue) Counted() queue.Index {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.mu.counted
}

// Last is the index of the last entry that is here, 0 when there is none. It may
// be an entry of replication, which tailers step over.
func (q *Queue) Last() queue.Index { return q.inner().Last() }
