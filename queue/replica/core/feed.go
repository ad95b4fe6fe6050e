package core

import (
	"fmt"

	"github.com/pawl-go/pawl/queue"
)

// feed is the sending end of a stream of entries to one peer: from the source to
// a sink, or from a donor to a candidate.
//
//	opened ──History──► probing ──Sum, n times──► begun ──Ack──► copying
type feed struct {
	stream uint64
	epoch  Epoch
	donor  bool
	stage  feedStage
	end    queue.Index // the last entry when the feed was opened

	// Finding the fork: everything up to lo is taken to be common, hi is known
	// to differ, and probe is being asked about.
	lo, hi, probe queue.Index
	base          queue.Index // of the peer
	token         uint64      // of the AskSum that is out; 0: answered
	mine, theirs  uint64
	answered      bool // the peer has answered
	has           bool // and has the entry

	sent, received, appended, flushed queue.Index

	sum       uint64      // running checksum up to sent
	streaming bool        // a Stream is unanswered
	live      bool        // the peer has been sent everything at some time
	counted   queue.Index // that the peer was told last

	trust     Trust
	round     uint64 // Lost: hosts must confirm this round, or a later one
	confirmed uint64 // the last round that the peer confirmed
	trusted   bool   // it was told that it may promise
}

type feedStage uint8

const (
	feedOpened feedStage = iota
	feedProbing
	feedBegun
	feedCopying
)

func (f *feed) held(flushed bool) queue.Index {
	if flushed {
		return f.flushed
	}
	return f.appended
}

// openFeed begins to feed a peer, if it can be.
func (r *Replica) openFeed(p *peer, donor bool) {
	if p.feed != nil || !r.reachable(p) || r.now.Before(p.notBefore) {
		return
	}
	epoch := r.hard.Promised
	if !donor && epoch.Less(p.state.Promised) {
		return
	}
	p.feeds++
	p.feed = &feed{stream: p.feeds, epoch: epoch, donor: donor, end: r.h.last(), trust: p.state.Trust}
	r.send(p, &Message{Type: MsgFeed, Epoch: epoch, Stream: p.feeds, Last: r.h.mark(), Donor: donor})
}

// onFetch hears the candidate to whom this host is to be the donor.
func (r *Replica) onFetch(p *peer, m *Message) {
	if m.Epoch != r.hard.Promised || m.Epoch.Host != p.id || !r.keeps() {
		return // it will hear of the higher promise
	}
	p.feed, p.notBefore = nil, r.now
	r.openFeed(p, true)
}

// onReceiver takes what the receiving end of a feed says.
func (r *Replica) onReceiver(p *peer, m *Message) {
	f := p.feed
	if f == nil || m.Epoch != f.epoch {
		return // of a feed that is over
	}
	switch {
	case m.Type == MsgConfirmed:
		f.confirmed = max(f.confirmed, m.Round)
	case m.Stream != f.stream:
	case m.Type == MsgHistory && f.stage == feedOpened:
		r.match(p, m)
	case m.Type == MsgSum && f.stage == feedProbing && m.Index == f.probe:
		f.answered, f.has, f.theirs = true, m.OK, m.Sum
		r.compare(p)
	case m.Type == MsgAck && f.stage >= feedBegun:
		r.onAck(p, m)
	default:
		r.violation(p, fmt.Sprintf("%v in the middle of something else", m.Type))
	}
}

// match looks for the fork of two histories.
func (r *Replica) match(p *peer, m *Message) {
	f := p.feed
	f.stage = feedProbing
	f.base = m.Base.Index
	f.lo = max(r.h.base.Index, f.base)
	guess := r.h.fork(m.Rows, m.Last.Index)
	switch {
	case guess < f.lo, !r.h.knows(f.lo):
		r.restart(p)
	default:
		f.hi = r.h.at(r.h.countTo(guess) + 1)
		if guess == r.h.last() {
			f.hi = guess + 1
		}
		r.probe(p, r.h.at(r.h.countTo(guess)))
	}
}

// probe compares the histories up to one entry.
func (r *Replica) probe(p *peer, i queue.Index) {
	f := p.feed
	f.probe, f.answered = i, false
	r.tokens++
	f.token = r.tokens
	r.send(p, &Message{Type: MsgProbe, Epoch: f.epoch, Stream: f.stream, Index: i})
	if i == r.h.base.Index {
		f.token, f.mine = 0, r.h.base.Sum
		return
	}
	r.emit(AskSum{f.token, i})
}

