package mesh

import (
	"context"
	"errors"

	"github.com/pawl-go/pawl/mesh/internal/wire"
)

// parting is how a link ends in good order, when one of its nodes leaves:
//
//	the node that leaves      the one that stays
//	fin on each lane
//	heartbeat, goodbye   ->
//	                          (has read each lane to its fin)
//	                          fin on each lane
//	                     <-   heartbeat, goodbyeok
//	(has read each lane)
//	heartbeat, parted    ->
//	                     <-   closes the link
//
// Who has said fin sends no more messages on the lane, and a heartbeat says how much has
// arrived once nothing more can: so each knows of all it has sent whether it has arrived.
// A lane that is lost comes back as long as goodbye has not been heard, or answered: who
// leaves may still have much to send on the others. Both may leave at once.
type parting struct {
	said     bool          // this node leaves; guarded by link.mu
	heard    bool          // the peer leaves; guarded by link.mu
	answered bool          // and has our answer; guarded by link.mu
	accepted bool          // the peer has answered our goodbye; guarded by link.mu
	read     bool          // and what it had sent has been read; guarded by link.mu
	done     chan struct{} // closed with read
	over     chan struct{} // closed when the peer, who leaves, has read what we had sent
}

func newParting() parting {
	return parting{done: make(chan struct{}), over: make(chan struct{})}
}

var errLeft = errors.New("the peer has left")

// isFinal reports whether a lane that is lost stays so.
func (p *parting) isFinal() bool { return p.heard || p.accepted }

// isParting reports whether one of the nodes is leaving.
func (l *link) isParting() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.parting.said || l.parting.heard
}

// hasLeft reports whether the peer has said goodbye, however far it has come since.
func (l *link) hasLeft() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.parting.heard
}

// sayGoodbye parts with the peer, because this node leaves.
func (l *link) sayGoodbye(ctx context.Context) error {
	l.mu.Lock()
	l.parting.said = true
	l.mu.Unlock()
	if err := l.endLanes(ctx); err != nil {
		return err
	}
	l.sayReceived(wire.Goodbye)
	if gone, err := l.await(ctx, l.parting.done); gone || err != nil {
		return err
	}
	l.awaitReaders()
	l.sayReceived(wire.Parted)
	_, err := l.await(ctx, nil) // the peer closes the link
	return err
}

// await waits for an event, or until the link is gone.
func (l *link) await(ctx context.Context, event <-chan struct{}) (gone bool, err error) {
	select {
	case <-event:
		return false, nil
	case <-l.ctx.Done():
		return true, nil
	case <-ctx.Done():
		return false, ctx.Err()
	}
}

// endLanes ends each lane behind what waits in it.
func (l *link) endLanes(ctx context.Context) error {
	for _, s := range l.lanes[:l.own] {
		if !s.end() {
			continue
		}
		if err := s.awaitDrained(ctx); err != nil { // fin would overtake what is large
			return err
		}
		s.sayFin()
	}
	return nil
}

// sayFin tells the peer that no more messages come.
func (s *stream) sayFin() {
	b := s.link.node.takeBuffer()
	b.b = wire.AppendEmpty(b.b[:0], wire.Fin)
	s.pushAlways(b, false)
}

// end lets a lane take no more messages. It returns false if it has been called before.
func (s *stream) end() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return false
	}
	s.ended = true
	s.waiters.wake(s.waiters.len())
	return true
}

// hasEnded reports whether a lane takes no more messages.
func (s *stream) hasEnded() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ended
}

// awaitReaders waits until what was read of the lanes that are lost has been counted. No
// lane is attached any more.
func (l *link) awaitReaders() {
	for _, s := range l.lanes[:l.theirs] {
		if !s.attached() {
			s.users.Wait()
		}
	}
}

// sayReceived says how much has arrived so far, and then k.
func (l *link) sayReceived(k wire.Kind) {
	l.sayRefusals()
	l.say(wire.AppendHeartbeat(nil, l.received()))
	l.say(wire.AppendEmpty(nil, k))
}

// goodbye is for a peer that leaves.
func (l *link) goodbye() {
	l.mu.Lock()
	l.parting.heard = true
	l.mu.Unlock()
	l.checkParting()
}

// goodbyeOK is for a peer that has answered our goodbye.
func (l *link) goodbyeOK() {
	l.mu.Lock()
	l.parting.accepted = true
	l.mu.Unlock()
	l.checkParting()
}

// finished is for a lane on which the peer sends no more messages.
func (s *stream) finished() {
	s.mu.Lock()
	s.fin = true
	s.mu.Unlock()
	s.link.checkParting()
}

// checkParting does what is to be done once all lanes of the peer have been read.
func (l *link) checkParting() {
	for _, s := range l.lanes[:l.theirs] {
		if !s.isRead() {
			return
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.failed {
		return
	}
	p := &l.parting
	if p.heard && !p.answered {
		p.answered = true
		l.work.Go(l.answerGoodbye)
	}
	if p.accepted && !p.read {
		p.read = true
		close(p.done)
	}
}

// isRead reports whether no more messages come by a lane: it has ended, or is lost.
func (s *stream) isRead() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.fin || s.conn == nil
}

// answerGoodbye parts with a peer that leaves; when the link is over it is no member.
func (l *link) answerGoodbye() {
	if err := l.endLanes(l.ctx); err == nil {
		l.awaitReaders()
		l.sayReceived(wire.GoodbyeOK)
		_, _ = l.await(context.Background(), l.parting.over) // gone or not, it has left
	}
	l.fail(errLeft)
}

// parted is for a peer that leaves, and has read all that was sent to it.
func (l *link) parted() {
	l.mu.Lock()
	defer l.mu.Unlock()
	select {
	case <-l.parting.over:
	default:
		close(l.parting.over)
	}
}
