package replica_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/pawl-go/pawl/queue/replica"
	"github.com/pawl-go/pawl/queue/replica/core"
	"github.com/pawl-go/pawl/queue/replica/faultnet"
)

// leaseCluster is three hosts whose source, host 1, has a short lease.
func leaseCluster(t *testing.T, st core.Strategy) *cluster {
	c := newCluster(t, 3, func(cfg *replica.Config) {
		cfg.LeaseTimeout = 200 * time.Millisecond
		cfg.Queues[0].Replica.Strategy = st
	})
	c.openAll()
	c.awaitSource(1)
	c.awaitCopying(1, 2)
	c.awaitCopying(1, 3)
	return c
}

// deafen cuts the source off, one way: it is heard, and hears nobody.
func (c *cluster) deafen() {
	for _, from := range []replica.HostID{2, 3} {
		c.proxies[[2]replica.HostID{from, 1}].Hold(faultnet.Forth)
	}
}

func (c *cluster) hear() {
	for _, from := range []replica.HostID{2, 3} {
		c.proxies[[2]replica.HostID{from, 1}].Release()
	}
}

func (c *cluster) awaitLease(held bool) {
	c.t.Helper()
	q := c.queue(1)
	c.await(1, "has its lease, or not", func(replica.Stats) bool { return q.Leased() == held })
}

// A source that hears too few hosts appends nothing: an append waits until they are
// heard again, or its context ends.
func TestCutOffSourceAppendsNothing(t *testing.T) {
	c := leaseCluster(t, core.Majority())
	before := c.append(1, "before")
	c.deafen()
	c.awaitLease(false)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	_, err := c.queue(1).Append(ctx, []byte("never"))
	lost, ok := errors.AsType[*replica.LeaseError](err)
	if !ok || !errors.Is(err, context.DeadlineExceeded) || lost.Need != 2 || lost.After != 200*time.Millisecond {
		t.Errorf("append at a source that is cut off: %v", err)
	}
	if last := c.queue(1).Last(); last != before {
		t.Errorf("the source went on to %v from %v", last, before)
	}
	waits := make(chan error, 1)
	go func() {
		_, err := c.queue(1).Append(c.ctx(), []byte("after"))
		waits <- err
	}()
	c.hear()
	if err := <-waits; err != nil {
		t.Errorf("append that waited for hosts to be heard: %v", err)
	}
	c.awaitLease(true)
	if ms := c.same(c.queue(1).Last()); len(ms) != 2 || ms[1].text != "after" {
		t.Errorf("the queue holds %v", ms)
	}
}

// Under a strategy that fails at its limit the append does not wait.
func TestCutOffSourceRefuses(t *testing.T) {
	c := leaseCluster(t, core.All().OrFail(0))
	c.deafen()
	c.awaitLease(false)
	if _, err := c.queue(1).Append(c.ctx(), []byte("never")); !errors.As(err, new(*replica.LeaseError)) {
		t.Errorf("append at a source that is cut off: %v", err)
	}
}

// What is not held back counts on its own risk, and goes on.
func TestCutOffSourceWithoutABoundGoesOn(t *testing.T) {
	c := leaseCluster(t, core.Unbounded())
	c.deafen()
	c.awaitLease(false)
	c.append(1, "at risk")
}

// An engine asks, and waits for the lease or the end of its tenure.
func TestTenureHasALease(t *testing.T) {
	c := leaseCluster(t, core.Majority())
	tenure, err := c.queue(1).Tenure(c.ctx())
	if err != nil {
		t.Fatal(err)
	}
	c.awaitLease(true)
	if err := tenure.WaitLease(c.ctx()); err != nil {
		t.Errorf("wait for the lease that is there: %v", err)
	}
	c.deafen()
	c.awaitLease(false)
	ended, end := context.WithCancel(t.Context())
	end()
	if err := tenure.WaitLease(ended); !errors.Is(err, context.Canceled) || tenure.Leased() {
		t.Errorf("wait with a context that has ended: %v", err)
	}
	if _, err := c.queue(2).TakeOver(c.ctx(), false); err != nil {
		t.Fatal(err)
	}
	c.hear()
	if err := tenure.WaitLease(c.ctx()); !errors.Is(err, replica.ErrTenureOver) && err != nil {
		t.Errorf("wait for the lease of a tenure that is over: %v", err)
	}
	c.await(1, "follows the new source", func(s replica.Stats) bool { return s.Source == 2 })
	if tenure.Leased() || !errors.Is(tenure.WaitLease(c.ctx()), replica.ErrTenureOver) {
		t.Error("a sink has a lease")
	}
}
