package core

import (
	"fmt"
	"time"

	"github.com/pawl-go/pawl/queue"
)

// Role is what a host is for a queue.
type Role uint8

// The roles. Who follows a candidate's donor is a candidate.
//
//	          must begin, or a command            enough promises         has all of the best history
//	Sink ───────────────────────► Candidate ────────────────────► (backfill) ─────────────────────► Source
//	  ▲                               │ refused                                                        │
//	  └───────────────────────────────┴────────────────────────────── a higher epoch is promised ◄─────┘
const (
	Sink Role = iota
	Candidate
	Source
)

// String is the name of the role in reports.
func (r Role) String() string { return [...]string{"sink", "candidate", "source"}[r] }

// Replica is one host's part in the copying of one queue: a pure state machine.
// Step takes an event and returns the effects; nothing else changes anything. A
// Replica belongs to one goroutine at a time.
//
// Invariants, which valid checks and the tests hold after every event:
//
//  1. The epoch of the last entry is not above the promise: a host promises an
//     epoch before it takes an entry of it.
//  2. What has been written down is not ahead of what has been promised.
//  3. A source acts in the epoch that it has promised itself, and that promise
//     is flushed; once its first entry is there, no entry has a higher epoch.
//  4. A source has opened its epoch with an entry, or appends nothing. It counts
//     nothing before that entry counts.
//  5. counted <= released <= last at a source; counted <= last and released =
//     counted elsewhere.
//  6. counted falls only when a lossy epoch, or a restart, has gone past it.
//  7. For each sink: flushed <= appended <= received <= sent <= last.
//  8. Only a source feeds sinks; another host feeds only the candidate to whom
//     it has promised the epoch. Nobody follows and is the source.
//  9. A host follows only in the epoch that it has promised, and says nothing to
//     the source before that promise is flushed.
//  10. Of the effects that change the queue at most one is unanswered.
type Replica struct {
	cfg    Config
	w, q   int
	config uint64 // digest

	h        *history
	flushed  queue.Index
	counted  queue.Index
	released queue.Index

	hard    Hard   // as decided
	seq     uint64 // of its last write
	written Hard   // as flushed
	done    uint64 // the last write that is flushed

	peers    []*peer // by host id; self is not among them
	follow   *follow
	campaign *campaign
	source   *source
	handing  *handing
	granted  grant

	changing  change      // the effect on the queue that is unanswered
	retryAt   time.Time   // a campaign of its own accord begins no earlier
	asked     queue.Index // Flush was asked for up to here
	tokens    uint64
	closing   bool
	closed    bool
	now       time.Time
	told      summary // what State last said
	toldWaits string
	toldRole  Role
	out       []Effect
}

// peer is another host.
type peer struct {
	id    HostID
	conn  uint64   // 0: down
	state *Message // the last State of this connection
	heard time.Time
	feed  *feed  // what this host sends to it
	owes  Epoch  // an Ask that is answered once the promise is flushed
	feeds uint64 // streams so far, over all connections
	// notBefore: after a Stop a feed begins no earlier.
	notBefore time.Time
	mismatch  bool // told
	toldState SinkState
}

// grant is the promise that was given last to a candidate, who is taken to live for
// a while: it is about to be the source.
type grant struct {
	host  HostID
	conn  uint64
	until time.Time
}

// change names the effect that changes the queue and is unanswered.
type change struct {
	kind    changeKind
	entries []Entry // of AppendCopied
	above   queue.Index
	base    Base
}

type changeKind uint8

const (
	changeNone changeKind = iota
	changeCopy
	changeControl
	changeAside
	changeRestart
)

// New makes a Replica. The first event should be a Tick.
func New(cfg Config, start Start) (*Replica, error) {
	if err := cfg.validate(); err != nil {
		return nil, fmt.Errorf("make replica: %w", err)
	}
	h, err := newHistory(start.Log)
	if err != nil {
		return nil, fmt.Errorf("make replica: %w", err)
	}
	r := &Replica{
		cfg: cfg, w: cfg.counting(), q: cfg.promising(), config: cfg.digest(),
		h: h, flushed: min(start.Flushed, h.last()), hard: start.Hard, written: start.Hard, now: start.Now,
	}
	r.counted = min(start.Hard.Counted, h.last())
	r.released = r.counted
	if e := h.mark().Epoch; r.hard.Promised.Less(e) {
		r.hard.Promised = e // of a host that has lost its promises
	}
	if r.hard.Acked && !start.Survived && r.hard.Trust == Whole {
		r.hard.Trust = Unclean
	}
	for _, id := range cfg.Hosts {
		if id != cfg.Self {
			r.peers = append(r.peers, &peer{id: id})
		}
	}
	return r, nil
}

