package replica

import (
	"slices"
	"time"

	"github.com/pawl-go/pawl/queue"
	"github.com/pawl-go/pawl/queue/replica/core"
)

// Who deals with what has come: the goroutine of the queue, mostly, which takes all
// that waits at a time. Waking it takes longer than the work, though, when a single
// message is under way, and so it is with streams and writers. So what comes alone is
// dealt with by the goroutine that has it already, if the queue is free: an append that
// waits for other hosts reads and sends its update, who reads an update from a
// connection applies it and writes the acknowledgement, and who reads that wakes the
// appender. See decision 0054.

// deal deals with what waits, and sends what comes of it. It returns without mu, which
// the caller holds; false when the replica has ended.
func (q *Queue) deal() bool {
	q.take()
	ok := q.mu.fail == nil
	q.release()
	return ok
}

// release gives mu back, and pushes what was posted.
func (q *Queue) release() {
	var few [4]*conn
	posted := append(few[:0], q.mu.posted...)
	clear(q.mu.posted)
	q.mu.posted = q.mu.posted[:0]
	q.mu.Unlock()
	for _, c := range posted {
		c.push()
	}
}

// newsWait is how long news of what counts wait for an update to go with, when the last
// two to that peer were no further apart.
const newsWait = time.Millisecond

// isNews reports whether a message says only what counts.
func isNews(m *core.Message) bool { return m.Type == core.MsgUpdate && len(m.Entries) == 0 && !m.Want }

// keepNews has the news wait for the next update, which brings them too, or for
// newsWait; false when none is likely to come. mu is held.
func (q *Queue) keepNews(e core.Send) bool {
	if !q.streams[e.Peer].brisk {
		return false
	}
	if len(q.mu.news) == 0 {
		q.telling.Reset(newsWait)
	}
	q.mu.news = append(q.mu.news, e)
	return true
}

// tellNews posts the news for a peer, 0 for all: before any other message, which would
// overtake it. mu is held.
func (q *Queue) tellNews(peer HostID) {
	q.mu.news = slices.DeleteFunc(q.mu.news, func(e core.Send) bool {
		if peer != 0 && e.Peer != peer {
			return false
		}
		q.sendNow(e)
		return true
	})
}

// postUpdate posts entries for a peer, and forgets the news for it, which they bring.
// mu is held.
func (q *Queue) postUpdate(c *conn, f *frame) {
	s, now := q.streams[c.peer], time.Now()
	s.brisk, s.updated = now.Sub(s.updated) <= newsWait, now
	q.mu.news = slices.DeleteFunc(q.mu.news, func(e core.Send) bool { return e.Peer == c.peer })
	q.post(c, f)
}

// post leaves a frame at a connection, which is pushed once mu is free. mu is held.
func (q *Queue) post(c *conn, f *frame) {
	c.post(f)
	if n := len(q.mu.posted); n == 0 || q.mu.posted[n-1] != c {
		q.mu.posted = append(q.mu.posted, c)
	}
}

// tryDeal deals with what waits if the queue is free, and else leaves it to the
// goroutine.
func (q *Queue) tryDeal() {
	if q.mu.TryLock() {
		q.deal()
	} else {
		q.in.kick()
	}
}

// dealAlone is deal for somebody who has appended from first on, and waits: it serves the
// streams too that the append leads to. Those of sinks that lack more, or that the
// connection has something to write for, are left to their goroutines.
func (q *Queue) dealAlone(first queue.Index) {
	q.mu.alone = true
	q.take()
	q.mu.alone = false
	var few [4]core.Stream
	streamed := append(few[:0], q.mu.streamed...)
	q.mu.streamed = q.mu.streamed[:0]
	served := false
	q.release()
	for _, job := range streamed {
		s := q.streams[job.Peer]
		c := q.host.connTo(job.Peer, job.Conn)
		if c == nil || !c.idle() || job.Prev+1 != first {
			s.jobs.put(job)
			continue
		}
		q.in.add(s.serve(c, job))
		served = true
	}
	if served {
		q.tryDeal()
	}
}

// quick reports whether an event may be dealt with by who has read it: it takes no
// longer than the copy of a block, and no file is made.
func (e *envelope) quick() bool {
	r, ok := e.event.(core.Received)
	if !ok {
		return false
	}
	switch r.Msg.Type {
	case core.MsgAck:
		return true
	case core.MsgUpdate:
		return len(e.pieces) == 0 || len(e.pieces) == 1 && !e.pieces[0].block.End
	}
	return false
}
