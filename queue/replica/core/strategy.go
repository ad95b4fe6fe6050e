package core

import (
	"fmt"
	"time"

	"github.com/pawl-go/pawl/queue"
)

// Strategy says how many hosts must hold an entry before it counts, how far the
// source may run ahead of that, and what happens to appends when it has. Make
// one with Unbounded, MaxGap, Any, Majority, All or Custom, and change what it
// does at its limit with OrFail or OrFlush. The zero value is Unbounded.
//
// Fewer messages at risk cost more latency: the choice is per queue.
type Strategy struct {
	kind     strategyKind
	limit    Limit
	floor    int // of Custom
	hold     func(Table) bool
	over     over
	patience time.Duration
	hosts    int // set by Counting; 0: by kind
}

type strategyKind uint8

const (
	unbounded strategyKind = iota
	maxGap
	anyHost
	majority
	allHosts
	custom
)

// Limit bounds what a crash of the source could lose: messages that appends have
// returned for and that do not count yet. A zero field bounds nothing.
type Limit struct {
	Messages uint64
	Bytes    uint64
	Age      time.Duration // of the oldest one
}

// over says what an append does while the strategy holds it back.
type over uint8

const (
	overWait over = iota
	overFail
	overFlush
)

// Unbounded never holds an append back. Entries count when a second host holds
// them, unless Counting says otherwise.
func Unbounded() Strategy { return Strategy{} }

// MaxGap holds appends back while more than the limit does not count.
func MaxGap(l Limit) Strategy { return Strategy{kind: maxGap, limit: l} }

// Any holds each append back until one other host has the entry.
func Any() Strategy { return Strategy{kind: anyHost} }

// Majority holds each append back until more than half of all hosts, the source
// included, have the entry.
func Majority() Strategy { return Strategy{kind: majority} }

// All holds each append back until all hosts have the entry.
func All() Strategy { return Strategy{kind: allHosts} }

// Custom holds appends back while hold says so. The function must be pure and
// quick. Floor is how many hosts, the source included, hold an entry before it
// counts: what take-overs rely on, and what hold cannot go below.
func Custom(floor int, hold func(Table) bool) Strategy {
	return Strategy{kind: custom, floor: floor, hold: hold}
}

// Counting changes how many hosts, the source included, must hold an entry
// before it counts, for Unbounded and MaxGap; 0 is the default, 2.
func (s Strategy) Counting(hosts int) Strategy { s.hosts = hosts; return s }

// OrFail makes appends fail at the limit instead of waiting: when too few hosts are
// there, or when the oldest append that is held back has waited for patience; 0
// means the heartbeat timeout. They fail before anything is appended. One that
// has been appended waits all the same: it may count yet.
func (s Strategy) OrFail(patience time.Duration) Strategy {
	s.over, s.patience = overFail, patience
	return s
}

// OrFlush makes the queue single under the condition of OrFail: entries count once
// they are flushed at the source, until enough hosts hold everything again. From
// then on only the source, or force, may take over; and since the other hosts
// cannot know whether that has happened, any other take-over of such a queue needs
// all hosts (decision 0027).
func (s Strategy) OrFlush(patience time.Duration) Strategy {
	s.over, s.patience = overFlush, patience
	return s
}

// String is the name of the strategy in reports.
func (s Strategy) String() string {
	return [...]string{"unbounded", "max gap", "any", "majority", "all", "custom"}[s.kind]
}

// HoldsEach reports whether the strategy holds each append back until it counts, or a
// function says when.
func (s Strategy) HoldsEach() bool { return s.kind >= anyHost }

// Waits reports whether an append waits at the limit, and does not fail.
func (s Strategy) Waits() bool { return s.over == overWait }

// counting is w: how many of n hosts must hold an entry before it counts.
func (s Strategy) counting(n int) int {
	switch {
	case s.kind == majority:
		return n/2 + 1
	case s.kind == allHosts:
		return n
	case s.kind == custom:
		return s.floor
	case s.hosts != 0 && s.kind != anyHost:
		return s.hosts
	}
	return 2
}

