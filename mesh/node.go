package mesh

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pawl-go/pawl/mesh/internal/roster"
	"github.com/pawl-go/pawl/mesh/internal/wire"
)

// NodeState is what a node is doing.
type NodeState string

// The states, in the order of a life.
const (
	NodeStarting NodeState = "starting"
	NodeUp       NodeState = "up"
	NodeLeaving  NodeState = "leaving" // Leave: takes nothing new, drains
	NodeDefunct  NodeState = "defunct"
)

var nodeStates = [...]NodeState{NodeStarting, NodeUp, NodeLeaving, NodeDefunct}

const (
	starting = iota
	up
	leaving
	defunct
)

// Node is a member of a mesh, and where actors live. Its methods may be called
// concurrently.
type Node struct {
	id          string
	incarnation uint64
	addr        string
	cfg         Config
	log         *slog.Logger
	types       *registry
	epoch       time.Time // of the clock of heartbeats

	state    atomic.Uint32
	actors   directory
	unnamed  atomic.Uint64
	dialed   atomic.Uint64 // control streams so far
	calls    callTable
	monitors monitorTable
	counts   counts
	dead     deadLetters
	peers    sync.Map // name -> *peer

	// Objects that are used again. They are the node's own and not the package's,
	// because channels and timers must not leave the bubble of a synctest.
	spareCalls, spareTimers, spareBuffers, spareLarge sync.Pool
	spareChunks                                       sync.Map // type of message -> *sync.Pool

	ctx        context.Context // ends with the node
	cancel     context.CancelFunc
	background sync.WaitGroup
	listener   net.Listener
	defunct    chan struct{}
	closing    sync.Once
	kick       chan struct{} // of size 1: the roster has changed, for maintain
	nowAndThen limiter

	mu            sync.Mutex // guards what follows
	roster        roster.Roster
	changed       chan struct{}         // closed and renewed when the roster has changed
	links         map[wire.LinkID]*link // up, or failed and not over
	pending       map[wire.LinkID]*link // admitted, and not up yet
	dials         map[string]context.CancelFunc
	subscriptions map[*Subscription]struct{}
}

// peer is what senders know of another node.
type peer struct {
	id    string
	link  atomic.Pointer[link]
	state atomic.Uint32 // a roster.State

	// Guarded by the node's mutex.
	past      *pastLink
	dialError error // of the last dial that failed
}

// pastLink is what is to be settled with a peer about a link that is over.
type pastLink struct {
	id       wire.LinkID
	settled  bool
	sent     uint64 // less what is known to be lost
	acked    uint64
	received uint64
}

// Start starts a node: it listens, and dials its peers. It fails when the
// configuration is wrong, two messages have one name, the address cannot be
// listened on, or the incarnation cannot be kept.
func Start(cfg Config) (*Node, error) {
	n, err := start(cfg)
	if err != nil {
		return nil, fmt.Errorf("start node %q: %w", cfg.ID, err)
	}
	return n, nil
}

func start(cfg Config) (*Node, error) {
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	types, err := newRegistry(cfg.Codec, cfg.Messages)
	if err != nil {
		return nil, err
	}
	n := &Node{
		id: cfg.ID, cfg: cfg, log: cfg.Logger.With("node", cfg.ID), types: types, epoch: time.Now(),
		defunct: make(chan struct{}), kick: make(chan struct{}, 1),
		links: map[wire.LinkID]*link{}, pending: map[wire.LinkID]*link{}, dials: map[string]context.CancelFunc{},
		subscriptions: map[*Subscription]struct{}{}, changed: make(chan struct{}),
	}
	n.actors.node = n
	n.roster = roster.Roster{
		Self: cfg.ID, MinDelay: cfg.Timing.RedialMin, MaxDelay: cfg.Timing.RedialMax,
		FailAfter: max(cfg.Timing.FailAfter, 0), Jitter: rand.Float64,
	}
	if n.incarnation, err = nextIncarnation(cfg.IncarnationFile, cfg.Now()); err != nil {
		return nil, err
	}
	n.ctx, n.cancel = context.WithCancel(context.Background())
	if err := n.listen(); err != nil {
		n.cancel()
		return nil, err
	}
	n.state.Store(up)
	n.background.Go(n.maintain)
	if n.listener != nil {
		n.background.Go(func() { n.accept(n.listener) })
	}
	if err := cfg.Members.Start(n.self(), memberSink{n}); err != nil {
		n.Close()
		return nil, err
	}
	return n, nil
}

func (n *Node) listen() error {
	n.addr = n.cfg.Advertise
	if n.cfg.Listen == "" {
		return nil
	}
	listener, err := n.cfg.Network.Listen(n.ctx, n.cfg.Listen)
	if err != nil {
		return err
	}
	n.listener = listener
	if n.addr == "" {
		n.addr = listener.Addr().String()
	}
	return nil
}

