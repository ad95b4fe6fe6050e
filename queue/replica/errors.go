package replica

import (
	"errors"
	"fmt"

	"github.com/pawl-go/pawl/queue"
	"github.com/pawl-go/pawl/queue/replica/core"
)

// LockedError says why an append is refused: this host is not the source, or not
// yet, and for whom it waits. Append at the source that it names, or make this host
// the source.
type LockedError = core.LockedError

// GapError says that a strategy with OrFail lets no append in. Nothing was
// appended.
type GapError = core.GapError

// HostID names a host of a cluster, from 1 to 127.
type HostID = core.HostID

// Errors of commands, as the core has them.
var (
	// ErrBusy refuses a command while another one is under way: wait for it.
	ErrBusy = core.ErrBusy
	// ErrNotSource refuses a Switch here: give the command at the source.
	ErrNotSource = core.ErrNotSource
	// ErrOvertaken ends a TakeOver because another host has become the source.
	ErrOvertaken = core.ErrOvertaken
	// ErrTarget ends a Switch whose target is not caught up, or has not taken over;
	// the old source goes on.
	ErrTarget = core.ErrTarget
)

// ErrNoQueue is wrapped when a host has no queue of a name.
var ErrNoQueue = errors.New("this host has no such queue")

// errTooMany refuses a batch that no update can hold.
var errTooMany = fmt.Errorf("a batch of a replicated queue has at most %d entries: append it in parts", core.MaxUpdateEntries)

// UncertainError says that entries were appended, and that it is not known whether
// they will count: this host has ceased to be the source, or the wait has ended.
// WaitReplicated tells, once there is a source; do not append them again before.
type UncertainError struct {
	First, Last queue.Index
	Err         error
}

func (e *UncertainError) Error() string {
	return fmt.Sprintf("entries %s to %s were appended and do not count yet (%v): WaitReplicated tells whether they come to count", e.First, e.Last, e.Err)
}

func (e *UncertainError) Unwrap() error { return e.Err }

// errNoLonger ends the waits of appends when the epoch of this host is over.
var errNoLonger = errors.New("this host is not the source any more")

// FailedError says that a replica has ended because its disk cannot be relied on.
// The other queues of the host go on.
type FailedError struct {
	Queue string
	Err   error
}

func (e *FailedError) Error() string {
	return fmt.Sprintf("replica of queue %s has ended: %v; check the disk, then start the host again", e.Queue, e.Err)
}

func (e *FailedError) Unwrap() error { return e.Err }

// ForeignError says that the files in a directory are those of another host. What one
// host has promised and holds on its disk another one must not take for its own: nothing
// was changed.
type ForeignError struct {
	Host HostID // whose files they are
	Self HostID
}

func (e *ForeignError) Error() string {
	return fmt.Sprintf("the files are those of host %d, and this is host %d: give it its own directory back. If they are a copy that this host is to begin with, remove %s from it: then it promises nothing before it has caught up with the source",
		e.Host, e.Self, promisesName)
}

// PeerError says why a connection to a host was refused, here or there.
type PeerError struct {
	Host HostID // 0: it has not said who it is
	Addr string
	Err  error
}

func (e *PeerError) Error() string {
	return fmt.Sprintf("connect with host %d at %s: %v", e.Host, e.Addr, e.Err)
}

func (e *PeerError) Unwrap() error { return e.Err }