func (s Strategy) validate(n int) error {
	w := s.counting(n)
	switch {
	case w < 1 || w > n:
		return fmt.Errorf("strategy %v counts an entry that %d hosts hold, but there are %d: name more hosts, or another strategy", s, w, n)
	case s.kind == maxGap && s.limit == Limit{}:
		return fmt.Errorf("strategy max gap needs a limit of messages, bytes or age")
	case s.limit.Age < 0 || s.patience < 0:
		return fmt.Errorf("strategy %v: a negative time", s)
	case s.kind == custom && s.hold == nil:
		return fmt.Errorf("strategy custom needs its function")
	case s.over == overFlush && s.kind == unbounded:
		return fmt.Errorf("strategy unbounded has no limit at which it could flush")
	}
	return nil
}

// Table is what the source knows of its sinks.
type Table struct {
	Last    queue.Index // of the source
	Flushed queue.Index // at the source
	Counted queue.Index
	Gap     uint64 // messages that do not count yet
	Live    int    // hosts that the source can copy to now, itself included
	Sinks   []SinkRow
}

// SinkRow is the source's view of one sink. The indexes are cumulative: all
// entries up to them.
type SinkRow struct {
	Host      HostID
	Connected bool
	State     SinkState
	Sent      queue.Index // handed to the connection
	Received  queue.Index // has come in whole
	Appended  queue.Index // readable there
	Flushed   queue.Index // on its disk
	Gap       uint64      // messages that the sink does not hold
	Trust     Trust
}

// SinkState is how far the source is with a sink.
type SinkState uint8

const (
	// SinkDown has no connection.
	SinkDown SinkState = iota
	// SinkIdle is connected, and not followed up: its configuration differs,
	// or it has promised a higher epoch.
	SinkIdle
	// SinkMatching is being asked for its history, to find the fork.
	SinkMatching
	// SinkCopying gets entries that were there before it came.
	SinkCopying
	// SinkLive has been sent everything that there was at some time.
	SinkLive
)

// String is the name of the state in reports.
func (s SinkState) String() string {
	return [...]string{"down", "idle", "matching", "copying", "live"}[s]
}

// stamp remembers when an append that does not count yet was made, and how many
// bytes had been appended then.
type stamp struct {
	index queue.Index
	bytes uint64 // since the epoch began, up to index
	at    time.Time
}

// maxStamps bounds the memory for them: beyond it every second one goes, which
// makes the strategy hold back a little earlier than it must.
const maxStamps = 4096

// stamps is a queue of them, in order.
type stamps struct {
	list    []stamp
	total   uint64 // bytes appended
	counted uint64 // bytes of them that count
}

func (s *stamps) add(i queue.Index, bytes uint64, at time.Time) {
	s.total += bytes
	s.list = append(s.list, stamp{i, s.total, at})
	if len(s.list) <= maxStamps {
		return
	}
	// Of two neighbours the later index stays, with the earlier time.
	kept := s.list[:0]
	for k := 0; k+1 < len(s.list); k += 2 {
		kept = append(kept, stamp{s.list[k+1].index, s.list[k+1].bytes, s.list[k].at})
	}
	if len(s.list)%2 == 1 {
		kept = append(kept, s.list[len(s.list)-1])
	}
	s.list = kept
}

// count drops what counts.
func (s *stamps) count(i queue.Index) {
	n := 0
	for n < len(s.list) && s.list[n].index <= i {
		s.counted = s.list[n].bytes
		n++
	}
	s.list = s.list[n:]
}

// within is the last index up to which no more than the given bytes do not count.
func (s *stamps) within(bytes uint64, counted queue.Index) queue.Index {
	for _, st := range s.list {
		if st.bytes-s.counted > bytes {
			break
		}
		counted = st.index
	}
	return counted
}
