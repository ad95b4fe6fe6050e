package replica

import (
	"bytes"
	"crypto/tls"
	"net"
	"slices"
)

// pushBytes is how much push writes: what is more gains from a goroutine of its own.
const pushBytes = 16 << 10

// push writes what is waiting on this goroutine, so that nobody need be woken for it:
// if it is little, and only as much as the connection takes without waiting. Everything
// else is left to the writer, errors too.
func (c *conn) push() {
	c.out.Lock()
	if c.now == nil || c.out.writing || c.out.bytes > pushBytes || len(c.out.rest) > 0 {
		c.out.Unlock()
		c.kickWriter()
		return
	}
	frames := c.out.frames
	if len(frames) == 0 {
		c.out.Unlock()
		return
	}
	c.begin()
	c.out.Unlock()
	c.pushed = c.pushed[:0]
	for _, f := range frames {
		c.pushed = append(c.pushed, f.b...)
	}
	c.taken = 0
	if c.now.Write(c.pushNow) != nil {
		c.taken = 0
	}
	c.wrote(frames, c.taken, bytes.Clone(c.pushed[c.taken:]))
}

// begin begins a turn of writing with all frames there are. out is locked.
func (c *conn) begin() {
	c.out.frames, c.out.rest, c.out.answers, c.out.writing = c.out.spare[:0], nil, 0, true
	c.out.spare = nil
}

// wrote ends a turn of writing in which n bytes of frames went out. What is left goes
// first in the next one.
func (c *conn) wrote(frames []*frame, n int, rest []byte) {
	for _, f := range frames {
		f.done()
	}
	clear(frames)
	c.out.Lock()
	c.out.spare = frames
	c.out.writing = false
	c.out.bytes -= n
	c.out.rest = rest
	c.out.room.Broadcast()
	more := len(rest) > 0 || len(c.out.frames) > 0
	c.out.Unlock()
	if more {
		c.kickWriter()
	}
}

// write writes what is waiting, all of it at a time, until the connection ends.
func (c *conn) write() {
	_, encrypted := c.raw.(*tls.Conn)
	var list [][]byte
	for {
		select {
		case <-c.kick:
		case <-c.done:
			return
		}
		c.out.Lock()
		if c.out.writing { // push is: it kicks when something is left
			c.out.Unlock()
			continue
		}
		frames, rest, n := c.out.frames, c.out.rest, c.out.bytes
		c.begin()
		c.out.Unlock()
		list = list[:0]
		if len(rest) > 0 {
			list = append(list, rest)
		}
		for _, f := range frames {
			list = append(list, f.b)
		}
		if encrypted && len(list) > 1 { // a record for each frame would be many
			list = append(list[:0], slices.Concat(list...))
		}
		out := net.Buffers(list)
		if _, err := out.WriteTo(c.raw); err != nil {
			c.h.ended(c, err)
			return
		}
		c.wrote(frames, n, nil)
	}
}
