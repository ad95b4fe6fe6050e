package gossip_test

import (
	"errors"
	"fmt"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/memberlist"

	"github.com/pawl-go/pawl/mesh"
	"github.com/pawl-go/pawl/mesh/gossip"
	"github.com/pawl-go/pawl/mesh/meshtest"
)

// air carries gossip between nodes of one test, on virtual time. It counts.
type air struct {
	mu       sync.Mutex
	antennas map[string]*antenna // by address
}

// antenna is one node's transport.
type antenna struct {
	air  *air
	addr *net.UDPAddr

	packets chan *memberlist.Packet
	streams chan net.Conn
	down    chan struct{}
	once    sync.Once
	sent    int // packets and connections
}

var errNobody = errors.New("nobody is there")

func (a *air) raise() *antenna {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.antennas == nil {
		a.antennas = map[string]*antenna{}
	}
	n := &antenna{
		air: a, addr: &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1 + len(a.antennas)},
		packets: make(chan *memberlist.Packet, 1024), streams: make(chan net.Conn), down: make(chan struct{}), // as a socket's buffer
	}
	a.antennas[n.addr.String()] = n
	return n
}

// to finds who is up at an address, and counts.
func (n *antenna) to(addr string) (*antenna, error) {
	n.air.mu.Lock()
	defer n.air.mu.Unlock()
	n.sent++
	other := n.air.antennas[addr]
	if other == nil {
		return nil, errNobody
	}
	select {
	case <-other.down:
		return nil, errNobody
	default:
		return other, nil
	}
}

func (n *antenna) FinalAdvertiseAddr(string, int) (net.IP, int, error) {
	return n.addr.IP, n.addr.Port, nil
}
func (n *antenna) PacketCh() <-chan *memberlist.Packet { return n.packets }
func (n *antenna) StreamCh() <-chan net.Conn           { return n.streams }

func (n *antenna) WriteTo(b []byte, addr string) (time.Time, error) {
	if other, err := n.to(addr); err == nil {
		select {
		case other.packets <- &memberlist.Packet{Buf: b, From: n.addr, Timestamp: time.Now()}:
		default: // lost
		}
	}
	return time.Now(), nil
}

func (n *antenna) DialTimeout(addr string, _ time.Duration) (net.Conn, error) {
	other, err := n.to(addr)
	if err != nil {
		return nil, err
	}
	here, there := net.Pipe()
	select {
	case other.streams <- addressed{there, n.addr}:
		return addressed{here, other.addr}, nil
	case <-other.down:
		return nil, errNobody
	}
}

func (n *antenna) Shutdown() error {
	n.once.Do(func() { close(n.down) })
	return nil
}

// addressed is a pipe that knows where its other end is.
type addressed struct {
	net.Conn
	remote net.Addr
}

func (a addressed) RemoteAddr() net.Addr { return a.remote }

// members makes a membership over the air, with the first node as its seed.
func (a *air) members() (*gossip.Members, *antenna) {
	n := a.raise()
	cfg := gossip.Config{Listen: "127.0.0.1:1", Seeds: []string{"127.0.0.1:1"}, Secret: []byte("secret"), Logger: quiet}
	return gossip.New(gossip.Over(cfg, n)), n
}

// quench stops all nodes and lets end what memberlist has under way; a bubble must
// be left empty.
func quench(c *meshtest.Cluster) {
	for _, id := range c.Names() {
		c.Crash(id)
	}
	c.Sleep(time.Minute)
}

// 50 nodes join at once, each of which knows one: what a node sends grows no faster
// than their number.
func TestFiftyNodesJoin(t *testing.T) {
	traffic := func(t *testing.T, count int) (most int) {
		meshtest.Run(t, meshtest.Seed(t), func(t *testing.T, c *meshtest.Cluster) {
			var a air
			defer quench(c)
			for i := range count {
				c.Start(fmt.Sprintf("n%02d", i), func(cfg *mesh.Config) {
					cfg.Members, _ = a.members()
					cfg.Lanes = 1
					cfg.Timing = mesh.Timing{Heartbeat: 10 * time.Second, Silence: time.Minute} // it is gossip that is measured
				})
			}
			begun := time.Now()
			c.WaitForMembers(count)
			t.Logf("%d nodes know each other after %v", count, time.Since(begun))
			c.Sleep(30*time.Second - time.Since(begun))
			a.mu.Lock()
			defer a.mu.Unlock()
			for _, n := range a.antennas {
				most = max(most, n.sent)
			}
		})
		return most
	}
	ten, fifty := traffic(t, 10), traffic(t, 50)
	t.Logf("most that one node sends in half a minute: %d with 10 nodes, %d with 50", ten, fifty)
	if fifty > 5*ten {
		t.Errorf("%d with 10 nodes, %d with 50: more than linear", ten, fifty)
	}
}

