package mesh

import (
	"context"
	"net"
	"time"
)

// Network is how a node reaches others. The mesh uses TCP; a test may put a
// simulated network in its place. Connections are byte streams in order, as TCP's.
type Network interface {
	// Listen listens on addr, with port 0 on any free one.
	Listen(ctx context.Context, addr string) (net.Listener, error)
	// Dial connects to addr, or fails when ctx ends.
	Dial(ctx context.Context, addr string) (net.Conn, error)
}

// tcp is the real network. Nagle's algorithm is off, as by Go's default: the mesh
// batches by itself. The kernel's keepalive stays on beside the heartbeats.
type tcp struct {
	// buffer bounds what the kernel keeps of a connection in each direction: what is
	// there is in front of a small message, however soon it is written. 0 leaves
	// it to the kernel.
	buffer int
}

const keepAlive = 15 * time.Second

func (n tcp) Listen(ctx context.Context, addr string) (net.Listener, error) {
	lc := net.ListenConfig{KeepAlive: keepAlive}
	l, err := lc.Listen(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	return tcpListener{l, n}, nil
}

func (n tcp) Dial(ctx context.Context, addr string) (net.Conn, error) {
	d := net.Dialer{KeepAlive: keepAlive}
	conn, err := d.DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	return conn, n.tune(conn)
}

type tcpListener struct {
	net.Listener
	net tcp
}

func (l tcpListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return conn, l.net.tune(conn)
}

func (n tcp) tune(conn net.Conn) error {
	c, ok := conn.(*net.TCPConn)
	if !ok || n.buffer <= 0 {
		return nil
	}
	if err := c.SetReadBuffer(n.buffer); err != nil {
		return err
	}
	return c.SetWriteBuffer(n.buffer)
}
