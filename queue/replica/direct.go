package replica

import (
	"net"
	"syscall"
)

// directBytes is how much is written directly at most.
const directBytes = 64 << 10

// direct writes to a connection without waiting, from the goroutine of whoever sends.
// Whoever has set conn.out.writing may use it.
type direct struct {
	raw   syscall.RawConn
	write func(fd uintptr) bool // made once
	b     []byte                // to be written
	n     int                   // bytes of it that are
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
		d.n = writeNow(fd, d.b)
		return true // however much it was
	}
	return d
}

// try writes as much as there is room for. What goes wrong shows when the rest is
// written.
func (d *direct) try(b []byte) int {
	d.b, d.n = b, 0
	err := d.raw.Write(d.write)
	d.b = nil
	if err != nil {
		return 0
	}
	return d.n
}

// push writes the frame that waits, if it is alone, nobody is writing and there is room;
// the rest is the writer's.
func (c *conn) push() {
	c.out.Lock()
	if c.direct == nil || c.out.writing || len(c.out.frames) != 1 || c.out.bytes > directBytes {
		c.out.Unlock()
		c.wake()
		return
	}
	f := c.out.frames[0]
	c.out.writing = true
	c.out.Unlock()
	n := c.direct.try(f.b)
	c.out.Lock()
	c.out.writing = false
	if c.out.closed {
		c.out.Unlock()
		return
	}
	c.out.bytes -= n
	if f.b = f.b[n:]; len(f.b) == 0 {
		c.out.frames = append(c.out.frames[:0], c.out.frames[1:]...)
		c.out.answers = 0
		c.out.room.Broadcast()
		f.done()
	}
	more := len(c.out.frames) > 0
	c.out.Unlock()
	if more {
		c.wake()
	}
}
