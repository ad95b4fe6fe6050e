package replica

import (
	"context"
	"errors"
	"fmt"

	"github.com/pawl-go/pawl/queue"
)

// ErrTenureOver is wrapped when this host is not the source any more, or not in the
// same epoch. What was appended in it and has not counted by then may be set aside.
var ErrTenureOver = errors.New("this host has ceased to be the source")

// Tenure is the time in which this host is the source, from one unlocking of the queue
// to the next locking. It is for an application that keeps a state of its own by what it
// appends, such as an engine: nothing it is told mixes up what this host appended with
// what another source has put in its place. All methods may be called concurrently.
type Tenure struct {
	q    *Queue
	over chan struct{} // closed when it has ended

	counted queue.Index // when it ended; good once over is closed
}

// Tenure waits until this host is the source of the queue and its application may append.
// When ctx ends first the error says so, and why the queue is locked.
func (q *Queue) Tenure(ctx context.Context) (*Tenure, error) {
	var t *Tenure
	err := q.WaitStats(ctx, func(Stats) bool {
		q.mu.Lock()
		defer q.mu.Unlock()
		t = q.mu.tenure
		return t != nil
	})
	if err == nil {
		return t, nil
	}
	if why := q.Stats().Locked; why != "" {
		err = fmt.Errorf("%w: %s", err, why)
	}
	return nil, fmt.Errorf("wait to be the source of queue %s: %w", q.cfg.Name, err)
}

// beginTenure follows an unlocking. mu is held.
func (q *Queue) beginTenure() {
	if q.mu.tenure == nil {
		q.mu.tenure = &Tenure{q: q, over: make(chan struct{})}
	}
}

// endTenure comes before anything is set aside. mu is held.
func (q *Queue) endTenure() {
	if t := q.mu.tenure; t != nil {
		q.mu.tenure = nil
		t.counted = q.mu.counted
		close(t.over)
	}
}

// Over is closed when the tenure has ended.
func (t *Tenure) Over() <-chan struct{} { return t.over }

// Append appends an entry, whatever the strategy of the queue says, and does not wait
// for it to count: see Wait. p is copied. The error matches ErrTenureOver when the tenure
// has ended; others are those of Queue.Append, and nothing was appended.
func (t *Tenure) Append(p []byte) (queue.Index, error) {
	q := t.q
	q.mu.Lock()
	if q.mu.tenure != t {
		q.mu.Unlock()
		return 0, t.ended()
	}
	i, _, err := q.append([][]byte{p})
	q.mu.Unlock()
	if err != nil {
		return 0, fmt.Errorf("append to replicated queue %s: %w", q.cfg.Name, err)
	}
	q.in.kick()
	return i, nil
}

func (t *Tenure) ended() error {
	return fmt.Errorf("replicated queue %s: %w", t.q.cfg.Name, ErrTenureOver)
}

// Counted is the index of the last entry that counts, by what is known in this tenure.
func (t *Tenure) Counted() queue.Index {
	t.q.mu.Lock()
	defer t.q.mu.Unlock()
	return t.known()
}

func (t *Tenure) known() queue.Index {
	if t.q.mu.tenure == t {
		return t.q.mu.counted
	}
	return t.counted
}

// Wait returns nil once entry i counts. The error matches ErrTenureOver when the tenure
// ends first: then the entry may be set aside, or may yet count at another source. When
// ctx ends first it is the cause of that.
func (t *Tenure) Wait(ctx context.Context, i queue.Index) error {
	q := t.q
	q.mu.Lock()
	if i <= t.known() {
		q.mu.Unlock()
		return nil
	}
	if q.mu.tenure != t {
		q.mu.Unlock()
		return t.ended()
	}
	w := q.mu.counting.add(i)
	q.mu.Unlock()
	select {
	case <-w.end: //nolint:errcheck // what has become of the tenure says it, below
	case <-t.over:
	case <-ctx.Done():
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.mu.counting.remove(w)
	switch {
	case i <= t.known(): // whatever has woken it: in this tenure
		return nil
	case q.mu.tenure != t:
		return t.ended()
	}
	return context.Cause(ctx)
}

// Local is the queue as it lies at this host, for reading, and for letting go of old
// cycles. It holds entries that do not count, and it is closed and opened anew when some
// are set aside, which never happens during a tenure.
func (q *Queue) Local() *queue.Queue { return q.inner() }
