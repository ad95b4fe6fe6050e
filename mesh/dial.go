package mesh

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/pawl-go/pawl/mesh/internal/roster"
	"github.com/pawl-go/pawl/mesh/internal/wire"
)

// dial makes a link to a peer, as the roster has asked for.
func (n *Node) dial(ctx context.Context, d roster.Dial) {
	l, err := n.connect(ctx, d)
	if err == nil {
		err = n.establish(l)
	}
	given := errors.Is(err, errGivenUp) || errors.Is(err, context.Canceled)
	if refused, ok := errors.AsType[*refusedError](err); ok && refused.verdict == wire.Crossed {
		given = true
	}
	n.change(func(r *roster.Roster) roster.Effects {
		delete(n.dials, d.ID)
		return r.Dialed(n.now(), d.ID, err == nil, !given)
	})
	if err == nil {
		return
	}
	if !given {
		n.log.Debug("dial failed", "peer", d.ID, "addr", d.Addr, "err", err)
		n.noteDialError(d.ID, err)
	}
}

// connect dials the control stream and the lanes, and waits until the peer says
// that all is attached.
func (n *Node) connect(ctx context.Context, d roster.Dial) (*link, error) {
	if d.Addr == "" {
		return nil, fmt.Errorf("no address is known")
	}
	ctx, cancel := context.WithTimeout(ctx, n.cfg.Timing.Dial)
	defer cancel()
	n.awaitPast(ctx, d.ID)
	id := n.identity(0, d.ID)
	id.Dial = n.dialed.Add(1)
	if _, err := rand.Read(id.Link[:]); err != nil {
		return nil, err
	}
	conn, who, err := n.dialStream(ctx, d.Addr, id, n.commit)
	if err != nil {
		return nil, err
	}
	n.settlePast(who)
	l := newLink(n, n.peerOf(d.ID), id.Link, who, true)
	l.control.attach(conn)
	if err := n.connectLanes(ctx, l, d); err != nil {
		l.fail(err)
		return nil, err
	}
	if l.identity.Dial, err = awaitReady(ctx, conn); err != nil {
		l.fail(err)
		return nil, err
	}
	return l, nil
}

// wanted is the commit of a lane: its link has been committed to.
func wanted(*wire.Identity) bool { return true }

// connectLanes dials all lanes at once.
func (n *Node) connectLanes(ctx context.Context, l *link, d roster.Dial) error {
	errs := make(chan error, len(l.lanes)) // each sends one
	for i := range l.lanes {
		n.background.Go(func() {
			id := n.identity(i+1, d.ID)
			id.Link = l.id
			conn, _, err := n.dialStream(ctx, d.Addr, id, wanted)
			if err == nil {
				l.attachLane(i, conn)
			}
			errs <- err
		})
	}
	var first error
	for range l.lanes {
		if err := <-errs; err != nil && first == nil {
			first = err
		}
	}
	return first
}

// awaitReady reads the frame that says that the link is up, and which dials of the
// peer's own are given up for it. Nothing comes before it.
func awaitReady(ctx context.Context, conn net.Conn) (dial uint64, err error) {
	stop := context.AfterFunc(ctx, func() { expire(conn) })
	defer stop()
	var frame [wire.ReadySize]byte
	if _, err := io.ReadFull(conn, frame[:]); err != nil {
		return 0, fmt.Errorf("wait for the link: %w", err)
	}
	k, body, _, err := wire.Next(frame[:])
	if err == nil && k != wire.Ready {
		err = wire.ErrMalformed
	}
	if err == nil {
		dial, err = wire.ParseReady(body)
	}
	if err != nil {
		return 0, fmt.Errorf("wait for the link: %w", err)
	}
	return dial, nil
}

// dialStream dials one stream and shakes hands.
func (n *Node) dialStream(ctx context.Context, addr string, id wire.Identity, commit func(*wire.Identity) bool) (net.Conn, wire.Identity, error) {
	raw, err := n.cfg.Network.Dial(ctx, addr)
	if err != nil {
		return nil, wire.Identity{}, err
	}
	stop := context.AfterFunc(ctx, func() { expire(raw) })
	conn, err := n.secure(ctx, raw, true, id.Target)
	if err != nil {
		stop()
		_ = raw.Close() // the dial has failed already
		return nil, wire.Identity{}, err
	}
	who, err := n.handshakeD(conn, id, commit)
	if !stop() && err == nil {
		err = ctx.Err()
	}
	if err != nil {
		_ = conn.Close() // the dial has failed already
		return nil, wire.Identity{}, err
	}
	return conn, who, nil
}

// expire ends what is being read or written on a connection.
func expire(conn net.Conn) { _ = conn.SetDeadline(time.Unix(1, 0)) } // it can only be closed already

// identity says who this node is, for one stream.
func (n *Node) identity(stream int, target string) wire.Identity {
	return wire.Identity{
		Node: n.id, Incarnation: n.incarnation, Addr: n.Addr(), Observer: n.cfg.Observer, Target: target,
		Stream: uint16(stream), Lanes: uint16(n.cfg.Lanes),
	}
}

// redialLane dials a lane again whose connection is lost. If it does not succeed
// in as many attempts as make a peer unreachable, the link is over.
func (n *Node) redialLane(l *link, s *stream) {
	s.users.Wait()
	delay := n.cfg.Timing.RedialMin
	var err error
	for range roster.Attempts {
		if err = n.redialOnce(l, s); err == nil || l.ctx.Err() != nil || l.isParting() {
			return
		}
		select {
		case <-time.After(delay):
		case <-l.ctx.Done():
			return
		}
		delay *= 2
	}
	l.fail(fmt.Errorf("lane %d: %w", s.index, err))
}

func (n *Node) redialOnce(l *link, s *stream) error {
	ctx, cancel := context.WithTimeout(l.ctx, n.cfg.Timing.Dial)
	defer cancel()
	id := n.identity(s.index+1, l.peer.id)
	s.dials++
	id.Link, id.Received, id.Dial = l.id, s.received.Load(), s.dials
	conn, who, err := n.dialStream(ctx, n.addrOf(l), id, wanted)
	if err != nil {
		return err
	}
	s.noteLoss(who.Received)
	l.resume(s, conn)
	return nil
}

// resume gives a lane of a link that is up a new connection.
func (l *link) resume(s *stream, conn net.Conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.failed || l.parting.isFinal() || s.attached() {
		_ = conn.Close() // too late for it, or another dial was first: the peer dials again
		return
	}
	delete(l.detached, s.index)
	s.attach(conn)
	if l.started {
		s.start()
	}
	if s.hasEnded() {
		s.sayFin() // it was lost with the connection, perhaps
	}
	l.node.log.Info("lane restored", "peer", l.peer.id, "lane", s.index)
}
