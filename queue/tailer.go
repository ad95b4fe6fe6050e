package queue

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Tailer reads the entries of a queue in order, from any index on. It belongs to
// one goroutine at a time; a queue may have any number of them.
type Tailer struct {
	q    *Queue
	c    cursor
	want Index // the next entry has this index or a higher one
	fail error // final
	wake chan struct{}
}

// NewTailer makes a tailer that begins with the first entry at or after from: 0
// is the start of the queue, Last()+1 its end. Close it: it may hold a cycle
// open.
func (q *Queue) NewTailer(from Index) *Tailer {
	return &Tailer{q: q, c: cursor{q: q, chunk: tailChunk}, want: from, wake: make(chan struct{}, 1)}
}

// TryNext returns the next entry, or false when there is none yet. The slice is
// good until the next call. An error is final for this tailer: ErrClosed, a
// *CorruptError, or one that matches ErrReleased when the entries it was to read
// next have been deleted.
func (t *Tailer) TryNext() (Index, []byte, bool, error) {
	if t.fail != nil {
		return 0, nil, false, t.fail
	}
	i, p, ok, err := t.tryNext()
	if err != nil {
		t.c.leave()
		t.fail = fmt.Errorf("tail queue %s: %w", t.q.path, err)
		return 0, nil, false, t.fail
	}
	return i, p, ok, nil
}

func (t *Tailer) tryNext() (Index, []byte, bool, error) {
	for {
		if t.q.closed.Load() {
			return 0, nil, false, ErrClosed
		}
		if t.c.s == nil {
			if ok, err := t.enter(); !ok || err != nil {
				return 0, nil, false, err
			}
		}
		i := NewIndex(t.c.s.cycle, t.c.seq)
		if !t.q.readOnly && uint64(i) > t.q.last.Load() {
			return 0, nil, false, nil // not before Last says so
		}
		var want uint32
		if t.want.Cycle() == i.Cycle() {
			want = t.want.Seq()
		}
		at, p, err := t.c.next(want)
		switch {
		case err != nil:
			return 0, nil, false, err
		case at == stepNone && !t.q.readOnly: // Last says that it is there
			err := t.c.checkLength()
			if err == nil {
				err = t.c.corrupt("a published entry is gone", nil)
			}
			return 0, nil, false, err
		case at == stepNone:
			return 0, nil, false, nil
		case at == stepEntry:
			t.want = i + 1
			return i, p, true, nil
		case at == stepEnd:
			t.c.leave()
			t.want = NewIndex(i.Cycle()+1, 0)
		}
	}
}

// enter goes to the cycle of the wanted entry, if it is there.
func (t *Tailer) enter() (bool, error) {
	cycle := t.want.Cycle()
	if cycle == 0 { // the start; or behind the end of a queue that was empty
		if cycle = t.q.firstCycle(); cycle == 0 {
			return false, nil
		}
	}
	s, err := t.q.find(cycle)
	if err == nil {
		if err = t.c.enter(s, t.want.Seq()); err != nil {
			err = t.q.goneOr(cycle, err)
		}
	}
	if errors.Is(err, ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}

// Next returns the next entry and waits for it if need be, until ctx ends. In
// the appending process it sleeps until an append wakes it. In any other
// process it looks again, at first at once, then at growing intervals of up to
// a millisecond. Slice and errors are those of TryNext; after an error of ctx the
// tailer can go on.
func (t *Tailer) Next(ctx context.Context) (Index, []byte, error) {
	i, p, ok, err := t.TryNext()
	if ok || err != nil {
		return i, p, err
	}
	if t.q.readOnly {
		return t.poll(ctx)
	}
	w := &t.q.waiting
	w.add(t.wake)
	defer w.remove(t.wake)
	for {
		// After add: an append from here on wakes us.
		i, p, ok, err := t.TryNext()
		if ok || err != nil {
			return i, p, err
		}
		select {
		case <-t.wake:
		case <-ctx.Done():
			return 0, nil, fmt.Errorf("tail queue %s: %w", t.q.path, context.Cause(ctx))
		}
	}
}

const (
	pollSpins = 200
	pollFirst = 20 * time.Microsecond
	pollMost  = time.Millisecond
)

func (t *Tailer) poll(ctx context.Context) (Index, []byte, error) {
	var timer *time.Timer
	pause := pollFirst
	for n := 0; ; n++ {
		i, p, ok, err := t.TryNext()
		if ok || err != nil {
			return i, p, err
		}
		if n < pollSpins {
			runtime.Gosched()
			continue
		}
		if err := t.c.checkLength(); err != nil {
			return 0, nil, fmt.Errorf("tail queue %s: %w", t.q.path, err)
		}
		if timer == nil {
			timer = time.NewTimer(pause)
			defer timer.Stop()
		} else {
			timer.Reset(pause)
		}
		select {
		case <-timer.C:
			pause = min(pause*2, pollMost)
		case <-ctx.Done():
			return 0, nil, fmt.Errorf("tail queue %s: %w", t.q.path, context.Cause(ctx))
		}
	}
}

// Close ends the tailer; every later call returns ErrClosed.
func (t *Tailer) Close() {
	t.c.leave()
	t.fail = ErrClosed
}

// tailWaiters are the tailers that sleep in the appending process.
type tailWaiters struct {
	n  atomic.Int32 // appends look here only
	mu struct {
		sync.Mutex
		list []chan struct{} // each with one slot
	}
}

func (w *tailWaiters) add(ch chan struct{}) {
	w.mu.Lock()
	w.mu.list = append(w.mu.list, ch)
	w.n.Store(int32(len(w.mu.list)))
	w.mu.Unlock()
}

func (w *tailWaiters) remove(ch chan struct{}) {
	w.mu.Lock()
	if i := slices.Index(w.mu.list, ch); i >= 0 {
		w.mu.list = slices.Delete(w.mu.list, i, i+1)
	}
	w.n.Store(int32(len(w.mu.list)))
	w.mu.Unlock()
}

func (w *tailWaiters) wake() {
	w.mu.Lock()
	for _, ch := range w.mu.list {
		select {
		case ch <- struct{}{}:
		default:
		}
	}
	w.mu.Unlock()
}
