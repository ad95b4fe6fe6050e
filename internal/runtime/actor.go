package runtime

import (
	"sync/atomic"

	"github.com/pawl-go/pawl/engine"
)

// actor is an actor that is placed on this component: an instance, or
// requests, or both. Guarded by Component.mu, but for inst, which belongs to
// who has the turn. There may be a million: it is kept small, in 96 bytes.
type actor struct {
	kind  *kind
	id    string
	inst  Instance // nil until activated
	box   *mailbox // nil while there are no requests
	token uint64   // of the newest placement

	used       int64  // coarse time at which it became idle, Unix ns
	prev, succ *actor // in kind's list of the idle, oldest first
	behind     *actor // the table's

	idle   bool // it is in that list
	paused bool // by an operator
	// stale: the instance must go before the next begin, or when it is quiet.
	stale atomic.Bool
	// leaving: its component has ended, and it is being let go.
	leaving bool
}

// Actor is its name.
func (a *actor) Actor() engine.Actor { return engine.Actor{Type: a.kind.Name, ID: a.id} }

// Behind makes an actor an entry of an actors.Table.
func (a *actor) Behind() **actor { return &a.behind }

// kind is a hosted type with its idle actors, oldest first.
type kind struct {
	*Type
	oldest, newest *actor
	idle           int
	waiting        []*entry // what had to wait for its turn when it came; see busy.go
}

func (k *kind) addIdle(a *actor) {
	a.idle, a.prev, a.succ = true, k.newest, nil
	if k.newest == nil {
		k.oldest = a
	} else {
		k.newest.succ = a
	}
	k.newest = a
	k.idle++
}

func (k *kind) removeIdle(a *actor) {
	if !a.idle {
		return
	}
	if a.prev == nil {
		k.oldest = a.succ
	} else {
		a.prev.succ = a.succ
	}
	if a.succ == nil {
		k.newest = a.prev
	} else {
		a.succ.prev = a.prev
	}
	a.idle, a.prev, a.succ = false, nil, nil
	k.idle--
}
