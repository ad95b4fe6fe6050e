package mesh

import (
	"context"
	"fmt"
	"sync"

	"github.com/pawl-go/pawl/mesh/internal/roster"
)

// Member is a node of the mesh.
type Member struct {
	ID          string `json:"id"`
	Incarnation uint64 `json:"incarnation"` // grows each time a node of this name starts
	Addr        string `json:"addr"`        // where it can be dialled
	Reachable   bool   `json:"reachable"`   // false: three dials in a row have failed
}

// EventKind says what happened to a member.
type EventKind string

// The kinds of events.
const (
	MemberUp          EventKind = "up"          // it is linked for the first time, or again after it left or failed
	MemberLeft        EventKind = "left"        // it has said goodbye
	MemberFailed      EventKind = "failed"      // it is gone for too long, or a new incarnation has taken its place
	MemberUnreachable EventKind = "unreachable" // three dials in a row have failed
	MemberReachable   EventKind = "reachable"   // it is linked again, as the same incarnation
)

var eventKinds = map[roster.EventKind]EventKind{
	roster.CameUp: MemberUp, roster.Left: MemberLeft, roster.Failed: MemberFailed,
	roster.BecameUnreachable: MemberUnreachable, roster.BecameReachable: MemberReachable,
}

// Event is a change of a member.
type Event struct {
	Kind   EventKind
	Member Member
}

// Peer is a node to be dialled.
type Peer struct {
	ID   string // its name; a Membership that finds names itself takes an empty one
	Addr string
}

// Membership tells a node who else there is. [Static] is a fixed list; package
// mesh/gossip finds members by gossip. Whoever dials in and proves to belong to
// the mesh is a member too, whatever the Membership knows.
type Membership interface {
	// Start begins to tell sink about peers, until Close. self is this node.
	Start(self Member, sink MemberSink) error
	// Join is told of peers by hand, by Node.Join.
	Join(ctx context.Context, peers []Peer) error
	// Leave tells the others, as far as it is the Membership's to tell, that
	// this node leaves.
	Leave(ctx context.Context) error
	// Close ends it; sink is not called any more.
	Close() error
}

// MemberSink is where a Membership says what it finds. Its methods do not block
// and may be called concurrently.
type MemberSink interface {
	// Known makes a peer known; it is dialled, and a member once it is linked. A
	// fixed one stays known when it fails or leaves.
	Known(p Peer, fixed bool)
	// Gone says that a peer has left, or has failed. It is forgotten. A higher
	// incarnation than this is not meant; 0 means any.
	Gone(id string, incarnation uint64, left bool)
}

// Static is a Membership of peers that are known in advance; more come by
// Node.Join, and by dialling in. Each is dialled for ever. A peer must have its ID.
func Static(peers ...Peer) Membership { return &static{peers: peers} }

type static struct {
	mu    sync.Mutex
	peers []Peer
	sink  MemberSink
}

func (s *static) Start(_ Member, sink MemberSink) error {
	s.mu.Lock()
	s.sink = sink
	s.mu.Unlock()
	return s.Join(context.Background(), s.peers)
}

func (s *static) Join(_ context.Context, peers []Peer) error {
	for _, p := range peers {
		if p.ID == "" || p.Addr == "" {
			return fmt.Errorf("join %q at %q: a static member needs an ID and an address", p.ID, p.Addr)
		}
	}
	for _, p := range peers {
		s.sink.Known(p, true)
	}
	return nil
}

func (s *static) Leave(context.Context) error { return nil }
func (s *static) Close() error                { return nil }

// memberSink is the node as its Membership sees it.
type memberSink struct{ n *Node }

func (s memberSink) Known(p Peer, fixed bool) {
	s.n.change(func(r *roster.Roster) roster.Effects {
		if r.Add(s.n.now(), p.ID, p.Addr, fixed) {
			s.n.peerOf(p.ID) // known from here on: sending says unreachable
		}
		return roster.Effects{}
	})
}

