package mesh

import (
	"bytes"
	"fmt"
	"time"

	"github.com/pawl-go/pawl/mesh/internal/wire"
)

// handle takes a frame off a stream. It never blocks: a reader that waits for
// something would stop a peer's replies and signs of life. An error means that the
// frame was not what it said, and is dropped; nothing else ends by it.
func (s *stream) handle(k wire.Kind, body []byte, size int) error {
	l := s.link
	switch k {
	case wire.Cast, wire.Call:
		m, err := wire.ParseMessage(k, body)
		if err != nil {
			return err
		}
		s.received.Add(1)
		s.receive(m, size)
	case wire.Reply:
		return l.node.receiveReply(body)
	case wire.Fragment:
		return s.handleFragment(body)
	case wire.Fin:
		s.finished()
	case wire.Heartbeat:
		received, err := wire.ParseHeartbeat(body)
		if err != nil {
			return err
		}
		l.acked.Store(max(received, l.acked.Load())) // two may have crossed on their way out
	case wire.Op:
		return l.handleOp(body)
	case wire.Notice:
		id, reason, text, err := wire.ParseNotice(body)
		if err != nil {
			return err
		}
		if m := l.node.monitors.take(id); m != nil {
			m.fire(exitFromWire(reason, string(text)), nil)
		}
	case wire.Refused:
		return l.handleRefused(body)
	case wire.Goodbye:
		l.goodbye()
	case wire.GoodbyeOK:
		l.goodbyeOK()
	case wire.Parted:
		l.parted()
	default:
		return fmt.Errorf("%w: kind %d, of a newer version perhaps", wire.ErrMalformed, k)
	}
	return nil
}

// handleFragment puts a large frame together. Of a message, the first fragment
// tells whether its actor has room; if not it is refused then, and its bytes are
// not kept.
func (s *stream) handleFragment(body []byte) error {
	piece, err := wire.ParseFragment(body)
	if err != nil {
		return err
	}
	head, whole, err := s.asm.Add(piece)
	if err != nil {
		return err
	}
	if whole != nil {
		return s.handle(wire.Kind(whole[0]), whole[1:], len(whole))
	}
	if head == nil {
		return nil
	}
	k := wire.Kind(head[0])
	if k != wire.Cast && k != wire.Call {
		return nil
	}
	m, err := wire.ParseMessage(k, head[1:])
	if err != nil {
		s.asm.Skip(piece)
		return err
	}
	n := s.link.node
	if a := n.actors.find(string(m.Target)); a != nil && a.base().overloaded(piece.Total) {
		s.asm.Skip(piece)
		s.received.Add(1)
		n.refuseMessage(s.link, m, RemoteOverloaded, nil)
	}
	return nil
}

// receive gives a message to its actor, or refuses it.
func (s *stream) receive(m wire.Message, size int) {
	l, n := s.link, s.link.node
	a, t := s.recent.actor, s.recent.typ
	if a == nil || a.base().name != string(m.Target) {
		a = n.actors.find(string(m.Target))
		s.recent.actor = a
	}
	if a == nil {
		n.refuseMessage(l, m, RemoteNoSuchActor, nil)
		return
	}
	if t == nil || t.Name() != string(m.Type) {
		t = n.types.byName[string(m.Type)]
		s.recent.typ = t
	}
	if t == nil {
		n.refuseMessage(l, m, RemoteUnknownMessage, nil)
		return
	}
	var req *request
	if m.Call {
		req = &request{node: n, link: l, id: m.ID, alone: s.recent.alone}
		if m.Timeout > 0 {
			req.deadline = time.Now().Add(m.Timeout)
		}
	}
	code, err := a.receive(t, m.Payload, req, size)
	if code == RemoteClosed { // the name may be another's by now
		if s.recent.actor = n.actors.find(string(m.Target)); s.recent.actor != nil && s.recent.actor != a {
			code, err = s.recent.actor.receive(t, m.Payload, req, size)
		}
	}
	if code != "" {
		n.refuseMessage(l, m, code, err)
	}
}

// recent is whom and what a stream's last message was for: the next one's are
// often the same.
type recent struct {
	actor anyActor
	typ   messageType
	alone bool // nothing else came with it
}

// refuseMessage counts a message that is not taken, and tells its sender: a caller
// at once, the sender of a cast in summary.
func (n *Node) refuseMessage(l *link, m wire.Message, code RemoteCode, why error) {
	n.refuse(code, DeadLetter{
		Target: AnyAddress{n.id, string(m.Target)}, From: l.peer.id, Type: string(m.Type), Call: m.Call, Count: 1,
	})
	if !m.Call {
		l.noteRefusal(string(m.Target), code)
		return
	}
	detail := ""
	if why != nil {
		detail = why.Error()
	} else if code == RemoteUnknownMessage {
		detail = string(m.Type)
	}
	n.sendRefusal(l, m.ID, code, detail, false)
}

// receiveReply gives a reply to whoever waits for it.
func (n *Node) receiveReply(body []byte) error {
	answer, err := wire.ParseReply(body)
	if err != nil {
		return err
	}
	call := n.calls.take(answer.ID)
	if call == nil {
		n.counts.replies.stale.Add(1)
		return nil
	}
	n.counts.replies.received.Add(1)
	if answer.Code != 0 {
		call.complete(outcome{err: &RemoteError{remoteCode(answer.Code), string(answer.Payload)}})
		return nil
	}
	call.complete(outcome{wire: &wireReply{answer.Form, string(answer.Type), bytes.Clone(answer.Payload)}})
	return nil
}

// handleOp does an operation of the peer and answers it.
func (l *link) handleOp(body []byte) error {
	o, err := wire.ParseOp(body)
	if err != nil {
		return err
	}
	answer, code := l.node.perform(l, op(o.Op), o.Target, o.ID, o.Arg)
	if op(o.Op) == opUnmonitor {
		return nil
	}
	frame := l.node.takeBuffer()
	if code != "" {
		frame.b = wire.AppendReply(frame.b[:0], o.ID, code.wireCode(), wire.Text, "")
	} else {
		frame.b = append(wire.AppendReply(frame.b[:0], o.ID, 0, wire.Bytes, ""), answer...)
	}
	frame.b = wire.FinishMessage(frame.b, 0)
	l.control.pushAlways(frame, false)
	return nil
}

// handleRefused is for casts of this node that the peer has refused.
func (l *link) handleRefused(body []byte) error {
	all, err := wire.ParseRefused(body)
	if err != nil {
		return err
	}
	for _, r := range all {
		reason := Reason(remoteCode(r.Code))
		l.node.counts.elsewhere.add(reason, r.Count)
		l.node.bury(DeadLetter{
			Reason: reason, Target: AnyAddress{l.peer.id, r.Target}, From: l.node.id, Count: r.Count, Reported: true,
		})
	}
	return nil
}

// malformed counts a frame that is not what it says, and logs it now and then.
func (n *Node) malformed(s *stream, err error) {
	n.counts.malformed.Add(1)
	if n.nowAndThen.ok() {
		n.log.Warn("dropped what a peer sent", "peer", s.link.peer.id, "stream", s.index, "err", err)
	}
}
