package replica

import (
	"bufio"
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
	in   *bufio.Reader // that r reads from
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
		frames  []*frame
		bytes   int
		answers int  // bytes of answers since frames were taken last
		writing bool // somebody is
		closed  bool
		room    *sync.Cond
	}
	direct *direct // nil: the goroutine writes everything
	asks   asks
	kick   chan struct{} // one slot
	done   chan struct{} // closed with it
}

func newConn(h *Host, m *meeting) *conn {
	c := &conn{
		h: h, peer: m.theirs.From, id: h.conns.Add(1), sock: m.sock, raw: m.raw, in: m.in, r: m.r, heard: &m.heard,
		numbers: map[*Queue]uint16{}, kick: make(chan struct{}, 1), done: make(chan struct{}),
	}
	c.out.room = sync.NewCond(&c.out)
	c.direct = newDirect(c.raw)
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

// send hands a frame to the writer; it does not wait. On a connection that is gone
// the frame is dropped.
func (c *conn) send(f *frame) {
	c.post(f)
	c.wake()
}

// post is send, but leaves it to the caller to wake the writer, or to push.
func (c *conn) post(f *frame) {
	c.out.Lock()
	defer c.out.Unlock()
	if !c.out.closed {
		c.out.frames = append(c.out.frames, f)
		c.out.bytes += len(f.b)
	}
}

func (c *conn) wake() {
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

// idle reports whether nothing waits to be written.
func (c *conn) idle() bool {
	c.out.Lock()
	defer c.out.Unlock()
	return c.out.bytes == 0 && !c.out.closed
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
	var spare []*frame
	var list [][]byte
	for {
		select {
		case <-c.kick:
		case <-c.done:
			return
		}
		c.out.Lock()
		if c.out.writing {
			c.out.Unlock() // who pushes wakes this goroutine again
			continue
		}
		frames, n := c.out.frames, c.out.bytes
		c.out.frames, c.out.answers, c.out.writing = spare[:0], 0, true
		c.out.Unlock()
		list = list[:0]
		for _, f := range frames {
			list = append(list, f.b)
		}
		if encrypted && len(list) > 1 { // a record for each frame would be many
			list = append(list[:0], bytes.Join(list, nil))
		}
		out := net.Buffers(list)
		if _, err := out.WriteTo(c.raw); err != nil {
			c.h.ended(c, err)
			return
		}
		for _, f := range frames {
			f.done()
		}
		clear(frames)
		spare = frames
		c.out.Lock()
		c.out.bytes -= n
		c.out.writing = false
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
	case wire.Message, wire.Update, wire.Election, wire.Status:
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
	e, err := c.open(f)
	if err != nil {
		return err
	}
	c.delivering.Store(true)
	if c.in.Buffered() == 0 && e.quick() {
		q.in.add(e)
		q.tryDeal()
	} else {
		q.in.put(e)
	}
	c.delivering.Store(false)
	c.heard.Store(true)
	return nil
}

// open decodes a message. That of an update keeps the memory of the frame.
func (c *conn) open(f wire.Frame) (e envelope, err error) {
	var m *core.Message
	e.bytes = len(f.Body) + len(f.Blocks)
	if f.Type == wire.Message {
		m, err = decodeMessage(f.Body)
	} else {
		m, e.pieces, err = decodeUpdate(f.Body, f.Blocks)
		e.body = c.r.Own(spareBody())
	}
	e.event = core.Received{Peer: c.peer, Conn: c.id, Msg: m}
	return e, err
}

// whyEnded is the reason for a report; empty when there is nothing to say.
func whyEnded(err error) string {
	if errors.Is(err, io.EOF) || errors.Is(err, net.ErrClosed) {
		return "it was closed"
	}
	return err.Error()
}
