package replica_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/pawl-go/pawl/queue"
	"github.com/pawl-go/pawl/queue/memfs"
	"github.com/pawl-go/pawl/queue/replica"
	"github.com/pawl-go/pawl/queue/replica/core"
)

// TestDeathAtEachStep: a host dies instead of its first effect in an operation, of
// its second, and so on until the operation is done before that; then it starts
// again. The hosts agree, and have all that counted.
func TestDeathAtEachStep(t *testing.T) {
	operations := []struct {
		name    string
		prepare func(*killer)
		run     func(*killer, context.Context) func() error
		victims []replica.HostID
	}{
		{"handshake", (*killer).leave, (*killer).handshake, []replica.HostID{1, 2, 3}},
		{"handshake of a host with another history", (*killer).fork, (*killer).join, []replica.HostID{1, 2, 3}},
		{"switch", nil, (*killer).handOver, []replica.HostID{1, 2, 3}},
		{"take-over", (*killer).orphan, (*killer).takeOver, []replica.HostID{2, 3}},
	}
	for _, op := range operations {
		for _, victim := range op.victims {
			t.Run(fmt.Sprintf("%s, host %d", op.name, victim), func(t *testing.T) {
				t.Parallel()
				n := 1
				for ; ; n++ {
					k := newKiller(t, victim)
					if op.prepare != nil {
						op.prepare(k)
					}
					died := k.dieAt(n, op.run)
					k.settle()
					for id := range k.hosts {
						k.close(id)
					}
					if !died {
						break
					}
				}
				if n == 1 && victim != 3 { // which may have nothing to do
					t.Fatal("nothing was tried")
				}
				t.Logf("%d deaths", n-1)
			})
		}
	}
}

// killer is a cluster of three of which one host dies, once. Host 1 is the
// source when an operation begins.
type killer struct {
	*cluster
	victim replica.HostID
	death  death
	acked  []string
}

// death says when the victim dies.
type death struct {
	mu      sync.Mutex
	left    int // effects; 0: it lives
	reached bool
	now     chan struct{}
}

func (d *death) arm(n int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.left, d.reached, d.now = n, false, make(chan struct{})
}

// disarm says whether the victim has died.
func (d *death) disarm() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.left = 0
	return d.reached
}

