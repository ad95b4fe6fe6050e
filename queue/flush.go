package queue

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"time"
)

// flusher is the group commit. At most one flush runs at a time; whoever wants
// one while none runs leads it on its own goroutine, the others wait. When it
// ends the leader wakes all whose entries are down, and hands the lead to the
// first that came too late.
type flusher struct {
	mu struct {
		sync.Mutex
		running bool
		queue   []*flushWaiter // waiting, in order of arrival
		free    *flushWaiter
	}
	segs []*segment // the leader's: cycles of this flush
}

type flushWaiter struct {
	index Index
	ch    chan bool // one slot; true: lead the next flush, false: look again
	link  *flushWaiter
}

// WaitDurable returns nil once entry i and all before it are flushed.
// Concurrent callers share flushes: the first leads one on its own goroutine,
// and only after it has let the others run once, so that they append to it.
// It allocates nothing when it need not grow.
//
// When ctx ends first its error is returned; the entry may still become
// durable. A flush that failed is final: this and all later calls return the
// same *FlushError. An index that was never appended matches ErrNotFound.
func (q *Queue) WaitDurable(ctx context.Context, i Index) error {
	if f := q.failed.Load(); f != nil {
		return f
	}
	if uint64(i) <= q.durable.Load() {
		return nil
	}
	if q.readOnly {
		return fmt.Errorf("wait for entry %s of queue %s: %w", i, q.path, ErrReadOnly)
	}
	if uint64(i) > q.last.Load() {
		return fmt.Errorf("wait for entry %s of queue %s: %w: the last one is %s", i, q.path, ErrNotFound, q.Last())
	}
	f := &q.flush
	for {
		f.mu.Lock()
		switch {
		case q.failed.Load() != nil:
			f.mu.Unlock()
			return q.failed.Load()
		case uint64(i) <= q.durable.Load():
			f.mu.Unlock()
			return nil
		case q.closed.Load():
			f.mu.Unlock()
			return fmt.Errorf("wait for entry %s of queue %s: %w", i, q.path, ErrClosed)
		}
		lead := !f.mu.running
		if lead {
			f.mu.running = true
			f.mu.Unlock()
		} else {
			w := f.take(i)
			f.mu.queue = append(f.mu.queue, w)
			f.mu.Unlock()
			var err error
			if lead, err = f.await(ctx, w); err != nil {
				return fmt.Errorf("wait for entry %s of queue %s: %w", i, q.path, err)
			}
		}
		if lead {
			q.lead()
		}
	}
}

// take gives a waiter from the free list. flush.mu is locked.
func (f *flusher) take(i Index) *flushWaiter {
	w := f.mu.free
	if w == nil {
		return &flushWaiter{index: i, ch: make(chan bool, 1)}
	}
	f.mu.free, w.link, w.index = w.link, nil, i
	return w
}

// await blocks until the waiter is called or ctx ends, and puts it back.
func (f *flusher) await(ctx context.Context, w *flushWaiter) (lead bool, err error) {
	select {
	case lead = <-w.ch:
		f.mu.Lock()
	case <-ctx.Done():
		err = context.Cause(ctx)
		f.mu.Lock()
		if !f.remove(w) { // called in the meantime
			if lead = <-w.ch; lead {
				f.handOver()
				lead = false
			}
		}
	}
	w.link, f.mu.free = f.mu.free, w
	f.mu.Unlock()
	return lead, err
}

func (f *flusher) remove(w *flushWaiter) bool {
	for i, x := range f.mu.queue {
		if x == w {
			f.mu.queue = append(f.mu.queue[:i], f.mu.queue[i+1:]...)
			return true
		}
	}
	return false
}

// handOver passes the lead to the first waiter, if any. flush.mu is locked.
func (f *flusher) handOver() {
	if len(f.mu.queue) == 0 {
		f.mu.running = false
		return
	}
	w := f.mu.queue[0]
	n := copy(f.mu.queue, f.mu.queue[1:])
	f.mu.queue = f.mu.queue[:n]
	w.ch <- true // one slot, empty: w was in the queue
}

