package replica_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pawl-go/pawl/queue"
	"github.com/pawl-go/pawl/queue/replica"
	"github.com/pawl-go/pawl/queue/replica/core"
	"github.com/pawl-go/pawl/queue/replica/faultnet"
)

// link is the proxy between two hosts, and the way from the first to the second.
func (c *cluster) link(from, to replica.HostID) (*faultnet.Proxy, faultnet.Way) {
	if from > to {
		return c.proxies[[2]replica.HostID{from, to}], faultnet.Forth
	}
	return c.proxies[[2]replica.HostID{to, from}], faultnet.Back
}

// fast makes hosts notice quickly that a peer is gone.
func fast(cfg *replica.Config) {
	cfg.HeartbeatInterval, cfg.HeartbeatTimeout = 50*time.Millisecond, 400*time.Millisecond
}

// TestStreamCutAtEveryByte: whatever part of an update gets through, the sink has
// all of it or nothing, and goes on where it was on the next connection.
func TestStreamCutAtEveryByte(t *testing.T) {
	c := newCluster(t, 2, func(cfg *replica.Config) {
		fast(cfg)
		cfg.Queues[0].Replica.Strategy = core.Unbounded()
	})
	c.openAll()
	c.awaitSource(1)
	last := c.append(1, "the first")
	c.awaitAll(last)
	p, way := c.link(1, 2)
	step := int64(1)
	if testing.Short() {
		step = 7
	}
	n := 1
	for cut := int64(1); cut < 700; cut += step { // handshake, states, history and an update
		p.CutAfter(way, cut)
		p.Break()
		last = c.append(1, fmt.Sprintf("cut after %d", cut))
		n++
	}
	if ms := c.same(last); len(ms) != n {
		t.Fatalf("%d messages, want %d", len(ms), n)
	}
}

// TestOneWayCut: a connection on which only one side hears nothing ends at both,
// and all goes on when the way is open again.
func TestOneWayCut(t *testing.T) {
	c := newCluster(t, 3, fast)
	c.openAll()
	c.awaitSource(1)
	c.awaitAll(c.append(1, "before"))
	for _, ways := range [][2]replica.HostID{{1, 2}, {2, 1}} {
		p, way := c.link(ways[0], ways[1])
		p.Hold(way)
		c.await(1, "misses host 2", func(s replica.Stats) bool { return s.Sinks[0].State == "down" })
		c.append(1, "meanwhile") // 1 and 3 are a majority
		p.Release()
		p.Break()
		c.await(1, "has host 2 again", func(s replica.Stats) bool { return s.Sinks[0].State == "live" })
	}
	if ms := c.same(c.append(1, "after")); len(ms) != 4 {
		t.Fatalf("%v", ms)
	}
}

// TestOldSourceComesBack: what it appended alone is set aside with a report, its
// appender and a tailer that read on are told, and it follows the new source.
func TestOldSourceComesBack(t *testing.T) {
	c := newCluster(t, 3, fast)
	c.openAll()
	c.awaitSource(1)
	c.append(1, "common")
	latest := c.queue(1).Latest(0)
	defer latest.Close()
	counted := c.queue(1).NewTailer(0)
	defer counted.Close()
	for _, other := range []replica.HostID{2, 3} {
		p, _ := c.link(1, other)
		p.Refuse()
	}
	ctx, cancel := context.WithCancel(t.Context())
	type result struct {
		i   queue.Index
		err error
	}
	done := make(chan result, 1)
	go func() {
		i, err := c.queue(1).Append(ctx, []byte("alone"))
		done <- result{i, err}
	}()
	for _, want := range []string{"common", "alone"} {
		if _, p, err := latest.Next(c.ctx()); err != nil || string(p) != want {
			t.Fatalf("read on: %q %v, want %q", p, err, want)
		}
	}
	if _, err := c.queue(2).TakeOver(c.ctx(), false); err != nil {
		t.Fatalf("%v\n%s", err, c.events)
	}
	c.awaitSource(2)
	c.append(2, "new")
	for _, other := range []replica.HostID{2, 3} {
		p, _ := c.link(1, other)
		p.Release()
	}
	r := <-done
	cancel()
	uncertain, ok := errors.AsType[*replica.UncertainError](r.err)
	if !ok || uncertain.First != r.i {
		t.Fatalf("append without a majority: %v %v", r.i, r.err)
	}
	if err := c.queue(1).WaitReplicated(c.ctx(), r.i); !errors.Is(err, queue.ErrSetAside) {
		t.Fatalf("wait for what was set aside: %v", err)
	}
	if _, _, err := latest.Next(c.ctx()); !errors.Is(err, queue.ErrSetAside) {
		t.Fatalf("read on behind what was set aside: %v", err)
	}
	last := c.append(2, "newer")
	ms := c.same(last)
	if len(ms) != 3 || ms[1].text != "new" {
		t.Fatalf("%v", ms)
	}
	for _, m := range ms {
		if i, p, err := counted.Next(c.ctx()); err != nil || i != m.index || string(p) != m.text {
			t.Fatalf("tailer of what counts: %s %q %v, want %v", i, p, err, m)
		}
	}
	e, err := c.events.await(c.ctx(), func(e replica.Event) bool { return e.Kind == core.NoticeDiverged })
	if err != nil || !strings.Contains(e.Text, "1 messages") {
		t.Fatalf("event %+v %v", e, err)
	}
	var locked *replica.LockedError
	if _, err := c.queue(1).Append(c.ctx(), []byte("x")); !errors.As(err, &locked) || locked.Source != 2 {
		t.Fatalf("append at a sink: %v", err)
	}
}

