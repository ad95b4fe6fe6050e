package core

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/pawl-go/pawl/queue"
)

// source is the part of a Replica that is there while this host is the source.
type source struct {
	epoch  Epoch
	began  time.Time   // the patience of the strategy begins no earlier
	before queue.Index // what counted when this host became the source
	start  queue.Index // of the entry that opens the epoch; 0: asked for
	locked bool
	stamps stamps
	round  uint64 // of Confirm
	asked  time.Time
	lease  lease
}

// handing is a switch under way, at the old source.
type handing struct {
	command  uint64
	target   HostID
	handed   bool // the target has been told
	deadline time.Time
}

// becomeSource opens the epoch that enough hosts have promised.
func (r *Replica) becomeSource(c *campaign) {
	r.source = &source{epoch: c.epoch, before: r.counted, began: r.now, locked: true, lease: lease{heard: r.now}}
	r.openEpoch(c.lossy)
	if c.command != 0 {
		r.emit(Result{ID: c.command})
	}
}

func (r *Replica) openEpoch(lossy bool) {
	r.control(Control{Kind: EpochBegins, Epoch: r.source.epoch, Lossy: lossy})
}

func (r *Replica) control(c Control) {
	r.changing = change{kind: changeControl}
	r.emit(AppendControl{c})
}

// settleSource does what a source does by itself.
func (r *Replica) settleSource() {
	s := r.source
	if s == nil || s.start == 0 {
		return
	}
	r.settleCounting()
	r.settleSingle()
	r.settleLock()
	r.settleConfirm()
	r.settleLease()
	for _, p := range r.peers {
		r.openFeed(p, false)
	}
}

// settleLock lets the application append.
func (r *Replica) settleLock() {
	s := r.source
	if s.locked && r.handing == nil && r.changing.kind == changeNone {
		s.locked = false
		r.emit(Unlocked{s.epoch})
	}
}

// settleCounting finds what counts, and whom that lets go on.
func (r *Replica) settleCounting() {
	s := r.source
	counted := r.counted
	if c := r.heldBy(r.w); c >= s.start && c > counted {
		counted = c
	}
	if at := r.singleFrom(); at != 0 && r.flushed >= max(at, s.start) {
		counted = max(counted, r.flushed)
	}
	s.stamps.count(counted)
	released := max(r.released, r.release(counted))
	if counted == r.counted && released == r.released {
		return
	}
	r.counted, r.released = counted, released
	r.emit(Counted{counted, released})
}

// heldBy is the highest index that n hosts hold, this one included, by their
// acknowledgements in this epoch; 0 when there are not so many.
func (r *Replica) heldBy(n int) queue.Index {
	own := r.h.last()
	if r.cfg.FlushToCount {
		own = r.flushed
	}
	return highest(append(r.acknowledged(), own), n)
}

// acknowledged lists for each sink that counts what it holds.
func (r *Replica) acknowledged() []queue.Index {
	held := make([]queue.Index, 0, len(r.peers)+1)
	for _, p := range r.peers {
		if f := p.feed; f != nil && f.stage == feedCopying && f.trust != Lost {
			held = append(held, f.held(r.cfg.FlushToCount))
		}
	}
	return held
}

// highest is the highest index that n of the given ones reach, 0 if there are
// not so many. It sorts them.
func highest(held []queue.Index, n int) queue.Index {
	if n < 1 || n > len(held) {
		return 0
	}
	slices.Sort(held)
	return held[len(held)-n]
}

// release is the index up to which appends may return, given what counts.
func (r *Replica) release(counted queue.Index) queue.Index {
	last := r.h.last()
	st := r.cfg.Strategy
	switch {
	case !r.cfg.Acknowledge, counted >= last:
		return last
	case r.source.start > counted:
		return counted // what was there before this epoch has no stamps
	}
	switch st.kind {
	case unbounded:
		return last
	case custom:
		if st.hold(r.table(counted)) {
			return counted
		}
		return last
	case maxGap:
		return r.withinGap(st.limit, counted)
	}
	return counted
}

// withinGap applies the limits of MaxGap.
func (r *Replica) withinGap(l Limit, counted queue.Index) queue.Index {
	last := r.h.last()
	s := &r.source.stamps
	if l.Messages != 0 {
		if n := r.h.countTo(counted) + l.Messages; n < r.h.count {
			last = r.h.at(n)
		}
	}
	if l.Bytes != 0 {
		last = min(last, s.within(l.Bytes, counted))
	}
	if l.Age != 0 && len(s.list) > 0 && r.now.Sub(s.list[0].at) > l.Age {
		last = counted
	}
	return last
}

