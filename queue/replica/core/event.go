package core

import (
	"time"

	"github.com/pawl-go/pawl/queue"
)

// Event is what the shell tells a Replica: one of the types below.
type Event interface{ event() }

// PeerUp says that a connection to a host stands and has been authenticated.
// Conn is a number that the shell has not used for that host before.
type PeerUp struct {
	Peer HostID
	Conn uint64
}

// PeerDown says that a connection is gone. Nothing more comes from it.
type PeerDown struct {
	Peer HostID
	Conn uint64
}

// Received is a message of a peer. Messages of one connection come in the order
// in which they were sent, and none is left out before the connection ends. The
// replica owns the message, and the effects it leads to share its entries.
type Received struct {
	Peer HostID
	Conn uint64
	Msg  *Message
}

// Appended says that the queue has new entries of its own: the application's,
// which the shell appends only between Unlocked and Locked, or the control entry
// that AppendControl asked for. One event covers a dense run in one cycle.
type Appended struct {
	First, Last queue.Index
	Bytes       uint64   // of payload
	Control     *Control // for the answer to AppendControl, which is a run of one
}

// Copied answers AppendCopied: the entries are in the queue.
type Copied struct{ Last queue.Index }

// AsideDone answers SetAside.
type AsideDone struct{}

// RestartDone answers Restart.
type RestartDone struct{}

// StorageFailed answers AppendCopied, AppendControl, SetAside or Restart when it
// could not be done, and nothing has changed; a full disk, for example. The
// replica gives up what it was doing, and tries again after a while. When more
// is wrong than that the shell ends the replica.
type StorageFailed struct{ Err error }

// Flushed says that all entries up to an index are on the disk, whoever asked.
type Flushed struct{ Through queue.Index }

// HardWritten answers WriteHard: it is on the disk.
type HardWritten struct{ Seq uint64 }

// SumIs answers AskSum. Err is set when the entries could not be read.
type SumIs struct {
	Token uint64 // of the question
	Sum   uint64
	Err   error
}

// Streamed answers Stream: updates up to an index have been handed to the
// connection, and Sum is the running checksum there.
type Streamed struct {
	Peer    HostID
	Stream  uint64
	Through queue.Index
	Sum     uint64
}

// StreamFailed answers Stream when entries could not be read. The connection's
// other queues are not concerned.
type StreamFailed struct {
	Peer   HostID
	Stream uint64
	Err    error
}

// Released says that retention has deleted everything up to an index, the last
// of a cycle, of which Sum is the running checksum. Nothing above Status.Keep
// may be released. It may be told again, and late, of what is known by then.
type Released struct {
	Through queue.Index
	Sum     uint64
}

// Tick tells the time, at least four times in a heartbeat interval, and in
// LeaseTimeout. Times must
// not fall.
type Tick struct{ Now time.Time }

// TakeOver asks this host to become the source. It goes on until it is the
// source, another host has become it, or Cancel comes; its Result says which.
type TakeOver struct {
	ID uint64 // of the command, above 0
	// Force goes on with the hosts that can be reached when too few promise.
	// What counted and only others hold is lost.
	Force bool
	// Elected: no person wants it, but nobody in reach has had a source for the
	// heartbeat timeout. It waits while one lives, and no host that hears one
	// promises.
	Elected bool
}

// Switch asks the source to hand over to another host.
type Switch struct {
	ID     uint64
	Target HostID
}

// Cancel withdraws a TakeOver that is under way. Promises that were given stay.
type Cancel struct{ ID uint64 }

// Close prepares an orderly end: when everything is flushed the replica writes
// down that nothing it acknowledged can be lost, and says Closed.
type Close struct{}

func (PeerUp) event()        {}
func (PeerDown) event()      {}
func (Received) event()      {}
func (Appended) event()      {}
func (Copied) event()        {}
func (AsideDone) event()     {}
func (RestartDone) event()   {}
func (StorageFailed) event() {}
func (Flushed) event()       {}
func (HardWritten) event()   {}
func (SumIs) event()         {}
func (Streamed) event()      {}
func (StreamFailed) event()  {}
func (Released) event()      {}
func (Tick) event()          {}
func (TakeOver) event()      {}
func (Switch) event()        {}
func (Cancel) event()        {}
func (Close) event()         {}
