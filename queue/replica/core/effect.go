package core

import (
	"fmt"
	"time"

	"github.com/pawl-go/pawl/queue"
)

// Effect is what a Replica wants done: one of the types below. The effects of a
// Step are carried out in their order, and before the next Step.
//
//   - AppendCopied, AppendControl, SetAside and Restart change the queue. At most
//     one of them comes out of a Step, its answer is the next event, and nothing
//     else appends meanwhile.
//   - WriteHard, Flush, AskSum and Stream may be carried out beside other things;
//     their answers are events of their own. Writes of Hard are done in order.
//   - The rest needs no answer. A Send to a connection that is gone is dropped.
//
// No order between sending and flushing needs care: what must not be said before
// it is on the disk comes out only after HardWritten or Flushed has come in.
type Effect interface{ effect() }

// WriteHard asks to replace the file of promises and to flush it.
type WriteHard struct {
	Seq  uint64
	Hard Hard
}

// Hard is what a host keeps apart from its queue, in a file that is no hint: a
// host that has lost it must say so (see Start).
type Hard struct {
	Promised Epoch // nothing older is taken from anybody
	Trust    Trust
	// Acked: entries are acknowledged before they are flushed, so an unclean end
	// may lose some that others rely on.
	Acked bool
	// Single: this host is the source of a single queue.
	Single bool
	// Birth is the epoch in which the queue had its first source. A host that is
	// Lost and has it set is newborn: that is the first epoch it promised when
	// all hosts were there and none had a history. It has forgotten nothing since,
	// and becomes Whole when it hears of a birth in that epoch or a later one.
	Birth Epoch
	// Counted is a hint: entries up to it counted when this was written.
	Counted queue.Index
}

// Trust says whether a host may promise.
type Trust uint8

const (
	// Whole: the host holds all that it ever acknowledged, and its promises.
	Whole Trust = iota
	// Unclean: it may have lost entries that it acknowledged.
	Unclean
	// Lost: it may have lost its promises, or it is new.
	Lost
)

// String is the name of the trust in reports.
func (t Trust) String() string { return [...]string{"whole", "unclean", "lost"}[t] }

// Send asks to send a message on a connection.
type Send struct {
	Peer HostID
	Conn uint64
	Msg  *Message
}

// AppendCopied asks to append entries at exactly the indexes they have: all of
// them or none. They begin where the queue ends, or with the first sequence
// number of a later cycle, to which the queue rolls. Answer: Copied.
type AppendCopied struct{ Entries []Entry }

// AppendControl asks to append an entry marked as control, at the next index.
// Answer: Appended, with the Control.
type AppendControl struct{ Control Control }

// SetAside asks to move all entries above an index to a side file, and to tell
// those who have read them. Answer: AsideDone.
type SetAside struct {
	Above    queue.Index
	First    queue.Index // of what is set aside
	Last     queue.Index
	Messages uint64 // the application's, among them
	Epoch    Epoch  // the history that the queue follows now
	// Counted: some of them counted, until a take-over by force went past them.
	Counted bool
}

// Restart asks to set everything aside and to go on behind Base, which is the
// last entry before the oldest cycle that the source keeps. Answer: RestartDone.
type Restart struct {
	Base     Base
	First    queue.Index // of what is set aside; 0: nothing is
	Last     queue.Index
	Messages uint64
	Epoch    Epoch
}

// Flush asks to flush all entries up to an index. Answer: Flushed.
type Flush struct{ Through queue.Index }

// AskSum asks for the running checksum (Chain) of the history up to and with
// an index. Answer: SumIs.
type AskSum struct {
	Token uint64
	Index queue.Index
}

// Stream asks to send updates with the entries behind Prev, up to Through or
// fewer, but at least one entry. An Update holds a dense run of one cycle; its
// body should stay near MaxBytes, and it has at most MaxUpdateEntries. All other fields of the updates are those of
// Update(). Answer: Streamed or StreamFailed.
type Stream struct {
	Peer     HostID
	Conn     uint64
	Stream   uint64
	Epoch    Epoch
	Prev     queue.Index
	Sum      uint64 // running checksum up to and with Prev
	Through  queue.Index
	Counted  queue.Index
	Want     bool
	MaxBytes int
}

// Update makes the message for some of the entries that a Stream asks for, given
// the entry before them and its running checksum.
func (s Stream) Update(prev queue.Index, sum uint64, entries []Entry) *Message {
	for _, e := range entries {
		sum = Chain(sum, e)
	}
	m := s.UpdateTo(prev, sum)
	m.Entries = entries
	return m
}

// UpdateTo is Update for entries that travel beside the message, given the running
// checksum up to and with the last of them.
func (s Stream) UpdateTo(prev queue.Index, sum uint64) *Message {
	return &Message{
		Type: MsgUpdate, Epoch: s.Epoch, Stream: s.Stream, Index: prev, Sum: sum, Counted: s.Counted, Want: s.Want,
	}
}

