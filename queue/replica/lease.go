package replica

import (
	"context"
	"fmt"
	"time"
)

// LeaseError says that this host, the source, has not heard enough hosts for a while
// for anything that it appends to count: another may have taken over. Nothing was
// appended. It goes on by itself when they are heard again; until then append where
// `pawl queue replication status` shows another source, or bring the hosts back.
type LeaseError struct {
	Queue string
	Need  int           // hosts that must hold an entry, the source included
	After time.Duration // the lease timeout
}

func (e *LeaseError) Error() string {
	return fmt.Sprintf("the source of queue %s has not heard as many hosts as must hold an entry, %d with itself, for %v: nothing was appended. It goes on when they are heard again; if another host has taken over, append there",
		e.Queue, e.Need, e.After)
}

// Leased reports whether this host is the source and may begin new work: it has heard
// as many hosts as must hold an entry within the lease timeout, or needs no other. It
// is exact also in a process that was held up. It costs little.
func (q *Queue) Leased() bool { return time.Since(q.opened) < time.Duration(q.lease.Load()) }

// renew takes the lease from the core. mu is held.
func (q *Queue) renew() { q.lease.Store(int64(q.mu.core.LeaseEnd().Sub(q.opened))) }

// awaitLease waits until an append may count, where the strategy holds back each one.
// Under one that fails instead of waiting it fails at once. It returns nil also when
// this host is not the source, which the append then says.
func (q *Queue) awaitLease(ctx context.Context) error {
	st := q.cfg.Replica.Strategy
	for !q.Leased() {
		more, source := q.whileSource()
		if !source || q.Leased() || !q.cfg.Replica.Acknowledge || !st.HoldsEach() {
			return nil
		}
		if !st.Waits() {
			return q.leaseError()
		}
		select {
		case <-more:
		case <-ctx.Done():
			return fmt.Errorf("%w: %w", context.Cause(ctx), q.leaseError())
		}
	}
	return nil
}

// whileSource gives what is closed when something changes, and whether this host is
// the source now.
func (q *Queue) whileSource() (more <-chan struct{}, source bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.change(), q.mu.unlocked
}

func (q *Queue) leaseError() error {
	q.mu.Lock()
	defer q.mu.Unlock()
	return &LeaseError{Queue: q.cfg.Name, Need: q.mu.core.Status().Need, After: q.cfg.Replica.LeaseTimeout}
}

// Leased reports whether the source may begin new work, as Queue.Leased does.
func (t *Tenure) Leased() bool { return t.q.Leased() }

// LeaseError is the error of what is refused while Leased says no.
func (t *Tenure) LeaseError() error { return t.q.leaseError() }

// WaitLease returns nil once the source may begin new work. The error matches
// ErrTenureOver when the tenure ends first, or is the cause of the end of ctx.
func (t *Tenure) WaitLease(ctx context.Context) error {
	for {
		more, _ := t.q.whileSource()
		select {
		case <-t.over:
			return t.ended()
		default:
		}
		if t.q.Leased() {
			return nil
		}
		select {
		case <-more:
		case <-t.over:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}
