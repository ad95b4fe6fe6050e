package core

import (
	"fmt"
	"slices"
	"sort"

	"github.com/pawl-go/pawl/queue"
)

// Base is what lies before the first kept entry of a queue: nothing, or what
// retention has released.
type Base struct {
	Index queue.Index // of the last entry before the first kept one; 0: none
	Count uint64      // entries up to and with it
	Sum   uint64      // running checksum up to and with it
	Epoch Epoch       // of that entry
}

// Run is a dense stretch of entries in one cycle.
type Run struct {
	First, Last queue.Index
}

// Row places one control entry in a history.
type Row struct {
	Control
	Index queue.Index // of the entry
	Prev  queue.Index // of the entry before it; 0: none
}

// Log describes the entries of a queue to a Replica that is made for it: what
// the shell has found on opening it.
type Log struct {
	Base     Base
	Runs     []Run // the kept entries, one run a cycle, in order
	Controls []Row // the kept control entries, in order; Prev is filled in
}

// history is the shape of a queue: which indexes it has, and where its control
// entries are. It holds no payloads. Counting goes over rolls, since each cycle
// knows how many entries lie before it.
type history struct {
	base   Base
	cycles []cycleRow
	rows   []Row
	count  uint64 // entries up to and with the last, released ones too
}

type cycleRow struct {
	cycle  uint32
	before uint64 // entries before its first one
}

func newHistory(l Log) (*history, error) {
	h := &history{base: l.Base, count: l.Base.Count}
	controls := l.Controls
	for _, run := range l.Runs {
		if err := h.admits(run); err != nil {
			return nil, err
		}
		var here []Row
		for len(controls) > 0 && controls[0].Index <= run.Last {
			here, controls = append(here, controls[0]), controls[1:]
		}
		h.append(run, here)
	}
	if len(controls) > 0 {
		return nil, fmt.Errorf("read history: control entry %v lies behind the last entry %v", controls[0].Index, h.last())
	}
	return h, nil
}

// last is the index of the last entry, kept or released; 0: none.
func (h *history) last() queue.Index { return h.at(h.count) }

// mark is the end of the history.
func (h *history) mark() Mark { return Mark{h.epochAt(h.last()), h.last()} }

// follows reports whether an entry i can come right behind entry prev: with the
// next sequence number of its cycle, or the first of a later one. The base is the
// last of its cycle.
func (h *history) follows(prev, i queue.Index) bool {
	return i == prev+1 && prev != h.base.Index || i.Cycle() > prev.Cycle() && i.Seq() == 0
}

// admits checks that a run may follow the last entry.
func (h *history) admits(run Run) error {
	last := h.last()
	if !h.follows(last, run.First) || run.Last < run.First || run.Last.Cycle() != run.First.Cycle() {
		return fmt.Errorf("entries %v to %v cannot follow entry %v", run.First, run.Last, last)
	}
	return nil
}

// append adds a run that admits has let in, with the control entries in it.
func (h *history) append(run Run, controls []Row) {
	if n := len(h.cycles); n == 0 || h.cycles[n-1].cycle != run.First.Cycle() {
		h.cycles = append(h.cycles, cycleRow{run.First.Cycle(), h.count})
	}
	h.count += uint64(run.Last-run.First) + 1
	for _, row := range controls {
		row.Prev = h.prev(row.Index)
		h.rows = append(h.rows, row)
	}
}

// has reports whether entry i is kept.
func (h *history) has(i queue.Index) bool {
	return i > h.base.Index && i <= h.last() && h.at(h.countTo(i)) == i
}

// knows reports whether the checksum up to i can be had: the entry is kept, or
// it is the base.
func (h *history) knows(i queue.Index) bool { return i == h.base.Index || h.has(i) }

// countTo is the number of entries up to and with i. An index between two
// entries counts those below it; one before the base counts as the base.
func (h *history) countTo(i queue.Index) uint64 {
	k := sort.Search(len(h.cycles), func(k int) bool { return h.cycles[k].cycle > i.Cycle() }) - 1
	if k < 0 {
		return h.base.Count
	}
	end := h.count
	if k+1 < len(h.cycles) {
		end = h.cycles[k+1].before
	}
	if h.cycles[k].cycle < i.Cycle() {
		return end
	}
	return min(h.cycles[k].before+uint64(i.Seq())+1, end)
}

// at is the index of the n-th entry, from 1, and the base's for anything that
// is not kept.
func (h *history) at(n uint64) queue.Index {
	k := sort.Search(len(h.cycles), func(k int) bool { return h.cycles[k].before >= n }) - 1
	if k < 0 {
		return h.base.Index
	}
	return queue.NewIndex(h.cycles[k].cycle, uint32(n-h.cycles[k].before-1))
}

