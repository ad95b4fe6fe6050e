package mesh

import (
	"context"
	"slices"
	"strings"
)

// NodeInfo is what a node is doing, for an operator.
type NodeInfo struct {
	ID          string     `json:"id"`
	Incarnation uint64     `json:"incarnation"`
	Addr        string     `json:"addr"`
	State       NodeState  `json:"state"`
	Members     []Member   `json:"members"`
	Links       []LinkInfo `json:"links"`
	Counters    Counters   `json:"counters"`
	// Actors are those whose name has the prefix asked for, by name; at most 1000.
	Actors []ActorInfo `json:"actors"`
	// Matching is how many actors have the prefix.
	Matching int `json:"matching"`
}

// LinkInfo is what goes to and comes from one peer.
type LinkInfo struct {
	Peer     string `json:"peer"`
	Dialed   bool   `json:"dialed"` // by the node that says so
	Lanes    int    `json:"lanes"`  // on which that node sends
	Queued   int    `json:"queued"` // bytes that wait to be written
	Sent     uint64 `json:"sent"`   // messages
	Received uint64 `json:"received"`
	Lost     uint64 `json:"lost"` // of Sent, those that are known to have been lost
	Observer bool   `json:"observer"`
}

// Inspect asks a member, or this node itself, what it is doing. Actors whose name
// begins with prefix are listed. It goes over the control stream, and fails with an
// [OpError].
func (n *Node) Inspect(ctx context.Context, node, prefix string) (info NodeInfo, err error) {
	if node == n.id {
		return n.inspect(prefix), nil
	}
	a := AnyAddress{Node: node}
	answer, err := n.operate(ctx, a, opInspect, []byte(prefix))
	if err != nil {
		return info, err
	}
	return info, n.readAnswer(opInspect, a, answer, &info)
}

// maxListed bounds the actors in a NodeInfo.
const maxListed = 1000

func (n *Node) inspect(prefix string) NodeInfo {
	info := NodeInfo{
		ID: n.id, Incarnation: n.incarnation, Addr: n.addr, State: n.State(), Members: n.Members(), Counters: n.Counters(),
	}
	var matching []anyActor
	for _, a := range n.actors.all() {
		if strings.HasPrefix(a.base().name, prefix) {
			matching = append(matching, a)
		}
	}
	slices.SortFunc(matching, func(a, b anyActor) int { return strings.Compare(a.base().name, b.base().name) })
	info.Matching = len(matching)
	for _, a := range matching[:min(len(matching), maxListed)] {
		info.Actors = append(info.Actors, a.base().info())
	}
	for _, l := range n.upLinks() {
		info.Links = append(info.Links, l.info())
	}
	slices.SortFunc(info.Links, func(a, b LinkInfo) int { return strings.Compare(a.Peer, b.Peer) })
	return info
}

func (l *link) info() LinkInfo {
	i := LinkInfo{
		Peer: l.peer.id, Dialed: l.dialed, Lanes: l.own, Observer: l.identity.Observer,
		Sent: l.sent(), Received: l.received(), Lost: l.lost(),
	}
	for _, s := range l.streams() {
		i.Queued += s.queueBytes()
	}
	return i
}
