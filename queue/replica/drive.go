package replica

import (
	"runtime"
	"slices"
	"time"

	"github.com/pawl-go/pawl/queue/replica/core"
)

// driving is what whoever drives the core keeps track of.
type driving struct {
	spare   []envelope
	due     []core.Stream // that the core wants, once it has heard of every entry
	touched []*conn       // on which something waits to be written
}

func (d *driving) touch(c *conn) {
	if !slices.Contains(d.touched, c) {
		d.touched = append(d.touched, c)
	}
}

// run drives the core when nobody else does, and lets it know the time.
func (q *Queue) run() {
	interval := min(q.cfg.Replica.HeartbeatInterval, q.cfg.Replica.LeaseTimeout)
	t := time.NewTicker(interval / 4)
	defer t.Stop()
	for {
		select {
		case <-q.in.kicked:
		case <-t.C:
			q.in.put(envelope{event: core.Tick{Now: time.Now()}})
		case <-q.quit.Done():
			return
		}
		q.mu.Lock()
		if !q.drive() {
			return
		}
	}
}

// driveAppends drives the core for an append that waits for other hosts. First it lets
// those append who are about to: they wait for the same update.
func (q *Queue) driveAppends() {
	runtime.Gosched()
	q.mu.Lock()
	if len(q.mu.fresh) == 0 { // somebody has
		q.mu.Unlock()
		return
	}
	q.drive()
}

// tryDrive drives the core unless somebody is doing that.
func (q *Queue) tryDrive() bool {
	if !q.mu.TryLock() {
		return false
	}
	q.drive()
	return true
}

// quick says whether what was received is dealt with so fast that the goroutine which
// reads a connection, for all queues, may do it.
func (e *envelope) quick() bool {
	m := e.event.(core.Received).Msg
	switch m.Type {
	case core.MsgAck:
		return true
	case core.MsgUpdate:
		return len(e.pieces) == 0 || len(e.pieces) == 1 && !e.pieces[0].block.End && e.bytes <= pushBytes
	}
	return false
}

// drive deals with everything in the inbox; false when the replica has ended. mu is
// held, and is free when it returns.
func (q *Queue) drive() bool {
	d := &q.mu.driving
	list := q.in.take(d.spare)
	goesOn := q.take(list)
	clear(list)
	d.spare = list
	var few [4]*conn
	touched := append(few[:0], d.touched...)
	clear(d.touched)
	d.touched = d.touched[:0]
	q.mu.Unlock()
	for _, c := range touched {
		c.push()
	}
	return goesOn
}

// take deals with a batch of events; false when the replica has ended. mu is held.
func (q *Queue) take(list []envelope) bool {
	if q.mu.fail != nil {
		return false
	}
	q.tellFresh()
	for _, e := range list {
		if q.mu.fail != nil {
			break
		}
		if e.conn != nil {
			e.conn.add(e.frame)
			q.mu.driving.touch(e.conn)
		}
		switch e.event.(type) {
		case core.Flushed:
			q.step(core.Flushed{Through: q.mu.q.Durable()}, nil)
		case core.Tick:
			q.step(e.event, nil)
			q.tended()
		default:
			if e.life == 0 || e.life == q.mu.life {
				q.step(e.event, e.pieces)
			}
		}
		q.stream()
		giveBody(e.body)
	}
	q.publish()
	return q.mu.fail == nil
}

// tellFresh tells the core what was appended. mu is held.
func (q *Queue) tellFresh() {
	for _, r := range q.mu.fresh {
		q.step(core.Appended{First: r.first, Last: r.last, Bytes: r.bytes}, nil)
	}
	q.mu.fresh = q.mu.fresh[:0]
	q.stream()
}

// step gives the core an event, and the answers to what it wants. mu is held.
func (q *Queue) step(ev core.Event, pieces []piece) {
	for ev != nil && q.mu.fail == nil {
		effects := q.mu.core.Step(ev)
		ev = nil
		for _, e := range effects {
			if answer := q.do(e, pieces); answer != nil {
				ev = answer
			}
		}
	}
}

// stream sends what the core wants to have sent. It has heard of every entry that is
// there, so of whatever a stream reads. mu is held.
func (q *Queue) stream() {
	d := &q.mu.driving
	for len(d.due) > 0 && q.mu.fail == nil {
		job := d.due[0]
		d.due = slices.Delete(d.due, 0, 1)
		s := q.streams[job.Peer]
		if done, ok := s.now(job, q.mu.q); ok {
			q.step(done, nil)
			continue
		}
		s.jobs.put(job)
	}
}
