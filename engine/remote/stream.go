package remote

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/pawl-go/pawl/engine"
	"github.com/pawl-go/pawl/engine/remote/wire"
)

// stream is one end of a session's numbered frames. It outlives connections:
// what the other end has not acknowledged is sent again over the next one.
type stream struct {
	// silence is how long the other end may say nothing.
	silence time.Duration
	// ready returns when what rests on a record may leave; nil: at once.
	ready func(engine.Position) error
	// take handles a numbered frame, once and in order. Its error ends the session.
	take func(wire.Frame) error
	wake chan struct{} // one slot: there is something to write

	mu    sync.Mutex
	queue []message // not acknowledged, oldest first
	next  int       // the first of queue that this connection has not sent
	last  uint64    // the number of the newest message
	got   uint64    // the number of the newest frame taken
	told  uint64    // got, as the other end was last told
	// flying are the bytes sent over this connection and not acknowledged, heard
	// those taken since the other end was told. See window.
	flying, heard int
	// closed: what is posted from now on is dropped
	closed bool
}

// message is a frame on its way. It is encoded by who sends it first.
type message struct {
	seq   uint64
	kind  wire.Kind
	value any // nil once encoded
	body  []byte
	size  int             // of body, once this connection has sent it
	after engine.Position // the record it rests on
}

// What ends a connection whose session is over.
var (
	errFencedByPeer = errors.New("the server has declared the component failed")
	errAway         = errors.New("the server has ended")
)

// over reports whether an error of serve says that the session is over.
func over(err error) bool {
	return errors.Is(err, errFencedByPeer) || errors.Is(err, errAway) || errors.Is(err, wire.ErrMalformed)
}

// fencedBy says why a session has ended.
func fencedBy(body []byte) error {
	var f wire.Fenced
	if len(body) > 0 {
		if err := wire.Decode(body, &f); err != nil {
			return err
		}
	}
	if f.Away {
		return errAway
	}
	return errFencedByPeer
}

// close has nothing queued any more; what is queued may still be sent.
func (s *stream) close() {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
}

// post queues a message. It never blocks.
func (s *stream) post(kind wire.Kind, value any, body []byte, after engine.Position) {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return
	}
	s.last++
	s.queue = append(s.queue, message{seq: s.last, kind: kind, value: value, body: body, after: after})
	s.mu.Unlock()
	s.nudge()
}

func (s *stream) nudge() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// received is the number of the newest frame taken.
func (s *stream) received() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.got
}

// acknowledge drops what the other end has taken.
func (s *stream) acknowledge(ack uint64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if ack > s.last {
		return fmt.Errorf("%w: frame %d acknowledged, %d were sent", wire.ErrMalformed, ack, s.last)
	}
	n := 0
	for n < len(s.queue) && s.queue[n].seq <= ack {
		s.flying -= s.queue[n].size
		n++
	}
	if n == len(s.queue) {
		s.queue = nil
	} else {
		s.queue = s.queue[n:]
	}
	s.next = max(0, s.next-n)
	if s.next < len(s.queue) { // it may have waited for this
		s.nudge()
	}
	return nil
}

// again begins anew with what is not acknowledged, over another connection.
func (s *stream) again() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.next, s.flying = 0, 0
	for i := range s.queue {
		s.queue[i].size = 0
	}
}

// serve moves frames over a connection until it ends, and says why. The other
// end has taken what peer names. One serve runs at a time.
func (s *stream) serve(c net.Conn, r *bufio.Reader, peer uint64) error {
	if err := s.acknowledge(peer); err != nil {
		return err
	}
	s.again()
	ended := make(chan struct{})
	wrote := make(chan error, 1)
	go func() {
		err := s.write(c, ended)
		_ = c.Close() // ends the reading too
		wrote <- err
	}()
	s.nudge()
	err := s.read(c, r)
	_ = c.Close()
	close(ended)
	if werr := <-wrote; werr != nil && !over(err) && !isTimeout(err) {
		return werr
	}
	return err
}

func isTimeout(err error) bool {
	ne, ok := errors.AsType[net.Error](err)
	return ok && ne.Timeout()
}

