package replica_test

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/pawl-go/pawl/queue/replica"
	"github.com/pawl-go/pawl/queue/replica/core"
)

// A partition leaves the source alone with writers, and another host takes over: whatever
// has been acknowledged, before, meanwhile or after, is there at the end, once and at every
// host, whichever hosts have to hold an entry.
func TestPartitionWithWriters(t *testing.T) {
	for _, n := range []int{2, 3, 5} {
		for _, st := range []core.Strategy{core.Any(), core.Majority(), core.All()} {
			t.Run(fmt.Sprintf("hosts=%d/%v", n, st), func(t *testing.T) {
				if testing.Short() && n == 5 {
					t.Skip("the others show it too")
				}
				partition(t, n, st)
			})
		}
	}
}

func partition(t *testing.T, n int, st core.Strategy) {
	c := newCluster(t, n, func(cfg *replica.Config) {
		fast(cfg)
		cfg.Queues[0].Replica.Strategy = st
	})
	c.openAll()
	c.awaitSource(1)
	for id := replica.HostID(2); int(id) <= n; id++ {
		c.awaitCopying(1, id)
	}
	w := startWriters(c, 1)
	w.await(t, 20)
	links := func(do func(from replica.HostID)) {
		for id := replica.HostID(2); int(id) <= n; id++ {
			do(id)
		}
	}
	links(func(id replica.HostID) { p, _ := c.link(1, id); p.Refuse() })
	if _, err := c.queue(2).TakeOver(c.ctx(), false); err != nil {
		t.Fatalf("take over: %v\n%s", err, c.events)
	}
	more := startWriters(c, 2) // under All, and with two hosts, they wait for the old source
	links(func(id replica.HostID) { p, _ := c.link(1, id); p.Release() })
	c.await(1, "follows the new source", func(s replica.Stats) bool { return s.Source == 2 })
	more.await(t, 20)
	acknowledged := append(w.stop(), more.stop()...)
	last := c.append(2, "end")
	times := map[string]int{}
	for _, m := range c.same(last) {
		times[m.text]++
	}
	for _, text := range acknowledged {
		if times[text] != 1 {
			t.Errorf("%s was acknowledged, and is there %d times", text, times[text])
		}
	}
}

// writers append at a host until they are stopped, or their host refuses them.
type writers struct {
	cancel context.CancelFunc
	wg     sync.WaitGroup
	mu     sync.Mutex
	cond   *sync.Cond
	acked  []string
}

func startWriters(c *cluster, id replica.HostID) *writers {
	ctx, cancel := context.WithCancel(c.ctx())
	w := &writers{cancel: cancel}
	w.cond = sync.NewCond(&w.mu)
	q := c.queue(id)
	for k := range 4 {
		w.wg.Go(func() {
			for i := 0; ; i++ {
				text := fmt.Sprintf("host %d writer %d message %d", id, k, i)
				if _, err := q.Append(ctx, []byte(text)); err != nil {
					w.mu.Lock()
					defer w.mu.Unlock()
					w.cond.Broadcast()
					return
				}
				w.mu.Lock()
				w.acked = append(w.acked, text)
				w.cond.Broadcast()
				w.mu.Unlock()
			}
		})
	}
	c.t.Cleanup(func() { w.stop() })
	return w
}

// await waits until so many messages are acknowledged.
func (w *writers) await(t *testing.T, n int) {
	t.Helper()
	stop := context.AfterFunc(t.Context(), w.cond.Broadcast)
	defer stop()
	w.mu.Lock()
	defer w.mu.Unlock()
	for len(w.acked) < n && t.Context().Err() == nil {
		w.cond.Wait()
	}
}

func (w *writers) stop() []string {
	w.cancel()
	w.wg.Wait()
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.acked
}