// instead is asked before every effect of the victim.
func (d *death) instead(e core.Effect) bool {
	switch e.(type) {
	case core.Send, core.Stream, core.WriteHard, core.Flush, core.AppendCopied, core.AppendControl, core.SetAside, core.Restart:
	default:
		return false // nobody else sees these
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.left > 0 {
		if d.left--; d.left == 0 {
			d.reached = true
			close(d.now)
		}
	}
	return d.reached
}

func newKiller(t *testing.T, victim replica.HostID) *killer {
	k := &killer{victim: victim}
	disks := map[replica.HostID]*memfs.FS{1: memfs.New(), 2: memfs.New(), 3: memfs.New()}
	k.cluster = newCluster(t, 3, func(cfg *replica.Config) {
		fast(cfg)
		cfg.Queues[0].Queue.FS = disks[cfg.Self]
		cfg.Queues[0].Replica.FlushToCount = true
		if cfg.Self == victim {
			cfg.DieInstead(k.death.instead)
		}
	})
	k.openAll()
	k.settle()
	return k
}

// dieAt has the victim die at its n-th effect of an operation, and starts it again.
// It is false when the operation was done before.
func (k *killer) dieAt(n int, begin func(*killer, context.Context) func() error) bool {
	k.t.Helper()
	ctx, cancel := context.WithCancel(k.ctx())
	defer cancel()
	k.death.arm(n)
	run := begin(k, ctx)
	done := make(chan error, 1)
	go func() { done <- run() }()
	select {
	case err := <-done:
		if !k.death.disarm() {
			if err != nil {
				k.t.Fatalf("nobody died: %v\n%s", err, k.events)
			}
			return false
		}
	case <-k.death.now:
	}
	k.kill(k.victim)
	k.death.arm(0)
	k.open(k.victim)
	cancel()
	return true
}

// leave has host 2 gone.
func (k *killer) leave() {
	k.kill(2)
	k.await(1, "misses host 2", func(s replica.Stats) bool { return s.Sinks[0].State == "down" })
}

// handshake has host 2 start again, and join.
func (k *killer) handshake(ctx context.Context) func() error {
	k.open(2)
	source, last := k.queue(1), k.queue(1).Last()
	return func() error {
		return source.WaitStats(ctx, func(s replica.Stats) bool {
			return slices.ContainsFunc(s.Sinks, func(r replica.SinkStats) bool {
				return r.Host == 2 && r.State == "live" && r.Trust == "whole" && r.Appended >= last
			})
		})
	}
}

// fork leaves host 1 alone with an entry while host 2 takes over.
func (k *killer) fork() {
	k.t.Helper()
	for _, other := range []replica.HostID{2, 3} {
		p, _ := k.link(1, other)
		p.Refuse()
		k.await(1, "misses a host", func(s replica.Stats) bool { return s.Sinks[other-2].State == "down" })
	}
	ctx, cancel := context.WithCancel(k.ctx())
	cancel()
	if _, err := k.queue(1).Append(ctx, []byte("alone")); !errors.Is(err, context.Canceled) {
		k.t.Fatalf("append alone: %v", err)
	}
	if _, err := k.queue(2).TakeOver(k.ctx(), false); err != nil {
		k.t.Fatalf("%v\n%s", err, k.events)
	}
	k.awaitSource(2)
	k.append(2, k.next("of host 2"))
}

// join lets host 1 find the others again.
func (k *killer) join(ctx context.Context) func() error {
	for _, other := range []replica.HostID{2, 3} {
		p, _ := k.link(1, other)
		p.Release()
	}
	sink, last := k.queue(1), k.queue(2).Last()
	return func() error {
		return sink.WaitStats(ctx, func(s replica.Stats) bool { return s.Counted >= last })
	}
}

func (k *killer) handOver(ctx context.Context) func() error {
	source, target := k.queue(1), k.queue(2)
	return func() error {
		if err := source.Switch(ctx, 2); err != nil {
			return err
		}
		_, err := target.Tenure(ctx)
		return err
	}
}

// orphan has the source die.
func (k *killer) orphan() { k.kill(1) }

// takeOver is that of host 2.
func (k *killer) takeOver(ctx context.Context) func() error {
	q := k.queue(2)
	return func() error {
		_, err := q.TakeOver(ctx, false)
		return err
	}
}

// next is the text of an append that is to count.
func (k *killer) next(text string) string {
	k.acked = append(k.acked, text+fmt.Sprint(" ", len(k.acked)))
	return k.acked[len(k.acked)-1]
}

// settle has host 1 be the source again, and checks that all hold what counted.
func (k *killer) settle() {
	k.t.Helper()
	if k.hosts[1] == nil {
		k.open(1)
	}
	for _, p := range k.proxies {
		p.Release()
	}
	texts := make(map[string]int)
	for _, m := range k.same(k.appendAtFirst()) {
		texts[m.text]++
	}
	for _, text := range k.acked {
		if texts[text] != 1 {
			k.t.Fatalf("%q counted, and is there %d times\n%s", text, texts[text], k.events)
		}
	}
}

// appendAtFirst has host 1 be the source of a set that is whole, and append.
func (k *killer) appendAtFirst() queue.Index {
	k.t.Helper()
	ctx, q := k.ctx(), k.queue(1)
	for try := 0; ; try++ { // what was under way may overtake this host, also later
		k.makeWhole(ctx)
		text := fmt.Sprint("settled ", len(k.acked), " ", try)
		i, err := q.Append(ctx, []byte(text))
		if err == nil {
			k.acked = append(k.acked, text)
			return i
		}
		if ctx.Err() != nil {
			k.t.Fatalf("%v\n%s", err, k.events)
		}
	}
}

// makeWhole returns once host 1 is the source and both others are copied to.
func (k *killer) makeWhole(ctx context.Context) {
	k.t.Helper()
	q := k.queue(1)
	source := func(s replica.Stats) bool { return s.Role == "source" && s.Locked == "" }
	whole := func(s replica.Stats) bool {
		return source(s) && !slices.ContainsFunc(s.Sinks, func(r replica.SinkStats) bool {
			return r.State != "live" || r.Trust != "whole"
		})
	}
	for !whole(q.Stats()) {
		first := true
		err := q.WaitStats(ctx, func(s replica.Stats) bool {
			again := !first && !source(s)
			first = false
			return whole(s) || again
		})
		if err != nil {
			k.t.Fatalf("host 1 is %+v: %v\n%s", q.Stats(), err, k.events)
		}
		if !source(q.Stats()) {
			_, _ = q.TakeOver(ctx, false) // whether it was of use the next round says
		}
	}
}
