package core

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

	"github.com/pawl-go/pawl/queue"
)

// simHost is a host of the simulation: a Replica, and the disk and memory that a
// shell would keep for it.
type simHost struct {
	sim *sim
	id  HostID
	r   *Replica // nil: down
	cfg Config

	// The queue. What lies in memory survives a kill; a power cut takes what is
	// above flushed.
	base    Base
	log     []Entry
	flushed int // entries of log

	hard     Hard // as flushed
	haveHard bool
	hardBoot int // boot in which it was written
	boot     int

	life    int      // counts starts, so that jobs of an earlier life are dropped
	jobs    []func() // flushes and answers that are under way, in order of asking
	paused  bool
	results map[uint64]error
	closed  bool
	appends int
	serial  uint64 // of commands
	roll    bool   // script: the next entry begins a cycle
	held    bool   // script: jobs wait
	full    bool   // script: the disk is full
}

func (h *simHost) last() queue.Index {
	if len(h.log) == 0 {
		return h.base.Index
	}
	return h.log[len(h.log)-1].Index
}

// position is the number of entries of log up to and with i.
func (h *simHost) position(i queue.Index) int {
	n, _ := slices.BinarySearchFunc(h.log, i, func(e Entry, i queue.Index) int {
		if e.Index <= i {
			return -1
		}
		return 1
	})
	return n
}

func (h *simHost) start() {
	if h.r != nil {
		return
	}
	h.life++
	h.jobs, h.closed = nil, false
	start := Start{Hard: h.hard, Now: h.sim.now, Survived: h.haveHard && h.hardBoot == h.boot}
	if !h.haveHard {
		start.Hard = Hard{Trust: Lost}
	}
	start.Log = h.describe()
	if h.flushed > 0 {
		start.Flushed = h.log[h.flushed-1].Index
	}
	r, err := New(h.cfg, start)
	if err != nil {
		h.sim.fail("host %d: %v", h.id, err)
	}
	h.r = r
	h.step(Tick{h.sim.now})
}

func (h *simHost) describe() Log {
	l := Log{Base: h.base}
	for k, e := range h.log {
		if k == 0 || e.Index.Cycle() != h.log[k-1].Index.Cycle() {
			l.Runs = append(l.Runs, Run{First: e.Index})
		}
		l.Runs[len(l.Runs)-1].Last = e.Index
		if e.Control {
			c, err := DecodeControl(e.Payload)
			if err != nil {
				h.sim.fail("host %d: %v", h.id, err)
			}
			l.Controls = append(l.Controls, Row{Control: c, Index: e.Index})
		}
	}
	return l
}

// kill ends the process; memory that belongs to the operating system stays.
func (h *simHost) kill() {
	if h.r == nil {
		return
	}
	h.r, h.paused, h.jobs = nil, false, nil
	for _, c := range h.sim.conns {
		if c.has(h.id) {
			c.cut()
		}
	}
}

// power cuts the power: what was not flushed is gone, or a part of it.
func (h *simHost) power() {
	h.kill()
	h.boot++
	keep := h.flushed
	if !h.sim.script {
		keep += h.sim.rand.IntN(len(h.log) - h.flushed + 1)
	}
	for keep > h.flushed && h.log[keep-1].More {
		keep-- // a batch is kept whole or not at all
	}
	h.log = h.log[:keep]
	h.flushed = keep
}

// wipe loses the disk.
func (h *simHost) wipe() {
	h.kill()
	h.boot++
	h.sim.forget(h)
	h.base, h.log, h.flushed, h.hard, h.haveHard = Base{}, nil, 0, Hard{}, false
}

// trusted reports whether the host may promise, also when it is down.
func (h *simHost) trusted() bool {
	if h.r != nil && h.r.hard.Trust != Whole {
		return false
	}
	return h.haveHard && h.hard.Trust == Whole && (!h.hard.Acked || h.hardBoot == h.boot)
}

