package mesh_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/pawl-go/pawl/mesh"
	"github.com/pawl-go/pawl/mesh/meshtest"
)

// eachLeaves runs a test in which the one or the other of two nodes leaves, in simulation
// and over sockets. No heartbeat says on the way what has arrived.
func eachLeaves(t *testing.T, test func(t *testing.T, c cluster, leaves string)) {
	configure := func(cfg *mesh.Config) {
		messages(cfg)
		cfg.Timing.Heartbeat, cfg.Timing.Silence = time.Minute, time.Hour
	}
	for _, leaves := range []string{"a", "b"} {
		t.Run(leaves, func(t *testing.T) {
			t.Run("simulated", func(t *testing.T) {
				meshtest.Run(t, meshtest.Seed(t), func(t *testing.T, c *meshtest.Cluster) {
					c.Configure = configure
					test(t, c, leaves)
				})
			})
			t.Run("sockets", func(t *testing.T) { test(t, newSockets(t, configure), leaves) })
		})
	}
}

// What has arrived when a node leaves is not counted as lost, on either side, whichever
// of them had dialled.
func TestLeaveLosesNothing(t *testing.T) { eachLeaves(t, leaveLosesNothing) }

func leaveLosesNothing(t *testing.T, c cluster, leaves string) {
	nodes := []*mesh.Node{c.Start("a"), c.Start("b")}
	c.WaitForMembers(2)
	const count = 100
	for i, n := range nodes {
		other := nodes[1-i]
		spawn(t, other, "sink", ignore[number])
		to := mesh.At(n, mesh.Address[number]{Node: other.ID(), Name: "sink"})
		for range count {
			if err := to.Cast(t.Context(), number{}); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, n := range nodes {
		if !eventually(c, func() bool { return n.Counters().Handled == count }) {
			t.Fatalf("%s: %+v", n.ID(), n.Counters())
		}
	}
	c.Leave(leaves)
	for _, n := range nodes {
		if n.ID() != leaves && !eventually(c, func() bool { return len(n.Members()) == 1 }) {
			t.Errorf("%s still has members: %v", n.ID(), n.Members())
		}
		if k := n.Counters(); k.Sent != count || k.Dropped[mesh.ReasonLost] != 0 {
			t.Errorf("%s: %+v", n.ID(), k)
		}
	}
}

// A node leaves whose actors are watched by great numbers: each monitor is told how its
// actor ended, before the goodbye ends the link that it is told by.
func TestLeaveTellsEachMonitor(t *testing.T) {
	everywhere(t, func(t *testing.T, w *world) {
		const actors, each = 8, 500
		var monitors []*mesh.Monitor
		for i := range actors {
			name := fmt.Sprint("n", i)
			spawn(t, w.b, name, ignore[number])
			for range each {
				m, err := on[number](w, name).Monitor(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				monitors = append(monitors, m)
			}
		}
		w.Leave("b")
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		lost := 0
		for _, m := range monitors {
			if e, err := m.Exit(ctx); err != nil || e.Reason != mesh.ExitNormal {
				if lost++; lost == 1 {
					t.Errorf("%+v, %v", e, err)
				}
			}
		}
		if lost > 0 {
			t.Errorf("%d of %d monitors are not told", lost, len(monitors))
		}
	})
}

// Both sides send without a pause while one of them leaves: each message is in one
// counter of one of them in the end.
func TestLeaveUnderLoadCountsAll(t *testing.T) { eachLeaves(t, leaveUnderLoad) }

func leaveUnderLoad(t *testing.T, c cluster, leaves string) {
	nodes := []*mesh.Node{c.Start("a"), c.Start("b")}
	c.WaitForMembers(2)
	const actors = 5
	var senders sync.WaitGroup
	for i, n := range nodes {
		other := nodes[1-i]
		for k := range actors {
			name := fmt.Sprint("sink", k)
			spawn(t, other, name, ignore[[]byte])
			to := mesh.At(n, mesh.Address[[]byte]{Node: other.ID(), Name: name})
			senders.Go(func() {
				for size := 0; ; size = (size + 977) % 40_000 { // some in fragments
					if to.Cast(t.Context(), make([]byte, size)) != nil {
						return // one of them has left
					}
					time.Sleep(time.Millisecond) // a rate, also in virtual time
				}
			})
		}
	}
	for _, n := range nodes {
		if !eventually(c, func() bool { return n.Counters().Handled > 100 }) {
			t.Fatalf("%s: %+v", n.ID(), n.Counters())
		}
	}
	c.Leave(leaves)
	senders.Wait()
	settledOn(t, c, nodes)
}
