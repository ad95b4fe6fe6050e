package meshtest

import (
	"context"
	"io"
	"log/slog"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pawl-go/pawl/mesh"
)

// Cluster is some nodes and the network between them. Its methods are for the
// goroutine of the test.
type Cluster struct {
	// Rand is seeded as the network is: for a test's own choices.
	Rand *rand.Rand
	// Configure, if set, changes each node's configuration before it starts.
	Configure func(*mesh.Config)

	t       *testing.T
	net     *network
	nodes   map[string]*mesh.Node
	hosts   map[string]*host
	skew    map[string]time.Duration
	closing sync.WaitGroup
}

// Seed returns a seed by chance, and prints it if the test fails.
func Seed(t *testing.T) uint64 {
	seed := rand.Uint64()
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("seed %d", seed)
		}
	})
	return seed
}

// Run runs f on virtual time. When f returns, all nodes are closed.
func Run(t *testing.T, seed uint64, f func(t *testing.T, c *Cluster)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		c := &Cluster{
			Rand: rand.New(rand.NewPCG(seed, 1)), t: t, net: newNetwork(seed),
			nodes: map[string]*mesh.Node{}, hosts: map[string]*host{}, skew: map[string]time.Duration{},
		}
		defer c.close()
		f(t, c)
	})
}

func (c *Cluster) close() {
	c.net.regroup(nil)
	for _, n := range c.nodes {
		c.closing.Go(n.Close)
	}
	c.closing.Wait()
}

// Start starts a node that knows all nodes started before it. Its configuration is
// the default one, then Cluster.Configure, then configure. A name that has
// been started before is a new incarnation on the same address; the one before it must have
// crashed, left or been closed.
func (c *Cluster) Start(id string, configure ...func(*mesh.Config)) *mesh.Node {
	c.t.Helper()
	h := &host{net: c.net, name: id}
	cfg := mesh.Config{
		ID: id, Listen: id, Network: h, Logger: slog.New(slog.NewTextHandler(io.Discard, nil)),
		Now: func() time.Time { return time.Now().Add(c.skew[id]) }, // read when the node starts
	}
	var peers []mesh.Peer
	for _, other := range c.Names() {
		peers = append(peers, mesh.Peer{ID: other, Addr: other})
	}
	cfg.Members = mesh.Static(peers...)
	if c.Configure != nil {
		c.Configure(&cfg)
	}
	for _, f := range configure {
		f(&cfg)
	}
	time.Sleep(time.Microsecond) // so that no two incarnations are of one instant
	n, err := mesh.Start(cfg)
	if err != nil {
		c.t.Fatalf("start %s: %v", id, err)
	}
	c.nodes[id], c.hosts[id] = n, h
	return n
}

// Node returns the node of a name that was started last.
func (c *Cluster) Node(id string) *mesh.Node { return c.nodes[id] }

// Names returns the names of the nodes that run, in order.
func (c *Cluster) Names() []string { return slices.Sorted(maps.Keys(c.nodes)) }

// Crash kills a node as kill -9 would: its connections are reset, and nothing of
// it is heard any more. Its handlers end in the background.
func (c *Cluster) Crash(id string) {
	n := c.nodes[id]
	delete(c.nodes, id)
	c.hosts[id].crash()
	c.closing.Go(n.Close)
}

// Sleep lets virtual time pass, and what is due in it happen.
func (c *Cluster) Sleep(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// Leave has a node leave in good order; a minute of virtual time at most.
func (c *Cluster) Leave(id string) {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), time.Minute)
	defer cancel()
	n := c.nodes[id]
	delete(c.nodes, id)
	if err := n.Leave(ctx); err != nil {
		c.t.Fatalf("%s: %v", id, err)
	}
}

// Partition cuts the network into groups. A node in no group is alone.
func (c *Cluster) Partition(groups ...[]string) {
	group := map[string]int{}
	for i, name := range c.Names() {
		group[name] = -1 - i
	}
	for i, names := range groups {
		for _, name := range names {
			group[name] = i + 1
		}
	}
	c.net.regroup(group)
}

// Heal ends the partition.
func (c *Cluster) Heal() { c.net.regroup(nil) }

// Latency sets how long what is sent is under way, at least and at most: 0.5 ms
// and 2 ms at first.
func (c *Cluster) Latency(low, high time.Duration) {
	c.net.mu.Lock()
	defer c.net.mu.Unlock()
	c.net.low, c.net.high = low, max(low, high)
}

// Cut makes one connection between two nodes fail, by chance which. What was under
// way on it is lost. It reports whether there was any.
func (c *Cluster) Cut(a, b string) bool {
	open := c.between(a, b)
	if len(open) == 0 {
		return false
	}
	open[c.Rand.IntN(len(open))].fail()
	return true
}

// CutAll makes all connections between two nodes fail, and returns how many.
func (c *Cluster) CutAll(a, b string) int {
	open := c.between(a, b)
	for _, p := range open {
		p.fail()
	}
	return len(open)
}

func (c *Cluster) between(a, b string) []*pair {
	all := c.net.open(func(p *pair) bool { return a != b && p.has(a) && p.has(b) })
	return slices.DeleteFunc(all, func(p *pair) bool { // not under the network's mutex
		p.mu.Lock()
		defer p.mu.Unlock()
		return p.reset != nil
	})
}

// SetClock moves a node's wall clock by d from the cluster's; it counts when the
// node starts.
func (c *Cluster) SetClock(id string, d time.Duration) { c.skew[id] = d }

// Traffic returns what a node has sent so far, in all its incarnations.
func (c *Cluster) Traffic(id string) Traffic {
	c.net.mu.Lock()
	defer c.net.mu.Unlock()
	return *c.net.of(id)
}

// WaitForMembers waits until each node that runs has count members; a minute of
// virtual time at most.
func (c *Cluster) WaitForMembers(count int) {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), time.Minute)
	defer cancel()
	for _, id := range c.Names() {
		if err := c.nodes[id].WaitForMembers(ctx, count); err != nil {
			c.t.Fatalf("%s: %v", id, err)
		}
	}
}