// Ahead is how many more messages the source may append before MaxGap holds one
// back, by what the core has been told. It is 0 where that depends on more than a
// number of messages; then Counted says when an append may return. It changes
// nothing.
func (r *Replica) Ahead() uint64 {
	st := r.cfg.Strategy
	if st.kind != maxGap || (st.limit != Limit{Messages: st.limit.Messages}) || r.source == nil || r.counted < r.source.start {
		return 0
	}
	gap := r.h.count - r.h.countTo(r.counted)
	return st.limit.Messages - min(gap, st.limit.Messages)
}

// live is how many hosts can hold an entry now, this one included.
func (r *Replica) live() int { return len(r.acknowledged()) + 1 }

// tooFew reports whether not enough hosts are there for anything to count. Those
// of a new source have the patience of the strategy to come.
func (r *Replica) tooFew() bool {
	return r.live() < r.w && !r.now.Before(r.source.began.Add(r.patience()))
}

func (r *Replica) patience() time.Duration {
	if p := r.cfg.Strategy.patience; p != 0 {
		return p
	}
	return r.cfg.HeartbeatTimeout
}

// overdue reports whether the strategy has held an append back for its patience,
// and for how long the oldest one has waited.
func (r *Replica) overdue() (bool, time.Duration) {
	for _, st := range r.source.stamps.list {
		if st.index > r.released {
			since := st.at
			if since.Before(r.source.began) {
				since = r.source.began
			}
			waited := r.now.Sub(since)
			return waited >= r.patience(), waited
		}
	}
	return false, 0
}

// Admit says whether the application may append now: nil, a *LockedError or,
// under a strategy with OrFail, a *GapError. It changes nothing.
func (r *Replica) Admit() error {
	s := r.source
	if s == nil || s.locked || s.start == 0 {
		return r.lockedError()
	}
	if !r.cfg.Acknowledge || r.cfg.Strategy.over != overFail || r.cfg.Strategy.kind == unbounded {
		return nil
	}
	late, waited := r.overdue()
	few := r.tooFew() && (r.cfg.Strategy.kind != maxGap || r.released < r.h.last())
	if late || few {
		return &GapError{Gap: r.Gap(), Live: r.live(), Need: r.w, Waited: waited}
	}
	return nil
}

func (r *Replica) lockedError() *LockedError {
	e := &LockedError{Why: "this host is a sink"}
	switch {
	case r.closing:
		e.Why = ErrClosed.Error()
	case r.handing != nil:
		e.Why = "the queue is handed over"
		e.Source = r.handing.target
	case r.source != nil:
		e.Why = "the epoch is being opened"
	case r.follow != nil && !r.follow.donor:
		e.Source = r.follow.peer
	case r.campaign != nil && !r.campaign.idle:
		e.Why, e.WaitsFor = r.waitsFor()
	default:
		e.Source = cmp.Or(r.living(), r.followed())
	}
	return e
}

// singleFrom is the index of the entry that made the queue single, when this is
// its host and that is flushed; 0 otherwise.
func (r *Replica) singleFrom() queue.Index {
	if !r.hard.Single || !r.written.Single {
		return 0
	}
	for _, row := range slices.Backward(r.h.rows) {
		switch row.Kind {
		case SingleBegins:
			return row.Index
		case SingleEnds:
			return 0
		}
	}
	return 0
}

// settleSingle makes the queue single when its strategy says so, and ends that
// when enough hosts hold again what counts.
func (r *Replica) settleSingle() {
	if !r.cfg.Acknowledge || r.cfg.Strategy.over != overFlush || r.changing.kind != changeNone {
		return
	}
	if !r.hard.Single {
		late, _ := r.overdue()
		if late || r.tooFew() && r.released < r.h.last() {
			h := r.hard
			h.Single = true
			r.write(h)
			r.control(Control{Kind: SingleBegins, Epoch: r.source.epoch})
			r.notice(Notice{Kind: NoticeSingle, Text: "entries count once they are flushed here: only this host, or force, may take over"})
		}
		return
	}
	r.flush(r.h.last())
	if at := r.singleFrom(); at != 0 && r.counted >= r.source.start && r.heldBy(r.w) >= max(at, r.counted) {
		h := r.hard
		h.Single = false
		r.write(h)
		r.source.began = r.now
		r.control(Control{Kind: SingleEnds, Epoch: r.source.epoch})
		r.notice(Notice{Kind: NoticeSingle, Text: "enough hosts hold everything again"})
	}
}