// step gives the replica an event and does what it asks for. A host can be killed
// between any two effects.
func (h *simHost) step(ev Event) {
	if h.r == nil {
		return
	}
	life := h.life
	for ev != nil && h.r != nil && h.life == life {
		effects := slices.Clone(h.r.Step(ev))
		if err := h.r.valid(); err != nil {
			h.sim.fail("host %d after %T%+v: %v", h.id, ev, ev, err)
		}
		ev = nil
		for _, e := range effects {
			if h.sim.crashing && h.sim.rand.IntN(4000) == 0 {
				h.kill()
				return
			}
			if answer := h.do(e); answer != nil {
				if ev != nil {
					h.sim.fail("host %d: two changes of the queue in one step: %v", h.id, effects)
				}
				ev = answer
			}
		}
	}
}

func (h *simHost) later(job func()) {
	life := h.life
	h.jobs = append(h.jobs, func() {
		if h.life == life && h.r != nil {
			job()
		}
	})
}

// do carries out an effect. What it returns is the next event.
func (h *simHost) do(e Effect) Event {
	h.sim.trace("  %d: %T %+v", h.id, e, e)
	switch e := e.(type) {
	case AppendCopied, AppendControl, SetAside, Restart:
		if h.full {
			return StorageFailed{errors.New("no space left")}
		}
		if h.sim.crashing && h.sim.rand.IntN(200) == 0 {
			return StorageFailed{errors.New("no space left")}
		}
		return h.change(e)
	case WriteHard:
		h.later(func() {
			h.hard, h.haveHard, h.hardBoot = e.Hard, true, h.boot
			h.step(HardWritten{e.Seq})
		})
	case Flush:
		h.later(func() { h.flush(h.position(e.Through)) })
	case AskSum:
		h.later(func() { h.step(h.sum(e)) })
	case Stream:
		h.later(func() { h.stream(e) })
	case Send:
		h.sim.send(h.id, e)
	case Drop:
		h.sim.drop(h.id, e)
	case Unlocked:
		h.sim.say("%d: unlocked in epoch %v", h.id, e.Epoch)
		h.sim.checkUnlocked(h)
	case Locked:
		h.sim.say("%d: locked: %s", h.id, e.Why)
	case Counted:
		h.sim.checkCounted(h, e)
	case Result:
		h.results[e.ID] = e.Err
		h.sim.say("%d: command ends: %v", h.id, e.Err)
	case Closed:
		h.closed = true
		h.sim.say("%d: closed", h.id)
	case Notice:
		h.sim.checkNotice(h, e)
	}
	return nil
}

// change carries out an effect that changes the queue.
func (h *simHost) change(e Effect) Event {
	switch e := e.(type) {
	case AppendCopied:
		for _, entry := range e.Entries {
			if !h.r.h.follows(h.last(), entry.Index) {
				h.sim.fail("host %d appends a copy of %v behind %v", h.id, entry.Index, h.last())
			}
			entry.Payload = bytes.Clone(entry.Payload)
			h.log = append(h.log, entry)
		}
		return Copied{h.last()}
	case AppendControl:
		h.sim.checkEpoch(h, e.Control)
		i := h.next()
		payload := e.Control.Encode()
		h.log = append(h.log, Entry{Index: i, Control: true, Payload: payload})
		return Appended{First: i, Last: i, Bytes: uint64(len(payload)), Control: &e.Control}
	case SetAside:
		h.sim.checkAside(h, e)
		h.log = h.log[:h.position(e.Above)]
		h.flushed = min(h.flushed, len(h.log))
		return AsideDone{}
	case Restart:
		h.base, h.log, h.flushed = e.Base, nil, 0
		return RestartDone{}
	}
	return nil
}

func (h *simHost) flush(n int) {
	h.flushed = max(h.flushed, min(n, len(h.log)))
	through := h.base.Index
	if h.flushed > 0 {
		through = h.log[h.flushed-1].Index
	}
	h.step(Flushed{through})
}

