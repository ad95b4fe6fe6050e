package replica

import (
	"context"
	"fmt"
	"sync"

	"github.com/pawl-go/pawl/queue/replica/core"
)

// results are the commands that wait for the core.
type results struct {
	mu struct {
		sync.Mutex
		last    uint64
		waiting map[uint64]*command
		fail    error
	}
}

type command struct {
	id    uint64
	end   chan error // one slot, sent once
	holds []HostHold
}

func (r *results) begin() (*command, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.mu.fail != nil {
		return nil, r.mu.fail
	}
	r.mu.last++
	c := &command{id: r.mu.last, end: make(chan error, 1)}
	if r.mu.waiting == nil {
		r.mu.waiting = map[uint64]*command{}
	}
	r.mu.waiting[c.id] = c
	return c, nil
}

func (r *results) end(id uint64, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if c := r.mu.waiting[id]; c != nil {
		delete(r.mu.waiting, id)
		c.end <- err
	}
}

// report notes what hosts hold for the take-over that is under way.
func (r *results) report(holds []HostHold) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range r.mu.waiting {
		c.holds = holds
	}
}

// fail ends all commands, also those that begin later.
func (r *results) fail(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.mu.fail = err
	for id, c := range r.mu.waiting {
		delete(r.mu.waiting, id)
		c.end <- err
	}
}

// Switch hands the queue over from this host, which must be its source, to another.
// This one stops appending, waits until the target holds everything, and follows it
// once it has taken over. It returns when that is so; or with an error that matches
// ErrNotSource, ErrBusy, or ErrTarget, and then this host is the source again. When
// ctx ends the switch goes on.
func (q *Queue) Switch(ctx context.Context, to HostID) error {
	c, err := q.results.begin()
	if err == nil {
		q.deliver(core.Switch{ID: c.id, Target: to})
		err = q.result(ctx, c)
	}
	if err != nil {
		return fmt.Errorf("switch queue %s to host %d: %w", q.cfg.Name, to, err)
	}
	return nil
}

// TakeOver makes this host the source, also in place of one that lives, once enough
// hosts have promised it, and it has all that any of them holds. It waits for that until ctx ends, and says for
// whom in its error, a *LockedError. With force it goes on with the hosts that can
// be reached: what counted and only others hold is lost. What each host held is
// returned in that case. The error matches ErrOvertaken when another host has
// become the source meanwhile.
func (q *Queue) TakeOver(ctx context.Context, force bool) ([]HostHold, error) {
	return q.takeOver(ctx, core.TakeOver{Force: force})
}

func (q *Queue) takeOver(ctx context.Context, ev core.TakeOver) ([]HostHold, error) {
	c, err := q.results.begin()
	if err == nil {
		ev.ID = c.id
		q.deliver(ev)
		err = q.result(ctx, c)
	}
	if err != nil {
		return nil, fmt.Errorf("take over queue %s: %w", q.cfg.Name, err)
	}
	return c.holds, nil
}

// result waits for the end of a command. One whose ctx ends is withdrawn if it has
// not asked for promises yet.
func (q *Queue) result(ctx context.Context, c *command) error {
	select {
	case err := <-c.end:
		return err
	case <-ctx.Done():
	}
	q.mu.Lock()
	locked := q.mu.core.Admit()
	q.mu.Unlock()
	q.deliver(core.Cancel{ID: c.id})
	if locked == nil {
		return context.Cause(ctx)
	}
	return fmt.Errorf("%w: %w", context.Cause(ctx), locked)
}
