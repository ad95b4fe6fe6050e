package gossip

import (
	"encoding/binary"
	"errors"
	"log/slog"
	"sync"

	"github.com/hashicorp/memberlist"

	"github.com/pawl-go/pawl/mesh"
)

// teller stands between memberlist and the node: it says who this node is, and
// tells the node of the others. memberlist calls it under a lock of its own.
type teller struct {
	self string
	sink mesh.MemberSink
	log  *slog.Logger
	meta []byte

	mu    sync.Mutex
	known map[string]life // who is alive; nil: nothing is told any more
}

// life is what a member says of itself.
type life struct {
	incarnation uint64
	addr        string // of its mesh
	gossip      string // where its gossip is heard
}

// NotifyJoin is for a member that is new, or back.
func (t *teller) NotifyJoin(n *memberlist.Node) { t.tell(n) }

// NotifyUpdate is for a member that says something new of itself: it has been
// restarted before anybody missed it.
func (t *teller) NotifyUpdate(n *memberlist.Node) { t.tell(n) }

// tell makes a member known to the node.
func (t *teller) tell(n *memberlist.Node) {
	if n.Name == t.self {
		return
	}
	now, err := parseMeta(n.Meta)
	if err != nil {
		t.log.Warn("gossip of a member that is no node", "peer", n.Name, "at", n.Address(), "err", err)
		return
	}
	now.gossip = n.Address()
	t.mu.Lock()
	defer t.mu.Unlock()
	before, known := t.known[n.Name]
	if t.known == nil || known && before.incarnation > now.incarnation {
		return
	}
	if known && before.incarnation < now.incarnation {
		t.sink.Gone(n.Name, before.incarnation, false)
	}
	t.known[n.Name] = now
	t.sink.Known(mesh.Peer{ID: n.Name, Addr: now.addr}, false)
}

// retell tells the node of all again: it may have given one up meanwhile.
func (t *teller) retell() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for id, l := range t.known {
		t.sink.Known(mesh.Peer{ID: id, Addr: l.addr}, false)
	}
}

// close ends the telling. memberlist itself does not wait for what it has under
// way when it is shut down.
func (t *teller) close() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.known = nil
}

// heard returns the gossip addresses of who is alive. memberlist's own list is not
// to be read while it changes.
func (t *teller) heard() map[string]bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	addrs := map[string]bool{}
	for _, l := range t.known {
		addrs[l.gossip] = true
	}
	return addrs
}

// NotifyLeave is for a member that is dead, or has left; who has left has said
// goodbye before, so it is no peer any more.
func (t *teller) NotifyLeave(n *memberlist.Node) {
	if n.Name == t.self {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if gone, ok := t.known[n.Name]; ok {
		delete(t.known, n.Name)
		t.sink.Gone(n.Name, gone.incarnation, false)
	}
}

// NotifyConflict is for two members of one name.
func (t *teller) NotifyConflict(existing, other *memberlist.Node) {
	t.log.Warn("gossip of two nodes with one name; the second is heard when the first is dead",
		"peer", existing.Name, "first", existing.Address(), "second", other.Address())
}

// NodeMeta says who this node is.
func (t *teller) NodeMeta(int) []byte { return t.meta }

// The rest of a memberlist.Delegate: nothing else is told by gossip.

// NotifyMsg does nothing.
func (t *teller) NotifyMsg([]byte) {}

// GetBroadcasts has none.
func (t *teller) GetBroadcasts(int, int) [][]byte { return nil }

// LocalState has none.
func (t *teller) LocalState(bool) []byte { return nil }

// MergeRemoteState does nothing.
func (t *teller) MergeRemoteState([]byte, bool) {}

// metaVersion is the first byte of what a node says of itself. A newer one may
// have more behind its address only under another version.
const metaVersion = 1

var errMeta = errors.New("its metadata are not of this version of the mesh")

func appendMeta(b []byte, self mesh.Member) []byte {
	b = append(b, metaVersion)
	b = binary.AppendUvarint(b, self.Incarnation)
	return append(b, self.Addr...)
}

func parseMeta(b []byte) (life, error) {
	if len(b) == 0 || b[0] != metaVersion {
		return life{}, errMeta
	}
	incarnation, n := binary.Uvarint(b[1:])
	if n <= 0 || len(b)-1-n > 255 {
		return life{}, errMeta
	}
	return life{incarnation: incarnation, addr: string(b[1+n:])}, nil
}
