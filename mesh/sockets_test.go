package mesh_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"maps"
	"math/rand/v2"
	"net"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/pawl-go/pawl/mesh"
	"github.com/pawl-go/pawl/mesh/meshtest"
)

// cluster is what the suites need of the nodes they run on: a meshtest.Cluster, or
// the same over real sockets.
type cluster interface {
	Start(id string, configure ...func(*mesh.Config)) *mesh.Node
	Node(id string) *mesh.Node
	Names() []string
	WaitForMembers(count int)
	Crash(id string)
	Leave(id string)
	Cut(a, b string) bool
	CutAll(a, b string) int
	Partition(groups ...[]string)
	Heal()
	Sleep(d time.Duration)
}

// everywhere runs f in a simulated world, and in one of loopback sockets.
func everywhere(t *testing.T, f func(t *testing.T, w *world)) {
	t.Helper()
	t.Run("simulated", func(t *testing.T) { simulate(t, f) })
	t.Run("sockets", func(t *testing.T) {
		c := newSockets(t, messages)
		w := &world{cluster: c, t: t, a: c.Start("a"), b: c.Start("b")}
		c.WaitForMembers(2)
		f(t, w)
	})
}

// eventually waits until is is true: a minute of virtual time at most, or of real time.
func eventually(c cluster, is func() bool) bool {
	step := time.Second
	if _, ok := c.(*sockets); ok {
		step = 10 * time.Millisecond
	}
	for waited := time.Duration(0); waited < time.Minute; waited += step {
		if is() {
			return true
		}
		c.Sleep(step)
	}
	return is()
}

// sockets are nodes in this process that reach each other by the real network.
type sockets struct {
	t         *testing.T
	rand      *rand.Rand
	configure func(*mesh.Config)
	closing   sync.WaitGroup

	mu    sync.Mutex // guards what follows
	nodes map[string]*mesh.Node
	hosts map[string]*socketHost
	names map[string]string // of hosts, by address
	open  []*socket
	held  chan struct{} // while the network is cut: closed when it is whole again
	quota int           // so many bytes more are let through, and it is cut again; 0: all
}

func newSockets(t *testing.T, configure func(*mesh.Config)) *sockets {
	c := &sockets{
		t: t, rand: rand.New(rand.NewPCG(meshtest.Seed(t), 1)), configure: configure,
		nodes: map[string]*mesh.Node{}, hosts: map[string]*socketHost{}, names: map[string]string{},
	}
	t.Cleanup(func() {
		c.Heal()
		for _, id := range c.Names() {
			c.closing.Go(c.Node(id).Close)
		}
		c.closing.Wait()
	})
	return c
}

func (c *sockets) Start(id string, configure ...func(*mesh.Config)) *mesh.Node {
	c.t.Helper()
	h := &socketHost{Network: mesh.TCP(), in: c, name: id}
	cfg := mesh.Config{
		ID: id, Listen: "127.0.0.1:0", Network: h, Logger: slog.New(slog.NewTextHandler(io.Discard, nil)),
		// A busy machine is not silence, and nobody on it has failed.
		Timing: mesh.Timing{
			RedialMin: 10 * time.Millisecond, RedialMax: 200 * time.Millisecond, Silence: 10 * time.Second, FailAfter: time.Hour,
		},
	}
	var peers []mesh.Peer
	for _, other := range c.Names() {
		peers = append(peers, mesh.Peer{ID: other, Addr: c.Node(other).Addr()})
	}
	cfg.Members = mesh.Static(peers...)
	for _, f := range append([]func(*mesh.Config){c.configure}, configure...) {
		f(&cfg)
	}
	n, err := mesh.Start(cfg)
	if err != nil {
		c.t.Fatalf("start %s: %v", id, err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.nodes[id], c.hosts[id], c.names[n.Addr()] = n, h, id
	return n
}

func (c *sockets) Node(id string) *mesh.Node {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.nodes[id]
}

func (c *sockets) Names() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Sorted(maps.Keys(c.nodes))
}

func (c *sockets) WaitForMembers(count int) {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), time.Minute)
	defer cancel()
	for _, id := range c.Names() {
		if err := c.Node(id).WaitForMembers(ctx, count); err != nil {
			c.t.Fatalf("%s: %v", id, err)
		}
	}
}

func (c *sockets) Leave(id string) {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), time.Minute)
	defer cancel()
	c.mu.Lock()
	n := c.nodes[id]
	c.forget(id)
	c.mu.Unlock()
	if err := n.Leave(ctx); err != nil {
		c.t.Fatalf("%s: %v", id, err)
	}
}

// Crash resets a node's connections and closes its port, before the node can say a word.
func (c *sockets) Crash(id string) {
	c.mu.Lock()
	n, h := c.nodes[id], c.hosts[id]
	c.forget(id)
	h.dead = true
	open := slices.Clone(c.open)
	listener := h.listener
	c.mu.Unlock()
	_ = listener.Close()
	for _, s := range open {
		if s.from == id || s.to == id {
			s.reset()
		}
	}
	c.closing.Go(n.Close)
}

// forget takes a node out; c.mu is held.
func (c *sockets) forget(id string) {
	delete(c.names, c.nodes[id].Addr())
	delete(c.nodes, id)
	delete(c.hosts, id)
}

func (c *sockets) Cut(a, b string) bool {
	open := c.between(a, b)
	if len(open) == 0 {
		return false
	}
	open[c.rand.IntN(len(open))].reset()
	return true
}

func (c *sockets) CutAll(a, b string) int {
	open := c.between(a, b)
	for _, s := range open {
		s.reset()
	}
	return len(open)
}

// between returns the connections of two nodes, by the side that has dialled.
func (c *sockets) between(a, b string) (open []*socket) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.open {
		if s.from == a && s.to == b || s.from == b && s.to == a {
			open = append(open, s)
		}
	}
	return open
}