// compare looks at two checksums once both are there, and halves what is left.
func (r *Replica) compare(p *peer) {
	f := p.feed
	if f.token != 0 || !f.answered {
		return
	}
	if f.has && f.mine == f.theirs {
		if f.probe == r.h.last() || r.h.at(r.h.countTo(f.probe)+1) >= f.hi {
			r.begin(p, f.probe, f.mine)
			return
		}
		f.lo = f.probe
	} else {
		if f.probe == f.lo {
			r.differ(p)
			return
		}
		f.hi = f.probe
	}
	lo, hi := r.h.countTo(f.lo), r.h.countTo(f.hi)
	r.probe(p, r.h.at(lo+(hi-lo)/2))
}

// differ goes on when not even the lowest common entry is the same.
func (r *Replica) differ(p *peer) {
	if r.h.base.Index == 0 && p.feed.lo == 0 {
		r.begin(p, 0, 0)
		return
	}
	r.restart(p)
}

// begin tells the peer where the copying begins. A peer that has released the
// cycle in which this history goes on behind the fork, after a take-over by force,
// cannot take it from there.
func (r *Replica) begin(p *peer, fork queue.Index, sum uint64) {
	f := p.feed
	if next := r.h.at(r.h.countTo(fork) + 1); fork == f.base && fork != r.h.base.Index && next.Cycle() == fork.Cycle() {
		r.restart(p)
		return
	}
	f.stage, f.sent, f.sum = feedBegun, fork, sum
	r.send(p, &Message{
		Type: MsgBegin, Epoch: f.epoch, Stream: f.stream, Index: fork, Sum: sum, Lossy: r.h.lossyAbove(fork),
	})
}

// restart tells a peer that is too far behind retention to start from the oldest
// kept cycle.
func (r *Replica) restart(p *peer) {
	f := p.feed
	f.stage, f.sent, f.sum = feedBegun, r.h.base.Index, r.h.base.Sum
	r.notice(Notice{Kind: NoticeRestarted, Peer: p.id, Text: fmt.Sprintf("the host is behind retention, and starts from the oldest cycle that is kept, behind %v", r.h.base.Index)})
	r.send(p, &Message{
		Type: MsgBegin, Epoch: f.epoch, Stream: f.stream, Index: r.h.base.Index, Sum: r.h.base.Sum, Base: r.h.base,
		Restart: true, Lossy: r.h.lossyAbove(r.h.base.Index),
	})
}

func (r *Replica) onAck(p *peer, m *Message) {
	f := p.feed
	switch {
	case m.Received > f.sent || m.Appended > m.Received || m.Flushed > m.Appended:
		r.violation(p, fmt.Sprintf("acknowledges %v, %v and %v of %v that were sent", m.Received, m.Appended, m.Flushed, f.sent))
		return
	case f.stage == feedBegun:
		if m.Appended != f.sent {
			r.violation(p, fmt.Sprintf("begins at %v and not at the fork %v", m.Appended, f.sent))
			return
		}
		f.stage = feedCopying
	}
	f.trust = m.Trust
	f.received = max(f.received, m.Received)
	f.appended = max(f.appended, m.Appended)
	f.flushed = max(f.flushed, m.Flushed)
}

// settleFeeds sends what there is to send.
func (r *Replica) settleFeeds() {
	for _, p := range r.peers {
		f := p.feed
		if f == nil {
			continue
		}
		if f.stage == feedCopying && !f.streaming {
			r.pump(p)
		}
		if state := r.sinkState(p); r.source != nil && state != p.toldState {
			p.toldState = state
			r.notice(Notice{Kind: NoticeSink, Peer: p.id, Text: state.String()})
		}
	}
}

// pump asks the shell to send the next entries; or, when there are none and the
// peer has caught up, tells it what counts. Each feed has at most one Stream
// out, so that a sink that catches up takes nothing from the others but its
// share of the disk.
func (r *Replica) pump(p *peer) {
	f := p.feed
	want := r.cfg.Acknowledge || r.handing != nil || f.trust != Whole || f.donor
	if f.sent < r.h.last() {
		f.streaming = true
		f.counted = r.counted
		r.emit(Stream{
			Peer: p.id, Conn: p.conn, Stream: f.stream, Epoch: f.epoch, Prev: f.sent, Sum: f.sum, Through: r.h.last(),
			Counted: r.counted, Want: want, MaxBytes: r.cfg.ChunkBytes,
		})
		return
	}
	f.live = true
	idle := !want || f.appended == f.sent
	if f.donor {
		return
	}
	handover := r.handing != nil && f.appended < f.sent && !r.cfg.Acknowledge
	if idle && f.counted < r.counted || handover {
		if handover && f.counted == r.counted {
			return // asked already
		}
		f.counted = r.counted
		r.send(p, &Message{
			Type: MsgUpdate, Epoch: f.epoch, Stream: f.stream, Index: f.sent, Sum: f.sum, Counted: r.counted,
			Want: want && (f.appended < f.sent || f.trust != Whole), // else there is nothing to learn
		})
	}
}

