package main

import (
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pawl-go/pawl/mesh"
	"github.com/pawl-go/pawl/mesh/meshtest"
)

// paper is a terminal that keeps what it shows.
type paper struct {
	mu    sync.Mutex
	lines []string
}

func (p *paper) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	line, _, _ := strings.Cut(string(b), ":")
	p.lines = append(p.lines, strings.TrimSpace(line))
	return len(b), nil
}

// A connection that breaks and is made again, before anybody is taken for unreachable,
// ends no watch: bob is gone and there again, and that he leaves is told as such.
func TestWatchedAgain(t *testing.T) {
	meshtest.Run(t, meshtest.Seed(t), func(t *testing.T, c *meshtest.Cluster) {
		c.Configure = func(cfg *mesh.Config) { cfg.Messages = []mesh.MessageType{mesh.Message[line]("chat.line")} }
		seen := &paper{}
		ann := &person{node: c.Start("ann"), out: seen}
		bob := &person{node: c.Start("bob"), out: &paper{}}
		go ann.meet(t.Context())
		c.WaitForMembers(2)
		c.Sleep(time.Second) // nobody listens at bob's yet
		if err := bob.listen(); err != nil {
			t.Fatal(err)
		}
		c.Sleep(time.Second)
		c.CutAll("ann", "bob")
		c.Sleep(time.Second)
		c.Leave("bob")
		c.Sleep(time.Second)
		want := []string{"* bob is here", "* bob is gone", "* bob is here", "* bob has left"}
		seen.mu.Lock()
		defer seen.mu.Unlock()
		if !slices.Equal(seen.lines, want) {
			t.Errorf("%q, want %q", seen.lines, want)
		}
	})
}