// Step takes an event and returns what it leads to. The slice is good until the
// next Step. See Effect for how effects are carried out.
func (r *Replica) Step(ev Event) []Effect {
	r.out = r.out[:0]
	if r.closed {
		return nil
	}
	switch ev := ev.(type) {
	case Tick:
		r.now = ev.Now
	case HardWritten:
		r.hardWritten(ev)
	case Flushed:
		r.flushed = max(r.flushed, min(ev.Through, r.h.last()))
		r.ackFlushed()
	case Released:
		if ev.Through > r.h.base.Index {
			r.h.release(Base{Index: ev.Through, Sum: ev.Sum})
		}
	case Close:
		r.close()
	case Appended:
		r.appended(ev)
	case Copied, AsideDone, RestartDone, StorageFailed:
		r.changed(ev)
	default:
		if !r.closing {
			r.stepOpen(ev)
		}
	}
	r.settle()
	return r.out
}

// stepOpen takes the events that a closing replica has no ear for.
func (r *Replica) stepOpen(ev Event) {
	switch ev := ev.(type) {
	case PeerUp:
		r.peerUp(ev)
	case PeerDown:
		r.peerDown(ev)
	case Received:
		if p := r.peer(ev.Peer); p != nil && p.conn == ev.Conn {
			p.heard = r.now
			r.receive(p, ev.Msg)
		}
	case SumIs:
		r.sumIs(ev)
	case Streamed:
		r.streamed(ev)
	case StreamFailed:
		r.streamFailed(ev)
	case TakeOver:
		r.takeOver(ev)
	case Switch:
		r.switchTo(ev)
	case Cancel:
		r.cancel(ev)
	default:
		panic(fmt.Sprintf("core: no event of this package: %T", ev))
	}
}

// settle does everything that has become possible. Each part looks at the whole
// state and is idempotent, so no event needs to know what waits for it.
func (r *Replica) settle() {
	if r.closing {
		r.settleClose()
		return
	}
	r.settleTrust()
	r.settleAnswers()
	r.settleFollow()
	r.settleHanding()
	r.settleCampaign()
	r.settleSource()
	r.settleFeeds()
	r.settleState()
}

func (r *Replica) receive(p *peer, m *Message) {
	switch m.Type {
	case MsgState:
		r.onState(p, m)
	case MsgAsk:
		r.onAsk(p, m)
	case MsgAnswer:
		r.onAnswer(p, m)
	case MsgFetch:
		r.onFetch(p, m)
	case MsgFeed:
		r.onFeed(p, m)
	case MsgProbe, MsgBegin, MsgUpdate, MsgTrusted, MsgConfirm, MsgHandOver:
		r.onFeeder(p, m)
	case MsgHistory, MsgSum, MsgAck, MsgConfirmed:
		r.onReceiver(p, m)
	case MsgStop:
		r.onStop(p, m)
	default:
		r.violation(p, "message of unknown type")
	}
}

func (r *Replica) peerUp(ev PeerUp) {
	p := r.peer(ev.Peer)
	if p == nil {
		r.emit(Drop{ev.Peer, ev.Conn, "host is not in a replica set of the queue"})
		return
	}
	if p.conn != 0 {
		r.lose(p)
	}
	p.conn = ev.Conn
	r.send(p, r.stateMessage())
}

func (r *Replica) peerDown(ev PeerDown) {
	if p := r.peer(ev.Peer); p != nil && p.conn == ev.Conn {
		r.lose(p)
	}
}

// lose forgets all that hangs on a connection.
func (r *Replica) lose(p *peer) {
	*p = peer{id: p.id, feeds: p.feeds, toldState: p.toldState}
	if r.follow != nil && r.follow.peer == p.id {
		r.follow = nil
	}
}

// onState hears where a host stands, on connecting and whenever it changes.
func (r *Replica) onState(p *peer, m *Message) {
	p.state = m
	if m.Config != r.config {
		if !p.mismatch {
			p.mismatch = true
			r.notice(Notice{Kind: NoticeMismatch, Peer: p.id, Text: "the configuration of the queue differs: hosts, master, strategy, acknowledge, flush or allowLoss"})
		}
		return
	}
	if p.feed != nil {
		p.feed.trust = m.Trust
	}
	if fo := r.follow; fo != nil && fo.peer == p.id && !fo.donor && m.Source != p.id {
		r.follow = nil // it has ceased to be the source
	}
	if newborn := r.hard.Trust == Lost && !r.hard.Birth.IsZero(); newborn && m.Trust == Whole && !m.Birth.Less(r.hard.Birth) {
		h := r.hard
		h.Trust, h.Birth = Whole, m.Birth
		r.write(h)
		r.notice(Notice{Kind: NoticeTrust, Text: "the queue is born"})
	}
	if c := r.campaign; c != nil && c.stage >= asking && c.epoch.Less(m.Promised) {
		r.retryCampaign() // as its source this host could not copy to it
	}
	if r.source != nil && r.source.epoch.Less(m.Promised) {
		r.stepDown(fmt.Sprintf("host %d has promised epoch %v", p.id, m.Promised))
	}
}

// stepDown ends being the source, if this host is. Its epoch is over.
func (r *Replica) stepDown(why string) {
	if r.source == nil {
		return
	}
	if !r.source.locked {
		r.emit(Locked{why})
	}
	r.source = nil
	r.released = r.counted
	r.emit(Counted{r.counted, r.released})
	for _, p := range r.peers {
		p.feed = nil
	}
	r.delay()
}

