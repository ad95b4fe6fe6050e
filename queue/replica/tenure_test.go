package replica_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/pawl-go/pawl/queue/replica"
)

// TestTenureKnowsOnlyItsOwn: what is appended in it counts while it lasts; what did not
// count at its end never does, whatever another source puts at the same index.
func TestTenureKnowsOnlyItsOwn(t *testing.T) {
	c := newCluster(t, 3, nil)
	for id := replica.HostID(1); id <= 3; id++ {
		c.open(id)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	first := c.hosts[1].Queue(qname)
	tenure, err := first.Tenure(ctx)
	if err != nil {
		t.Fatal(err)
	}
	counted, err := tenure.Append([]byte("counted"))
	if err != nil {
		t.Fatal(err)
	}
	if err := tenure.Wait(ctx, counted); err != nil || tenure.Counted() < counted {
		t.Fatal(err)
	}
	for _, p := range c.proxies {
		p.Hold(0)
		p.Hold(1)
	}
	lost, err := tenure.Append([]byte("lost"))
	if err != nil || tenure.Counted() >= lost {
		t.Fatal(lost, err)
	}
	c.proxies[[2]replica.HostID{3, 2}].Release()
	second := c.hosts[2].Queue(qname)
	if _, err := second.TakeOver(ctx, false); err != nil {
		t.Fatal(err)
	}
	next, err := second.Tenure(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		i, err := next.Append([]byte("other"))
		if err == nil {
			err = next.Wait(ctx, i)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, p := range c.proxies {
		p.Release()
	}
	if err := tenure.Wait(ctx, lost); !errors.Is(err, replica.ErrTenureOver) {
		t.Errorf("wait for what is lost: %v", err)
	}
	<-tenure.Over()
	if err := first.WaitStats(ctx, func(s replica.Stats) bool { return s.Counted >= second.Counted() }); err != nil {
		t.Fatal(err)
	}
	if got := tenure.Counted(); got < counted || got >= lost {
		t.Errorf("counted up to %v: %v is in, %v is not", got, counted, lost)
	}
	if _, err := tenure.Append(nil); !errors.Is(err, replica.ErrTenureOver) {
		t.Errorf("append when it is over: %v", err)
	}
}