// seize waits until no flush runs and takes the lead.
func (f *flusher) seize() {
	f.mu.Lock()
	for f.mu.running {
		w := f.take(^Index(0)) // served by no flush: it is called to lead, or when one fails
		f.mu.queue = append(f.mu.queue, w)
		f.mu.Unlock()
		if lead, _ := f.await(context.Background(), w); lead { // never cancelled
			return
		}
		f.mu.Lock()
	}
	f.mu.running = true
	f.mu.Unlock()
}

// lead runs one flush of all that is published, wakes whom it serves, and
// passes the lead on.
func (q *Queue) lead() {
	// Let appenders that were just woken join this flush instead of the next.
	runtime.Gosched()
	target, err := q.flushPublished()
	f := &q.flush
	f.mu.Lock()
	q.served(target, err)
	f.handOver()
	f.mu.Unlock()
}

// leadLast flushes for the last time: it keeps the lead, so that none follows.
func (q *Queue) leadLast() error {
	f := &q.flush
	f.seize()
	target, err := q.flushPublished()
	f.mu.Lock()
	q.served(target, err)
	q.wakeWaiters(^Index(0)) // whoever waits for what never came sees that the queue is closed
	f.mu.Unlock()
	if err != nil {
		return err
	}
	return nil
}

// served notes the result of a flush and wakes those it concerns. flush.mu is
// locked.
func (q *Queue) served(target Index, err *FlushError) {
	if err != nil {
		q.failed.CompareAndSwap(nil, err)
		target = ^Index(0)
	} else if uint64(target) > q.durable.Load() {
		q.durable.Store(uint64(target))
	}
	q.wakeWaiters(target)
}

func (q *Queue) wakeWaiters(upTo Index) {
	f := &q.flush
	keep := f.mu.queue[:0]
	for _, w := range f.mu.queue {
		if w.index <= upTo {
			w.ch <- false // one slot, empty: w was in the queue
		} else {
			keep = append(keep, w)
		}
	}
	f.mu.queue = keep
}

// flushPublished flushes every cycle up to the publishing cursor, oldest first,
// and moves their marks.
func (q *Queue) flushPublished() (Index, *FlushError) {
	if err := q.failed.Load(); err != nil {
		return 0, err // final: the next flush could succeed and would prove nothing
	}
	f, w := &q.flush, &q.w
	w.Lock()
	segs := append(f.segs[:0], w.unflushed...)
	w.unflushed = w.unflushed[:0]
	current, end := w.pseg, w.poff
	target := Index(q.last.Load())
	w.Unlock()
	f.segs = segs
	for _, s := range segs {
		if err := q.flushSegment(s, s.end.Load()); err != nil {
			return 0, err
		}
	}
	if err := q.flushSegment(current, end); err != nil {
		return 0, err
	}
	return target, q.touchFailed()
}

// touchFailed waits for a flush of what was touched ahead, if one is under way.
// The kernel reports a write that failed once for an open file, so such a flush
// may be told of an entry that could not be written, and the leader's own not.
func (q *Queue) touchFailed() *FlushError {
	q.touching.Lock()
	defer q.touching.Unlock()
	return q.failed.Load()
}

func (q *Queue) flushSegment(s *segment, end int64) *FlushError {
	if from := max(s.flushed.Load(), dataStart); end > from {
		if err := s.mu.file.Flush(s.mu.m, from, end-from); err != nil {
			return &FlushError{Path: q.filePath(s.name), Durable: q.Durable(), Err: err}
		}
	}
	s.flushed.Store(end)
	return nil
}

// flushBehind flushes at a steady pace what nobody waits for.
func (q *Queue) flushBehind() {
	tick := time.NewTicker(q.cfg.FlushEvery)
	defer tick.Stop()
	for {
		select {
		case <-q.quit:
			return
		case <-tick.C:
		}
		last := Index(q.last.Load())
		if q.Durable() >= last {
			continue
		}
		if err := q.WaitDurable(context.Background(), last); err != nil {
			if q.failed.Load() != nil {
				q.cfg.Logger.Error("queue: flush failed, no more entries are taken", "path", q.path, "error", err)
			}
			return
		}
	}
}