// TestThreeSinksWithDifferentTails: the best of those that promise is found, and
// everybody ends up with its history.
func TestThreeSinksWithDifferentTails(t *testing.T) {
	c := newCluster(t, 4, func(cfg *replica.Config) {
		fast(cfg)
		cfg.Queues[0].Replica.Strategy = core.Any()
	})
	c.openAll()
	c.awaitSource(1)
	c.awaitAll(c.append(1, "all"))
	for k, id := range []replica.HostID{2, 3} { // 2 misses "three and four", 3 misses "four"
		p, _ := c.link(1, id)
		p.Refuse()
		c.await(1, "misses a host", func(s replica.Stats) bool { return s.Sinks[k].State == "down" })
		c.append(1, fmt.Sprintf("without %d", id))
	}
	last := c.append(1, "only 4 has this")
	c.await(4, "has the last", func(s replica.Stats) bool { return s.Last == last })
	c.kill(1)
	if _, err := c.queue(2).TakeOver(c.ctx(), false); err != nil {
		t.Fatalf("%v\n%s", err, c.events)
	}
	c.awaitSource(2)
	c.append(2, "new")
	for _, id := range []replica.HostID{2, 3} {
		p, _ := c.link(1, id)
		p.Release()
	}
	c.open(1)
	ms := c.same(c.append(2, "end"))
	want := []string{"all", "without 2", "without 3", "only 4 has this", "new", "end"}
	for k, m := range ms {
		if len(ms) != len(want) || m.text != want[k] {
			t.Fatalf("%v, want %v", ms, want)
		}
	}
}

// TestSwitchUnderLoad: appenders at all hosts go to whoever is the source; nothing
// that was acknowledged is lost, nothing is there twice.
func TestSwitchUnderLoad(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 1))
	c := newCluster(t, 3, nil)
	c.openAll()
	c.awaitSource(1)
	var source atomic.Uint32
	source.Store(1)
	ctx, cancel := context.WithCancel(c.ctx())
	var writers sync.WaitGroup
	acked := make([][]string, 4)
	for w := range acked {
		writers.Go(func() {
			for k := 0; ctx.Err() == nil; k++ {
				text := fmt.Sprintf("%d.%d", w, k)
				_, err := c.queue(replica.HostID(source.Load())).Append(c.ctx(), []byte(text))
				if err == nil { // otherwise it may be there, and is not appended again
					acked[w] = append(acked[w], text)
				}
			}
		})
	}
	from := replica.HostID(1)
	for range 6 {
		to := from%3 + 1
		if r.IntN(2) == 0 {
			to = to%3 + 1
		}
		c.awaitCopying(from, to)
		if err := c.queue(from).Switch(c.ctx(), to); err != nil {
			t.Fatalf("%v\n%s", err, c.events)
		}
		c.awaitSource(to)
		source.Store(uint32(to))
		from = to
	}
	cancel()
	writers.Wait()
	ms := c.same(c.append(from, "end"))
	seen := map[string]int{}
	for _, m := range ms {
		seen[m.text]++
	}
	total := 0
	for _, list := range acked {
		for _, text := range list {
			total++
			if seen[text] != 1 {
				t.Fatalf("%q was acknowledged, and is there %d times", text, seen[text])
			}
		}
	}
	t.Logf("%d messages, %d acknowledged", len(ms), total)
}

// TestCycleThatGoesOn: a host that had ended a cycle, to begin an epoch of its own
// that came to nothing, takes the end back when the source goes on in that cycle.
func TestCycleThatGoesOn(t *testing.T) {
	for _, text := range []string{"one", ""} {
		c := newCluster(t, 2, with(core.All()))
		c.openAll()
		c.awaitSource(1)
		c.awaitAll(c.append(1, text))
		p, _ := c.link(1, 2)
		p.Refuse()
		if _, err := c.queue(2).TakeOver(c.ctx(), false); err != nil { // in epoch 2.2
			t.Fatal(err)
		}
		c.awaitSource(2)
		for range 2 { // in the end in epoch 3.1
			c.close(1)
			c.open(1)
			c.awaitSource(1)
		}
		p.Release()
		last := c.append(1, "two")
		if last.Cycle() != 1 {
			t.Fatalf("appended as %s: the test is none", last)
		}
		ms := c.same(last)
		if len(ms) != 2 || ms[0].text != text || ms[1].text != "two" {
			t.Fatalf("%v", ms)
		}
		if s := c.queue(2).Stats(); s.Trust != "whole" {
			t.Fatalf("%+v", s)
		}
		c.close(2)
		c.open(2)
		c.same(c.append(1, "three"))
	}
}
