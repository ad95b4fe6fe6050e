package meshtest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"sync"
	"syscall"
	"time"
)

// network is what is between the hosts.
type network struct {
	mu        sync.Mutex // guards what follows; taken after a pair's
	rand      *rand.Rand
	low, high time.Duration  // of latency
	group     map[string]int // who is cut off from whom; nil: nobody
	listeners map[string]*listener
	traffic   map[string]*Traffic
	pairs     []*pair // those that are open, in the order they were made
}

// Traffic is what a node has sent.
type Traffic struct {
	Writes int // pieces handed to the network
	Bytes  int
	Dials  int
}

func newNetwork(seed uint64) *network {
	return &network{
		rand: rand.New(rand.NewPCG(seed, 0)), low: 500 * time.Microsecond, high: 2 * time.Millisecond,
		listeners: map[string]*listener{}, traffic: map[string]*Traffic{},
	}
}

// arrival is when something that is sent now arrives, after what was sent before.
func (n *network) arrival(last time.Time) time.Time {
	n.mu.Lock()
	defer n.mu.Unlock()
	at := time.Now().Add(n.latency())
	if at.Before(last) {
		return last
	}
	return at
}

// latency is one by chance; n.mu is held.
func (n *network) latency() time.Duration {
	return n.low + time.Duration(n.rand.Int64N(int64(n.high-n.low)+1))
}

func (n *network) connected(a, b string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.group == nil || n.group[a] == n.group[b]
}

func (n *network) count(host string, size int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	t := n.of(host)
	t.Writes++
	t.Bytes += size
}

func (n *network) of(host string) *Traffic {
	if n.traffic[host] == nil {
		n.traffic[host] = &Traffic{}
	}
	return n.traffic[host]
}

// open returns the connections for which f holds; f takes no mutex.
func (n *network) open(f func(p *pair) bool) []*pair {
	n.mu.Lock()
	defer n.mu.Unlock()
	var all []*pair
	for _, p := range n.pairs {
		if f(p) {
			all = append(all, p)
		}
	}
	return all
}

func (n *network) forget(p *pair) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for i, other := range n.pairs {
		if other == p {
			n.pairs = append(n.pairs[:i], n.pairs[i+1:]...)
			return
		}
	}
}

// regroup changes who is connected to whom, and has everybody look again.
func (n *network) regroup(group map[string]int) {
	n.mu.Lock()
	n.group = group
	n.mu.Unlock()
	for _, p := range n.open(func(*pair) bool { return true }) {
		p.mu.Lock()
		p.move()
		p.mu.Unlock()
	}
}

// host is the network as one node sees it, until the node crashes.
type host struct {
	net  *network
	name string

	mu      sync.Mutex
	crashed bool
}

func (h *host) dead() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.crashed
}

// crash resets the host's connections; nothing reaches or leaves it any more.
func (h *host) crash() {
	h.mu.Lock()
	h.crashed = true
	h.mu.Unlock()
	h.net.mu.Lock()
	l := h.net.listeners[h.name]
	delete(h.net.listeners, h.name)
	h.net.mu.Unlock()
	if l != nil {
		_ = l.Close() // it cannot fail
	}
	for _, p := range h.net.open(func(p *pair) bool { return p.has(h.name) }) {
		p.fail()
	}
}

func (p *pair) has(name string) bool { return p.ends[0].host == name || p.ends[1].host == name }

// Listen implements mesh.Network. Whatever the address, it is the host's.
func (h *host) Listen(_ context.Context, _ string) (net.Listener, error) {
	if h.dead() {
		return nil, syscall.ENETDOWN
	}
	h.net.mu.Lock()
	defer h.net.mu.Unlock()
	if h.net.listeners[h.name] != nil {
		return nil, syscall.EADDRINUSE
	}
	l := &listener{net: h.net, host: h.name, conns: make(chan net.Conn), closed: make(chan struct{})}
	h.net.listeners[h.name] = l
	return l, nil
}

// Dial implements mesh.Network. Across a partition it waits until ctx ends.
func (h *host) Dial(ctx context.Context, addr string) (net.Conn, error) {
	if h.dead() {
		return nil, syscall.ENETDOWN
	}
	h.net.mu.Lock()
	h.net.of(h.name).Dials++
	wait := 2 * h.net.latency()
	h.net.mu.Unlock()
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if !h.net.connected(h.name, addr) {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	h.net.mu.Lock()
	l := h.net.listeners[addr]
	h.net.mu.Unlock()
	if l == nil {
		return nil, fmt.Errorf("dial %s: %w", addr, syscall.ECONNREFUSED)
	}
	p := newPair(h.net, h.name, addr)
	h.net.mu.Lock()
	h.net.pairs = append(h.net.pairs, p)
	h.net.mu.Unlock()
	select {
	case l.conns <- &p.ends[1]:
		if h.dead() {
			p.fail()
		}
		return &p.ends[0], nil
	case <-l.closed:
		h.net.forget(p)
		return nil, fmt.Errorf("dial %s: %w", addr, syscall.ECONNREFUSED)
	case <-ctx.Done():
		h.net.forget(p)
		return nil, ctx.Err()
	}
}

// listener takes connections to one host.
type listener struct {
	net    *network
	host   string
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func (l *listener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *listener) Close() error {
	l.once.Do(func() {
		close(l.closed)
		l.net.mu.Lock()
		defer l.net.mu.Unlock()
		if l.net.listeners[l.host] == l {
			delete(l.net.listeners, l.host)
		}
	})
	return nil
}

func (l *listener) Addr() net.Addr { return hostAddr(l.host) }
