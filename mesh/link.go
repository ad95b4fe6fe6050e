package mesh

import (
	"context"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pawl-go/pawl/mesh/internal/wire"
)

// link is the connection to one incarnation of a peer: a control stream and the
// lanes. It ends with its control stream; a lane that is lost alone is dialled
// again by who dialled the link, and the others go on meanwhile.
type link struct {
	node        *Node
	peer        *peer
	id          wire.LinkID
	incarnation uint64 // of the peer
	identity    wire.Identity
	dialed      bool // by this node
	up          bool // it has been established; guarded by node.mu
	closing     bool // the roster has ended it, and it fails soon; guarded by node.mu

	control *stream
	lanes   []*stream // as many as the side with more has
	own     int       // on so many this node sends
	theirs  int       // and the peer on so many

	lastHeard atomic.Int64  // when the control stream last brought something, since node.epoch
	acked     atomic.Uint64 // messages the peer says it has

	ctx    context.Context // ends with the link
	cancel context.CancelCauseFunc
	over   chan struct{}  // closed when nothing of it runs any more
	work   sync.WaitGroup // goroutines beside those of streams

	mu       sync.Mutex // guards what follows
	failed   bool
	attached int  // lanes, of a link that is not up yet
	started  bool // its streams are read
	complete chan struct{}
	watching map[uint64]*core // monitors of the peer on actors here
	refusals map[refusalKey]uint64
	detached map[int]time.Time // lanes that the peer has to dial again, and since when
	parting  parting
}

type refusalKey struct {
	target string
	code   RemoteCode
}

func newLink(n *Node, p *peer, id wire.LinkID, who wire.Identity, dialed bool) *link {
	l := &link{
		node: n, peer: p, id: id, incarnation: who.Incarnation, identity: who, dialed: dialed,
		own: n.cfg.Lanes, theirs: int(who.Lanes),
		over: make(chan struct{}), complete: make(chan struct{}), parting: newParting(),
	}
	l.ctx, l.cancel = context.WithCancelCause(n.ctx)
	l.control = newStream(l, controlStream)
	for i := range max(l.own, l.theirs) {
		l.lanes = append(l.lanes, newStream(l, i))
	}
	l.heard()
	n.background.Add(1) // until it is over
	return l
}

// lane picks the lane of an actor by the hash of its name.
func (l *link) lane(hash uint32) *stream { return l.lanes[hash%uint32(l.own)] }

func (l *link) heard() { l.lastHeard.Store(int64(time.Since(l.node.epoch))) }

// silence returns for how long the peer has said nothing.
func (l *link) silence() time.Duration {
	return time.Since(l.node.epoch) - time.Duration(l.lastHeard.Load())
}

// streams are all of them.
func (l *link) streams() []*stream { return append([]*stream{l.control}, l.lanes...) }

// attachLane is for a lane of a link that is not up yet.
func (l *link) attachLane(i int, conn net.Conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.failed {
		_ = conn.Close() // nobody reads it
		return
	}
	l.lanes[i].attach(conn)
	if l.attached++; l.attached == len(l.lanes) {
		close(l.complete)
	}
}

// start begins to read from all streams. A lane that has come back before is read from
// here on too, by one reader.
func (l *link) start() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.started = true
	for _, s := range l.streams() {
		s.start()
	}
}

// streamLost is for a stream whose connection conn is lost.
func (l *link) streamLost(s *stream, conn net.Conn, why error) {
	if s.index == controlStream {
		l.fail(fmt.Errorf("control stream: %w", why))
		return
	}
	if !s.detach(conn) {
		return
	}
	l.laneLost(s, why)
}

// laneLost ends the calls bound to a lane, and has it dialled again.
func (l *link) laneLost(s *stream, why error) {
	l.node.calls.disconnect(func(p *pendingCall) bool {
		return p.link == l && (p.lane == s.index || p.lane >= 0 && p.reply(l) == s.index)
	})
	defer l.checkParting()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.failed || l.parting.isFinal() {
		return
	}
	l.node.log.Info("lane lost", "peer", l.peer.id, "lane", s.index, "err", why)
	if l.dialed {
		l.work.Go(func() { l.node.redialLane(l, s) })
		return
	}
	if l.detached == nil {
		l.detached = map[int]time.Time{}
	}
	l.detached[s.index] = time.Now()
}

// reply is the lane by which the reply to a call comes.
func (p *pendingCall) reply(l *link) int { return int(p.id.Load() % uint64(l.theirs)) }

