package replica

import (
	"context"
	"fmt"
	"slices"

	"github.com/pawl-go/pawl/queue"
)

// waiter waits for an index.
type waiter struct {
	index queue.Index
	end   chan error // one slot, sent once
}

// waiters are kept by index.
type waiters struct{ list []*waiter }

func (ws *waiters) add(i queue.Index) *waiter {
	w := &waiter{index: i, end: make(chan error, 1)}
	k := len(ws.list)
	for k > 0 && ws.list[k-1].index > i {
		k--
	}
	ws.list = slices.Insert(ws.list, k, w)
	return w
}

// wake ends the waits for an index and all below.
func (ws *waiters) wake(upTo queue.Index) {
	n := 0
	for n < len(ws.list) && ws.list[n].index <= upTo {
		ws.list[n].end <- nil
		n++
	}
	if n > 0 {
		ws.list = slices.Delete(ws.list, 0, n)
	}
}

// failAbove ends the waits for all above an index.
func (ws *waiters) failAbove(i queue.Index, err error) {
	n := len(ws.list)
	for n > 0 && ws.list[n-1].index > i {
		n--
		ws.list[n].end <- err
	}
	ws.list = slices.Delete(ws.list, n, len(ws.list))
}

func (ws *waiters) fail(err error) { ws.failAbove(0, err) }

func (ws *waiters) remove(w *waiter) {
	if k := slices.Index(ws.list, w); k >= 0 {
		ws.list = slices.Delete(ws.list, k, k+1)
	}
}

// await waits until a waiter is called, or ctx ends.
func (q *Queue) await(ctx context.Context, ws *waiters, w *waiter) error {
	select {
	case err := <-w.end:
		return err
	case <-ctx.Done():
		q.mu.Lock()
		ws.remove(w)
		q.mu.Unlock()
		return context.Cause(ctx)
	}
}

// WaitReplicated returns nil once entry i, and all before it, count: as many hosts
// hold them as the strategy of the queue asks for, so that no take-over but one by
// force can lose them. It may be called at any host.
//
// The error matches queue.ErrSetAside when this host sets the entry aside meanwhile,
// or has appended it and set it aside: it never counted (or force went past it), and
// another entry may have its index now. (Whoever waits for that other one at this
// host waits for Stats.Counted, or tails.) When ctx ends first its error is returned; the entry may still come to count.
func (q *Queue) WaitReplicated(ctx context.Context, i queue.Index) error {
	fail := func(err error) error {
		return fmt.Errorf("wait for entry %s of replicated queue %s: %w", i, q.cfg.Name, err)
	}
	q.mu.Lock()
	switch {
	case slices.ContainsFunc(q.mu.asides, func(r cutRange) bool { return r.has(i) }):
		q.mu.Unlock()
		return fail(queue.ErrSetAside)
	case i <= q.mu.counted:
		q.mu.Unlock()
		return nil
	case q.mu.fail != nil:
		q.mu.Unlock()
		return fail(q.mu.fail)
	}
	w := q.mu.counting.add(i)
	q.mu.Unlock()
	if err := q.await(ctx, &q.mu.counting, w); err != nil {
		return fail(err)
	}
	return nil
}

// EpochOf is the epoch, as number.host, of an entry that is here; empty when it is not.
// Whoever keeps a state of its own beside the queue keeps this with the index of the last
// entry in it: when the epoch of that entry is another one later, or there is no such
// entry, a take-over by force has gone past it, and the state is of another history.
func (q *Queue) EpochOf(i queue.Index) string {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, r := range q.mu.fresh {
		if r.first <= i && i <= r.last {
			return q.mu.core.Status().Epoch.String()
		}
	}
	if e, ok := q.mu.core.EpochOf(i); ok {
		return e.String()
	}
	return ""
}

// WaitDurable returns nil once entry i and all before it are on the disk of this
// host. Errors are those of queue.Queue.
func (q *Queue) WaitDurable(ctx context.Context, i queue.Index) error {
	return q.inner().WaitDurable(ctx, i)
}

// cutRange is a stretch of entries that were set aside, and the life of the queue
// that began with it.
type cutRange struct {
	life        uint64
	above       queue.Index // the last entry that stayed; 0: none did
	first, last queue.Index
	mine        run // what this host had appended of them, and somebody may wait for
}

func (r cutRange) has(i queue.Index) bool {
	return r.mine.first != 0 && i >= r.mine.first && i <= r.mine.last
}

// maxCuts bounds the memory of what was set aside: older ones are forgotten.
const maxCuts = 256

// cutOff notes entries that were set aside, and ends the waits for them. mu is
// held.
func (q *Queue) cutOff(r cutRange) {
	if len(q.mu.asides) == maxCuts {
		q.mu.asides = slices.Delete(q.mu.asides, 0, 1)
	}
	if m := q.mu.mine; m.first != 0 && m.first <= r.last && m.last >= r.first {
		r.mine = run{first: max(m.first, r.first), last: min(m.last, r.last)}
	}
	q.mu.asides = append(q.mu.asides, r)
	q.mu.counting.failAbove(r.above, queue.ErrSetAside)
}

// reused forgets that indexes were set aside which this host gives out again. mu
// is held.
func (q *Queue) reused(first queue.Index) {
	for k := range q.mu.asides {
		if r := &q.mu.asides[k]; r.mine.last >= first {
			r.mine.last = first - 1
		}
	}
}