// Partition lets nothing through, to nobody; it knows no groups.
func (c *sockets) Partition(...[]string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.held == nil {
		c.held = make(chan struct{})
	}
}

func (c *sockets) Heal() { c.healFor(0) }

// healFor lets so many bytes through, the last read whole, and then nothing; 0: all.
func (c *sockets) healFor(quota int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.quota = quota
	if c.held != nil {
		close(c.held)
		c.held = nil
	}
}

// loseUnnoticed makes all connections of a node fail whose other end does not notice:
// its readers are slow to look.
func (c *sockets) loseUnnoticed(id string) {
	c.mu.Lock()
	open := slices.Clone(c.open)
	for _, s := range open {
		s.stalled = s.from != id
	}
	c.mu.Unlock()
	for _, s := range open {
		if s.from == id {
			s.reset()
		}
	}
}

// Sleep is for who breaks things at random, or looks again and again.
func (c *sockets) Sleep(d time.Duration) { time.Sleep(d) }

// socketHost is the network as one node has it.
type socketHost struct {
	mesh.Network
	in       *sockets
	name     string
	listener net.Listener
	dead     bool // guarded by in.mu
}

func (h *socketHost) Listen(ctx context.Context, addr string) (net.Listener, error) {
	l, err := h.Network.Listen(ctx, addr)
	if err != nil {
		return nil, err
	}
	h.listener = socketListener{l, h}
	return h.listener, nil
}

func (h *socketHost) Dial(ctx context.Context, addr string) (net.Conn, error) {
	conn, err := h.Network.Dial(ctx, addr)
	if err != nil {
		return nil, err
	}
	return h.keep(conn, addr)
}

// keep notes a connection; addr is whom it was dialled to.
func (h *socketHost) keep(conn net.Conn, addr string) (net.Conn, error) {
	c := h.in
	c.mu.Lock()
	defer c.mu.Unlock()
	s := &socket{Conn: conn, in: c, from: h.name, closed: make(chan struct{})}
	if addr != "" {
		s.to = c.names[addr]
	}
	if h.dead {
		_ = conn.Close()
		return nil, net.ErrClosed
	}
	c.open = append(c.open, s)
	return s, nil
}

type socketListener struct {
	net.Listener
	host *socketHost
}

func (l socketListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return l.host.keep(conn, "")
}

// socket is a connection whose reader gets nothing while the network is cut, so
// that the kernel's buffers fill and the writer is stuck.
type socket struct {
	net.Conn
	in       *sockets
	from, to string
	once     sync.Once
	closed   chan struct{}
	stalled  bool // its reader gets nothing any more; guarded by in.mu
}

func (s *socket) Read(b []byte) (int, error) {
	n, err := s.Conn.Read(b)
	for {
		held := s.holds(n)
		if held == nil {
			return n, err
		}
		select {
		case <-held:
		case <-s.closed:
			return 0, net.ErrClosed
		}
	}
}

// holds says what a reader of n bytes waits for, if it does.
func (s *socket) holds(n int) <-chan struct{} {
	c := s.in
	c.mu.Lock()
	defer c.mu.Unlock()
	if s.stalled {
		return make(chan struct{})
	}
	if c.held == nil && c.quota > 0 {
		if c.quota -= n; c.quota <= 0 {
			c.quota, c.held = 0, make(chan struct{}) // the next one waits
			return nil
		}
	}
	return c.held
}

// SyscallConn lets a node write to the socket itself.
func (s *socket) SyscallConn() (syscall.RawConn, error) {
	c, ok := s.Conn.(syscall.Conn)
	if !ok {
		return nil, errors.ErrUnsupported
	}
	return c.SyscallConn()
}

func (s *socket) Close() error {
	s.once.Do(func() {
		close(s.closed)
		s.in.mu.Lock()
		defer s.in.mu.Unlock()
		s.in.open = slices.DeleteFunc(s.in.open, func(o *socket) bool { return o == s })
	})
	return s.Conn.Close()
}

// reset closes the connection as a crash does: what is under way is lost.
func (s *socket) reset() {
	if c, ok := s.Conn.(*net.TCPConn); ok {
		_ = c.SetLinger(0) // it fails if it is closed already
	}
	_ = s.Close()
}

// A peer that has lost its link, and dials again before this side has noticed, is told
// what has arrived by that link: none of it is counted as lost.
func TestLinkLostUnnoticed(t *testing.T) {
	c := newSockets(t, func(cfg *mesh.Config) {
		messages(cfg)
		cfg.Timing.Heartbeat, cfg.Timing.Silence = time.Minute, time.Hour // no acknowledgement on the way
	})
	a, b := c.Start("a"), c.Start("b") // b dials
	c.WaitForMembers(2)
	spawn(t, a, "sink", ignore[number])
	to := mesh.At(b, mesh.Address[number]{Node: "a", Name: "sink"})
	const count = 10
	for i := range count {
		if err := to.Cast(t.Context(), number{i}); err != nil {
			t.Fatal(err)
		}
	}
	if !eventually(c, func() bool { return a.Counters().Handled == count }) {
		t.Fatalf("%+v", a.Counters())
	}
	c.loseUnnoticed("b")
	asked := 0
	if !eventually(c, func() bool {
		asked++
		_, err := mesh.Call[any](t.Context(), to.WithTimeout(time.Second), number{})
		return errors.Is(err, mesh.RemoteNoReply) // it is linked again
	}) {
		t.Fatal("it is not linked again")
	}
	if lost := b.Counters().Dropped[mesh.ReasonLost]; lost > uint64(asked) {
		t.Errorf("%d of %d that have arrived are counted as lost", lost, count)
	}
	settled(t, c)
}