// prev is the index of the entry before i.
func (h *history) prev(i queue.Index) queue.Index {
	n := h.countTo(i)
	if n == 0 {
		return 0
	}
	return h.at(n - 1)
}

// messages counts the entries above a and up to b that are the application's.
func (h *history) messages(a, b queue.Index) uint64 {
	if b <= a {
		return 0
	}
	n := h.countTo(b) - h.countTo(a)
	for _, row := range slices.Backward(h.rows) {
		if row.Index <= a {
			break
		}
		if row.Index <= b {
			n--
		}
	}
	return n
}

// epochAt is the epoch of entry i.
func (h *history) epochAt(i queue.Index) Epoch {
	for _, row := range slices.Backward(h.rows) {
		if row.Index <= i && row.Kind == EpochBegins {
			return row.Epoch
		}
	}
	return h.base.Epoch
}

// EpochOf is the epoch of an entry that is here, or of the last one that retention has
// let go. Two histories that give an entry the same epoch are the same up to it, for an
// epoch has one source, which gives each index once.
func (r *Replica) EpochOf(i queue.Index) (e Epoch, ok bool) {
	return r.h.epochAt(i), r.h.knows(i) && i != 0
}

// single is the host that alone may hold the last entries, 0 when there is
// none. The epoch of another host ends it.
func (h *history) single() HostID {
	var host HostID
	for _, row := range slices.Backward(h.rows) {
		switch {
		case host != 0 && row.Epoch.Host != host:
			return 0
		case row.Kind == SingleBegins:
			return row.Epoch.Host
		case row.Kind == SingleEnds:
			return 0
		}
		host = row.Epoch.Host
	}
	return 0
}

// lossyAbove reports whether a lossy epoch begins above i.
func (h *history) lossyAbove(i queue.Index) bool {
	return slices.ContainsFunc(h.rows, func(r Row) bool { return r.Index > i && r.Lossy })
}

// truncate takes everything above i away; i is known.
func (h *history) truncate(i queue.Index) {
	h.count = h.countTo(i)
	for n := len(h.cycles); n > 0 && h.cycles[n-1].before >= h.count; n-- {
		h.cycles = h.cycles[:n-1]
	}
	for n := len(h.rows); n > 0 && h.rows[n-1].Index > i; n-- {
		h.rows = h.rows[:n-1]
	}
}

// release moves the base on to b: the end of a cycle.
func (h *history) release(b Base) {
	b.Count, b.Epoch = h.countTo(b.Index), h.epochAt(b.Index)
	h.cycles = slices.DeleteFunc(h.cycles, func(c cycleRow) bool { return c.cycle <= b.Index.Cycle() })
	h.rows = slices.DeleteFunc(h.rows, func(r Row) bool { return r.Index <= b.Index })
	h.base = b
}

// reset empties the history and puts it behind b.
func (h *history) reset(b Base) { *h = history{base: b, count: b.Count} }

// epochs lists the epochs of the kept entries, the base's first, the newest
// maxRows of them.
func (h *history) epochs() []Row {
	var rows []Row
	if !h.base.Epoch.IsZero() {
		rows = append(rows, Row{Control: Control{Kind: EpochBegins, Epoch: h.base.Epoch}})
	}
	for _, row := range h.rows {
		if row.Kind == EpochBegins {
			rows = append(rows, row)
		}
	}
	return rows[max(0, len(rows)-maxRows):]
}

// fork guesses the last entry that this history shares with another, of which
// it is given the epochs and the last entry: the earlier end of their newest
// common epoch. With no epoch in common it is the last entry before the first
// epoch of either. The guess is right when no epoch was used twice; checksums
// prove it.
func (h *history) fork(theirs []Row, theirLast queue.Index) queue.Index {
	mine := h.epochs()
	for k, row := range slices.Backward(mine) {
		j := slices.IndexFunc(theirs, func(r Row) bool { return r.Epoch == row.Epoch })
		if j >= 0 {
			return min(endOf(mine, k, h.last()), endOf(theirs, j, theirLast))
		}
	}
	return min(endOf(mine, -1, h.last()), endOf(theirs, -1, theirLast))
}

// endOf is the last entry of the k-th epoch of rows; -1 stands for what lies
// before the first.
func endOf(rows []Row, k int, last queue.Index) queue.Index {
	if k+1 < len(rows) {
		return rows[k+1].Prev
	}
	return last
}
