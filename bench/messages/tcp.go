package messages

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
)

// TCP is bare TCP: frames with a length, told over one connection through a buffer and
// asked over one connection per caller, unbatched. What is large has a connection and a
// goroutine of its own. There is nothing else: the limit of what is remote.
func TCP() System {
	return System{Name: "bare TCP", Serve: serveTCP, Open: dialTCP}
}

const (
	tellFrame = iota
	askFrame
)

func serveTCP() (*Server, error) {
	var lc net.ListenConfig
	l, err := lc.Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listen: %w", err)
	}
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go answer(conn)
		}
	}()
	return &Server{l.Addr().String(), func() { _ = l.Close() }}, nil // nothing is under way
}

// answer is the actor of a connection: each has a count of its own.
func answer(conn net.Conn) {
	defer conn.Close()
	rw := buffered(conn)
	var told uint64
	for {
		kind, m, err := readFrame(rw)
		if err != nil {
			return
		}
		if kind == tellFrame {
			told++
			continue
		}
		if err := writeFrame(rw, askFrame, Answer(m, told), true); err != nil {
			return
		}
	}
}

func dialTCP(_ context.Context, addr string) (*Client, error) {
	conns := &connections{addr: addr}
	told, err := conns.dial()
	if err != nil {
		return nil, err
	}
	apart, err := conns.dial()
	if err != nil {
		conns.close()
		return nil, err
	}
	large := newWriter(apart)
	c := &Client{Close: func() { conns.close(); large.close() }}
	c.Actors[There] = &Actor{
		Tell: func(m []byte) error { return writeFrame(told, tellFrame, m, false) },
		Ask: func(m []byte) ([]byte, error) {
			if m[0] == AskCount { // behind what was told
				return exchange(told, m)
			}
			rw, err := conns.take()
			if err != nil {
				return nil, err
			}
			defer conns.give(rw)
			return exchange(rw, m)
		},
	}
	c.Actors[Large] = &Actor{Tell: large.tell, Ask: large.ask}
	return c, nil
}

// exchange asks and waits for the answer.
func exchange(rw *bufio.ReadWriter, m []byte) ([]byte, error) {
	if err := writeFrame(rw, askFrame, m, true); err != nil {
		return nil, err
	}
	_, answer, err := readFrame(rw)
	return answer, err
}

// connections are those to the bare server.
type connections struct {
	addr string

	mu   sync.Mutex
	idle []*bufio.ReadWriter // of askers
	open []net.Conn
}

func (c *connections) dial() (*bufio.ReadWriter, error) {
	var d net.Dialer
	conn, err := d.DialContext(context.Background(), "tcp", c.addr)
	if err != nil {
		return nil, fmt.Errorf("dial the bare server: %w", err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.open = append(c.open, conn)
	return buffered(conn), nil
}

func (c *connections) take() (*bufio.ReadWriter, error) {
	c.mu.Lock()
	if n := len(c.idle); n > 0 {
		rw := c.idle[n-1]
		c.idle = c.idle[:n-1]
		c.mu.Unlock()
		return rw, nil
	}
	c.mu.Unlock()
	return c.dial()
}

func (c *connections) give(rw *bufio.ReadWriter) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.idle = append(c.idle, rw)
}

func (c *connections) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, conn := range c.open {
		_ = conn.Close() // nothing is under way
	}
}

// writer writes what it is told from a goroutine, so that a tell does not wait for the
// other side to read.
type writer struct {
	work  chan envelope // of size 0: who tells faster than it can be written waits
	ended chan struct{}
}

func newWriter(rw *bufio.ReadWriter) *writer {
	w := &writer{make(chan envelope), make(chan struct{})}
	go func() {
		defer close(w.ended)
		for e := range w.work {
			if e.replyTo == nil {
				_ = writeFrame(rw, tellFrame, e.m, true) // a question behind it fails too
				continue
			}
			answer, err := exchange(rw, e.m)
			if err != nil {
				answer = nil
			}
			e.replyTo <- answer
		}
	}()
	return w
}

func (w *writer) tell(m []byte) error {
	w.work <- envelope{m: m}
	return nil
}

func (w *writer) ask(m []byte) ([]byte, error) {
	replyTo := make(chan []byte, 1)
	w.work <- envelope{m, replyTo}
	answer := <-replyTo
	if answer == nil {
		return nil, errors.New("the connection is lost")
	}
	return answer, nil
}

func (w *writer) close() { close(w.work); <-w.ended }

func buffered(conn net.Conn) *bufio.ReadWriter {
	return bufio.NewReadWriter(bufio.NewReaderSize(conn, 64<<10), bufio.NewWriterSize(conn, 64<<10))
}

// A frame is its length and its kind, four bytes, and the message.
func writeFrame(rw *bufio.ReadWriter, kind int, m []byte, flush bool) error {
	if rw.Available() < 4 {
		if err := rw.Flush(); err != nil {
			return err
		}
	}
	head := binary.LittleEndian.AppendUint32(rw.AvailableBuffer(), uint32(len(m))<<1|uint32(kind))
	if _, err := rw.Write(head); err != nil {
		return err
	}
	if _, err := rw.Write(m); err != nil || !flush {
		return err
	}
	return rw.Flush()
}

// readFrame reads a frame; of one that is told nothing is kept.
func readFrame(rw *bufio.ReadWriter) (kind int, m []byte, err error) {
	head, err := rw.Peek(4)
	if err != nil {
		return 0, nil, err
	}
	n := binary.LittleEndian.Uint32(head)
	kind = int(n & 1)
	if kind == tellFrame {
		_, err = rw.Discard(4 + int(n>>1))
		return kind, nil, err
	}
	if _, err = rw.Discard(4); err != nil {
		return 0, nil, err
	}
	m = make([]byte, n>>1)
	_, err = io.ReadFull(rw, m)
	return kind, m, err
}
