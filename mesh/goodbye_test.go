package mesh

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"
)

// Lanes are lost while a node says goodbye, and both sides go on sending: it leaves
// nevertheless, and each message is in one counter of one of them.
func TestLanesLostDuringGoodbye(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 1))
	for round := range 20 {
		a, b := pair(t, func(c *Config) { c.Timing.Heartbeat, c.Timing.Silence = time.Minute, time.Hour })
		stop := sendWithoutPause(t, a, b)
		leaves := []*Node{a, b}[round%2]
		var lanes []*stream
		for _, n := range []*Node{a, b} {
			for _, l := range n.upLinks() {
				lanes = append(lanes, l.lanes...)
			}
		}
		var cutter sync.WaitGroup
		cutter.Go(func() {
			for range 3 {
				time.Sleep(time.Duration(random.IntN(1000)) * time.Microsecond) // any moment will do
				lanes[random.IntN(len(lanes))].cut()
			}
		})
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		if err := leaves.Leave(ctx); err != nil {
			t.Fatal(err)
		}
		cancel()
		cutter.Wait()
		stop()
		awaitBalance(t, a, b)
		a.Close()
		b.Close()
		if t.Failed() {
			return
		}
	}
}

// cut closes a stream's connection, as if it were lost.
func (s *stream) cut() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.conn != nil {
		_ = s.conn.Close()
	}
}

// sendWithoutPause has five senders on each node send to five actors on the other, until
// one of the nodes has left or stop is called.
func sendWithoutPause(t *testing.T, a, b *Node) (stop func()) {
	ctx, cancel := context.WithCancel(t.Context())
	var senders sync.WaitGroup
	for _, way := range [][2]*Node{{a, b}, {b, a}} {
		for i := range 5 {
			r, err := Spawn(way[1], fmt.Sprint("sink", i), func(*Context, add) error { return nil })
			if err != nil {
				t.Fatal(err)
			}
			to := At(way[0], r.Address())
			senders.Go(func() {
				for ctx.Err() == nil && to.Cast(ctx, add{1}) == nil {
					time.Sleep(20 * time.Microsecond) // a rate
				}
			})
		}
	}
	for _, n := range []*Node{a, b} {
		for n.Counters().Handled < 100 {
			time.Sleep(time.Millisecond)
		}
	}
	return func() { cancel(); senders.Wait() }
}

// awaitBalance waits until handled + refused + dropped = sent on two nodes together.
func awaitBalance(t *testing.T, nodes ...*Node) {
	t.Helper()
	deadline := time.Now().Add(time.Minute)
	for {
		var sent, ended uint64
		for _, n := range nodes {
			c := n.Counters()
			sent += c.Sent
			ended += c.Handled
			for _, by := range []map[Reason]uint64{c.Refused, c.Dropped} {
				for _, count := range by {
					ended += count
				}
			}
		}
		if sent == ended {
			return
		}
		if time.Now().After(deadline) {
			for _, n := range nodes {
				t.Logf("%s: %+v", n.ID(), n.Counters())
			}
			t.Errorf("%d sent, %d handled, refused or dropped", sent, ended)
			return
		}
		time.Sleep(time.Millisecond)
	}
}
