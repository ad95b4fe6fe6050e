package replica

import (
	"bytes"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/pawl-go/pawl/queue"
	"github.com/pawl-go/pawl/queue/replica/core"
)

// stream sends entries to one host. It has a goroutine, run; who appends and is alone
// does the work itself.
type stream struct {
	q    *Queue
	peer HostID
	jobs jobs[core.Stream]

	// With the lock of the queue: when the last update was sent, and that the one before
	// it was no longer than newsWait before.
	updated time.Time
	brisk   bool

	mu sync.Mutex // held while entries are read: the core wants no more than one update at a time

	// All of it with mu held.
	reader *queue.BlockReader // nil: there is none
	inner  *queue.Queue       // of the reader
	at     queue.Index        // the last entry that it has read
	head   queue.CycleHead    // of the cycle that it is in
}

func newStream(q *Queue, peer HostID) *stream {
	s := &stream{q: q, peer: peer}
	s.jobs.init()
	return s
}

// run serves the streams that are put into jobs.
func (s *stream) run() {
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.leave()
	}()
	for {
		list := s.jobs.take(s.q.quit.Done())
		if list == nil {
			return
		}
		for _, job := range list {
			c := s.q.host.connTo(job.Peer, job.Conn)
			if c == nil || !c.awaitRoom() {
				continue // the core hears that the connection is gone
			}
			s.q.in.put(s.serve(c, job))
		}
	}
}

// leave lets the reader go. mu is held.

func (s *stream) leave() {
	if s.reader != nil {
		s.reader.Close()
		s.reader = nil
	}
}

// serve makes the next update for a connection, and returns what the core is to hear.
func (s *stream) serve(c *conn, job core.Stream) envelope {
	s.mu.Lock()
	defer s.mu.Unlock()
	f := newFrame()
	through, sum, err := s.update(c, job, f)
	if err != nil {
		f.done()
		s.leave()
		s.q.tellReleased(s.inner, err)
		return envelope{event: core.StreamFailed{Peer: job.Peer, Stream: job.Stream, Err: err}}
	}
	s.at = through
	return envelope{
		event: core.Streamed{Peer: job.Peer, Stream: job.Stream, Through: through, Sum: sum}, conn: c, frame: f,
	}
}

// update makes f the next update. It may go on behind what the core has asked for:
// run tells the core of all that was appended before it tells of this.
func (s *stream) update(c *conn, job core.Stream, f *frame) (through queue.Index, sum uint64, err error) {
	s.seek(job.Prev)
	var pieces []piece
	for {
		s.reader.ReadInto(f.room(job.MaxBytes))
		b, ok, err := s.reader.TryNext(job.MaxBytes)
		if err == nil && !ok {
			err = fmt.Errorf("entry behind %s: %w", job.Prev, queue.ErrNotFound)
		}
		if err != nil {
			return 0, 0, err
		}
		p, err := s.piece(b)
		if err != nil {
			return 0, 0, err
		}
		if b.Entries == 0 { // the end of a cycle, or padding: it goes with what follows
			p.block.Bytes = bytes.Clone(b.Bytes)
			pieces = append(pieces, p)
			if len(pieces) == maxPieces {
				return 0, 0, errors.New("nothing but padding in many blocks")
			}
			continue
		}
		if b.Entries > core.MaxUpdateEntries {
			return 0, 0, errTooMany
		}
		sum = job.Sum
		err = p.each(func(e core.Entry) error {
			sum, through = core.Chain(sum, e), e.Index
			return nil
		})
		if err != nil {
			return 0, 0, err
		}
		return through, sum, f.update(c.numbers[s.q], job.UpdateTo(job.Prev, sum), append(pieces, p))
	}
}

// seek puts the reader behind an entry, where it is already unless the stream is
// new.
func (s *stream) seek(prev queue.Index) {
	inner := s.q.inner()
	if s.reader != nil && s.inner == inner && s.at == prev {
		return
	}
	s.leave()
	place := queue.Place{}
	if prev != 0 {
		place.Index = prev + 1
		if first := inner.First(); prev.Cycle() < first.Cycle() { // the base: its cycle is gone
			place.Index = queue.NewIndex(prev.Cycle()+1, 0)
		}
	}
	s.reader, s.inner, s.at, s.head = inner.NewBlockReader(place), inner, prev, queue.CycleHead{}
}

// piece adds to a block what it takes to begin its cycle, and the next.
func (s *stream) piece(b queue.Block) (piece, error) {
	p := piece{block: b}
	var err error
	if s.head.Cycle != b.Cycle || s.head.Salt == 0 {
		if s.head, err = s.inner.Head(b.Cycle); err != nil {
			return p, err
		}
	}
	p.head = s.head
	if b.End {
		p.next, err = s.inner.Head(b.Cycle + 1)
		s.head = queue.CycleHead{}
	}
	return p, err
}