// switchTo begins to hand over.
func (r *Replica) switchTo(ev Switch) {
	p := r.peer(ev.Target)
	switch {
	case r.source == nil || r.source.start == 0:
		r.emit(Result{ev.ID, ErrNotSource})
	case ev.Target == r.cfg.Self:
		r.emit(Result{ID: ev.ID})
	case r.handing != nil:
		r.emit(Result{ev.ID, ErrBusy})
	case p == nil || p.feed == nil || p.feed.stage != feedCopying || p.feed.trust != Whole:
		r.emit(Result{ev.ID, fmt.Errorf("switch to host %d: %w: it is not connected and caught up", ev.Target, ErrTarget)})
	default:
		r.handing = &handing{command: ev.ID, target: ev.Target, deadline: r.now.Add(r.cfg.HeartbeatTimeout)}
		r.source.locked = true
		r.emit(Locked{fmt.Sprintf("the queue is handed over to host %d", ev.Target)})
		r.notice(Notice{Kind: NoticeSwitch, Peer: ev.Target, Text: "the queue is handed over"})
	}
}

// settleHanding tells the target when it holds everything, sees that it becomes
// the source, and otherwise takes over again.
func (r *Replica) settleHanding() {
	h := r.handing
	if h == nil {
		return
	}
	p := r.peer(h.target)
	switch {
	case r.follow != nil && r.follow.peer == h.target && !r.follow.donor && r.follow.stage == followCopying:
		r.handing = nil
		r.emit(Result{ID: h.command})
		return
	case r.follow != nil && r.follow.peer != h.target:
		r.handing = nil
		r.emit(Result{h.command, ErrOvertaken})
		return
	case p.conn == 0, !r.now.Before(h.deadline), p.feed == nil && r.source != nil:
		r.handing = nil
		r.emit(Result{h.command, fmt.Errorf("switch to host %d: %w: this host takes over again", h.target, ErrTarget)})
		r.notice(Notice{Kind: NoticeSwitch, Peer: h.target, Text: "the target did not take over; this host takes over again"})
		if r.source == nil || h.handed {
			r.stepDown("this host takes over again")
			r.campaign = &campaign{began: r.now, handed: true}
			r.retryAt = r.now
		}
		return
	}
	if r.source != nil && !h.handed && p.feed.appended == r.h.last() {
		h.handed = true
		h.deadline = r.now.Add(2 * r.cfg.HeartbeatTimeout)
		r.send(p, &Message{Type: MsgHandOver, Epoch: r.source.epoch})
	}
}

// Gap is the number of messages at the end of the queue that do not count: what a
// crash of the source could lose. It is right before the first append and across
// rolls. Where nothing acknowledges it is what has not been sent to all sinks.
func (r *Replica) Gap() uint64 {
	if r.cfg.Acknowledge || r.source == nil {
		return r.h.messages(r.counted, r.h.last())
	}
	sent := r.h.last()
	for _, p := range r.peers {
		if p.feed == nil {
			return r.h.messages(0, r.h.last())
		}
		sent = min(sent, p.feed.sent)
	}
	return r.h.messages(sent, r.h.last())
}

// Held is the highest index that at least k other hosts hold by their
// acknowledgements: 1 for any, the number of sinks for all. Only a source knows.
func (r *Replica) Held(k int) queue.Index {
	if r.source == nil {
		return 0
	}
	return highest(r.acknowledged(), k)
}

// Table is what the source knows of its sinks; elsewhere it has no sinks.
func (r *Replica) Table() Table { return r.table(r.counted) }

func (r *Replica) table(counted queue.Index) Table {
	last := r.h.last()
	t := Table{Last: last, Flushed: r.flushed, Counted: counted, Gap: r.h.messages(counted, last), Live: r.live()}
	if r.source == nil {
		return t
	}
	for _, p := range r.peers {
		row := SinkRow{Host: p.id, Connected: p.conn != 0, State: r.sinkState(p), Gap: r.h.messages(0, last)}
		if f := p.feed; f != nil {
			row.Sent, row.Received, row.Appended, row.Flushed = f.sent, f.received, f.appended, f.flushed
			row.Trust = f.trust
			row.Gap = r.h.messages(f.appended, last)
		}
		t.Sinks = append(t.Sinks, row)
	}
	return t
}

func (r *Replica) sinkState(p *peer) SinkState {
	switch f := p.feed; {
	case p.conn == 0:
		return SinkDown
	case f == nil:
		return SinkIdle
	case f.stage != feedCopying:
		return SinkMatching
	case !f.live:
		return SinkCopying
	}
	return SinkLive
}
