package meshtest_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/pawl-go/pawl/mesh"
	"github.com/pawl-go/pawl/mesh/meshtest"
)

// A test of what a program does when its peer is cut off.
func ExampleRun() {
	test := func(t *testing.T) { // func TestCutOff(t *testing.T)
		meshtest.Run(t, meshtest.Seed(t), func(t *testing.T, c *meshtest.Cluster) {
			c.Configure = func(cfg *mesh.Config) {
				cfg.Messages = []mesh.MessageType{mesh.Message[string]("text")}
			}
			a, b := c.Start("a"), c.Start("b")
			c.WaitForMembers(2)
			if _, err := mesh.Spawn(b, "echo", func(c *mesh.Context, m string) error { return c.Reply(m) }); err != nil {
				t.Fatal(err)
			}
			c.Partition([]string{"a"}, []string{"b"})
			echo := mesh.At(a, mesh.Address[string]{Node: "b", Name: "echo"})
			begun := time.Now()
			_, err := mesh.Call[string](context.Background(), echo, "hello")
			if !errors.Is(err, mesh.ReplyDisconnected) || time.Since(begun) > 4*time.Second {
				t.Error(err, time.Since(begun)) // seconds of virtual time
			}
			c.Heal()
			c.WaitForMembers(2)
			if _, err := mesh.Call[string](context.Background(), echo, "hello"); err != nil {
				t.Error(err)
			}
		})
	}
	_ = test // go test runs it
}
