package replica

import (
	"bytes"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"

	"github.com/pawl-go/pawl/queue/replica/core"
	"github.com/pawl-go/pawl/queue/replica/wire"
)

// outboxBytes is how much may wait to be written before streams pause, so that
// a slow sink does not fill the memory.
const outboxBytes = 1 << 20

// conn is an authenticated connection to another host. All queues share it. One
// goroutine reads, one writes.
type conn struct {
	h    *Host
	peer HostID
	id   uint64
	sock net.Conn // of TCP: closing it does not wait for a last word of TLS
	raw  net.Conn
	r    *wire.Reader

	queues  []*Queue          // by their number in the peer's frames; nil: not here
	numbers map[*Queue]uint16 // in this host's frames

	// heard: something has come in since the last tick, and be it a part of a frame.
	// delivering: what came in waits for this host, so that silence is no sign of
	// death.
	heard      *atomic.Bool
	delivering atomic.Bool

	out struct {
		sync.Mutex
		frames  net.Buffers
		bytes   int
		answers int // bytes of answers since frames were taken last
		closed  bool
		room    *sync.Cond
	}
	asks asks
	kick chan struct{} // one slot
	done chan struct{} // closed with it
}

func newConn(h *Host, m *meeting) *conn {
	c := &conn{
		h: h, peer: m.theirs.From, id: h.conns.Add(1), sock: m.sock, raw: m.raw, r: m.r, heard: &m.heard,
		numbers: map[*Queue]uint16{}, kick: make(chan struct{}, 1), done: make(chan struct{}),
	}
	c.out.room = sync.NewCond(&c.out)
	for k, name := range m.mine.Queues {
		c.numbers[h.queues[name]] = uint16(k)
	}
	for _, name := range m.theirs.Queues {
		q := h.queues[name]
		if _, ours := c.numbers[q]; !ours {
			q = nil
		}
		c.queues = append(c.queues, q)
	}
	return c
}

// shared calls do for each queue that both hosts have.
func (c *conn) shared(do func(*Queue)) {
	for _, q := range c.queues {
		if q != nil {
			do(q)
		}
	}
}

// send hands frames to the writer; it does not wait. On a connection that is gone
// they are dropped.
func (c *conn) send(frames ...[]byte) {
	c.out.Lock()
	if !c.out.closed {
		for _, b := range frames {
			c.out.frames = append(c.out.frames, b)
			c.out.bytes += len(b)
		}
	}
	c.out.Unlock()
	select {
	case c.kick <- struct{}{}:
	default:
	}
}

// awaitRoom waits until little enough is waiting to be written; false when the
// connection is gone.
func (c *conn) awaitRoom() bool {
	c.out.Lock()
	defer c.out.Unlock()
	for c.out.bytes > outboxBytes && !c.out.closed {
		c.out.room.Wait()
	}
	return !c.out.closed
}

// close ends the connection; reader and writer end with it.
func (c *conn) close() {
	c.out.Lock()
	closed := c.out.closed
	c.out.closed = true
	c.out.frames = nil
	c.out.room.Broadcast()
	c.out.Unlock()
	if !closed {
		close(c.done)
		_ = c.sock.Close()
	}
}

// write writes what is waiting, all of it at a time, until the connection ends.
func (c *conn) write() {
	_, encrypted := c.raw.(*tls.Conn)
	var spare net.Buffers
	for {
		select {
		case <-c.kick:
		case <-c.done:
			return
		}
		c.out.Lock()
		frames, n := c.out.frames, c.out.bytes
		c.out.frames, c.out.answers = spare[:0], 0
		c.out.Unlock()
		spare = frames
		if encrypted { // a record for each frame would be many
			frames = net.Buffers{bytes.Join(frames, nil)}
		}
		if _, err := frames.WriteTo(c.raw); err != nil {
			c.h.ended(c, err)
			return
		}
		clear(spare)
		c.out.Lock()
		c.out.bytes -= n
		c.out.room.Broadcast()
		c.out.Unlock()
	}
}

// read takes what comes in, until the connection ends.
func (c *conn) read() {
	for {
		f, err := c.r.Next()
		if err == nil {
			err = c.take(f)
		}
		if err != nil {
			c.h.ended(c, err)
			return
		}
	}
}

func (c *conn) take(f wire.Frame) error {
	switch f.Type {
	case wire.Heartbeat:
		return nil
	case wire.Refuse:
		return fmt.Errorf("%w: %.200q", errRefused, f.Body)
	case wire.Message, wire.Election, wire.Status:
	default:
		return fmt.Errorf("%w: %v in the middle", wire.ErrFrame, f.Type)
	}
	if int(f.Queue) >= len(c.queues) {
		return fmt.Errorf("%w: of queue %d, which was not named", wire.ErrFrame, f.Queue)
	}
	q := c.queues[f.Queue]
	if q == nil {
		return nil
	}
	if f.Type == wire.Status {
		return c.takeStatus(q, f.Body)
	}
	if f.Type == wire.Election {
		if a := q.automatic; a != nil {
			a.in.put(ballot{c.peer, c, bytes.Clone(f.Body)})
		}
		return nil
	}
	m, pieces, err := decodeMessage(ownBody(f.Body))
	if err != nil {
		return err
	}
	c.delivering.Store(true)
	q.deliver(core.Received{Peer: c.peer, Conn: c.id, Msg: m}, pieces, len(f.Body))
	c.delivering.Store(false)
	c.heard.Store(true)
	return nil
}

// whyEnded is the reason for a report; empty when there is nothing to say.
func whyEnded(err error) string {
	if errors.Is(err, io.EOF) || errors.Is(err, net.ErrClosed) {
		return "it was closed"
	}
	return err.Error()
}
