package queue

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
)

// Tailer reads the entries of a queue in order, forwards or backwards, from any
// index on. Its place is between two entries. It belongs to one goroutine at a
// time; a queue may have any number of them.
type Tailer struct {
	q    *Queue
	c    cursor
	back backward // in use while its cursor is in a cycle
	left *segment // the cycle that was read to its end before this one
	want Index    // the next entry has this index or a higher one
	fail error    // final
	wake chan struct{}
	spin spinning
}

// NewTailer makes a tailer that begins with the first entry at or after from: 0
// is the start of the queue, Last()+1 its end. Close it: it may hold a cycle
// open.
func (q *Queue) NewTailer(from Index) *Tailer {
	return &Tailer{q: q, c: cursor{q: q, chunk: tailChunk}, want: from, wake: make(chan struct{}, 1)}
}

// TryNext returns the next entry, or false when there is none yet. The slice is
// good until the next call. A *LostError says that Repair has given this entry up;
// the next call goes on behind it. Any other error is final for this tailer:
// ErrClosed, a *CorruptError, one that matches ErrReleased when the entries it was
// to read next have been deleted, or ErrSetAside when what it has read is no
// longer part of the queue.
func (t *Tailer) TryNext() (Index, []byte, bool, error) {
	if t.fail != nil {
		return 0, nil, false, t.fail
	}
	i, p, ok, err := t.tryNext()
	if err != nil {
		return 0, nil, false, t.failed(err)
	}
	return i, p, ok, nil
}

// failed notes an error, for good unless it concerns one entry only.
func (t *Tailer) failed(err error) error {
	_, lost := errors.AsType[*LostError](err)
	err = fmt.Errorf("tail queue %s: %w", t.q.path, err)
	if !lost {
		t.leave()
		t.fail = err
	}
	return err
}

func (t *Tailer) tryNext() (Index, []byte, bool, error) {
	t.back.c.leave()
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
		case at == stepNone && t.replaced(): // see BeginCycle
			t.c.leave()
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
		case at == stepLost:
			t.want = i + 1
			return 0, nil, false, &LostError{Index: i}
		case at == stepNote:
			t.want = i + 1
		case at == stepEnd:
			t.left = t.c.s
			t.c.leave()
			t.want = NewIndex(i.Cycle()+1, 0)
		}
	}
}

// replaced says whether the cursor waits in an empty cycle that has been replaced
// by the appending process, which is this one.
func (t *Tailer) replaced() bool {
	if t.q.readOnly || t.c.off != dataStart {
		return false
	}
	s, _ := t.q.lookup(t.c.s.cycle)
	return s != t.c.s
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
		} else {
			err = t.checkLeft()
			t.left = nil
		}
	}
	if errors.Is(err, ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}

// Next returns the next entry and waits for it if need be, until ctx ends. In
// the appending process it sleeps until an append wakes it. In any other process
// it spins while entries come fast, then sleeps for growing intervals of up to a
// millisecond, and after a second without an entry until it is woken (by an
// appender of this version; it looks every quarter of a second all the same).
// Slice and errors are those of TryNext; after an error of ctx the tailer can go
// on.
func (t *Tailer) Next(ctx context.Context) (i Index, p []byte, err error) {
	err = t.await(ctx, func() (ok bool, err error) {
		i, p, ok, err = t.TryNext()
		return ok, err
	})
	return i, p, err
}

// await calls try until it says true or fails, and sleeps in between.
func (t *Tailer) await(ctx context.Context, try func() (bool, error)) error {
	if ok, err := try(); ok || err != nil {
		return err
	}
	if t.q.readOnly {
		return t.poll(ctx, try)
	}
	w := &t.q.waiting
	w.add(t.wake)
	defer w.remove(t.wake)
	for {
		// After add: an append from here on wakes us.
		if ok, err := try(); ok || err != nil {
			return err
		}
		select {
		case <-t.wake:
		case <-ctx.Done():
			return t.ended(ctx)
		}
	}
}

func (t *Tailer) ended(ctx context.Context) error {
	return fmt.Errorf("tail queue %s: %w", t.q.path, context.Cause(ctx))
}

// Seek moves the tailer: the next entry forwards is the first one at or after i,
// the next one backwards the last one before it.
func (t *Tailer) Seek(i Index) {
	t.leave()
	t.left = nil
	t.want = i
}

// Close ends the tailer; every later call returns ErrClosed.
func (t *Tailer) Close() {
	t.leave()
	t.fail = ErrClosed
}

func (t *Tailer) leave() {
	t.c.leave()
	t.back.c.leave()
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
