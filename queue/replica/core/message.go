package core

import (
	"fmt"

	"github.com/pawl-go/pawl/queue"
)

// MessageType says what a Message is.
type MessageType uint8

// The messages. Who sends which, when:
//
//	all          State ────────────► all            on connecting, and when it changes
//	candidate    Ask ──────────────► all            a new epoch
//	host         Answer ───────────► candidate      its promise, once flushed, or a refusal
//	candidate    Fetch ────────────► donor          send me what you have and I have not
//
//	feeder       Feed ─────────────► receiver       I have entries for you
//	receiver     History ──────────► feeder         its epochs and its last entry
//	feeder       Probe, n times ───► receiver       what is your checksum up to here?
//	receiver     Sum, n times ─────► feeder
//	feeder       Begin ────────────► receiver       the fork
//	receiver     Ack ──────────────► feeder         what was above it is set aside
//	feeder       Update ... ───────► receiver       entries; or none, for what counts
//	receiver     Ack ... ──────────► feeder         if wanted
//
//	source       Confirm ──────────► sinks          am I still the source?
//	sink         Confirmed ────────► source
//	source       Trusted ──────────► sink           you may promise again
//	source       HandOver ─────────► sink           take over from me
//	either       Stop ─────────────► the other      this feed is over; feed again after a while
//
// The feeder is the source, or for a candidate the donor: the host of the best
// history among those that have promised.
const (
	MsgState MessageType = iota + 1
	MsgAsk
	MsgAnswer
	MsgFetch
	MsgFeed
	MsgHistory
	MsgProbe
	MsgSum
	MsgBegin
	MsgUpdate
	MsgAck
	MsgConfirm
	MsgConfirmed
	MsgTrusted
	MsgHandOver
	MsgStop
	msgEnd
)

var messageNames = [...]string{
	"none", "State", "Ask", "Answer", "Fetch", "Feed", "History", "Probe", "Sum", "Begin", "Update", "Ack",
	"Confirm", "Confirmed", "Trusted", "HandOver", "Stop",
}

// String is the name of the type.
func (t MessageType) String() string {
	if t < msgEnd {
		return messageNames[t]
	}
	return fmt.Sprintf("message %d", uint8(t))
}

// maxRows bounds the epochs in a History. Forks older than that are found by
// checksums alone.
const maxRows = 1024

// Message is what two replicas of a queue say to each other. Which fields a type
// uses stands at the fields; the others are zero.
type Message struct {
	Type MessageType

	// Epoch in which the sender acts; of Ask and Answer the one that is asked
	// for. All but State.
	Epoch Epoch
	// Stream tells the feeds of one connection apart. Feed to Ack, Stop.
	Stream uint64

	Promised Epoch       // State, Answer: the highest that is flushed
	Last     Mark        // State, Answer, Feed, History, Ask: of the sender
	Base     Base        // History: of the sender. Begin with Restart: to go on behind
	Counted  queue.Index // State, Answer, Update: of the sender
	Trust    Trust       // State, Answer, Ack: of the sender
	Source   HostID      // State, Answer of a refusal: the living source, as the sender knows it; 0: none
	Single   HostID      // State, Answer: who alone may hold the last entries
	Config   uint64      // State: what must be the same at all hosts
	Birth    Epoch       // State: the epoch of the queue's first source

	OK      bool // State: of a source that hears enough hosts. Answer: the promise is given. Sum: the entry is there
	Force   bool // Ask
	Command bool // Ask: somebody wants it, though a source may live
	Newborn bool // Ask: all hosts are there, and no history has an epoch
	Donor   bool // Feed, Stop: for a candidate, by a host that is not the source
	Lossy   bool // Begin: a lossy epoch begins above the fork
	Restart bool // Begin: set everything aside and go on behind Base
	Want    bool // Update: acknowledge it

	// Index is the entry that Probe and Sum are about, the fork of Begin, the
	// entry before the first of an Update, and the last that Trusted asks for.
	Index queue.Index
	Sum   uint64 // Sum, Begin: up to Index. Update: up to its last entry
	Round uint64 // Confirm, Confirmed

	Received, Appended, Flushed queue.Index // Ack

	Rows    []Row   // History: its newest epochs
	Entries []Entry // Update: a dense run in one cycle
	Why     string  // Answer: of a refusal. Stop: what is the matter
}
