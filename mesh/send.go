package mesh

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"time"

	"github.com/pawl-go/pawl/mesh/internal/wire"
)

// Cast sends m, at most once, and does not learn what becomes of it. It waits for
// room: in the lane to the actor's node, or in the mailbox of an actor of this node. While
// a peer is being reconnected, what is cast to it is dropped, counted and put on
// the dead-letter stream.
//
// It fails with a [SendError]; m is then still the caller's.
func (r *Ref[M]) Cast(ctx context.Context, m M) error {
	if c := r.cell; c != nil && c.push(m, nil, 0) == pushed {
		return nil
	}
	if r.isLocal() {
		return r.sendLocal(ctx, m, nil, true)
	}
	return r.castRemote(ctx, m, true)
}

// TryCast is Cast that never waits: it fails with [SendFull] instead.
func (r *Ref[M]) TryCast(m M) error {
	if r.isLocal() {
		return r.sendLocal(context.Background(), m, nil, false)
	}
	return r.castRemote(context.Background(), m, false)
}

// sendLocal puts m into the mailbox of an actor of this node, not encoded.
func (r *Ref[M]) sendLocal(ctx context.Context, m M, req *request, wait bool) error {
	for {
		a, result := r.pushLocal(m, req)
		switch result {
		case pushed:
			return nil
		case pushNotAccepted:
			return r.sendError(SendNotAccepted, fmt.Errorf("it is a %T", m))
		case pushClosed:
			if !r.node.sends() {
				return r.sendError(SendNotRunning, nil)
			}
			return r.sendError(SendClosed, nil)
		}
		if !wait {
			return r.sendError(SendFull, nil)
		}
		if err := a.base().awaitRoom(ctx); err != nil {
			return r.sendError(SendCanceled, err)
		}
	}
}

// pushLocal finds the actor and tries.
func (r *Ref[M]) pushLocal(m M, req *request) (anyActor, pushResult) {
	if c := r.cell; c != nil {
		if result := c.push(m, req, 0); result != pushClosed {
			return c, result
		}
	}
	// Another actor may have the name by now, or one that takes more than M.
	a := r.node.actors.find(r.addr.Name)
	if a == nil {
		return nil, pushClosed
	}
	if c, ok := a.(*cell[M]); ok {
		return a, c.push(m, req, 0)
	}
	return a, a.pushAny(m, req)
}

// castRemote and callRemote check in the order of the table of errors: running,
// member, connection, encoding, size, and then the queue.
func (r *Ref[M]) castRemote(ctx context.Context, m M, wait bool) error {
	l, notSent := r.link()
	if notSent != nil {
		return notSent
	}
	frame := r.takeBuffer()
	if err := r.encode(frame, m, 0, 0, false); err != nil {
		r.node.giveBuffer(frame)
		return err
	}
	if l == nil {
		r.dropReconnecting(frame, m, false)
		return nil
	}
	return r.pushed(l.lane(r.hash).push(ctx, r.addr.Name, frame, wait, false), frame, m, false)
}

// link finds the link to the actor's node; nil while it is being reconnected.
func (r *Ref[M]) link() (*link, *SendError) {
	if r.peer != nil {
		if l := r.peer.link.Load(); l != nil {
			return l, nil
		}
	}
	p, err := r.node.target(r.addr.Node)
	if err != nil {
		err.Actor = r.addr.Name
		return nil, err
	}
	return p.link.Load(), nil
}

func callRemote[R, M any](ctx context.Context, to *Ref[M], m M, o callOptions) (out R, err error) {
	n := to.node
	l, notSent := to.link()
	if notSent != nil {
		return out, notSent
	}
	timeout := to.timeout
	if o.set {
		timeout = o.timeout
	}
	deadline := deadlineOf(ctx, timeout)
	call := &pendingCall{done: make(chan outcome, 1), link: l}
	if l != nil {
		lane := l.lane(to.hash)
		call.lane = lane.index
		lane.asking.Add(1)
		defer lane.asking.Add(-1)
	}
	n.calls.add(call)
	if err := to.sendCall(ctx, call, m, deadline); err != nil {
		n.calls.abandon(call)
		return out, err
	}
	answer, err := n.await(ctx, call.done, timeout)
	if err != nil {
		n.calls.abandon(call)
		return out, to.replyError(ReplyTimeout, err)
	}
	if answer.err != nil {
		return out, to.failed(answer.err)
	}
	if answer.wire == nil { // given on this node, by a handle that travelled here
		out, err = replyAs[R](answer.value)
	} else {
		out, err = decodeReply[R](n.types, answer.wire.form, answer.wire.typ, answer.wire.payload)
	}
	if err != nil {
		return out, to.replyError(ReplyDecode, err)
	}
	return out, nil
}

