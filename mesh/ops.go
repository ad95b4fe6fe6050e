package mesh

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"time"

	"github.com/pawl-go/pawl/mesh/internal/wire"
)

// op is an operation: it passes the mailbox by, and between nodes it has the
// control stream to itself, so no message delays it.
type op uint8

const (
	opPing op = iota + 1
	opShutdown
	opAbort
	opSuspend
	opResume
	opStatus
	opResolve
	opMonitor
	opUnmonitor
	opInspect
)

var opNames = map[op]string{
	opPing: "ping", opShutdown: "shutdown", opAbort: "abort", opSuspend: "suspend", opResume: "resume",
	opStatus: "status", opResolve: "resolve", opMonitor: "monitor", opInspect: "inspect",
}

// Shutdown refuses new messages to the actor and lets those that wait be handled;
// then it exits. It returns when the actor has been told; [Ref.Monitor] tells when
// it has exited. Like all operations it fails with an [OpError], and may overtake
// messages sent before it.
func (r *Ref[M]) Shutdown(ctx context.Context) error { return r.op(ctx, opShutdown) }

// Abort ends the actor after the message it is in; what waits is dropped.
func (r *Ref[M]) Abort(ctx context.Context) error { return r.op(ctx, opAbort) }

// Suspend has the actor take no messages until Resume; they wait, and are refused
// when too many do.
func (r *Ref[M]) Suspend(ctx context.Context) error { return r.op(ctx, opSuspend) }

// Resume ends Suspend.
func (r *Ref[M]) Resume(ctx context.Context) error { return r.op(ctx, opResume) }

// Ping returns how long the actor's node took to say that the actor is there. It
// does not wait for the actor, which may be busy or suspended.
func (r *Ref[M]) Ping(ctx context.Context) (time.Duration, error) {
	begun := time.Now()
	err := r.op(ctx, opPing)
	return time.Since(begun), err
}

// Status returns what the actor is doing.
func (r *Ref[M]) Status(ctx context.Context) (ActorInfo, error) {
	return r.node.ActorStatus(ctx, r.addr.Any())
}

func (r *Ref[M]) op(ctx context.Context, o op) error {
	_, err := r.node.operate(ctx, r.addr.Any(), o, nil)
	return err
}

// The operations again, for whoever knows an actor's name and not its messages.

// ActorStatus is [Ref.Status].
func (n *Node) ActorStatus(ctx context.Context, a AnyAddress) (info ActorInfo, err error) {
	answer, err := n.operate(ctx, a, opStatus, nil)
	if err != nil {
		return info, err
	}
	return info, n.readAnswer(opStatus, a, answer, &info)
}

// ShutdownActor is [Ref.Shutdown].
func (n *Node) ShutdownActor(ctx context.Context, a AnyAddress) error {
	_, err := n.operate(ctx, a, opShutdown, nil)
	return err
}

// Ping returns how long it took an actor's node to say that the actor is there; with
// an empty name, to say that it is itself.
func (n *Node) Ping(ctx context.Context, a AnyAddress) (time.Duration, error) {
	begun := time.Now()
	_, err := n.operate(ctx, a, opPing, nil)
	return time.Since(begun), err
}

func (n *Node) readAnswer(o op, a AnyAddress, answer []byte, into any) error {
	if err := json.Unmarshal(answer, into); err != nil {
		return &OpError{OpReply, opNames[o], &ReplyError{Code: ReplyDecode, Node: a.Node, Actor: a.Name, Err: err}}
	}
	return nil
}

// operate does an operation wherever the actor is.
func (n *Node) operate(ctx context.Context, a AnyAddress, o op, arg []byte) ([]byte, error) {
	if a.Node == n.id {
		if !n.sends() {
			return nil, n.notSent(o, SendNotRunning, a)
		}
		answer, code := n.perform(nil, o, []byte(a.Name), 0, arg)
		if code == RemoteNoSuchActor {
			return nil, n.notSent(o, SendClosed, a)
		}
		return answer, nil
	}
	call, err := n.beginOp(a, o)
	if err != nil {
		return nil, err
	}
	return n.finishOp(ctx, a, o, arg, call, n.cfg.CallTimeout)
}

func (n *Node) notSent(o op, code SendCode, a AnyAddress) error {
	return &OpError{OpNotSent, opNames[o], &SendError{Code: code, Node: a.Node, Actor: a.Name}}
}

// beginOp makes the call that waits for an operation's answer.
func (n *Node) beginOp(a AnyAddress, o op) (*pendingCall, error) {
	p, err := n.target(a.Node)
	if err != nil {
		err.Actor = a.Name
		return nil, &OpError{OpNotSent, opNames[o], err}
	}
	l := p.link.Load()
	if l == nil {
		return nil, n.notSent(o, SendUnreachable, a)
	}
	if len(a.Name) > wire.MaxName {
		return nil, &OpError{OpNotSent, opNames[o], &SendError{Code: SendEncode, Node: a.Node, Actor: a.Name, Err: ErrBadName}}
	}
	call := &pendingCall{done: make(chan outcome, 1), link: l, lane: controlStream}
	n.calls.add(call)
	return call, nil
}