// delay keeps this host from a campaign of its own accord for a while, longer
// for higher ids, so that hosts do not keep taking over from each other.
func (r *Replica) delay() {
	rank := 0
	for k, id := range r.cfg.Hosts {
		if id == r.cfg.Self {
			rank = k
		}
	}
	step := r.cfg.HeartbeatInterval / time.Duration(2*len(r.cfg.Hosts))
	r.retryAt = r.now.Add(r.cfg.HeartbeatInterval + time.Duration(rank)*step)
}

// appended takes entries that the queue has got from this host.
func (r *Replica) appended(ev Appended) {
	run := Run{ev.First, ev.Last}
	if err := r.h.admits(run); err != nil {
		panic("core: " + err.Error())
	}
	if r.changing.kind == changeControl {
		r.changing = change{}
	}
	var controls []Row
	if ev.Control != nil {
		controls = []Row{{Control: *ev.Control, Index: ev.First}}
	}
	r.h.append(run, controls)
	if r.source == nil { // appended against the contract: what follows was matched without it
		r.follow = nil
		return
	}
	r.source.stamps.add(ev.Last, ev.Bytes, r.now)
	if r.cfg.FlushToCount {
		r.flush(ev.Last)
	}
	if ev.Control != nil && ev.Control.Kind == EpochBegins {
		r.source.start = ev.First
	}
}

// changed takes the answers to the effects that change the queue.
func (r *Replica) changed(ev Event) {
	c := r.changing
	r.changing = change{}
	switch ev := ev.(type) {
	case StorageFailed:
		r.notice(Notice{Kind: NoticeStorage, Err: ev.Err})
		if c.kind == changeControl && r.source != nil && r.source.start == 0 {
			r.stepDown("the epoch could not be opened: " + ev.Err.Error())
		} else if r.follow != nil {
			r.stopFollowing("storage: " + ev.Err.Error())
		}
		r.delay()
	case Copied:
		r.copied(c.entries)
	case AsideDone:
		r.h.truncate(c.above)
		r.shrunk()
	case RestartDone:
		r.h.reset(c.base)
		r.shrunk()
	}
}

// shrunk brings the marks back to the end of a history that has lost some.
func (r *Replica) shrunk() {
	last := r.h.last()
	r.flushed, r.asked = min(r.flushed, last), min(r.asked, last)
	if r.counted > last {
		r.counted = last
	}
	r.released = r.counted
	r.emit(Counted{r.counted, r.released})
	r.began()
}

// promise binds this host to an epoch, and has that written down. A message that
// tells of it waits for the write. Nothing of an older epoch goes on.
func (r *Replica) promise(e Epoch) {
	for _, p := range r.peers {
		if p.feed != nil && p.feed.epoch.Less(e) {
			p.feed = nil
		}
	}
	if r.follow != nil && r.follow.epoch.Less(e) {
		r.follow = nil
	}
	r.granted = grant{}
	h := r.hard
	h.Promised = e
	h.Counted = r.counted
	if r.w > 1 && !r.cfg.FlushToCount {
		h.Acked = true
	}
	if e.Host != r.cfg.Self {
		h.Single = false
	}
	r.write(h)
}

func (r *Replica) write(h Hard) {
	r.hard = h
	r.seq++
	r.emit(WriteHard{r.seq, h})
}

func (r *Replica) hardWritten(ev HardWritten) {
	if ev.Seq == r.seq {
		r.written = r.hard
	}
	r.done = max(r.done, ev.Seq)
}

// keeps reports whether everything decided is on the disk.
func (r *Replica) keeps() bool { return r.done == r.seq }

func (r *Replica) flush(through queue.Index) {
	if through > r.asked {
		r.asked = through
		r.emit(Flush{through})
	}
}

func (r *Replica) close() {
	if r.closing {
		return
	}
	r.stepDown("the host is closing")
	r.closing = true
	r.follow, r.campaign = nil, nil
	r.tellState() // so that others may look for a source at once
	r.flush(r.h.last())
}

func (r *Replica) settleClose() {
	if r.changing.kind != changeNone || r.flushed < r.h.last() || !r.keeps() {
		return
	}
	if r.hard.Acked {
		h := r.hard
		h.Acked, h.Counted = false, r.counted
		r.write(h)
		return
	}
	r.closed = true
	r.emit(Closed{})
}

func (r *Replica) peer(id HostID) *peer {
	for _, p := range r.peers {
		if p.id == id {
			return p
		}
	}
	return nil
}

// reachable reports whether p can be talked to about this queue.
func (r *Replica) reachable(p *peer) bool {
	return p.conn != 0 && p.state != nil && p.state.Config == r.config
}

func (r *Replica) emit(e Effect) { r.out = append(r.out, e) }

func (r *Replica) notice(n Notice) { r.emit(n) }

func (r *Replica) send(p *peer, m *Message) { r.emit(Send{p.id, p.conn, m}) }

// violation ends the connection of a peer that breaks the protocol.
func (r *Replica) violation(p *peer, why string) {
	r.notice(Notice{Kind: NoticeProtocol, Peer: p.id, Text: why})
	r.emit(Drop{p.id, p.conn, why})
	r.lose(p)
}