// sendCall sends a call that is in the table already, since its reply may come at once.
func (r *Ref[M]) sendCall(ctx context.Context, call *pendingCall, m M, deadline time.Time) error {
	var left time.Duration
	if !deadline.IsZero() {
		left = max(time.Until(deadline), 1)
	}
	frame := r.takeBuffer()
	if err := r.encode(frame, m, call.id.Load(), left, true); err != nil {
		r.node.giveBuffer(frame)
		return err
	}
	if call.link == nil {
		r.dropReconnecting(frame, m, true)
		return nil
	}
	lane := call.link.lanes[call.lane]
	alone := lane.asking.Load() == 1
	return r.pushed(lane.push(ctx, r.addr.Name, frame, true, alone), frame, m, true)
}

// expectLarge is for how many messages after a large one another is expected.
const expectLarge = 16

// takeBuffer takes a buffer for the next message.
func (r *Ref[M]) takeBuffer() *buffer {
	if r.large.Load() > 0 {
		return r.node.takeLarge()
	}
	return r.node.takeBuffer()
}

// encode makes the frame of a message.
func (r *Ref[M]) encode(frame *buffer, m M, id uint64, left time.Duration, call bool) (err error) {
	defer func() { // a type's own functions may panic
		if v := recover(); v != nil {
			err = r.sendError(SendEncode, fmt.Errorf("panic: %v", v))
		}
	}()
	t := messageType(r.types)
	if r.types == nil {
		if t = r.node.types.byType[reflect.TypeOf(m)]; t == nil {
			return r.sendError(SendEncode, fmt.Errorf("%T is not registered on this node: put it into Config.Messages", m))
		}
	}
	if len(r.addr.Name) == 0 || len(r.addr.Name) > wire.MaxName {
		return r.sendError(SendEncode, ErrBadName)
	}
	if call {
		frame.b = wire.AppendCall(frame.b[:0], r.addr.Name, t.Name(), id, left)
	} else {
		frame.b = wire.AppendCast(frame.b[:0], r.addr.Name, t.Name())
	}
	if r.types != nil {
		frame.b, err = r.types.append(frame.b, m)
	} else {
		frame.b, err = t.appendAny(frame.b, m)
	}
	if err != nil {
		return r.sendError(SendEncode, err)
	}
	if size := len(frame.b); size > MaxMessage {
		e := r.sendError(SendTooLarge, nil)
		e.Size, e.Limit = size, MaxMessage
		return e
	}
	frame.b = wire.FinishMessage(frame.b, 0)
	if isLarge(frame.b) {
		r.large.Store(expectLarge)
	} else if n := r.large.Load(); n > 0 {
		r.large.Store(n - 1)
	}
	return nil
}

// pushed turns what a lane says into what the sender is told.
func (r *Ref[M]) pushed(err error, frame *buffer, m M, call bool) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, errDetached):
		r.dropReconnecting(frame, m, call)
		return nil
	case errors.Is(err, errFull):
		r.node.giveBuffer(frame)
		return r.sendError(SendFull, nil)
	}
	r.node.giveBuffer(frame)
	return r.sendError(SendCanceled, err)
}

// dropReconnecting drops what was sent to a peer that is being reconnected.
func (r *Ref[M]) dropReconnecting(frame *buffer, m M, call bool) {
	r.node.giveBuffer(frame)
	r.node.counts.sentNowhere.Add(1)
	r.node.drop(ReasonReconnecting, DeadLetter{
		Target: r.addr.Any(), From: r.node.id, Type: typeName(r.node.types, m), Call: call, Count: 1,
	})
}

func (r *Ref[M]) sendError(code SendCode, cause error) *SendError {
	return &SendError{Code: code, Node: r.addr.Node, Actor: r.addr.Name, Err: cause}
}

func (r *Ref[M]) replyError(code ReplyCode, cause error) *ReplyError {
	return &ReplyError{Code: code, Node: r.addr.Node, Actor: r.addr.Name, Err: cause}
}

// failed names the target in how a call ended.
func (r *Ref[M]) failed(err error) error {
	if errors.Is(err, ReplyDisconnected) {
		return r.replyError(ReplyDisconnected, nil)
	}
	return r.replyError(ReplyRemote, err)
}

// typeName is how a message's type is called in a dead letter.
func typeName(types *registry, m any) string {
	t := reflect.TypeOf(m)
	if t == nil {
		return "nil"
	}
	if registered := types.byType[t]; registered != nil {
		return registered.Name()
	}
	return t.String()
}
