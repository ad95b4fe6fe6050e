package messages

import (
	"bufio"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"sync"
	"time"
)

// TCP is bare TCP: frames with a length, told over one connection through a buffer
// and asked over one connection per caller, unbatched. There is nothing else: the
// limit of what is remote.
type TCP struct {
	addr string
	cpu  func() time.Duration

	told *bufio.ReadWriter // to tell; a question for the count goes behind
	mu   sync.Mutex
	idle []*bufio.ReadWriter // of askers
	open []net.Conn
}

const (
	tellFrame = iota
	askFrame
)

// ServeTCP is the other process's side, until the listener is closed.
func ServeTCP(l net.Listener) {
	for {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		go func() {
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
		}()
	}
}

// DialTCP connects to ServeTCP; cpu is of its process.
func DialTCP(addr string, cpu func() time.Duration) (t *TCP, err error) {
	t = &TCP{addr: addr, cpu: cpu}
	t.told, err = t.dial()
	return t, err
}

func (t *TCP) dial() (*bufio.ReadWriter, error) {
	var d net.Dialer
	conn, err := d.DialContext(context.Background(), "tcp", t.addr)
	if err != nil {
		return nil, fmt.Errorf("dial the bare server: %w", err)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.open = append(t.open, conn)
	return buffered(conn), nil
}

// Close ends all connections.
func (t *TCP) Close() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, conn := range t.open {
		_ = conn.Close() // nothing is under way
	}
}

// Name is that in the report.
func (t *TCP) Name() string { return "bare TCP" }

// CPU is that of the server's process.
func (t *TCP) CPU() time.Duration { return t.cpu() }

// Teller has There only.
func (t *TCP) Teller(p Place) func([]byte) error {
	if p != There {
		return nil
	}
	return func(m []byte) error { return writeFrame(t.told, tellFrame, m, false) }
}

// Asker has There only.
func (t *TCP) Asker(p Place) func([]byte) ([]byte, error) {
	if p != There {
		return nil
	}
	return func(m []byte) ([]byte, error) {
		if m[0] == AskCount { // behind what was told
			return t.ask(t.told, m)
		}
		rw, err := t.take()
		if err != nil {
			return nil, err
		}
		defer t.give(rw)
		return t.ask(rw, m)
	}
}

func (t *TCP) ask(rw *bufio.ReadWriter, m []byte) ([]byte, error) {
	if err := writeFrame(rw, askFrame, m, true); err != nil {
		return nil, err
	}
	_, answer, err := readFrame(rw)
	return answer, err
}

func (t *TCP) take() (*bufio.ReadWriter, error) {
	t.mu.Lock()
	if n := len(t.idle); n > 0 {
		rw := t.idle[n-1]
		t.idle = t.idle[:n-1]
		t.mu.Unlock()
		return rw, nil
	}
	t.mu.Unlock()
	return t.dial()
}

func (t *TCP) give(rw *bufio.ReadWriter) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.idle = append(t.idle, rw)
}

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
