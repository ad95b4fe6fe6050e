package replica

import (
	"context"
	"errors"
	"fmt"

	"github.com/pawl-go/pawl/queue"
	"github.com/pawl-go/pawl/queue/replica/core"
)

// errDied ends a replica whose test has it die.
var errDied = errors.New("the host has died, for a test")

// do carries out an effect. What it returns is the next event. mu is held.
func (q *Queue) do(e core.Effect, pieces []piece) core.Event {
	if dies := q.host.cfg.dies; dies != nil && dies(e) {
		q.end(errDied)
		return nil
	}
	switch e := e.(type) {
	case core.Send:
		q.send(e)
	case core.AppendCopied:
		return q.answer(core.Copied{Last: e.Entries[len(e.Entries)-1].Index}, q.apply(pieces))
	case core.AppendControl:
		return q.appendControl(e.Control)
	case core.SetAside:
		return q.answer(core.AsideDone{}, q.setAside(e))
	case core.Restart:
		return q.answer(core.RestartDone{}, q.restart(e))
	case core.WriteHard:
		q.keeper.put(e)
	case core.Flush:
		q.flusher.put(e)
	case core.AskSum:
		q.sums.put(sumJob{ask: e})
	case core.Stream:
		if q.mu.alone {
			q.mu.streamed = append(q.mu.streamed, e)
		} else {
			q.streams[e.Peer].jobs.put(e)
		}
	case core.Counted:
		q.mu.counted, q.mu.released = e.Counted, e.Released
		q.broadcast()
	case core.Lease:
		q.renew()
		q.broadcast()
	case core.Unlocked:
		q.unlock(e)
	case core.Locked:
		q.lock(e.Why)
	case core.Drop:
		if c := q.host.connTo(e.Peer, e.Conn); c != nil {
			c.close()
		}
	case core.Result:
		q.results.end(e.ID, e.Err)
	case core.Closed:
		q.tellNews(0)
		q.end(queue.ErrClosed)
	case core.Notice:
		q.notice(e)
	}
	return nil
}

// send sends a message, news of what counts a little later; it is dropped if the
// connection is gone. mu is held.
func (q *Queue) send(e core.Send) {
	q.tellNews(e.Peer)
	if !isNews(e.Msg) || !q.keepNews(e) {
		q.sendNow(e)
	}
}

func (q *Queue) sendNow(e core.Send) {
	c := q.host.connTo(e.Peer, e.Conn)
	if c == nil {
		return
	}
	f := newFrame()
	if err := f.message(c.numbers[q], e.Msg); err != nil { // no message without entries is so long
		q.event(Event{Kind: core.NoticeProtocol, Peer: e.Peer, Text: "a message cannot be sent", Err: err})
		return
	}
	q.post(c, f)
}

// answer turns the result of a change of the queue into the core's next event. A
// queue that takes nothing any more ends the replica.
func (q *Queue) answer(done core.Event, err error) core.Event {
	if err == nil {
		return done
	}
	if qerr := q.mu.q.Err(); qerr != nil {
		q.failed(errors.Join(err, qerr))
		return nil
	}
	return core.StorageFailed{Err: err}
}

// apply appends the entries of an update, as they lie in the source's files.
func (q *Queue) apply(pieces []piece) error {
	if err := q.bar("this host is not the source"); err != nil {
		return err
	}
	for k := range pieces {
		if err := q.applyPiece(&pieces[k]); err != nil {
			return err
		}
	}
	return nil
}

func (q *Queue) applyPiece(p *piece) error {
	at := q.mu.q.Place()
	if p.block.Cycle < at.Index.Cycle() {
		if p.block.Entries == 0 {
			return nil // the cycle has ended here already
		}
		if at.Index.Seq() == 0 && q.mu.q.Last().Cycle() == p.block.Cycle {
			if err := q.takeBackEnd(); err != nil {
				return err
			}
		}
	}
	inner := q.mu.q
	if err := inner.BeginCycle(p.head); err != nil {
		return err
	}
	at = inner.Place()
	if at.Index.Cycle() == p.block.Cycle && p.block.Offset < at.Offset {
		if err := p.from(at.Offset); err != nil {
			return err
		}
	}
	end := p.cutEnd()
	if len(p.block.Bytes) > 0 {
		if err := p.applyTo(inner); err != nil {
			return err
		}
	}
	if end == nil {
		return nil
	}
	// The end goes in by itself: when there is no room for the next cycle the entries
	// are there all the same.
	err := inner.BeginCycle(p.next)
	if err == nil {
		err = inner.Apply(*end)
	}
	if p.block.Entries > 0 {
		return nil // they are there; the end comes again before what is behind it
	}
	return err
}

