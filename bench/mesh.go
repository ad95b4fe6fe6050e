package bench

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"sync"
	"time"

	"github.com/pawl-go/pawl/bench/measure"
	"github.com/pawl-go/pawl/bench/messages"
	"github.com/pawl-go/pawl/mesh"
)

// MeshOptions are the options of Mesh. Zero fields take the default.
type MeshOptions struct {
	Start    Starter       // required
	Duration time.Duration // of each job with each system; default 2 s
	// Progress is told what is measured now and how far it is, from 0 to 1.
	Progress func(what string, done float64, ops int64)
}

// Mesh measures messages between actors of package mesh, in this process and to a
// second one over loopback, beside a Go channel and bare TCP.
func Mesh(ctx context.Context, o MeshOptions) (*messages.Report, error) {
	if o.Start == nil {
		return nil, fmt.Errorf("bench mesh: MeshOptions.Start is missing")
	}
	if o.Duration <= 0 {
		o.Duration = 2 * time.Second
	}
	if o.Progress == nil {
		o.Progress = func(string, float64, int64) {}
	}
	r, err := benchMesh(ctx, &o)
	if err != nil {
		return nil, fmt.Errorf("bench mesh: %w", err)
	}
	return r, nil
}

func benchMesh(ctx context.Context, o *MeshOptions) (*messages.Report, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	other, err := startMeshChild(ctx, o.Start)
	if err != nil {
		return nil, err
	}
	defer other.kill()
	pawl, err := newMeshSystem(ctx, other)
	if err != nil {
		return nil, err
	}
	defer pawl.node.Close()
	bare, err := messages.DialTCP(other.addrs[1], other.cpu)
	if err != nil {
		return nil, err
	}
	defer bare.Close()
	channel := messages.NewChannel()
	defer channel.Close()
	return messages.Run(ctx, []messages.System{pawl, bare, channel}, o.Duration, o.Progress)
}

// meshSystem is package mesh as a messages.System.
type meshSystem struct {
	node   *mesh.Node
	other  *meshChild
	actors [3]*mesh.Ref[[]byte] // by place
}

func newMeshSystem(ctx context.Context, other *meshChild) (*meshSystem, error) {
	node, err := startMeshNode("here", mesh.Peer{ID: "there", Addr: other.addrs[0]})
	if err != nil {
		return nil, err
	}
	if err := node.WaitForMembers(ctx, 2); err != nil {
		node.Close()
		return nil, err
	}
	s := &meshSystem{node: node, other: other}
	for place, node := range []string{messages.Here: "here", messages.There: "there", messages.Large: "there"} {
		s.actors[place] = mesh.At(s.node, mesh.Address[[]byte]{Node: node, Name: meshActor(messages.Place(place))})
	}
	return s, nil
}

// startMeshNode starts a node with an actor for each place.
func startMeshNode(id string, peers ...mesh.Peer) (*mesh.Node, error) {
	node, err := mesh.Start(mesh.Config{
		ID: id, Listen: "127.0.0.1:0", Members: mesh.Static(peers...), Logger: slog.New(slog.DiscardHandler),
		Messages: []mesh.MessageType{mesh.Message[[]byte]("bytes")},
	})
	if err != nil {
		return nil, err
	}
	for place := messages.Here; place <= messages.Large; place++ {
		var told uint64
		_, err := mesh.Spawn(node, meshActor(place), func(c *mesh.Context, m []byte) error {
			if !c.IsCall() {
				told++
				return nil
			}
			return c.Reply(messages.Answer(m, told))
		}, mesh.Quick())
		if err != nil {
			node.Close()
			return nil, err
		}
	}
	return node, nil
}

// meshActor names an actor, which decides about its lane.
func meshActor(p messages.Place) string { return fmt.Sprint("actor", int(p)) }

// Name is that in the report.
func (s *meshSystem) Name() string { return "pawl mesh" }

// CPU is that of the other process.
func (s *meshSystem) CPU() time.Duration { return s.other.cpu() }

// Teller has all places.
func (s *meshSystem) Teller(p messages.Place) func([]byte) error {
	ctx, to := context.Background(), s.actors[p]
	return func(m []byte) error { return to.Cast(ctx, m) }
}

// Asker has all places.
func (s *meshSystem) Asker(p messages.Place) func([]byte) ([]byte, error) {
	ctx, to := context.Background(), s.actors[p]
	return func(m []byte) ([]byte, error) { return mesh.Call[[]byte](ctx, to, m) }
}

// meshChild is the other process: a node and a bare server.
type meshChild struct {
	*process
	addrs []string
	in    io.Writer

	mu   sync.Mutex
	last time.Duration
}

func startMeshChild(ctx context.Context, start Starter) (c *meshChild, err error) {
	c = &meshChild{}
	c.process, err = Starter(func(ctx context.Context, argument string) (cmd *exec.Cmd) {
		cmd = start(ctx, argument)
		c.in, err = cmd.StdinPipe()
		return cmd
	}).start(ctx, job{Do: "mesh"})
	if err != nil {
		return nil, err
	}
	l, ok, err := c.next()
	if err != nil || !ok || len(l.Addrs) != 2 {
		c.kill()
		return nil, fmt.Errorf("the other process does not say where it is: %w", err)
	}
	c.addrs = l.Addrs
	return c, nil
}

// cpu asks the other process for its processor time.
func (c *meshChild) cpu() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, err := io.WriteString(c.in, "\n"); err == nil {
		if l, ok, err := c.next(); ok && err == nil {
			c.last = l.CPU
		}
	}
	return c.last
}

// serveMesh is the other process. Each line it reads asks for its processor time; it
// ends with its input.
func serveMesh(_ context.Context, say func(line)) error {
	node, err := startMeshNode("there")
	if err != nil {
		return err
	}
	defer node.Close()
	var lc net.ListenConfig
	bare, err := lc.Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	defer bare.Close()
	go messages.ServeTCP(bare)
	say(line{Addrs: []string{node.Addr(), bare.Addr().String()}})
	for s := bufio.NewScanner(os.Stdin); s.Scan(); {
		say(line{CPU: measure.CPU()})
	}
	return nil
}
