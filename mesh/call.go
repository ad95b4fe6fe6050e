package mesh

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pawl-go/pawl/mesh/internal/wire"
)

// outcome is how a call ended.
type outcome struct {
	value any        // of a reply given on this node
	wire  *wireReply // of a reply from another
	err   error      // a *RemoteError, or errDisconnected
}

// wireReply is a value as it came, to be decoded by who waits for it.
type wireReply struct {
	form    wire.Form
	typ     string
	payload []byte
}

// errDisconnected ends the calls that were bound to a connection that is lost.
var errDisconnected = &ReplyError{Code: ReplyDisconnected}

// pendingCall is a call that waits on this node. Whoever takes it out of the
// table of pending calls, or is its request's only holder, completes it, once.
type pendingCall struct {
	id   atomic.Uint64 // in the table of calls; 0: not there
	done chan outcome  // of size 1, so that completing never blocks
	gone atomic.Bool   // the caller no longer waits

	link *link // by which it left; nil: it is on this node
	lane int   // of the link, by which the request left; -1: the control stream
}

func (p *pendingCall) complete(o outcome) { p.done <- o }

// callTable holds the calls that wait for something from another node, or for a
// reply handle to come home.
type callTable struct {
	next   atomic.Uint64
	shards [16]callShard
}

type callShard struct {
	mu    sync.Mutex
	calls map[uint64]*pendingCall
}

func (t *callTable) shard(id uint64) *callShard { return &t.shards[id/laneIDs%uint64(len(t.shards))] }

// laneIDs is how many ids there are of one number: the peer picks the lane of the
// reply by the id, so which of them is used is the caller's say.
const laneIDs = wire.MaxLanes

// add gives p an id and keeps it. The replies to calls that leave by one lane come
// by one lane too, where they share writes.
func (t *callTable) add(p *pendingCall) {
	id := t.next.Add(1) * laneIDs
	if p.link != nil && p.lane >= 0 {
		lanes := uint64(p.link.theirs) // at most laneIDs
		id += (uint64(p.lane)%lanes + lanes - id%lanes) % lanes
	}
	p.id.Store(id)
	s := t.shard(id)
	s.mu.Lock()
	if s.calls == nil {
		s.calls = map[uint64]*pendingCall{}
	}
	s.calls[id] = p
	s.mu.Unlock()
	if p.gone.Load() {
		t.take(id)
	}
}

// abandon is for a caller that no longer waits.
func (t *callTable) abandon(p *pendingCall) {
	p.gone.Store(true)
	if id := p.id.Load(); id != 0 {
		t.take(id)
	}
}

// take removes a call, or returns nil if it is not there (any more).
func (t *callTable) take(id uint64) *pendingCall {
	s := t.shard(id)
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.calls[id]
	delete(s.calls, id)
	return p
}

// disconnect ends all calls that were bound to a link, or to one stream of it.
func (t *callTable) disconnect(bound func(*pendingCall) bool) {
	for i := range t.shards {
		s := &t.shards[i]
		var over []*pendingCall
		s.mu.Lock()
		for id, p := range s.calls {
			if bound(p) {
				over = append(over, p)
				delete(s.calls, id)
			}
		}
		s.mu.Unlock()
		for _, p := range over {
			p.complete(outcome{err: errDisconnected})
		}
	}
}

func (t *callTable) len() int {
	n := 0
	for i := range t.shards {
		t.shards[i].mu.Lock()
		n += len(t.shards[i].calls)
		t.shards[i].mu.Unlock()
	}
	return n
}

// CallOption is an option of [Call].
type CallOption func(*callOptions)

type callOptions struct {
	timeout time.Duration
	set     bool
}

// Timeout ends this call after d, whatever its reference and its node say; 0 is
// never. The context's deadline counts in any case.
func Timeout(d time.Duration) CallOption {
	return func(o *callOptions) { o.timeout, o.set = max(d, 0), true }
}

// Call sends m and waits for the reply, an R. A call to another node ends after
// the timeout given here, else the reference's, else the node's (Config.CallTimeout);
// a call on this node has none of its own. ctx's deadline counts too, and travels
// with the call: what has expired is not begun.
//
// It fails with a [SendError] if m never left, and with a [ReplyError] if it left
// and brought no reply; [OutcomeUnknown] tells whether m may have been handled.
func Call[R, M any](ctx context.Context, to *Ref[M], m M, options ...CallOption) (R, error) {
	var o callOptions
	for _, option := range options {
		option(&o)
	}
	if to.isLocal() {
		return callLocal[R](ctx, to, m, o)
	}
	return callRemote[R](ctx, to, m, o)
}

func callLocal[R, M any](ctx context.Context, to *Ref[M], m M, o callOptions) (out R, err error) {
	n := to.node
	timeout := to.timeout
	if o.set {
		timeout = o.timeout
	}
	p := n.takeCall()
	p.request = request{node: n, call: &p.pendingCall, deadline: deadlineOf(ctx, timeout)}
	if err := to.sendLocal(ctx, m, &p.request, true); err != nil {
		n.giveCall(p)
		return out, err
	}
	o2, err := n.await(ctx, p.done, timeout)
	if err != nil {
		n.calls.abandon(&p.pendingCall)
		return out, to.replyError(ReplyTimeout, err)
	}
	n.giveCall(p)
	if o2.err != nil {
		return out, to.failed(o2.err)
	}
	out, err = replyAs[R](o2.value)
	if o2.wire != nil { // answered from another node, by a handle that travelled
		out, err = decodeReply[R](n.types, o2.wire.form, o2.wire.typ, o2.wire.payload)
	}
	if err != nil {
		return out, to.replyError(ReplyDecode, err)
	}
	return out, nil
}

// localCall is what a call on this node needs, in one piece, to be used again.
type localCall struct {
	pendingCall
	request request
}

func (n *Node) takeCall() *localCall {
	if p, ok := n.spareCalls.Get().(*localCall); ok {
		return p
	}
	return &localCall{pendingCall: pendingCall{done: make(chan outcome, 1)}}
}

// giveCall gives back a call that has ended: nobody holds its request any more.
func (n *Node) giveCall(p *localCall) {
	if p.id.Load() == 0 { // else a handle of it may be anywhere
		n.spareCalls.Put(p)
	}
}

// deadlineOf is when a call expires; zero is never.
func deadlineOf(ctx context.Context, timeout time.Duration) time.Time {
	deadline, ok := ctx.Deadline()
	if timeout > 0 {
		if t := time.Now().Add(timeout); !ok || t.Before(deadline) {
			deadline = t
		}
	}
	return deadline
}

// await waits for an outcome; the error is that of a context.
func (n *Node) await(ctx context.Context, done <-chan outcome, timeout time.Duration) (outcome, error) {
	if timeout <= 0 {
		if ctx.Done() == nil {
			return <-done, nil
		}
		select {
		case o := <-done:
			return o, nil
		case <-ctx.Done():
			return outcome{}, ctx.Err()
		}
	}
	timer, ok := n.spareTimers.Get().(*time.Timer)
	if ok {
		timer.Reset(timeout)
	} else {
		timer = time.NewTimer(timeout)
	}
	defer func() {
		timer.Stop() // since Go 1.23 nothing stale is left in its channel
		n.spareTimers.Put(timer)
	}()
	select {
	case o := <-done:
		return o, nil
	case <-ctx.Done():
		return outcome{}, ctx.Err()
	case <-timer.C:
		return outcome{}, context.DeadlineExceeded
	}
}
