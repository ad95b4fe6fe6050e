package mesh

import (
	"context"
	"errors"
	"fmt"
	"net"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/pawl-go/pawl/mesh/internal/sendq"
	"github.com/pawl-go/pawl/mesh/internal/wire"
)

// stream is one connection of a link: the control stream or a lane. It outlives
// its connection: while it has none it is detached, and takes nothing.
//
// Who sends puts a frame into the queue; a goroutine that lives while there is
// something to write takes all that waits and writes it at once. What is alone is
// written by who sends it; see direct.
type stream struct {
	link  *link
	index int // of the lane; -1: the control stream

	received atomic.Uint64 // messages taken from the connections so far
	writes   atomic.Uint64 // batches written; with writing, tells if one is stuck
	writing  atomic.Bool
	asking   atomic.Int32 // calls by this lane that wait for their replies

	lastWrites uint64 // as checkStuck last saw it
	stuck      int    // how often it has seen the same

	mu       sync.Mutex // guards what follows
	queue    sendq.Queue
	conn     net.Conn // nil: detached
	direct   *direct  // to conn; nil: it has no such thing
	flushing bool     // somebody writes
	rest     []byte   // of a frame that was written directly, ahead of the queue
	sent     uint64   // messages put into the queue so far
	lost     uint64   // of these, those that are known never to have arrived
	waiters  waitlist // for room
	drained  chan struct{}
	ended    bool // this node sends no more messages on it
	fin      bool // nor does the peer

	users sync.WaitGroup // goroutines on the connection
	asm   sendq.Assembler
	// The reader's own.
	recent recent

	dials     uint64     // of it by this node, so far; redialLane's own
	reattach  sync.Mutex // held while a dial of it is answered
	dialsSeen uint64     // the latest dial by the peer that was answered; guarded by reattach
}

const controlStream = -1

var (
	errDetached = errors.New("the connection is lost")
	errFull     = errors.New("full")
)

func newStream(l *link, index int) *stream {
	limits := &l.node.cfg.Limits
	s := &stream{link: l, index: index}
	s.queue = sendq.Queue{
		MaxCount: limits.LaneMessages, MaxBytes: limits.LaneBytes,
		Sent: func(frame []byte) { l.node.giveBuffer(&buffer{frame}) },
	}
	return s
}

// push queues a message to an actor. It waits for room if wait is true; the error
// is errDetached, errFull or that of ctx, and the frame is then still the caller's.
// alone says that nobody else is about to send: it is then written at once.
func (s *stream) push(ctx context.Context, target string, frame *buffer, wait, alone bool) error {
	s.mu.Lock()
	for s.takes() && !s.queue.Room(len(frame.b)) {
		if !wait {
			s.mu.Unlock()
			return errFull
		}
		turn := s.waiters.join()
		s.mu.Unlock()
		select {
		case <-turn:
			s.mu.Lock()
		case <-ctx.Done():
			s.mu.Lock()
			s.waiters.leave(turn)
			s.mu.Unlock()
			return ctx.Err()
		}
	}
	if !s.takes() {
		s.mu.Unlock()
		return errDetached
	}
	s.sent++
	if conn, d := s.conn, s.direct; alone && s.beginDirect(frame) {
		s.mu.Unlock()
		s.writeDirect(conn, d, frame.b)
	} else {
		s.enqueue(target, frame, true)
		s.mu.Unlock()
	}
	s.link.node.giveBuffer(frame)
	return nil
}

// takes reports whether the stream takes messages; s.mu is held.
func (s *stream) takes() bool { return s.conn != nil && !s.ended }

// pushAlways queues what waits for no room: a reply, or a frame of the control
// stream. It takes the frame, and reports whether there is a connection. alone is as
// for push.
func (s *stream) pushAlways(frame *buffer, alone bool) bool {
	s.mu.Lock()
	if s.conn == nil {
		s.mu.Unlock()
		s.link.node.giveBuffer(frame)
		return false
	}
	if conn, d := s.conn, s.direct; alone && s.beginDirect(frame) {
		s.mu.Unlock()
		s.writeDirect(conn, d, frame.b)
		s.link.node.giveBuffer(frame)
		return true
	}
	s.enqueue("", frame, false) // in no order with messages
	stuck := s.queue.Bytes() > s.link.node.cfg.Limits.StreamBytes
	s.mu.Unlock()
	s.link.node.giveBuffer(frame)
	if stuck {
		s.link.fail(fmt.Errorf("%d bytes wait for a peer that does not read", s.queueBytes()))
	}
	return true
}

func (s *stream) queueBytes() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.queue.Bytes()
}

// enqueue queues a frame and sees to it that somebody writes; s.mu is held.
func (s *stream) enqueue(target string, frame *buffer, counted bool) {
	s.queue.Push(target, frame.b, counted)
	if isLarge(frame.b) {
		frame.b = nil // the queue has it
	}
	if !s.flushing {
		s.flushing = true
		s.users.Add(1)
		go s.flush(s.conn)
	}
}