func (s *stream) read(c net.Conn, r *bufio.Reader) error {
	for {
		if err := c.SetReadDeadline(time.Now().Add(s.silence)); err != nil {
			return err
		}
		f, err := wire.Read(r, wire.BodyLimit)
		if err != nil {
			return err
		}
		if err := s.acknowledge(f.Ack); err != nil {
			return err
		}
		switch {
		case f.Kind == wire.KindBeat:
			continue
		case f.Kind == wire.KindFenced:
			return fencedBy(f.Body)
		case f.Seq == 0:
			return fmt.Errorf("%w: kind %d after the handshake", wire.ErrMalformed, f.Kind)
		}
		if err := s.in(f); err != nil {
			return err
		}
	}
}

// in takes a numbered frame, if it was not taken before.
func (s *stream) in(f wire.Frame) error {
	s.mu.Lock()
	got := s.got
	s.mu.Unlock()
	switch {
	case f.Seq <= got:
		return nil
	case f.Seq != got+1:
		return fmt.Errorf("%w: frame %d after frame %d", wire.ErrMalformed, f.Seq, got)
	}
	if err := s.take(f); err != nil {
		return err
	}
	s.mu.Lock()
	s.got = f.Seq
	s.heard += len(f.Body)
	s.mu.Unlock()
	if s.owes() {
		s.nudge()
	}
	return nil
}

// The other end is told of what was taken after so many frames, or bytes.
const (
	ackEvery = 256
	ackBytes = 1 << 20
)

// window bounds the bytes of frames on their way: beyond it messages wait as they
// are, not encoded, for what they hold is the engine's or the runtime's anyway. So
// a component that is slow to read costs no more than this, and disturbs nobody.
// It is more than ackBytes, or both ends would wait.
const window = 8 << 20

// write sends what is queued, and a beat when there is nothing for a while.
func (s *stream) write(c net.Conn, ended <-chan struct{}) error {
	beat := time.NewTicker(s.silence / 4)
	defer beat.Stop()
	var b []byte
	for {
		b = b[:0]
		for len(b) < 64<<10 {
			m, ok := s.pick()
			if !ok {
				break
			}
			if s.ready != nil && m.after != 0 {
				if err := s.ready(m.after); err != nil {
					return err
				}
			}
			body, err := s.encoded(m)
			if err != nil {
				return err
			}
			b = wire.Append(b, wire.Frame{Kind: m.kind, Seq: m.seq, Ack: s.ack(), Body: body})
		}
		if len(b) == 0 && s.owes() {
			b = wire.Append(b, wire.Frame{Kind: wire.KindBeat, Ack: s.ack()})
		}
		if len(b) > 0 {
			if err := s.put(c, b); err != nil {
				return err
			}
			continue
		}
		select {
		case <-s.wake:
		case <-beat.C:
			if err := s.put(c, wire.Append(nil, wire.Frame{Kind: wire.KindBeat, Ack: s.ack()})); err != nil {
				return err
			}
		case <-ended:
			return nil
		}
	}
}

func (s *stream) put(c net.Conn, b []byte) error {
	if err := c.SetWriteDeadline(time.Now().Add(s.silence)); err != nil {
		return err
	}
	_, err := c.Write(b)
	return err
}

// pick takes the next message that this connection has not sent.
func (s *stream) pick() (message, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.next >= len(s.queue) || s.flying >= window {
		return message{}, false
	}
	s.next++
	return s.queue[s.next-1], true
}

// encoded gives the body of m, which is sent next, and keeps it to be sent again.
func (s *stream) encoded(m message) ([]byte, error) {
	body := m.body
	if m.value != nil {
		var err error
		if body, err = wire.Encode(m.value); err != nil {
			return nil, err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.queue) > 0 && s.queue[0].seq <= m.seq { // not acknowledged meanwhile
		at := &s.queue[m.seq-s.queue[0].seq]
		at.value, at.body, at.size = nil, body, len(body)
		s.flying += len(body)
	}
	return body, nil
}

func (s *stream) ack() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.told, s.heard = s.got, 0
	return s.got
}

func (s *stream) owes() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.got-s.told >= ackEvery || s.heard >= ackBytes
}
