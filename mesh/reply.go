package mesh

import (
	"errors"
	"fmt"
	"time"

	"github.com/pawl-go/pawl/mesh/internal/wire"
)

// request is whoever waits for the reply to a message that an actor has.
type request struct {
	node     *Node        // of the actor
	call     *pendingCall // a caller on this node; nil: on another
	link     *link        // the other node
	id       uint64       // of the call there
	alone    bool         // nothing else came with it: the reply shares no write
	deadline time.Time    // zero: none
}

func (r *request) from() string {
	if r.link == nil {
		return r.node.id
	}
	return r.link.peer.id
}

// expired reports whether nobody waits any more.
func (r *request) expired() bool {
	if r.call != nil && r.call.gone.Load() {
		return true
	}
	return !r.deadline.IsZero() && !time.Now().Before(r.deadline)
}

// reply gives the caller v.
func (r *request) reply(v any) error {
	if r.call != nil {
		r.call.complete(outcome{value: v})
		return nil
	}
	return r.node.sendReply(r.link, r.id, v, r.alone)
}

// refuse gives the caller an error.
func (r *request) refuse(code RemoteCode, detail string) {
	if r.call != nil {
		r.call.complete(outcome{err: &RemoteError{code, detail}})
		return
	}
	r.node.sendRefusal(r.link, r.id, code, detail, r.alone)
}

// detach makes a handle of the request. A caller of this node is put into the
// table of calls, where the handle finds it from anywhere.
func (r *request) detach() ReplyTo {
	if r.call != nil {
		r.node.calls.add(r.call)
		return ReplyTo{r.node.id, r.node.incarnation, r.call.id.Load()}
	}
	return ReplyTo{r.link.peer.id, r.link.incarnation, r.id}
}

// ReplyTo answers a call later, or from another actor or node: it is a value that
// can travel in a message. Whoever has it may call Reply or Drop; the first to
// reach the caller counts, and the rest is dropped there. A caller that has gone, or
// been restarted, is not reached.
type ReplyTo struct {
	Node        string // where the caller waits
	Incarnation uint64 // of that node
	Call        uint64 // its number there
}

// Reply answers with v, from node n. An error says that v did not leave: a
// [SendError], or how encoding failed.
func (r ReplyTo) Reply(n *Node, v any) error {
	if r.Node == n.id {
		return n.completeHere(r, outcome{value: v})
	}
	l, err := n.linkOf(r)
	if err != nil {
		return err
	}
	return n.sendReply(l, r.Call, v, false)
}

// Drop tells the caller that no reply will come: it gets [RemoteNoReply].
func (r ReplyTo) Drop(n *Node) error {
	if r.Node == n.id {
		return n.completeHere(r, outcome{err: &RemoteError{RemoteNoReply, ""}})
	}
	l, err := n.linkOf(r)
	if err != nil {
		return err
	}
	n.sendRefusal(l, r.Call, RemoteNoReply, "", false)
	return nil
}

func (n *Node) completeHere(r ReplyTo, o outcome) error {
	if n.State() == NodeDefunct {
		return &SendError{Code: SendNotRunning, Node: r.Node, Actor: "(a caller)"}
	}
	var p *pendingCall
	if r.Incarnation == n.incarnation {
		p = n.calls.take(r.Call)
	}
	if p == nil {
		n.counts.replies.stale.Add(1)
		return nil
	}
	p.complete(o)
	return nil
}

// linkOf finds the connection to the caller that a handle is for.
func (n *Node) linkOf(r ReplyTo) (*link, error) {
	p, err := n.target(r.Node)
	if err != nil {
		err.Actor = "(a caller)"
		return nil, err
	}
	l := p.link.Load()
	if l == nil || l.incarnation != r.Incarnation {
		return nil, &SendError{Code: SendUnreachable, Node: r.Node, Actor: "(a caller)", Err: errCallerGone}
	}
	return l, nil
}

var errCallerGone = errors.New("the caller's node was lost or restarted")

// sendReply encodes v and sends it; what does not survive the wire is told the
// caller instead. alone is as for stream.push.
func (n *Node) sendReply(l *link, id uint64, v any, alone bool) error {
	frame := n.takeBuffer()
	if err := n.encodeReply(frame, id, v); err != nil {
		n.giveBuffer(frame)
		n.sendRefusal(l, id, RemoteEncode, err.Error(), alone)
		return fmt.Errorf("reply: encode %T: %w", v, err)
	}
	if size := len(frame.b); size > MaxMessage {
		n.giveBuffer(frame)
		n.sendRefusal(l, id, RemoteTooLarge, fmt.Sprintf("%d bytes, at most %d", size, MaxMessage), alone)
		return &SendError{Code: SendTooLarge, Node: l.peer.id, Actor: "(a caller)", Size: size, Limit: MaxMessage}
	}
	n.pushReply(l, id, frame, alone)
	return nil
}

func (n *Node) encodeReply(frame *buffer, id uint64, v any) (err error) {
	defer func() { // a type's own functions may panic
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	form, typ := n.types.replyForm(v)
	name := ""
	if typ != nil {
		name = typ.Name()
	}
	frame.b = wire.AppendReply(frame.b[:0], id, 0, form, name)
	if frame.b, err = n.types.appendReply(frame.b, v, typ); err != nil {
		return err
	}
	frame.b = wire.FinishMessage(frame.b, 0)
	return nil
}

// sendRefusal tells a caller on another node why it gets no reply.
func (n *Node) sendRefusal(l *link, id uint64, code RemoteCode, detail string, alone bool) {
	frame := n.takeBuffer()
	frame.b = wire.AppendReply(frame.b[:0], id, code.wireCode(), wire.Text, "")
	frame.b = wire.FinishMessage(append(frame.b, detail[:min(len(detail), maxDetail)]...), 0)
	n.pushReply(l, id, frame, alone)
}

// pushReply queues a reply on the lane of its call. A reply waits for no room and
// is refused for none; if the lane is down, the caller has been told already.
func (n *Node) pushReply(l *link, id uint64, frame *buffer, alone bool) {
	s := l.lanes[id%uint64(l.own)]
	if s.pushAlways(frame, alone) {
		n.counts.replies.sent.Add(1)
	} else {
		n.counts.replies.undeliverable.Add(1)
	}
}

// buffer is a slice that is used again.
type buffer struct{ b []byte }

// keepBuffer is the largest buffer that is kept among those for any frame.
const keepBuffer = 64 << 10

func (n *Node) takeBuffer() *buffer {
	if b, ok := n.spareBuffers.Get().(*buffer); ok {
		return b
	}
	return &buffer{make([]byte, 0, 512)}
}

// takeLarge is for a frame that will be large, as far as one can know.
func (n *Node) takeLarge() *buffer {
	if b, ok := n.spareLarge.Get().(*buffer); ok {
		return b
	}
	return n.takeBuffer()
}

// giveBuffer gives a buffer back; one whose bytes the send queue has kept has none.
func (n *Node) giveBuffer(b *buffer) {
	switch size := cap(b.b); {
	case size > keepBuffer:
		n.spareLarge.Put(b)
	case size > 0:
		n.spareBuffers.Put(b)
	}
}