func (s memberSink) Gone(id string, incarnation uint64, left bool) {
	s.n.change(func(r *roster.Roster) roster.Effects { return r.Remove(s.n.now(), id, incarnation, left) })
}

// Join makes peers known to the node's Membership, and waits until those that are
// named are linked, or ctx ends.
func (n *Node) Join(ctx context.Context, peers ...Peer) error {
	if !n.sends() {
		return fmt.Errorf("join: %w", SendNotRunning)
	}
	if err := n.cfg.Members.Join(ctx, peers); err != nil {
		return err
	}
	return n.waitUntil(ctx, "join", func(linked map[string]bool) bool {
		for _, p := range peers {
			if p.ID != "" && p.ID != n.id && !linked[p.ID] {
				return false
			}
		}
		return true
	})
}

// WaitForMembers waits until at least count members, this node included, are linked
// with this one, so that what is sent to them leaves; or until ctx ends.
func (n *Node) WaitForMembers(ctx context.Context, count int) error {
	return n.waitUntil(ctx, "wait for members", func(linked map[string]bool) bool { return len(linked)+1 >= count })
}

// waitUntil waits until the linked members are as wanted.
func (n *Node) waitUntil(ctx context.Context, what string, wanted func(linked map[string]bool) bool) error {
	for {
		n.mu.Lock()
		linked, changed := n.linked(), n.changed
		n.mu.Unlock()
		if wanted(linked) {
			return nil
		}
		select {
		case <-changed:
		case <-n.defunct:
			return fmt.Errorf("%s: %w", what, SendNotRunning)
		case <-ctx.Done():
			return fmt.Errorf("%s: %d are linked: %w", what, len(linked)+1, ctx.Err())
		}
	}
}

// linked returns the members that this node has a link with; n.mu is held.
func (n *Node) linked() map[string]bool {
	linked := map[string]bool{}
	for _, m := range n.roster.Members() {
		if n.peerOf(m.ID).link.Load() != nil {
			linked[m.ID] = true
		}
	}
	return linked
}

// Members returns the members, this node first and the others by name.
func (n *Node) Members() []Member {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.members()
}

func (n *Node) members() []Member {
	all := []Member{n.self()}
	for _, m := range n.roster.Members() {
		all = append(all, Member(m))
	}
	return all
}

// Subscription is a view of the members: as they were when it began, and each
// change since.
type Subscription struct {
	// Snapshot is who was a member, this node first.
	Snapshot []Member

	node *Node
	mu   sync.Mutex
	next []Event
	more chan struct{} // of size 1: next is not empty, or the node is defunct
}

// Subscribe begins a subscription. Close it: until then it keeps what has not been
// taken.
func (n *Node) Subscribe() *Subscription {
	n.mu.Lock()
	defer n.mu.Unlock()
	s := &Subscription{node: n, Snapshot: n.members(), more: make(chan struct{}, 1)}
	n.subscriptions[s] = struct{}{}
	return s
}

// Next returns the next change, waiting for it if need be. It fails when ctx ends,
// and with [SendNotRunning] when the node has stopped and all changes are taken.
func (s *Subscription) Next(ctx context.Context) (Event, error) {
	for {
		s.mu.Lock()
		if len(s.next) > 0 {
			e := s.next[0]
			s.next = s.next[1:]
			s.mu.Unlock()
			return e, nil
		}
		s.mu.Unlock()
		select {
		case <-s.more:
		case <-s.node.defunct:
			return Event{}, SendNotRunning
		case <-ctx.Done():
			return Event{}, ctx.Err()
		}
	}
}

// Close ends it.
func (s *Subscription) Close() {
	s.node.mu.Lock()
	defer s.node.mu.Unlock()
	delete(s.node.subscriptions, s)
}

func (s *Subscription) publish(e Event) {
	s.mu.Lock()
	s.next = append(s.next, e)
	s.mu.Unlock()
	select {
	case s.more <- struct{}{}:
	default:
	}
}
