// Package meshtest runs a whole mesh in one process, on virtual time: the real
// nodes of package mesh over a simulated network that can be cut, healed, slowed
// down and made to lose connections, and nodes that crash and come back.
//
//	meshtest.Run(t, meshtest.Seed(t), func(t *testing.T, c *meshtest.Cluster) {
//		a, b := c.Start("a"), c.Start("b")
//		c.WaitForMembers(2)
//		c.Partition([]string{"a"}, []string{"b"})
//		c.Sleep(time.Minute) // no real time passes
//		c.Heal()
//	})
//
// It stands on testing/synctest: [Run] is a bubble, in which time passes when all
// goroutines wait. What the network does by chance comes from the seed; which of
// several goroutines runs first is still the scheduler's choice, so a seed repeats the
// faults and not each interleaving. As in any bubble, a goroutine must not hold a
// mutex while it sleeps, and all that are started must end.
//
// # The network
//
// Each node is a host of its own; its address is its name. A connection is a stream
// of bytes in order, with a latency and a bounded window, as TCP's. In a partition
// nothing is delivered and nothing is lost: what was sent arrives after the heal,
// unless the connection has been given up. A connection that is cut fails on both
// ends, and what was under way on it is lost. A host that crashes resets its
// connections and refuses new ones.
package meshtest
