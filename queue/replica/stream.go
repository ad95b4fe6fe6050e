package replica

import (
	"bytes"
	"errors"
	"fmt"
	"sync"

	"github.com/pawl-go/pawl/queue"
	"github.com/pawl-go/pawl/queue/replica/core"
)

// stream sends entries to one host. Its goroutine reads them from wherever they are;
// the last few are sent by whoever drives the core (see now).
type stream struct {
	q    *Queue
	peer HostID
	jobs jobs[core.Stream]

	sync.Mutex                    // guards what follows
	reader     *queue.BlockReader // nil: there is none
	inner      *queue.Queue       // of the reader
	at         queue.Index        // the last entry that it has read
	head       queue.CycleHead    // of the cycle that it is in
}

func newStream(q *Queue, peer HostID) *stream {
	s := &stream{q: q, peer: peer}
	s.jobs.init()
	return s
}

// run serves one Stream at a time: the core wants no more of a peer.
func (s *stream) run() {
	defer s.leave()
	for {
		list := s.jobs.take(s.q.quit.Done())
		if list == nil {
			return
		}
		for _, job := range list {
			s.serve(job)
		}
	}
}

func (s *stream) leave() {
	s.Lock()
	defer s.Unlock()
	s.drop()
}

// drop closes the reader. The stream is locked.
func (s *stream) drop() {
	if s.reader != nil {
		s.reader.Close()
		s.reader = nil
	}
}

func (s *stream) serve(job core.Stream) {
	c := s.q.host.connTo(job.Peer, job.Conn)
	if c == nil || !c.awaitRoom() {
		return // the core hears that the connection is gone
	}
	inner := s.q.inner()
	s.Lock()
	f, done, err := s.update(c, job, inner)
	s.Unlock()
	if err != nil {
		s.q.tellReleased(inner, err)
		s.q.deliver(core.StreamFailed{Peer: job.Peer, Stream: job.Stream, Err: err})
		return
	}
	s.q.in.put(envelope{event: done, conn: c, frame: f})
}

// nowEntries is how many entries are sent by whoever drives the core: few enough that
// nobody notices.
const nowEntries = 64

// now sends what a job asks for at once, if that is little, lies where the stream
// stands, and need not wait. Queue.mu is held, so nothing is appended meanwhile.
func (s *stream) now(job core.Stream, inner *queue.Queue) (done core.Streamed, ok bool) {
	if job.Through-job.Prev > nowEntries || !s.TryLock() {
		return done, false
	}
	defer s.Unlock()
	stands := s.reader != nil && s.inner == inner && s.at == job.Prev
	c := s.q.host.connTo(job.Peer, job.Conn)
	if !stands || c == nil || !c.hasRoom() {
		return done, false
	}
	f, done, err := s.update(c, job, inner)
	if err != nil {
		return done, false // it is tried again, and reported, where that may take its time
	}
	c.add(f)
	s.q.mu.driving.touch(c)
	return done, true
}

// update makes the next update. The stream is locked.
func (s *stream) update(c *conn, job core.Stream, inner *queue.Queue) (*frame, core.Streamed, error) {
	s.seek(job.Prev, inner)
	f := newFrame()
	through, sum, err := s.fill(f, c.numbers[s.q], job)
	if err != nil {
		f.done()
		s.drop()
		return nil, core.Streamed{}, err
	}
	s.at = through
	return f, core.Streamed{Peer: job.Peer, Stream: job.Stream, Through: through, Sum: sum}, nil
}

// fill makes f the next update. It may go on behind what the core has asked for:
// whoever drives the core tells it of all that was appended before this.
func (s *stream) fill(f *frame, number uint16, job core.Stream) (through queue.Index, sum uint64, err error) {
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
		return through, sum, f.update(number, job.UpdateTo(job.Prev, sum), append(pieces, p))
	}
}

// seek puts the reader behind an entry, where it is already unless the stream is
// new.
func (s *stream) seek(prev queue.Index, inner *queue.Queue) {
	if s.reader != nil && s.inner == inner && s.at == prev {
		return
	}
	s.drop()
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