// fail ends the link: at once for who waits on it, and soon for its goroutines.
func (l *link) fail(why error) {
	l.mu.Lock()
	if l.failed {
		l.mu.Unlock()
		return
	}
	l.failed = true
	watching := l.watching
	l.watching = nil
	l.mu.Unlock()
	l.peer.link.CompareAndSwap(l, nil)
	l.cancel(why)
	for _, s := range l.streams() {
		s.detach(nil)
	}
	l.node.calls.disconnect(func(p *pendingCall) bool { return p.link == l })
	l.node.monitors.disconnect(l)
	for id, c := range watching {
		c.unwatch(watcher{link: l, id: id})
	}
	go l.finish(why)
}

// finish waits for the goroutines and tells the node.
func (l *link) finish(why error) {
	defer l.node.background.Done()
	for _, s := range l.streams() {
		s.users.Wait()
	}
	l.work.Wait()
	l.node.linkOver(l, why)
	close(l.over)
}

// begin notes that somebody works on the link, who calls work.Done; false if it has failed.
func (l *link) begin() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.failed {
		return false
	}
	l.work.Add(1)
	return true
}

// isFailed reports whether the link has ended.
func (l *link) isFailed() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.failed
}

// sent returns how many messages this node has put on the link.
func (l *link) sent() (n uint64) {
	for _, s := range l.streams() {
		s.mu.Lock()
		n += s.sent
		s.mu.Unlock()
	}
	return n
}

// lost returns how many of these are known not to have arrived.
func (l *link) lost() (n uint64) {
	for _, s := range l.streams() {
		s.mu.Lock()
		n += s.lost
		s.mu.Unlock()
	}
	return n
}

// received returns how many messages have been taken from the link.
func (l *link) received() (n uint64) {
	for _, s := range l.lanes {
		n += s.received.Load()
	}
	return n
}

// noteLoss counts what never arrived on a lane whose connection was lost: the
// peer says that it has received so many messages from it.
func (s *stream) noteLoss(received uint64) {
	s.mu.Lock()
	gone := s.sent - min(received, s.sent)
	lost := gone - min(s.lost, gone)
	s.lost += lost
	s.mu.Unlock()
	s.link.node.dropLost(s.link.peer.id, lost)
}

// control frames wait for no room.
func (l *link) say(frame []byte) {
	b := l.node.takeBuffer()
	b.b = append(b.b[:0], frame...)
	l.control.pushAlways(b, false)
}

// noteRefusal keeps a refused cast for the next summary to its sender.
func (l *link) noteRefusal(target string, code RemoteCode) {
	const most = 4096 // names are the sender's: it does not fill our memory with them
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.refusals == nil {
		l.refusals = map[refusalKey]uint64{}
	}
	k := refusalKey{target, code}
	if _, known := l.refusals[k]; !known && len(l.refusals) >= most {
		k.target = ""
	}
	l.refusals[k]++
}

// sayRefusals sends the summary.
func (l *link) sayRefusals() {
	l.mu.Lock()
	refusals := l.refusals
	l.refusals = nil
	l.mu.Unlock()
	if len(refusals) == 0 {
		return
	}
	var all []wire.Refusal
	for k, count := range refusals {
		all = append(all, wire.Refusal{Target: k.target, Code: k.code.wireCode(), Count: count})
	}
	frames := wire.AppendRefused(nil, all)
	for len(frames) > 0 {
		n := wire.Need(frames)
		l.say(frames[:n])
		frames = frames[n:]
	}
}

// beat is the sign of life, and what goes with it.
func (l *link) beat() {
	l.sayRefusals()
	l.say(wire.AppendHeartbeat(nil, l.received()))
	t := &l.node.cfg.Timing
	if quiet := l.silence(); quiet > t.Silence {
		l.fail(fmt.Errorf("no sign of life for %v", quiet.Round(time.Millisecond)))
		return
	}
	l.mu.Lock()
	var late []int
	for i, since := range l.detached {
		if time.Since(since) > t.Silence {
			late = append(late, i)
		}
	}
	l.mu.Unlock()
	if len(late) > 0 {
		l.fail(fmt.Errorf("lane %d was not dialled again", late[0]))
		return
	}
	for _, s := range l.lanes {
		s.checkStuck(int(2 * t.Silence / t.Heartbeat))
	}
}

// checkStuck gives a lane up whose write has made no progress for so many beats:
// a peer reads always, so its connection is dead.
func (s *stream) checkStuck(most int) {
	writes := s.writes.Load()
	if !s.writing.Load() || writes != s.lastWrites {
		s.lastWrites, s.stuck = writes, 0
		return
	}
	if s.stuck++; s.stuck < most {
		return
	}
	s.mu.Lock()
	conn := s.conn
	s.mu.Unlock()
	if conn != nil {
		s.link.streamLost(s, conn, fmt.Errorf("a write is stuck"))
	}
}
