package main

import (
	"context"
	"maps"
	"math/rand/v2"
	"net"
	"slices"
	"sync"
	"sync/atomic"
)

// cutter is a network whose connections are killed at random: reset, so that what
// was under way on them is lost.
type cutter struct {
	untilCut atomic.Int64 // messages

	mu     sync.Mutex // guards what follows
	random *rand.Rand
	open   map[int]*net.TCPConn // by their order
	made   int
	cuts   int
}

func newCutter(seed uint64) *cutter {
	c := &cutter{random: rand.New(rand.NewPCG(seed, 1)), open: map[int]*net.TCPConn{}}
	c.untilCut.Store(cutEvery)
	return c
}

// sent is told of each message.
func (c *cutter) sent() {
	if c.untilCut.Add(-1) == 0 {
		c.cut()
	}
}

// cut kills a connection, or one time in eight all of them.
func (c *cutter) cut() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.untilCut.Store(1 + c.random.Int64N(2*cutEvery))
	all := slices.Sorted(maps.Keys(c.open))
	if len(all) == 0 {
		return
	}
	if c.random.IntN(8) != 0 {
		i := c.random.IntN(len(all))
		all = all[i : i+1]
	}
	for _, i := range all {
		_ = c.open[i].SetLinger(0) // it may be closed already
		_ = c.open[i].Close()
		delete(c.open, i)
		c.cuts++
	}
}

func (c *cutter) count() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.cuts
}

// Listen is for a mesh.Network.
func (c *cutter) Listen(ctx context.Context, addr string) (net.Listener, error) {
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	return &listener{l, c}, nil
}

// Dial is for a mesh.Network.
func (c *cutter) Dial(ctx context.Context, addr string) (net.Conn, error) {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", addr)
	return c.keep(conn, err)
}

type listener struct {
	net.Listener
	cutter *cutter
}

func (l *listener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	return l.cutter.keep(conn, err)
}

// keep puts a connection among those that may be killed.
func (c *cutter) keep(conn net.Conn, err error) (net.Conn, error) {
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.made++
	c.open[c.made] = conn.(*net.TCPConn)
	return &kept{conn, c, c.made}, nil
}

// kept is a connection that is forgotten when it is closed.
type kept struct {
	net.Conn
	cutter *cutter
	order  int
}

func (k *kept) Close() error {
	k.cutter.mu.Lock()
	delete(k.cutter.open, k.order)
	k.cutter.mu.Unlock()
	return k.Conn.Close()
}
