package replica

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/pawl-go/pawl/queue/replica/wire"
)

// answerBytes is how much of answers may wait to be written to a peer. One that asks
// and does not read is told no more: it must not fill the memory of this host.
const answerBytes = 2 << 20

// asks are the questions to a peer that are not answered yet.
type asks struct {
	sync.Mutex
	last    uint64
	waiting map[uint64]*ask
}

// ask is a question of how a queue stands at the peer.
type ask struct {
	id     uint64
	queue  *Queue
	answer chan answer // one slot
}

// answer is the peer's report, or why there is none.
type answer struct {
	report Report
	err    error
}

// The reasons for having no report of a host, besides that it is not connected.
var (
	errNotThere  = errors.New("it is connected, but has no part in the queue: its replica has ended, or its configuration has no such queue")
	errNotHere   = errors.New("it was not asked: the replica at this host has ended")
	errConnEnded = errors.New("the connection ended while it was asked")
	errSilent    = errors.New("it is connected, and did not answer in time")
)

func (a *asks) begin(q *Queue) *ask {
	a.Lock()
	defer a.Unlock()
	a.last++
	one := &ask{id: a.last, queue: q, answer: make(chan answer, 1)}
	if a.waiting == nil {
		a.waiting = map[uint64]*ask{}
	}
	a.waiting[one.id] = one
	return one
}

// take gives a question that waits, and waits no more; nil if it has been given up.
func (a *asks) take(id uint64) *ask {
	a.Lock()
	defer a.Unlock()
	one := a.waiting[id]
	delete(a.waiting, id)
	return one
}

// ask asks the peer how a queue stands there, until ctx ends.
func (c *conn) ask(ctx context.Context, q *Queue) (Report, error) {
	number, here := c.numbers[q]
	switch {
	case !here:
		return Report{}, errNotHere
	case !slices.Contains(c.queues, q):
		return Report{}, errNotThere
	}
	one := c.asks.begin(q)
	defer c.asks.take(one.id)
	frame, err := wire.Append(nil, wire.Frame{Type: wire.Status, Queue: number, Body: (&wire.StatusMessage{ID: one.id}).AppendTo(nil)})
	if err != nil {
		return Report{}, err
	}
	c.send(frameOf(frame))
	select {
	case a := <-one.answer:
		return a.report, a.err
	case <-c.done:
		return Report{}, errConnEnded
	case <-ctx.Done():
		return Report{}, errSilent
	}
}

// takeStatus answers a question of the peer, or takes its answer.
func (c *conn) takeStatus(q *Queue, body []byte) error {
	m, err := wire.DecodeStatus(body)
	if err != nil {
		return err
	}
	if !m.Told {
		return c.tell(q, m.ID)
	}
	one := c.asks.take(m.ID)
	switch {
	case one == nil: // it was given up, or is none of this host's
		return nil
	case one.queue != q:
		return fmt.Errorf("%w: of queue %s to a question about %s", wire.ErrStatus, q.cfg.Name, one.queue.cfg.Name)
	case m.Version != wire.StatusVersion:
		one.answer <- answer{err: fmt.Errorf("it tells its status in version %d, this host reads version %d: bring both to the same release", m.Version, wire.StatusVersion)}
		return nil
	}
	r, err := decodeReport(m.Report, c.peer, q.cfg.Name)
	if err == nil {
		one.answer <- answer{report: r}
	}
	return err
}

// tell tells the peer how a queue stands here, unless too much waits to be told.
func (c *conn) tell(q *Queue, id uint64) error {
	c.heard.Store(true) // what came in with this waits for it
	c.out.Lock()
	full := c.out.answers >= answerBytes
	c.out.Unlock()
	if full {
		return nil
	}
	report, err := json.Marshal(q.Report())
	if err != nil {
		return fmt.Errorf("tell status: %w", err)
	}
	body := (&wire.StatusMessage{Told: true, ID: id, Report: report}).AppendTo(nil)
	frame, err := wire.Append(nil, wire.Frame{Type: wire.Status, Queue: c.numbers[q], Body: body})
	if err != nil {
		return fmt.Errorf("tell status: %w", err)
	}
	c.out.Lock()
	c.out.answers += len(frame)
	c.out.Unlock()
	c.send(frameOf(frame))
	return nil
}
