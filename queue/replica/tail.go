package replica

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/pawl-go/pawl/queue"
)

// Tailer reads the entries of a replicated queue in order: up to the last one that
// counts, or, one of Latest, all that are here. It belongs to one goroutine at a
// time; a queue may have any number of them.
type Tailer struct {
	q      *Queue
	latest bool
	inner  *queue.Tailer
	life   uint64      // of the queue that inner reads, or the tailer was made in
	want   queue.Index // the next entry has this index or a higher one
	held   struct {    // read, and not counted yet
		index   queue.Index // 0: nothing
		payload []byte
	}
	fail error // final
}

// NewTailer makes a tailer that begins with the first entry at or after from: 0 is
// the start of the queue. It returns entries that count, so it never takes one
// back, unless a take-over by force goes past them. When what lies before from is set
// aside later, the next call fails with an error that matches queue.ErrSetAside.
func (q *Queue) NewTailer(from queue.Index) *Tailer {
	return &Tailer{q: q, want: from, life: q.nowLife()}
}

func (q *Queue) nowLife() uint64 {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.mu.life
}

// Latest makes a tailer that also returns entries that do not count yet. When such
// a one has to be set aside, the next call fails with an error that matches
// queue.ErrSetAside: go on with a new tailer, and take back what was done.
func (q *Queue) Latest(from queue.Index) *Tailer {
	return &Tailer{q: q, want: from, latest: true, life: q.nowLife()}
}

// Next returns the next entry and waits for it if need be, until ctx ends. The slice
// is good until the next call. A *queue.LostError says that a repair has given this
// entry up; the next call goes on behind it. After an error of ctx the tailer can
// go on; any other one is final: of queue.Tailer, one that matches queue.ErrSetAside
// when what was read is not in the queue any more, or a *FailedError.
func (t *Tailer) Next(ctx context.Context) (queue.Index, []byte, error) {
	for {
		i, p, more, err := t.try()
		if err != nil || i != 0 {
			return i, p, err
		}
		select {
		case <-more:
		case <-ctx.Done():
			return 0, nil, fmt.Errorf("tail replicated queue %s: %w", t.q.cfg.Name, context.Cause(ctx))
		}
	}
}

// TryNext is Next, but returns false when there is nothing yet.
func (t *Tailer) TryNext() (queue.Index, []byte, bool, error) {
	i, p, _, err := t.try()
	return i, p, i != 0, err
}

// Close ends the tailer.
func (t *Tailer) Close() {
	t.leave()
	t.fail = queue.ErrClosed
}

func (t *Tailer) leave() {
	if t.inner != nil {
		t.inner.Close()
		t.inner = nil
	}
	t.held.index = 0
}

// try returns an entry, or what is closed when it is worth another try.
func (t *Tailer) try() (queue.Index, []byte, <-chan struct{}, error) {
	for {
		limit, more, err := t.look()
		if err != nil {
			return 0, nil, nil, t.failed(err)
		}
		if t.held.index != 0 && t.held.index <= limit {
			i := t.held.index
			t.held.index, t.want = 0, i+1
			return i, t.held.payload, nil, nil
		}
		if t.held.index != 0 || limit < t.want {
			return 0, nil, more, nil
		}
		i, p, ok, err := t.inner.TryNext()
		lost, isLost := errors.AsType[*queue.LostError](err)
		switch {
		case isLost:
			t.want = lost.Index + 1
			return 0, nil, nil, err
		case errors.Is(err, queue.ErrClosed):
			t.leave() // it is opened anew: look again
			continue
		case err != nil:
			return 0, nil, nil, t.failed(err)
		case !ok:
			return 0, nil, more, nil
		case i > limit:
			t.held.index, t.held.payload = i, bytes.Clone(p)
			continue
		}
		t.want = i + 1
		return i, p, nil, nil
	}
}

// look finds how far the tailer may read, and goes on in the queue as it is open
// now.
func (t *Tailer) look() (limit queue.Index, more <-chan struct{}, err error) {
	if t.fail != nil {
		return 0, nil, t.fail
	}
	q := t.q
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.mu.fail != nil {
		return 0, nil, q.mu.fail
	}
	if t.inner != nil && t.life != q.mu.life {
		t.leave()
	}
	if t.inner == nil {
		for _, r := range q.mu.asides {
			if r.life > t.life && t.want > r.above+1 {
				return 0, nil, queue.ErrSetAside
			}
		}
		t.inner, t.life = q.mu.q.NewTailer(t.want), q.mu.life
	}
	limit = q.mu.counted
	if t.latest {
		limit = q.mu.q.Last()
	}
	return limit, q.change(), nil
}

func (t *Tailer) failed(err error) error {
	if t.fail != nil {
		return t.fail
	}
	t.leave()
	t.fail = fmt.Errorf("tail replicated queue %s: %w", t.q.cfg.Name, err)
	return t.fail
}
