package queue

import (
	"context"
	"fmt"
)

// Bar stops all appending: from its return on nothing is appended but by Apply
// and AppendNote, and appends fail with a *BarredError that gives the reason. It
// waits, until ctx ends, for slots that are open; appends that come meanwhile fail
// already. Barring again changes the reason.
func (q *Queue) Bar(ctx context.Context, reason string) error {
	if q.readOnly {
		return fmt.Errorf("bar queue %s: %w", q.path, ErrReadOnly)
	}
	if reason == "" {
		reason = "barred"
	}
	q.prep.mu.Lock()
	q.w.Lock()
	q.w.barred = reason
	q.w.limit = 0
	q.w.Unlock()
	q.prep.discard(q) // its own cycles are not those that it will get
	q.prep.mu.Unlock()
	for {
		q.w.Lock()
		if q.w.head == nil {
			q.w.Unlock()
			return nil
		}
		if q.w.drained == nil {
			q.w.drained = make(chan struct{})
		}
		drained := q.w.drained
		q.w.Unlock()
		select {
		case <-drained:
		case <-q.quit:
			return fmt.Errorf("bar queue %s: %w", q.path, ErrClosed)
		case <-ctx.Done():
			return fmt.Errorf("bar queue %s: wait for open slots: %w", q.path, context.Cause(ctx))
		}
	}
}

// Unbar lets appends go on. They go on in a cycle of the queue's own: the marks of
// a copied one do not speak of this disk. When there is no room for that cycle, or
// for another error of Roll, the queue stays barred.
func (q *Queue) Unbar() error {
	if q.readOnly {
		return fmt.Errorf("unbar queue %s: %w", q.path, ErrReadOnly)
	}
	q.prep.mu.Lock()
	q.prep.discard(q)
	q.prep.mu.Unlock()
	w := &q.w
	for {
		w.Lock()
		if err := q.Err(); err != nil {
			w.Unlock()
			return fmt.Errorf("unbar queue %s: %w", q.path, err)
		}
		roll := w.seg.copied && w.off != w.fresh
		if !roll || w.next != nil {
			w.barred = ""
			w.limit = w.room()
			switch {
			case roll:
				q.roll()
			case w.seg.copied: // without an entry: it begins when it is used
				w.begun = q.cfg.Now()
			}
			w.Unlock()
			return nil
		}
		w.Unlock()
		if err := q.prep.make(q); err != nil {
			return fmt.Errorf("unbar queue %s: %w", q.path, err)
		}
	}
}

// Barred is the reason why nothing may be appended, empty when it may.
func (q *Queue) Barred() string {
	q.w.Lock()
	defer q.w.Unlock()
	return q.w.barred
}

// room is the limit of the reserving cursor for those who may append.
func (w *writer) room() int64 { return w.seg.size - entryHeader }