// appendControl appends a note of the core. What lies in a cycle copied from
// another host has marks of that host's disk, so this host goes on in a cycle of
// its own; the note that opens an epoch is then the first entry of it, with the
// end of the other one in a single step.
func (q *Queue) appendControl(c core.Control) core.Event {
	inner, note := q.mu.q, c.Encode()
	before := inner.Last()
	if c.Kind == core.EpochBegins {
		q.mu.mine = run{}
	}
	var err error
	if q.mu.barred {
		if err = inner.OpenCyclesWith(note); err == nil {
			err = inner.Unbar()
			q.mu.barred = err != nil
		}
		err = errors.Join(err, inner.OpenCyclesWith(nil))
	}
	at := inner.Last()
	if err == nil && at == before {
		at, err = inner.AppendNote(note)
	}
	if err != nil {
		return q.answer(nil, fmt.Errorf("append %v of epoch %v: %w", c.Kind, c.Epoch, err))
	}
	return core.Appended{First: at, Last: at, Bytes: uint64(len(note)), Control: &c}
}

// unlock lets the application append.
func (q *Queue) unlock(e core.Unlocked) {
	if q.mu.barred {
		if err := q.mu.q.Unbar(); err != nil {
			q.failed(err)
			return
		}
		q.mu.barred = false
	}
	q.mu.unlocked = true
	q.beginTenure()
	q.event(Event{Kind: EventUnlock, Text: fmt.Sprintf("this host is the source, in epoch %v", e.Epoch)})
	q.broadcast()
}

// lock ends that. Slots that are open would hold it up, but a replicated queue
// gives none.
func (q *Queue) lock(why string) {
	q.mu.unlocked = false
	q.endTenure()
	q.event(Event{Kind: EventLock, Text: "locked: " + why})
	if err := q.bar(why); err != nil {
		q.failed(err)
	}
}

func (q *Queue) bar(why string) error {
	if q.mu.barred {
		return nil
	}
	q.mu.barred = true
	return q.mu.q.Bar(context.Background(), why)
}

// setAside takes entries that are not in the source's history out of the queue.
func (q *Queue) setAside(e core.SetAside) error {
	reason := fmt.Sprintf("the history of epoch %v does not have these entries", e.Epoch)
	if err := q.takeOut(e.First, reason, func() error { return q.chain.cut(e.Above) }); err != nil {
		return err
	}
	q.cutOff(cutRange{life: q.mu.life, above: e.Above, first: e.First, last: e.Last})
	return nil
}

// restart takes everything out of the queue, which goes on behind a base.
func (q *Queue) restart(e core.Restart) error {
	first := q.mu.q.First()
	reason := fmt.Sprintf("the source, in epoch %v, keeps nothing before entry %v: this host starts from there", e.Epoch, e.Base.Index)
	if err := q.takeOut(first, reason, func() error { return q.chain.restart(e.Base) }); err != nil {
		return err
	}
	q.cutOff(cutRange{life: q.mu.life, first: e.First, last: max(e.Last, e.Base.Index)})
	return nil
}

// takeOut closes the queue, sets entries aside and opens it again. Whatever fails,
// the queue is opened again, so that nothing has changed; if that is not possible
// the replica ends.
func (q *Queue) takeOut(first queue.Index, reason string, forget func() error) error {
	if err := q.closeInner(); err != nil {
		q.failed(err)
		return err
	}
	var err error
	if first != 0 {
		cfg := q.cfg.Queue
		cfg.OnFile, cfg.OnRoll = nil, nil
		_, err = queue.SetAside(q.cfg.Dir, cfg, first, reason)
	}
	if err == nil {
		if ferr := forget(); ferr != nil {
			q.failed(ferr)
			return ferr
		}
	}
	if _, oerr := q.reopen(); oerr != nil {
		q.failed(errors.Join(err, oerr))
		return errors.Join(err, oerr)
	}
	q.broadcast()
	return err
}

func (q *Queue) closeInner() error {
	var err error
	if q.holdBack != nil {
		err = q.holdBack.Close()
		q.holdBack = nil
	}
	return errors.Join(err, q.mu.q.Close())
}

// notice passes on what the core tells, and takes from it what this host is now.
func (q *Queue) notice(n core.Notice) {
	if n.Kind == core.NoticeRole {
		q.mu.role = core.Sink
		for _, role := range []core.Role{core.Candidate, core.Source} {
			if n.Text == role.String() {
				q.mu.role = role
			}
		}
		if q.mu.role != core.Source {
			q.endTenure()
			q.mu.appends.fail(errNoLonger)
		}
		n.Text = "this host is a " + n.Text
	}
	q.broadcast()
	holds := holdsOf(n.Reports)
	if n.Kind == core.NoticeForced {
		q.results.report(holds)
	}
	q.event(Event{Kind: n.Kind, Peer: n.Peer, Text: n.Text, Err: n.Err, Holds: holds})
}

// connTo is a connection, nil when it is gone.
func (h *Host) connTo(peer HostID, id uint64) *conn {
	l := h.links[peer]
	if l == nil {
		return nil
	}
	if c := l.conn.Load(); c != nil && c.id == id {
		return c
	}
	return nil
}