func (h *simHost) sum(e AskSum) SumIs {
	sum, n := h.base.Sum, h.position(e.Index)
	if n == 0 || h.log[n-1].Index != e.Index {
		return SumIs{Token: e.Token, Err: fmt.Errorf("no entry %v", e.Index)}
	}
	for _, entry := range h.log[:n] {
		sum = Chain(sum, entry)
	}
	return SumIs{Token: e.Token, Sum: sum}
}

// stream sends some of the entries asked for, in one update or a few.
func (h *simHost) stream(e Stream) {
	n := h.position(e.Prev)
	if n == 0 && e.Prev != h.base.Index || n > 0 && h.log[n-1].Index != e.Prev {
		h.step(StreamFailed{e.Peer, e.Stream, fmt.Errorf("entry %v was released", e.Prev)})
		return
	}
	prev, sum := e.Prev, e.Sum
	updates, most := 1+h.sim.rand.IntN(2), 1+h.sim.rand.IntN(4)
	if h.sim.script {
		updates, most = 1, h.sim.chunk
	}
	for range updates {
		var run []Entry
		for n < len(h.log) && h.log[n].Index <= e.Through && len(run) < most {
			if len(run) > 0 && h.log[n].Index != run[len(run)-1].Index+1 {
				break
			}
			run = append(run, h.log[n])
			n++
		}
		if len(run) == 0 {
			break
		}
		m := e.Update(prev, sum, run)
		prev, sum = run[len(run)-1].Index, m.Sum
		h.sim.send(h.id, Send{e.Peer, e.Conn, m})
	}
	h.step(Streamed{e.Peer, e.Stream, prev, sum})
}

// next is the index of the next entry of its own; now and then a cycle is over.
func (h *simHost) next() queue.Index {
	last := h.last()
	switch {
	case len(h.log) == 0:
		return queue.NewIndex(last.Cycle()+1, 0)
	case h.sim.script && !h.roll:
		return last + 1
	case h.roll:
		h.roll = false
		return queue.NewIndex(last.Cycle()+1, 0)
	case h.sim.rand.IntN(12) == 0:
		return queue.NewIndex(last.Cycle()+1+uint32(h.sim.rand.IntN(2)), 0)
	}
	return last + 1
}

// append adds messages of the application, if that is allowed.
func (h *simHost) append() bool {
	if h.r == nil || h.paused || h.r.Admit() != nil {
		return false
	}
	n := 1
	if !h.sim.script && h.sim.rand.IntN(5) == 0 {
		n += h.sim.rand.IntN(4)
	}
	return h.appendBatch(n)
}

// appendBatch adds a batch of n messages.
func (h *simHost) appendBatch(n int) bool {
	first := h.next()
	var size int
	for k := range n {
		h.appends++
		p := fmt.Appendf(nil, "m%d.%d", h.id, h.appends)
		size += len(p)
		h.log = append(h.log, Entry{Index: first + queue.Index(k), More: k < n-1, Payload: p})
	}
	h.step(Appended{First: first, Last: h.last(), Bytes: uint64(size)})
	return true
}

// release deletes the oldest cycle, if retention may.
func (h *simHost) release() {
	if h.r == nil || len(h.log) == 0 {
		return
	}
	cycle := h.log[0].Index.Cycle()
	n := 0
	for n < len(h.log) && h.log[n].Index.Cycle() == cycle {
		n++
	}
	through := h.log[n-1].Index
	if n == len(h.log) || through > h.r.Status().Keep || n > h.flushed {
		return
	}
	b := Base{Index: through, Count: h.base.Count + uint64(n), Sum: h.base.Sum, Epoch: h.r.h.epochAt(through)}
	for _, e := range h.log[:n] {
		b.Sum = Chain(b.Sum, e)
	}
	h.base, h.log, h.flushed = b, slices.Clone(h.log[n:]), h.flushed-n
	h.step(Released{through, b.Sum})
}