// A node crashes and comes back elsewhere, twenty times: each time it has failed,
// and is a member again, on every other node.
func TestCrashAndReturn(t *testing.T) {
	meshtest.Run(t, meshtest.Seed(t), func(t *testing.T, c *meshtest.Cluster) {
		var a air
		defer quench(c)
		var last *antenna
		join := func(cfg *mesh.Config) { cfg.Members, last = a.members() }
		for i := range 5 {
			c.Start(fmt.Sprint("n", i), join)
		}
		c.WaitForMembers(5)
		for range 20 {
			var views []*mesh.Subscription
			for i := range 4 {
				views = append(views, c.Node(fmt.Sprint("n", i)).Subscribe())
			}
			last.Shutdown()
			c.Crash("n4")
			for _, v := range views {
				await(t, v, "n4", mesh.MemberFailed)
			}
			c.Start("n4", join)
			for _, v := range views {
				await(t, v, "n4", mesh.MemberUp)
				v.Close()
			}
		}
	})
}

// A node leaves: it has left, and has not failed, on each other node; what it sent
// before has all arrived, and none of it is counted as lost.
func TestLeaveLosesNothing(t *testing.T) {
	meshtest.Run(t, meshtest.Seed(t), func(t *testing.T, c *meshtest.Cluster) {
		var a air
		defer quench(c)
		for _, id := range []string{"a", "b", "c"} {
			c.Start(id, func(cfg *mesh.Config) {
				cfg.Members, _ = a.members()
				cfg.Messages = []mesh.MessageType{mesh.Message[string]("text")}
			})
		}
		c.WaitForMembers(3)
		b := c.Node("b")
		views := []*mesh.Subscription{c.Node("a").Subscribe(), c.Node("c").Subscribe()}
		if _, err := mesh.Spawn(c.Node("a"), "sink", func(*mesh.Context, string) error { return nil }); err != nil {
			t.Fatal(err)
		}
		const count = 1000
		sink := mesh.At(b, mesh.Address[string]{Node: "a", Name: "sink"})
		for range count {
			if err := sink.Cast(t.Context(), "x"); err != nil {
				t.Fatal(err)
			}
		}
		c.Leave("b")
		for _, v := range views {
			e, err := v.Next(deadline(t))
			if err != nil || e.Member.ID != "b" || e.Kind != mesh.MemberLeft {
				t.Errorf("%+v, %v", e, err)
			}
			v.Close()
		}
		c.Sleep(time.Second)
		here, there := c.Node("a").Counters(), b.Counters()
		if here.Handled != count || there.Sent != count || there.Dropped[mesh.ReasonLost] != 0 {
			t.Errorf("%d of %d arrive; here %+v, there %+v", here.Handled, count, here, there)
		}
	})
}

func FuzzMeta(f *testing.F) {
	f.Add(gossip.AppendMeta(nil, mesh.Member{Incarnation: 1 << 60, Addr: "10.0.0.5:7400"}))
	f.Add([]byte{1})
	f.Add([]byte{2, 3})
	f.Fuzz(func(t *testing.T, b []byte) {
		inc, addr, err := gossip.ParseMeta(b)
		if err != nil {
			return
		}
		again, same, err := gossip.ParseMeta(gossip.AppendMeta(nil, mesh.Member{Incarnation: inc, Addr: addr}))
		if err != nil || again != inc || same != addr {
			t.Errorf("%d at %q is read as %d at %q, %v", inc, addr, again, same, err)
		}
	})
}