// ID returns the node's name.
func (n *Node) ID() string { return n.id }

// Addr returns the address at which others reach the node.
func (n *Node) Addr() string { return n.addr }

// Incarnation returns the number of this life of the node: of two lives of one
// name the later has the higher.
func (n *Node) Incarnation() uint64 { return n.incarnation }

// State returns what the node is doing.
func (n *Node) State() NodeState { return nodeStates[n.state.Load()] }

// sends reports whether messages may leave the node.
func (n *Node) sends() bool {
	s := n.state.Load()
	return s == up || s == leaving
}

func (n *Node) self() Member { return Member{n.id, n.incarnation, n.addr, true} }

// now is the time that timers follow.
func (n *Node) now() time.Time { return time.Now() }

// target finds a peer that something may be sent to. Its link is nil while it is
// being reconnected.
func (n *Node) target(id string) (*peer, *SendError) {
	if !n.sends() {
		return nil, &SendError{Code: SendNotRunning, Node: id}
	}
	v, ok := n.peers.Load(id)
	if !ok {
		return nil, &SendError{Code: SendNotAMember, Node: id}
	}
	p := v.(*peer)
	if p.link.Load() != nil || roster.State(p.state.Load()) == roster.Reconnecting {
		return p, nil
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if p.link.Load() != nil || roster.State(p.state.Load()) == roster.Up {
		return p, nil // just now
	}
	return nil, &SendError{Code: SendUnreachable, Node: id, Err: p.dialError}
}

// peerOf returns what senders know of a peer, and makes it if need be.
func (n *Node) peerOf(id string) *peer {
	v, ok := n.peers.Load(id)
	if !ok {
		v, _ = n.peers.LoadOrStore(id, &peer{id: id})
	}
	return v.(*peer)
}

// change lets the roster change, and does what comes of it.
func (n *Node) change(f func(*roster.Roster) roster.Effects) {
	n.mu.Lock()
	e := f(&n.roster)
	over := n.apply(e)
	n.mu.Unlock()
	for _, l := range over {
		l.fail(errReplaced)
	}
	select {
	case n.kick <- struct{}{}:
	default:
	}
}

var errReplaced = errors.New("the link is over: the peer has another, or has gone")

// apply does what can be done under n.mu, and returns the links to be closed.
func (n *Node) apply(e roster.Effects) (over []*link) {
	for _, id := range e.Close {
		if l := n.links[id]; l != nil {
			l.closing = true
			over = append(over, l)
		}
	}
	for _, id := range e.Abort {
		if cancel := n.dials[id]; cancel != nil {
			cancel()
		}
	}
	for _, id := range e.Gone {
		n.forget(id)
	}
	n.peers.Range(func(key, v any) bool { // peers are few, changes seldom
		id := key.(string)
		if state, ok := n.roster.State(id); ok {
			v.(*peer).state.Store(uint32(state))
		} else if !n.roster.Knows(id) {
			n.forget(id) // a dial that ended too late has brought it back
		}
		return true
	})
	close(n.changed)
	n.changed = make(chan struct{})
	for _, event := range e.Events {
		public := Event{eventKinds[event.Kind], Member(event.Member)}
		n.log.Info("member", "event", public.Kind, "peer", public.Member.ID, "incarnation", public.Member.Incarnation)
		for s := range n.subscriptions {
			s.publish(public)
		}
	}
	return over
}

// forget drops what is kept of a peer that is no longer known; n.mu is held.
func (n *Node) forget(id string) {
	v, ok := n.peers.LoadAndDelete(id)
	if !ok {
		return
	}
	p := v.(*peer)
	n.settle(p, 0, false)
	p.state.Store(uint32(roster.Unreachable)) // for who still holds it
}

// establish puts a link whose streams are all attached to use.
func (n *Node) establish(l *link) error {
	var older []*link
	ok := false
	n.change(func(r *roster.Roster) (e roster.Effects) {
		if l.isFailed() || n.State() != NodeUp { // who leaves would not say goodbye by it
			return e
		}
		if ok, e = r.Establish(n.now(), l.identity, l.id, l.dialed); !ok {
			return e
		}
		for _, other := range n.links {
			if other.peer == l.peer {
				older = append(older, other)
			}
		}
		l.up = true
		n.links[l.id] = l
		l.peer = n.peerOf(l.peer.id)
		n.settle(l.peer, 0, false) // unless the peer has told
		if !l.dialed {
			l.say(wire.AppendReady(nil, n.dialed.Load())) // before anything else on it
		}
		l.peer.use(l)
		l.peer.dialError = nil
		return e
	})
	if !ok {
		l.fail(errGivenUp)
		return errGivenUp
	}
	for _, other := range older {
		<-other.over // what it brought comes before what this one brings
	}
	l.start()
	return nil
}

// use lets senders find a link, unless it has failed meanwhile: then it is taken from
// them already.
func (p *peer) use(l *link) {
	p.link.Store(l)
	if l.isFailed() {
		p.link.CompareAndSwap(l, nil)
	}
}

// linkOver is for a link of which nothing runs any more.
func (n *Node) linkOver(l *link, why error) {
	n.change(func(r *roster.Roster) (e roster.Effects) {
		if !l.up {
			return e
		}
		delete(n.links, l.id)
		n.counts.pastSent += l.sent()
		n.settle(l.peer, 0, false)
		l.peer.past = &pastLink{id: l.id, sent: l.sent() - l.lost(), acked: l.acked.Load(), received: l.received()}
		n.log.Info("link over", "peer", l.peer.id, "why", why)
		if l.hasLeft() {
			e = r.Remove(n.now(), l.peer.id, l.incarnation, true)
		} else {
			e = r.Lost(n.now(), l.peer.id, l.id)
		}
		v, known := n.peers.Load(l.peer.id)
		if state, _ := r.State(l.peer.id); !known || v != l.peer || state == roster.Joining { // it has left or failed
			n.settle(l.peer, 0, false) // nobody will come back about it
		}
		return e
	})
}

// settle counts what was sent over a past link and never arrived: the peer says
// how much it has received, or nothing can be known beyond what it had confirmed.
// n.mu is held.
func (n *Node) settle(p *peer, received uint64, known bool) {
	past := p.past
	if past == nil || past.settled {
		return
	}
	past.settled = true
	if !known {
		received = past.acked
	}
	n.dropLost(p.id, past.sent-min(received, past.sent))
}

// settlePast settles the past link with a peer that is being linked again. One that
// speaks of another link may not know ours, having been restarted, or may have said so
// before ours was: it is settled when the peer's new link is up.
func (n *Node) settlePast(who wire.Identity) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if v, ok := n.peers.Load(who.Node); ok {
		if p := v.(*peer); p.past != nil && p.past.id == who.LastLink {
			n.settle(p, who.Received, true)
		}
	}
}

