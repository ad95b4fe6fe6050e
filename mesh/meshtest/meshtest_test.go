package meshtest_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/pawl-go/pawl/mesh"
	"github.com/pawl-go/pawl/mesh/meshtest"
)

func configure(cfg *mesh.Config) { cfg.Messages = []mesh.MessageType{mesh.Message[string]("string")} }

func echo(c *mesh.Context, m string) error { return c.Reply(m) }

// start starts a and b, with an actor echo on b, and returns a's reference to it.
func start(t *testing.T, c *meshtest.Cluster) *mesh.Ref[string] {
	t.Helper()
	c.Configure = configure
	a, b := c.Start("a"), c.Start("b")
	c.WaitForMembers(2)
	if _, err := mesh.Spawn(b, "echo", echo); err != nil {
		t.Fatal(err)
	}
	return mesh.At(a, mesh.Address[string]{Node: "b", Name: "echo"})
}

func TestLatencyIsVirtual(t *testing.T) {
	meshtest.Run(t, meshtest.Seed(t), func(t *testing.T, c *meshtest.Cluster) {
		to := start(t, c)
		c.Latency(time.Second, time.Second)
		begun := time.Now()
		if got, err := mesh.Call[string](t.Context(), to, "x"); err != nil || got != "x" {
			t.Fatal(got, err)
		}
		if took := time.Since(begun); took != 2*time.Second {
			t.Errorf("a call took %v, want 2s", took)
		}
	})
}

// A short partition delays, a long one ends links; both heal.
func TestPartitionAndHeal(t *testing.T) {
	meshtest.Run(t, meshtest.Seed(t), func(t *testing.T, c *meshtest.Cluster) {
		to := start(t, c)
		c.Partition([]string{"a"}, []string{"b"})
		reply := make(chan error)
		go func() { _, err := mesh.Call[string](t.Context(), to, "x"); reply <- err }()
		c.Sleep(time.Second)
		c.Heal()
		if err := <-reply; err != nil {
			t.Errorf("a call across a partition of a second: %v", err)
		}
		c.Partition([]string{"a"}, []string{"b"})
		go func() { _, err := mesh.Call[string](t.Context(), to, "x"); reply <- err }()
		begun := time.Now()
		if err := <-reply; !errors.Is(err, mesh.ReplyDisconnected) {
			t.Errorf("a call across a partition: %v", err)
		}
		if took := time.Since(begun); took > 4*time.Second {
			t.Errorf("it took %v to notice, want 3 to 4 s", took)
		}
		c.Heal()
		c.WaitForMembers(2)
		if _, err := mesh.Call[string](t.Context(), to, "x"); err != nil {
			t.Errorf("after the heal: %v", err)
		}
	})
}

func TestCrashAndRestart(t *testing.T) {
	meshtest.Run(t, meshtest.Seed(t), func(t *testing.T, c *meshtest.Cluster) {
		to := start(t, c)
		old := c.Node("b").Incarnation()
		c.Crash("b")
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := mesh.Call[string](ctx, to, "x"); err == nil {
			t.Error("a crashed node answers")
		}
		b := c.Start("b")
		if b.Incarnation() <= old {
			t.Errorf("incarnation %d after %d", b.Incarnation(), old)
		}
		c.WaitForMembers(2)
		if _, err := mesh.Spawn(b, "echo", echo); err != nil {
			t.Fatal(err)
		}
		if _, err := mesh.Call[string](t.Context(), to, "x"); err != nil {
			t.Errorf("the old address on the new node: %v", err)
		}
	})
}

func TestCutAll(t *testing.T) {
	meshtest.Run(t, meshtest.Seed(t), func(t *testing.T, c *meshtest.Cluster) {
		to := start(t, c)
		if n := c.CutAll("a", "b"); n != 5 {
			t.Errorf("%d connections, want a control stream and 4 lanes", n)
		}
		c.Sleep(100 * time.Millisecond)
		c.WaitForMembers(2)
		if _, err := mesh.Call[string](t.Context(), to, "x"); err != nil {
			t.Error(err)
		}
		if c.Cut("a", "nobody") {
			t.Error("there is a connection to nobody")
		}
	})
}
