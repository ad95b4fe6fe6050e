// Package wire is bare TCP over loopback, the limit of what is copied to another
// host: frames with a length one way, counts of what has come the other way. Both
// ends are in this process.
package wire

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

// Pair is a connection with somebody at its other end who confirms what comes. It
// has one user.
type Pair struct {
	conn     net.Conn
	out      *bufio.Writer
	in       *bufio.Reader
	sent     uint64
	held     uint64 // of those sent, confirmed
	other    sync.WaitGroup
	accepted net.Conn
}

const bufferSize = 64 << 10

// Dial connects both ends.
func Dial() (*Pair, error) {
	var lc net.ListenConfig
	l, err := lc.Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listen: %w", err)
	}
	defer l.Close()
	var d net.Dialer
	conn, err := d.DialContext(context.Background(), "tcp", l.Addr().String())
	if err != nil {
		return nil, fmt.Errorf("dial the other end: %w", err)
	}
	p := &Pair{conn: conn, out: bufio.NewWriterSize(conn, bufferSize), in: bufio.NewReader(conn)}
	if p.accepted, err = l.Accept(); err != nil {
		return nil, errors.Join(fmt.Errorf("accept: %w", err), conn.Close())
	}
	p.other.Go(func() { confirm(p.accepted) })
	return p, nil
}

// Close ends the connection.
func (p *Pair) Close() {
	_ = p.conn.Close() // nothing is under way that anyone waits for
	p.other.Wait()
	_ = p.accepted.Close()
}

// Ask sends a message and returns when it is confirmed.
func (p *Pair) Ask(m []byte) error { return errors.Join(p.Tell(m, 1), p.Drain()) }

// Tell sends a message, at some time after it returns, and waits first while window
// messages are not confirmed.
func (p *Pair) Tell(m []byte, window int) error {
	for p.sent-p.held >= uint64(window) {
		if err := p.await(); err != nil {
			return err
		}
	}
	var head [4]byte
	binary.LittleEndian.PutUint32(head[:], uint32(len(m)))
	if _, err := p.out.Write(head[:]); err != nil {
		return err
	}
	_, err := p.out.Write(m)
	p.sent++
	return err
}

// Drain returns when all is confirmed.
func (p *Pair) Drain() error {
	for p.held < p.sent {
		if err := p.await(); err != nil {
			return err
		}
	}
	return nil
}

// await takes in what has been confirmed, at least one message.
func (p *Pair) await() error {
	if err := p.out.Flush(); err != nil {
		return err
	}
	var count [8]byte
	if _, err := io.ReadFull(p.in, count[:]); err != nil {
		return fmt.Errorf("read confirmation: %w", err)
	}
	p.held = binary.LittleEndian.Uint64(count[:])
	return nil
}

// confirm is the other end: it tells how much has come each time it has nothing more
// to look at.
func confirm(conn net.Conn) {
	defer conn.Close()
	in := bufio.NewReaderSize(conn, bufferSize)
	var n uint64
	for {
		head, err := in.Peek(4)
		if err != nil {
			return
		}
		if _, err := in.Discard(4 + int(binary.LittleEndian.Uint32(head))); err != nil {
			return
		}
		n++
		if in.Buffered() < 4 {
			if _, err := conn.Write(binary.LittleEndian.AppendUint64(nil, n)); err != nil {
				return
			}
		}
	}
}