// dropLost counts messages that were on their way to a peer.
func (n *Node) dropLost(peer string, count uint64) {
	if count > 0 {
		n.drop(ReasonLost, DeadLetter{Target: AnyAddress{Node: peer}, From: n.id, Count: count})
	}
}

// lastLink returns the last link with a peer that is over, and how much came by it;
// n.mu is held.
func (n *Node) lastLink(id string) (wire.LinkID, uint64) {
	v, ok := n.peers.Load(id)
	if !ok || v.(*peer).past == nil {
		return wire.LinkID{}, 0
	}
	past := v.(*peer).past
	return past.id, past.received
}

// awaitPast waits until links with a peer that have failed, or are about to, are over.
func (n *Node) awaitPast(ctx context.Context, id string) {
	n.mu.Lock()
	var failed []*link
	for _, l := range n.links {
		if l.peer.id == id && (l.closing || l.isFailed()) {
			failed = append(failed, l)
		}
	}
	n.mu.Unlock()
	for _, l := range failed {
		select {
		case <-l.over:
		case <-ctx.Done():
			return
		}
	}
}

// expect keeps a link whose lanes are to come. It refuses one that is there already.
func (n *Node) expect(l *link) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.pending[l.id] != nil || n.links[l.id] != nil {
		return false
	}
	n.pending[l.id] = l
	return true
}

func (n *Node) unexpect(l *link) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.pending, l.id)
}

// findLink returns a link that is expected, or one that is up.
func (n *Node) findLink(id wire.LinkID) (l *link, isUp bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if l := n.pending[id]; l != nil && !l.up {
		return l, false
	}
	return n.links[id], true
}

// commit asks the roster whether a dial of ours is still wanted. What came by the last
// link is said as of now: another may have come and gone since the dial began.
func (n *Node) commit(id *wire.Identity) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, l := range n.links {
		if l.peer.id == id.Target {
			return false // it is up, or not over yet
		}
	}
	id.LastLink, id.Received = n.lastLink(id.Target)
	return n.roster.Commit(id.Target)
}

func (n *Node) noteDialError(id string, err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if v, ok := n.peers.Load(id); ok {
		v.(*peer).dialError = err
	}
}

// addrOf is where the peer of a link can be dialled.
func (n *Node) addrOf(l *link) string { return l.identity.Addr }

// limiter lets a line into the log now and then.
type limiter struct {
	mu    sync.Mutex
	until time.Time
}

func (l *limiter) ok() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	if now.Before(l.until) {
		return false
	}
	l.until = now.Add(logEvery)
	return true
}
