package mesh

import (
	"maps"
	"sync"
	"sync/atomic"
)

// Reason says why a message was dropped after it had been sent. Each drop raises
// the counter of one reason, on one node.
type Reason string

// The reasons for which a message is dropped on its way or in its mailbox.
const (
	ReasonReconnecting Reason = "reconnecting" // its node was being reconnected
	ReasonLost         Reason = "lost"         // it was on its way when the connection was lost
	ReasonExpired      Reason = "expired"      // a call whose caller no longer waited was not begun
	ReasonExited       Reason = "exited"       // its actor ended before it was begun
)

// The reasons for which a node refuses a message that reaches it, on its
// dead-letter stream: the codes of a [RemoteError].
const (
	ReasonOverloaded     = Reason(RemoteOverloaded)
	ReasonNoSuchActor    = Reason(RemoteNoSuchActor)
	ReasonNotAccepted    = Reason(RemoteNotAccepted)
	ReasonUnknownMessage = Reason(RemoteUnknownMessage)
	ReasonClosed         = Reason(RemoteClosed)
	ReasonDecode         = Reason(RemoteDecode)
)

var (
	dropReasons   = [...]Reason{ReasonReconnecting, ReasonLost, ReasonExpired, ReasonExited}
	refuseReasons = [...]Reason{
		ReasonOverloaded, ReasonNoSuchActor, ReasonNotAccepted, ReasonUnknownMessage, ReasonClosed, ReasonDecode,
	}
)

// Counters counts messages since the node has started. Over all nodes of a mesh at
// rest, Sent = Handled + the sum of Refused + the sum of Dropped. What was under
// way to or on a node that was killed counts as lost on the sender's side as far as
// that node had not said that it has it.
type Counters struct {
	Sent    uint64            `json:"sent"`    // casts and calls that left their sender, on this node or to another
	Handled uint64            `json:"handled"` // begun by an actor of this node
	Refused map[Reason]uint64 `json:"refused"` // by this node, when they reached it
	Dropped map[Reason]uint64 `json:"dropped"` // by this node

	// RefusedElsewhere counts casts of this node that others say they have refused;
	// they are in Refused there.
	RefusedElsewhere map[Reason]uint64 `json:"refused_elsewhere"`

	RepliesSent          uint64 `json:"replies_sent"`          // to other nodes, refusals included
	RepliesReceived      uint64 `json:"replies_received"`      // from other nodes, for somebody who waited
	RepliesStale         uint64 `json:"replies_stale"`         // for somebody who no longer waited
	RepliesUndeliverable uint64 `json:"replies_undeliverable"` // the connection was lost

	Malformed         uint64 `json:"malformed"`          // frames that were not what they said they were
	HandshakesRefused uint64 `json:"handshakes_refused"` // by this node
	Pending           int    `json:"pending"`            // calls that wait for an answer from elsewhere
	Actors            int    `json:"actors"`
}

// counts is what a node counts itself; the rest is counted where it happens, by
// actors and streams, and summed up when asked for.
type counts struct {
	sentNowhere atomic.Uint64 // sent while there was no connection
	malformed   atomic.Uint64
	handshakes  atomic.Uint64
	dropped     tally
	refused     tally
	elsewhere   tally
	replies     struct{ sent, received, stale, undeliverable atomic.Uint64 }

	pastSent uint64 // over links that are over; guarded by Node.mu
}

// tally counts by reason.
type tally struct {
	mu sync.Mutex
	by map[Reason]uint64
}

func (t *tally) add(r Reason, n uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.by == nil {
		t.by = map[Reason]uint64{}
	}
	t.by[r] += n
}

// all returns the counts, with a zero for each known reason.
func (t *tally) all(known []Reason) map[Reason]uint64 {
	out := map[Reason]uint64{}
	for _, r := range known {
		out[r] = 0
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	maps.Copy(out, t.by)
	return out
}

// Counters returns a snapshot. The parts are read one after the other, so their
// sums agree only while the node is at rest.
func (n *Node) Counters() Counters {
	c := Counters{
		Sent:                 n.counts.sentNowhere.Load(),
		Dropped:              n.counts.dropped.all(dropReasons[:]),
		Refused:              n.counts.refused.all(refuseReasons[:]),
		RefusedElsewhere:     n.counts.elsewhere.all(refuseReasons[:]),
		RepliesSent:          n.counts.replies.sent.Load(),
		RepliesReceived:      n.counts.replies.received.Load(),
		RepliesStale:         n.counts.replies.stale.Load(),
		RepliesUndeliverable: n.counts.replies.undeliverable.Load(),
		Malformed:            n.counts.malformed.Load(),
		HandshakesRefused:    n.counts.handshakes.Load(),
		Pending:              n.calls.len(),
	}
	sent, handled, actors := n.actors.counted()
	c.Sent += sent
	c.Handled, c.Actors = handled, actors
	n.mu.Lock()
	defer n.mu.Unlock()
	c.Sent += n.counts.pastSent
	for _, l := range n.links {
		c.Sent += l.sent()
	}
	return c
}

// counted returns how many messages of this node were sent to the actor, and how
// many it has begun.
func (c *core) counted() (sent, handled uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.local, c.taken.Load() - c.dropped
}