// isLarge reports whether the queue keeps a frame, to cut it.
func isLarge(frame []byte) bool { return len(frame) > wire.FragmentSize }

// flush writes until nothing waits.
func (s *stream) flush(conn net.Conn) {
	defer s.users.Done()
	runtime.Gosched() // who is about to send too shares the write
	for {
		s.mu.Lock()
		batch := s.next(conn)
		s.mu.Unlock()
		if batch == nil {
			return
		}
		s.writing.Store(true)
		_, err := conn.Write(batch)
		s.writing.Store(false)
		s.writes.Add(1)
		if err != nil {
			s.link.streamLost(s, conn, fmt.Errorf("write: %w", err))
			return
		}
	}
}

// next takes what is to be written, or ends the flushing; s.mu is held.
func (s *stream) next(conn net.Conn) []byte {
	if s.conn != conn {
		return nil // flushing is the next connection's
	}
	if len(s.rest) > 0 {
		rest := s.rest
		s.rest = nil
		return rest
	}
	batch := s.queue.Batch()
	s.waiters.wake(s.queue.Free())
	if batch == nil {
		s.flushed()
	}
	return batch
}

// flushed notes that nothing waits and nobody writes; s.mu is held.
func (s *stream) flushed() {
	s.flushing = false
	if s.drained != nil {
		close(s.drained)
		s.drained = nil
	}
}

// awaitDrained waits until all that is queued now has been handed to the
// connection, or it is lost.
func (s *stream) awaitDrained(ctx context.Context) error {
	s.mu.Lock()
	if !s.flushing {
		s.mu.Unlock()
		return nil
	}
	if s.drained == nil {
		s.drained = make(chan struct{})
	}
	drained := s.drained
	s.mu.Unlock()
	select {
	case <-drained:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// attach gives the stream a connection. The one before it has been detached, and
// its goroutines have ended.
func (s *stream) attach(conn net.Conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.conn, s.direct = conn, newDirect(conn)
	s.asm = sendq.Assembler{MaxTotal: MaxMessage}
}

// attached reports whether the stream has a connection.
func (s *stream) attached() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.conn != nil
}

// detach takes conn from the stream, or any if it is nil, and forgets what waits.
// It reports whether it had it.
func (s *stream) detach(conn net.Conn) bool {
	s.mu.Lock()
	had := s.conn
	if had == nil || conn != nil && had != conn {
		s.mu.Unlock()
		return false
	}
	s.conn, s.direct, s.rest = nil, nil, nil
	s.flushed()
	s.queue.Clear()
	s.waiters.wake(s.waiters.len())
	s.mu.Unlock()
	_ = had.Close() // what it says no longer matters
	return true
}

// start begins to read.
func (s *stream) start() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.conn == nil {
		return
	}
	conn := s.conn
	s.users.Go(func() { s.read(conn) })
}

// Sizes of a read buffer: it grows while reads fill it.
const (
	minRead = 4 << 10
	maxRead = 128 << 10
)

// read takes frames off the connection until it is lost.
func (s *stream) read(conn net.Conn) {
	buf := make([]byte, minRead)
	var from, to int
	for {
		n, err := conn.Read(buf[to:])
		if err != nil {
			s.link.streamLost(s, conn, fmt.Errorf("read: %w", err))
			return
		}
		if s.index == controlStream {
			s.link.heard()
		}
		full := n == len(buf)-to
		to += n
		used, err := s.frames(buf[from:to])
		from += used
		if err != nil {
			s.link.node.malformed(s, err)
			s.link.streamLost(s, conn, err)
			return
		}
		if full && from == to && len(buf) < maxRead {
			buf, from, to = make([]byte, min(4*len(buf), maxRead)), 0, 0
		}
		buf, from, to = s.compact(buf, from, to)
	}
}

// compact makes room behind what is there of the next frame.
func (s *stream) compact(buf []byte, from, to int) ([]byte, int, int) {
	if from == to {
		return buf, 0, 0
	}
	rest := buf[from:to]
	if need := wire.Need(rest); need > len(buf) {
		bigger := make([]byte, maxRead)
		return bigger, 0, copy(bigger, rest)
	}
	if len(buf)-to < len(buf)/2 || len(buf)-from < wire.Need(rest) {
		return buf, 0, copy(buf, rest)
	}
	return buf, from, to
}

// frames handles the whole frames at the start of buf, and returns their length.
func (s *stream) frames(buf []byte) (used int, err error) {
	for {
		k, body, n, err := wire.Next(buf[used:])
		if n == 0 || err != nil {
			return used, err
		}
		used += n
		s.recent.alone = used == n && n == len(buf)
		if err := s.handle(k, body, n); err != nil {
			s.link.node.malformed(s, err)
		}
	}
}
