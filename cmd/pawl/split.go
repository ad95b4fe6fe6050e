package main

import (
	"bufio"
	"errors"
	"net"
	"sync"
	"time"

	"github.com/pawl-go/pawl/engine/remote/wire"
)

// splitter shares a port between the frames of components and HTTP: the first
// byte tells them apart.
type splitter struct {
	net.Listener
	frames, http *half
}

// firstByte bounds the wait for it.
const firstByte = 10 * time.Second

// split takes the connections of l apart until one of the halves is closed.
func split(l net.Listener) *splitter {
	s := &splitter{Listener: l}
	s.frames, s.http = newHalf(l), newHalf(l)
	go s.accept()
	return s
}

func (s *splitter) accept() {
	for {
		c, err := s.Accept()
		if errors.Is(err, net.ErrClosed) {
			_ = s.frames.Close()
			_ = s.http.Close()
			return
		}
		if err != nil {
			<-time.After(10 * time.Millisecond) // out of descriptors
			continue
		}
		go s.sort(c)
	}
}

func (s *splitter) sort(c net.Conn) {
	r := bufio.NewReader(c)
	_ = c.SetDeadline(time.Now().Add(firstByte)) // over TLS the handshake comes first
	b, err := r.Peek(1)
	_ = c.SetDeadline(time.Time{})
	to := s.http
	switch {
	case err != nil:
		refusePlaintext(err)
		_ = c.Close()
		return
	case b[0] == wire.Preface[0]:
		to = s.frames
	}
	select {
	case to.conns <- &peeked{Conn: c, r: r}:
	case <-to.closed:
		_ = c.Close()
	}
}

// peeked is a connection of which the beginning was read ahead.
type peeked struct {
	net.Conn
	r *bufio.Reader
}

// Read implements net.Conn.
func (p *peeked) Read(b []byte) (int, error) { return p.r.Read(b) }

// half is a listener for the connections of one kind.
type half struct {
	whole  net.Listener
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func newHalf(l net.Listener) *half {
	return &half{whole: l, conns: make(chan net.Conn), closed: make(chan struct{})}
}

// Accept implements net.Listener.
func (h *half) Accept() (net.Conn, error) {
	select {
	case c := <-h.conns:
		return c, nil
	case <-h.closed:
		return nil, net.ErrClosed
	}
}

// Addr implements net.Listener.
func (h *half) Addr() net.Addr { return h.whole.Addr() }

// Close implements net.Listener: it ends the whole.
func (h *half) Close() error {
	h.once.Do(func() {
		close(h.closed)
		_ = h.whole.Close()
	})
	return nil
}
