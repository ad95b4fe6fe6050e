package mesh

import (
	"fmt"
	"net"
	"syscall"
)

// direct writes to a connection without waiting, from the goroutine of whoever
// sends: a call or a reply that is alone on its lane has nobody to share a write
// with, and a goroutine to write it would only have to be woken. Whoever has set
// stream.flushing may use it.
type direct struct {
	raw   syscall.RawConn
	write func(fd uintptr) bool // made once
	frame []byte                // to be written
	n     int                   // bytes of it that are
	err   error
}

// newDirect returns nil for a connection that is no socket itself: TLS, or a simulated
// one.
func newDirect(conn net.Conn) *direct {
	c, ok := conn.(syscall.Conn)
	if !ok {
		return nil
	}
	raw, err := c.SyscallConn()
	if err != nil {
		return nil // closed already: its reader will say so
	}
	d := &direct{raw: raw}
	d.write = func(fd uintptr) bool {
		d.n, d.err = writeNow(fd, d.frame)
		return true // however much it was
	}
	return d
}

// try writes as much of a frame as there is room for.
func (d *direct) try(frame []byte) (n int, err error) {
	d.frame, d.n, d.err = frame, 0, nil
	err = d.raw.Write(d.write)
	d.frame = nil
	if err == nil {
		err = d.err
	}
	return d.n, err
}

// beginDirect reports whether a frame may be written at once, and then has the caller
// call writeDirect; s.mu is held.
func (s *stream) beginDirect(frame *buffer) bool {
	if s.direct == nil || s.flushing || !s.queue.Empty() || isLarge(frame.b) {
		return false
	}
	s.flushing = true
	s.users.Add(1)
	return true
}

// writeDirect writes a frame, and leaves what has no room, and what was queued
// meanwhile, to a goroutine.
func (s *stream) writeDirect(conn net.Conn, d *direct, frame []byte) {
	n, err := d.try(frame)
	s.writes.Add(1)
	if err != nil {
		s.users.Done()
		s.link.streamLost(s, conn, fmt.Errorf("write: %w", err))
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	defer s.users.Done()
	if s.conn != conn {
		return // flushing is the next connection's
	}
	if n < len(frame) {
		s.rest = append(s.rest[:0], frame[n:]...)
	}
	if n < len(frame) || !s.queue.Empty() {
		s.users.Add(1)
		go s.flush(conn)
		return
	}
	s.flushed()
}