// Unlocked says that the application may append.
type Unlocked struct{ Epoch Epoch }

// Locked says that it may not any more.
type Locked struct{ Why string }

// Counted says that one of two indexes has changed, for those who wait: entries
// up to Counted are held by as many hosts as the strategy asks for, and appends
// up to Released may return. Counted falls only when a take-over by force went
// past it.
type Counted struct{ Counted, Released queue.Index }

// Lease says that a source may begin new work, or not any more: LeaseEnd has passed.
// It comes when that changes; a source begins with it.
type Lease struct{ Held bool }

// Drop asks to end a connection whose peer breaks the protocol.
type Drop struct {
	Peer HostID
	Conn uint64
	Why  string
}

// Result ends a command.
type Result struct {
	ID  uint64
	Err error
}

// Closed says that Close has done its work; nothing more comes.
type Closed struct{}

// Notice is for logs, gauges and operators.
type Notice struct {
	Kind NoticeKind
	Peer HostID // 0: concerns none in particular
	Text string
	Err  error
	// Reports tells for NoticeForced what each reachable host holds.
	Reports []HostReport
}

// HostReport is what a host holds, as it said when it was asked to promise.
type HostReport struct {
	Host      HostID
	Reachable bool
	Promises  bool
	Last      Mark
	Counted   queue.Index
	Trust     Trust
}

// NoticeKind says what a Notice is about.
type NoticeKind string

// The notices.
const (
	NoticeRole      NoticeKind = "role"       // this host's role has changed
	NoticeSink      NoticeKind = "sink"       // a sink's state has changed
	NoticeWaits     NoticeKind = "waits"      // for whom a start or a take-over waits
	NoticeMovedOn   NoticeKind = "moved on"   // the configured source is not the source any more
	NoticeForced    NoticeKind = "forced"     // a take-over without enough promises
	NoticeDiverged  NoticeKind = "diverged"   // entries were set aside
	NoticeRestarted NoticeKind = "restarted"  // the queue starts from the source's oldest cycle
	NoticeRefused   NoticeKind = "refused"    // a source whose history contradicts what counted here
	NoticeDamaged   NoticeKind = "damaged"    // entries that could not be read or did not check
	NoticeMismatch  NoticeKind = "mismatch"   // a host whose configuration of the queue differs
	NoticeStorage   NoticeKind = "storage"    // the queue could not be changed
	NoticeTrust     NoticeKind = "trust"      // this host may promise, or may not
	NoticeSingle    NoticeKind = "single"     // the queue has become single, or ends to be
	NoticeLease     NoticeKind = "lease"      // the source hears too few hosts, or enough again
	NoticeSwitch    NoticeKind = "switch"     // a switch begins, or the old source takes over again
	NoticeProtocol  NoticeKind = "protocol"   // a peer broke the protocol
	NoticeSumFailed NoticeKind = "sum failed" // a history could not be summed up
)

func (WriteHard) effect()     {}
func (Send) effect()          {}
func (AppendCopied) effect()  {}
func (AppendControl) effect() {}
func (SetAside) effect()      {}
func (Restart) effect()       {}
func (Flush) effect()         {}
func (AskSum) effect()        {}
func (Stream) effect()        {}
func (Unlocked) effect()      {}
func (Locked) effect()        {}
func (Counted) effect()       {}
func (Lease) effect()         {}
func (Drop) effect()          {}
func (Result) effect()        {}
func (Closed) effect()        {}
func (Notice) effect()        {}

// LockedError says why an append is refused: this host is not the source, or not
// yet. WaitsFor names the hosts that are missing.
type LockedError struct {
	Why      string
	Source   HostID // where to append; 0: not known
	WaitsFor []HostID
}

func (e *LockedError) Error() string {
	s := "queue is locked for appending: " + e.Why
	if len(e.WaitsFor) > 0 {
		s += fmt.Sprintf("; waits for hosts %v", e.WaitsFor)
	}
	if e.Source != 0 {
		s += fmt.Sprintf("; the source is host %d", e.Source)
	}
	return s
}

// GapError says that the strategy of a queue lets no append in: too few hosts
// are there, or they are too slow. Nothing was appended.
type GapError struct {
	Gap    uint64 // messages that do not count
	Live   int    // hosts, the source included
	Need   int
	Waited time.Duration // of the oldest append
}

func (e *GapError) Error() string {
	return fmt.Sprintf("too much would be at risk: %d messages do not count, %d of %d needed hosts are there, the oldest append has waited %v; bring the hosts back, or append later",
		e.Gap, e.Live, e.Need, e.Waited)
}