func (r *Replica) streamed(ev Streamed) {
	p := r.peer(ev.Peer)
	if p == nil || p.feed == nil || p.feed.stream != ev.Stream {
		return
	}
	f := p.feed
	f.streaming = false
	f.sent, f.sum = ev.Through, ev.Sum
}

func (r *Replica) streamFailed(ev StreamFailed) {
	p := r.peer(ev.Peer)
	switch {
	case p == nil || p.feed == nil || p.feed.stream != ev.Stream:
	case p.feed.sent < r.h.base.Index:
		p.feed = nil // retention was faster; the next feed restarts the peer
	default:
		r.notice(Notice{Kind: NoticeDamaged, Peer: p.id, Text: "entries could not be read, and were not sent", Err: ev.Err})
		r.stopFeeding(p, "entries could not be read at the sending host")
	}
}

// stopFeeding ends a feed. The source tries again after a while.
func (r *Replica) stopFeeding(p *peer, why string) {
	f := p.feed
	p.feed = nil
	p.notBefore = r.now.Add(r.cfg.HeartbeatInterval)
	r.send(p, &Message{Type: MsgStop, Epoch: f.epoch, Stream: f.stream, Donor: f.donor, Why: why})
}

// onStop hears that the other end has given a feed up.
func (r *Replica) onStop(p *peer, m *Message) {
	if f := p.feed; f != nil && f.stream == m.Stream && f.epoch == m.Epoch && f.donor == m.Donor {
		p.feed = nil
		p.notBefore = r.now.Add(r.cfg.HeartbeatInterval)
		r.notice(Notice{Kind: NoticeSink, Peer: p.id, Text: "stopped: " + m.Why})
	}
	if fo := r.follow; fo != nil && fo.peer == p.id && fo.stream == m.Stream && fo.epoch == m.Epoch && fo.donor == m.Donor {
		r.follow = nil
		if fo.donor && r.campaign != nil {
			r.retryCampaign()
		}
	}
}

// sumIs takes a checksum that this host asked its queue for.
func (r *Replica) sumIs(ev SumIs) {
	if fo := r.follow; fo != nil && fo.token == ev.Token && ev.Token != 0 {
		fo.token = 0
		r.answerProbe(fo.probe, ev.Sum, ev.Err)
		return
	}
	for _, p := range r.peers {
		f := p.feed
		if f == nil || f.token != ev.Token || ev.Token == 0 {
			continue
		}
		switch {
		case ev.Err == nil:
			f.token, f.mine = 0, ev.Sum
			r.compare(p)
		case !r.h.knows(f.probe):
			p.feed = nil // retention was faster; the next feed looks at what is left
		default:
			r.notice(Notice{Kind: NoticeSumFailed, Peer: p.id, Err: ev.Err})
			r.stopFeeding(p, "the history of the sending host could not be summed up")
		}
		return
	}
}

// settleConfirm finds out for sinks that may have lost a promise whether this
// host is still the source: it is, when so many hosts still follow it that no
// other can have been promised an epoch with the one that the sink forgot. Then
// the sink may promise again, once it holds what there was when it came.
func (r *Replica) settleConfirm() {
	s := r.source
	for _, p := range r.peers {
		f := p.feed
		if f == nil || f.stage != feedCopying || f.trust == Whole || f.trusted {
			continue
		}
		if f.trust == Lost && !r.confirmedWithout(p) {
			r.confirm(p)
			continue
		}
		f.trusted = true
		r.send(p, &Message{Type: MsgTrusted, Epoch: s.epoch, Stream: f.stream, Index: f.end})
	}
}

// confirm asks all that follow whether they still do: once for each lost sink,
// and again after a while for those who were not there.
func (r *Replica) confirm(p *peer) {
	s := r.source
	if p.feed.round != 0 && r.now.Before(s.asked.Add(r.cfg.HeartbeatInterval)) {
		return
	}
	s.round++
	s.asked = r.now
	if p.feed.round == 0 {
		p.feed.round = s.round
	}
	for _, other := range r.peers {
		if f := other.feed; f != nil && f.stage == feedCopying && other != p {
			r.send(other, &Message{Type: MsgConfirm, Epoch: s.epoch, Stream: f.stream, Round: s.round})
		}
	}
}

// confirmedWithout reports whether enough hosts other than p have confirmed: w
// that forget nothing, or all.
func (r *Replica) confirmedWithout(p *peer) bool {
	if p.feed.round == 0 {
		return len(r.peers) == 1
	}
	whole, all := 1, 1
	for _, other := range r.peers {
		if f := other.feed; f != nil && other != p && f.stage == feedCopying && f.confirmed >= p.feed.round {
			all++
			if f.trust == Whole {
				whole++
			}
		}
	}
	return whole >= r.w || all == len(r.peers)
}
