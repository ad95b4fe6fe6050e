package mesh

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/pawl-go/pawl/mesh/internal/roster"
	"github.com/pawl-go/pawl/mesh/internal/wire"
)

// maxHandshakes bounds the connections that have not proved anything yet; more
// wait in the kernel.
const maxHandshakes = 256

// accept takes connections until the listener is closed.
func (n *Node) accept(listener net.Listener) {
	slots := make(chan struct{}, maxHandshakes) // a semaphore
	for {
		conn, err := listener.Accept()
		if errors.Is(err, net.ErrClosed) || n.ctx.Err() != nil {
			return
		}
		if err != nil { // out of file descriptors, say
			n.log.Warn("accept failed", "err", err)
			select {
			case <-time.After(n.cfg.Timing.RedialMin):
				continue
			case <-n.ctx.Done():
				return
			}
		}
		slots <- struct{}{}
		n.background.Go(func() {
			err := n.receiveStream(conn, func() { <-slots })
			if err == nil {
				return
			}
			n.refusedStream(conn, err)
			_ = conn.Close() // refused already
		})
	}
}

// refusedStream counts and logs a connection that was refused. One that crosses
// our own, or was closed by who dialled, is nothing to speak of.
func (n *Node) refusedStream(conn net.Conn, err error) {
	refused, ok := errors.AsType[*refusedError](err)
	if n.ctx.Err() != nil || errors.Is(err, io.EOF) || errors.Is(err, errGivenUp) || ok && refused.verdict == wire.Crossed {
		return
	}
	n.counts.handshakes.Add(1)
	if n.nowAndThen.ok() {
		n.log.Warn("connection refused", "from", conn.RemoteAddr().String(), "err", err)
	}
}

// receiveStream shakes hands with whoever has dialled, within the time for it, and
// puts the connection where it belongs. shaken is called when hands are shaken.
func (n *Node) receiveStream(raw net.Conn, shaken func()) error {
	ctx, cancel := context.WithTimeout(n.ctx, n.cfg.Timing.Dial)
	defer cancel()
	stop := context.AfterFunc(ctx, func() { expire(raw) })
	conn, who, answer, err := n.introduce(ctx, raw)
	shaken()
	if err != nil {
		stop()
		return err
	}
	reply := func(v wire.Verdict, known uint64, last wire.LinkID, received uint64) error {
		id := n.identity(int(who.Stream), who.Node)
		id.LastLink, id.Received = last, received
		err := answer(wire.Reception{Verdict: v, Known: known, Identity: id})
		if err == nil && v != wire.Welcome {
			err = fmt.Errorf("%q: %w", who.Node, &refusedError{v, known})
		}
		if err == nil && !stop() {
			err = ctx.Err()
		}
		return err
	}
	if err := checkCertificate(conn, who.Node); err != nil {
		return errors.Join(err, reply(wire.Unauthorized, 0, wire.LinkID{}, 0))
	}
	switch state := n.State(); {
	case !n.sends(), state == NodeLeaving && who.Stream == 0:
		return reply(wire.Leaving, 0, wire.LinkID{}, 0)
	case who.Stream == 0:
		return n.receiveControl(ctx, conn, who, reply)
	default: // also of a link that this node will say goodbye by
		return n.receiveLane(conn, who, reply)
	}
}

func (n *Node) introduce(ctx context.Context, raw net.Conn) (net.Conn, wire.Identity, func(wire.Reception) error, error) {
	conn, err := n.secure(ctx, raw, false, "")
	if err != nil {
		return nil, wire.Identity{}, nil, err
	}
	who, answer, err := n.handshakeX(conn)
	return conn, who, answer, err
}

// replyFunc answers who has dialled; last and received are what Identity says of them.
type replyFunc func(v wire.Verdict, known uint64, last wire.LinkID, received uint64) error

// receiveControl admits a link, or not, and waits until its lanes are attached.
func (n *Node) receiveControl(ctx context.Context, conn net.Conn, who wire.Identity, reply replyFunc) error {
	var verdict wire.Verdict
	var known uint64
	n.change(func(r *roster.Roster) (e roster.Effects) {
		verdict, known, e = r.Admit(n.now(), who)
		return e
	})
	if verdict != wire.Welcome {
		return reply(verdict, known, wire.LinkID{}, 0)
	}
	// What came over the last link has been counted before this one says how much.
	n.awaitPast(ctx, who.Node)
	n.settlePast(who)
	l := newLink(n, n.peerOf(who.Node), who.Link, who, false)
	if !n.expect(l) {
		l.fail(errGivenUp)
		return reply(wire.NoSuchLink, 0, wire.LinkID{}, 0)
	}
	defer n.unexpect(l)
	n.mu.Lock()
	last, received := n.lastLink(who.Node)
	n.mu.Unlock()
	if err := reply(wire.Welcome, 0, last, received); err != nil {
		l.fail(err)
		return err
	}
	l.control.attach(conn)
	select {
	case <-l.complete:
		return n.establish(l)
	case <-ctx.Done():
		err := fmt.Errorf("link of %q: %w while its lanes were awaited", who.Node, ctx.Err())
		l.fail(err)
		return err
	}
}

// receiveLane attaches a lane to a link that is being made, or that has lost it.
func (n *Node) receiveLane(conn net.Conn, who wire.Identity, reply replyFunc) error {
	l, up := n.findLink(who.Link)
	i := int(who.Stream) - 1
	if l == nil || l.peer.id != who.Node || l.incarnation != who.Incarnation || i >= len(l.lanes) || up && l.dialed || !up && l.lanes[i].attached() {
		return reply(wire.NoSuchLink, 0, wire.LinkID{}, 0)
	}
	s := l.lanes[i]
	if !up {
		if err := reply(wire.Welcome, 0, wire.LinkID{}, 0); err != nil {
			return err
		}
		l.attachLane(i, conn)
		return nil
	}
	return l.reattach(s, conn, who, reply)
}

// reattach gives a lane of a link that is up the connection that the peer has dialled
// for it. The link is not over before this is: what the lane has lost is counted with
// it once. A dial that the peer has given up for a later one is refused: what it says
// has arrived is no longer so.
func (l *link) reattach(s *stream, conn net.Conn, who wire.Identity, reply replyFunc) error {
	if !l.begin() {
		return reply(wire.NoSuchLink, 0, wire.LinkID{}, 0)
	}
	defer l.work.Done()
	s.reattach.Lock()
	defer s.reattach.Unlock()
	if who.Dial <= s.dialsSeen {
		return reply(wire.NoSuchLink, 0, wire.LinkID{}, 0)
	}
	s.dialsSeen = who.Dial
	if s.detach(nil) { // the peer knows already that it is lost
		l.laneLost(s, errors.New("the peer has dialled it again"))
	}
	s.users.Wait()
	s.noteLoss(who.Received)
	if err := reply(wire.Welcome, 0, l.id, s.received.Load()); err != nil {
		return err
	}
	l.resume(s, conn)
	return nil
}