// finishOp sends it and waits.
func (n *Node) finishOp(ctx context.Context, a AnyAddress, o op, arg []byte, call *pendingCall, timeout time.Duration) ([]byte, error) {
	call.link.say(appendOp(a, call.id.Load(), o, arg))
	if call.link.isFailed() {
		n.calls.disconnect(func(p *pendingCall) bool { return p == call })
	}
	fail := func(code ReplyCode, cause error) error {
		return &OpError{OpReply, opNames[o], &ReplyError{Code: code, Node: a.Node, Actor: a.Name, Err: cause}}
	}
	answer, err := n.await(ctx, call.done, timeout)
	switch {
	case err != nil:
		n.calls.abandon(call)
		return nil, fail(ReplyTimeout, err)
	case errors.Is(answer.err, ReplyDisconnected):
		return nil, fail(ReplyDisconnected, nil)
	case answer.err != nil:
		return nil, fail(ReplyRemote, answer.err)
	case answer.wire == nil:
		return nil, nil
	}
	return answer.wire.payload, nil
}

func appendOp(a AnyAddress, id uint64, o op, arg []byte) []byte {
	return wire.AppendOp(nil, a.Name, id, uint8(o), arg)
}

// perform does an operation on an actor of this node, or on the node itself. from
// is nil if this node asks.
func (n *Node) perform(from *link, o op, target []byte, id uint64, arg []byte) ([]byte, RemoteCode) {
	if len(target) == 0 {
		return n.performOnNode(o, arg)
	}
	actor := n.actors.find(string(target))
	if actor == nil {
		return nil, RemoteNoSuchActor
	}
	c := actor.base()
	switch o {
	case opPing:
	case opShutdown:
		c.shutdown()
	case opAbort:
		c.abort()
	case opSuspend:
		c.suspend()
	case opResume:
		c.resume()
	case opStatus:
		return asJSON(c.info()), ""
	case opResolve:
		return nil, n.checkTypes(actor, arg)
	case opMonitor:
		if !from.watch(id, c) {
			return nil, RemoteNoSuchActor
		}
	case opUnmonitor:
		from.unwatch(id, c)
	default:
		return nil, RemoteUnknownMessage // a newer node's
	}
	return nil, ""
}

func (n *Node) performOnNode(o op, arg []byte) ([]byte, RemoteCode) {
	switch o {
	case opPing:
		return nil, ""
	case opInspect:
		return asJSON(n.inspect(string(arg))), ""
	}
	return nil, RemoteUnknownMessage
}

// asJSON is how statuses travel, so that versions may differ in fields.
func asJSON(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("encode %T: %v", v, err)) // plain structs of ours
	}
	return b
}

// appendNames and readNames are the argument of resolve.
func appendNames(dst []byte, names []string) []byte {
	for _, name := range names {
		dst = append(append(dst, byte(len(name))), name...)
	}
	return dst
}

func readNames(b []byte) (names []string, ok bool) {
	for len(b) > 0 {
		size := int(b[0])
		if len(b) <= size {
			return nil, false
		}
		names = append(names, string(b[1:1+size]))
		b = b[1+size:]
	}
	return names, true
}

// checkTypes says whether an actor takes all types with these names. One that
// takes anything needs no names.
func (n *Node) checkTypes(a anyActor, arg []byte) RemoteCode {
	names, ok := readNames(arg)
	if !ok {
		return RemoteDecode
	}
	if len(names) == 0 && !a.accepts(reflect.TypeFor[any]()) {
		return RemoteNotAccepted
	}
	for _, name := range names {
		t := n.types.byName[name]
		if t == nil {
			return RemoteUnknownMessage
		}
		if !a.accepts(t.Type()) {
			return RemoteNotAccepted
		}
	}
	return ""
}

// watch keeps a monitor of the peer on an actor here.
func (l *link) watch(id uint64, c *core) bool {
	l.mu.Lock()
	if l.failed {
		l.mu.Unlock()
		return true // nobody is there to be told
	}
	if l.watching == nil {
		l.watching = map[uint64]*core{}
	}
	l.watching[id] = c
	l.mu.Unlock()
	w := watcher{link: l, id: id}
	if !c.watch(w) {
		l.forget(id)
		return false
	}
	if l.isFailed() {
		c.unwatch(w) // it failed between, and did not see it
	}
	return true
}

func (l *link) unwatch(id uint64, c *core) {
	l.forget(id)
	c.unwatch(watcher{link: l, id: id})
}

func (l *link) forget(id uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.watching, id)
}

// tell sends the notice of a monitor.
func (l *link) tell(id uint64, e Exit) {
	l.forget(id)
	detail := e.Detail
	if len(detail) > maxDetail {
		detail = detail[:maxDetail]
	}
	l.say(wire.AppendNotice(nil, id, e.wireReason(), detail))
}

// maxDetail bounds, in bytes, what is said about an error to another node.
const maxDetail = 1024
