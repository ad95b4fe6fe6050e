package meshtest

import (
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"time"
)

// window is how many bytes may be under way in one direction of a connection.
const window = 256 << 10

// segment is what one write has sent.
type segment struct {
	data []byte
	at   time.Time // when it arrives
}

// flow is one direction of a connection.
type flow struct {
	segments []segment
	size     int       // bytes in them
	last     time.Time // when the last one arrives
	fin      bool      // no more will come
}

// pair is a connection: two ends and what is between them.
type pair struct {
	net *network

	mu    sync.Mutex // guards what follows, and the ends
	flows [2]flow    // flows[i] is what end i reads
	reset error      // the connection has failed
	ends  [2]end
	moved chan struct{} // closed and renewed whenever something has changed
}

// end is one end of a connection. It is a net.Conn.
type end struct {
	pair     *pair
	i        int
	host     string
	closed   bool
	deadline [2]time.Time // of reading and of writing
}

const (
	reading = iota
	writing
)

func newPair(n *network, from, to string) *pair {
	p := &pair{net: n, moved: make(chan struct{})}
	p.ends = [2]end{{pair: p, i: 0, host: from}, {pair: p, i: 1, host: to}}
	return p
}

// move tells all who wait to look again; p.mu is held.
func (p *pair) move() {
	close(p.moved)
	p.moved = make(chan struct{})
}

// fail resets the connection: what is under way is lost.
func (p *pair) fail() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.reset == nil {
		p.reset = syscall.ECONNRESET
		p.flows = [2]flow{}
		p.move()
	}
}

// await waits until something has moved, the time has come, or the deadline has
// passed; p.mu is held, and is again when it returns.
func (e *end) await(what int, at time.Time) error {
	deadline := e.deadline[what]
	if !deadline.IsZero() && !time.Now().Before(deadline) {
		return os.ErrDeadlineExceeded
	}
	if at.IsZero() || !deadline.IsZero() && deadline.Before(at) {
		at = deadline
	}
	moved := e.pair.moved
	e.pair.mu.Unlock()
	defer e.pair.mu.Lock()
	if at.IsZero() {
		<-moved
		return nil
	}
	timer := time.NewTimer(time.Until(at))
	defer timer.Stop()
	select {
	case <-moved:
	case <-timer.C:
	}
	return nil
}

// broken says why nothing can be done with the connection any more.
func (e *end) broken() error {
	if e.closed {
		return net.ErrClosed
	}
	if e.pair.reset != nil && e.pair.net.connected(e.pair.ends[0].host, e.pair.ends[1].host) {
		return e.pair.reset
	}
	return nil
}

func (e *end) Read(b []byte) (int, error) {
	p := e.pair
	p.mu.Lock()
	defer p.mu.Unlock()
	in := &p.flows[e.i]
	for {
		if err := e.broken(); err != nil {
			return 0, err
		}
		var at time.Time
		if p.net.connected(p.ends[0].host, p.ends[1].host) {
			if len(in.segments) > 0 && !in.segments[0].at.After(time.Now()) {
				return p.take(in, b), nil
			}
			if len(in.segments) == 0 && in.fin && !in.last.After(time.Now()) {
				return 0, io.EOF
			}
			at = in.last
			if len(in.segments) > 0 {
				at = in.segments[0].at
			} else if !in.fin {
				at = time.Time{}
			}
		}
		if err := e.await(reading, at); err != nil {
			return 0, err
		}
	}
}

// take moves arrived bytes into b.
func (p *pair) take(in *flow, b []byte) (n int) {
	now := time.Now()
	for n < len(b) && len(in.segments) > 0 && !in.segments[0].at.After(now) {
		s := &in.segments[0]
		k := copy(b[n:], s.data)
		n += k
		if s.data = s.data[k:]; len(s.data) == 0 {
			in.segments = in.segments[1:]
		}
	}
	in.size -= n
	p.move()
	return n
}

func (e *end) Write(b []byte) (n int, err error) {
	p := e.pair
	p.mu.Lock()
	defer p.mu.Unlock()
	out := &p.flows[1-e.i]
	for {
		if err := e.broken(); err != nil {
			return n, err
		}
		if p.ends[1-e.i].closed && p.net.connected(e.host, p.ends[1-e.i].host) {
			return n, syscall.EPIPE
		}
		if k := min(len(b)-n, window-out.size); k > 0 {
			data := append([]byte{}, b[n:n+k]...)
			out.last = p.net.arrival(out.last)
			out.segments = append(out.segments, segment{data, out.last})
			out.size += k
			n += k
			p.net.count(e.host, k)
			p.move()
		}
		if n == len(b) {
			return n, nil
		}
		if err := e.await(writing, time.Time{}); err != nil {
			return n, err
		}
	}
}

// Close ends the connection; what this end has sent still arrives.
func (e *end) Close() error {
	p := e.pair
	p.mu.Lock()
	if e.closed {
		p.mu.Unlock()
		return net.ErrClosed
	}
	e.closed = true
	out := &p.flows[1-e.i]
	out.fin = true
	out.last = p.net.arrival(out.last)
	p.flows[e.i] = flow{}
	both := p.ends[1-e.i].closed
	p.move()
	p.mu.Unlock()
	if both {
		p.net.forget(p)
	}
	return nil
}

func (e *end) SetDeadline(t time.Time) error {
	e.setDeadline(reading, t)
	e.setDeadline(writing, t)
	return nil
}

func (e *end) SetReadDeadline(t time.Time) error  { e.setDeadline(reading, t); return nil }
func (e *end) SetWriteDeadline(t time.Time) error { e.setDeadline(writing, t); return nil }

func (e *end) setDeadline(what int, t time.Time) {
	e.pair.mu.Lock()
	defer e.pair.mu.Unlock()
	e.deadline[what] = t
	e.pair.move()
}

func (e *end) LocalAddr() net.Addr  { return hostAddr(e.host) }
func (e *end) RemoteAddr() net.Addr { return hostAddr(e.pair.ends[1-e.i].host) }

// hostAddr is an address in the simulated network.
type hostAddr string

func (hostAddr) Network() string  { return "sim" }
func (a hostAddr) String() string { return string(a) }
