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
type tcp struct{}

func (tcp) Listen(ctx context.Context, addr string) (net.Listener, error) {
	lc := net.ListenConfig{KeepAlive: 15 * time.Second}
	return lc.Listen(ctx, "tcp", addr)
}

func (tcp) Dial(ctx context.Context, addr string) (net.Conn, error) {
	d := net.Dialer{KeepAlive: 15 * time.Second}
	return d.DialContext(ctx, "tcp", addr)
}
