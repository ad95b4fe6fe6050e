package replica_test

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/pawl-go/pawl/queue"
	"github.com/pawl-go/pawl/queue/replica"
	"github.com/pawl-go/pawl/queue/replica/core"
	"github.com/pawl-go/pawl/queue/replica/faultnet"
)

// isolate parts a host from all others: their connections end, or else nothing gets
// through them any more.
func (c *cluster) isolate(id replica.HostID, silently bool) {
	for other := replica.HostID(1); int(other) <= c.n; other++ {
		if other == id {
			continue
		}
		if p, _ := c.link(id, other); silently {
			p.Hold(faultnet.Forth)
			p.Hold(faultnet.Back)
		} else {
			p.Refuse()
		}
	}
}

// heal ends all faults of the network. What was held comes too late on connections
// that have been given up.
func (c *cluster) heal() {
	for _, p := range c.proxies {
		p.Release()
	}
}

// writers append at a host until that is refused, and keep what counted.
type writers struct {
	sync.WaitGroup
	mu    sync.Mutex
	acked map[string]queue.Index
}

func (w *writers) at(ctx context.Context, c *cluster, id replica.HostID, most int) {
	for who := range 2 {
		w.Go(func() {
			for k := range most {
				text := fmt.Sprintf("host %d, writer %d: %d", id, who, k)
				i, err := c.queue(id).Append(ctx, []byte(text))
				if err != nil { // it may come to count or not
					return
				}
				w.mu.Lock()
				w.acked[text] = i
				w.mu.Unlock()
			}
		})
	}
}

// TestPartitionWithWriters: the source is parted from all others while it is appended
// to, and one of those takes over. Whatever an append has returned for is there, once
// and where it was, at every host; the source alone can return for none.
func TestPartitionWithWriters(t *testing.T) {
	for _, n := range []int{2, 3, 5} {
		for name, strategy := range map[string]core.Strategy{"any": core.Any(), "majority": core.Majority(), "all": core.All()} {
			for _, silently := range []bool{false, true} {
				if testing.Short() && (n == 5 || silently) {
					continue
				}
				t.Run(fmt.Sprintf("%d hosts, %s, silently %t", n, name, silently), func(t *testing.T) {
					c := newCluster(t, n, with(strategy))
					c.openAll()
					c.awaitSource(1)
					c.awaitAll(c.append(1, "before"))
					w := &writers{acked: map[string]queue.Index{}}
					ctx := c.ctx()
					w.at(ctx, c, 1, 1<<30)
					c.isolate(1, silently)
					for id := replica.HostID(2); int(id) <= n; id++ { // a host that still hears the source does not take over
						c.await(id, "misses the source", func(s replica.Stats) bool { return s.Source == 0 })
					}
					if _, err := c.queue(2).TakeOver(ctx, false); err != nil {
						t.Fatalf("%v\n%s", err, c.events)
					}
					c.awaitSource(2)
					alone := c.queue(1).Stats()
					w.at(ctx, c, 2, 10) // with "all" they return when host 1 is there again
					c.heal()
					w.Wait()
					texts := map[string]queue.Index{}
					for _, m := range c.same(c.append(2, "end")) {
						if _, twice := texts[m.text]; twice {
							t.Errorf("%q is there twice", m.text)
						}
						texts[m.text] = m.index
					}
					for text, i := range w.acked {
						if texts[text] != i {
							t.Errorf("%q was appended as %s, and is there as %s", text, i, texts[text])
						}
						if i > alone.Counted && text[:6] == "host 1" {
							t.Errorf("%q: host 1 has returned for %s alone, where %s counted", text, i, alone.Counted)
						}
					}
					if len(w.acked) < 20 {
						t.Errorf("%d appends returned, want those of host 2 at least", len(w.acked))
					}
				})
			}
		}
	}
}
