package core

import (
	"fmt"

	"github.com/pawl-go/pawl/queue"
)

// follow is the receiving end of a stream of entries.
//
//	promising ──flushed──► matching ──Begin──► preparing ──set aside──► copying
type follow struct {
	peer   HostID
	stream uint64
	epoch  Epoch
	donor  bool
	stage  followStage

	probe queue.Index // of the AskSum that is out
	token uint64
	fork  *Message // Begin, while its work is under way

	sum      uint64      // running checksum up to the last entry received
	received queue.Index // in whole
	pending  []Entry     // of a batch whose end has not come yet
	want     bool        // the last update wants to be acknowledged
	counted  queue.Index // at the source
	trusted  queue.Index // with everything up to here this host is Whole; 0: not yet
}

type followStage uint8

const (
	followPromising followStage = iota
	followMatching
	followPreparing
	followCopying
)

// onFeed hears a source, or the donor of this candidate.
func (r *Replica) onFeed(p *peer, m *Message) {
	if m.Epoch.Less(r.hard.Promised) {
		r.send(p, r.stateMessage())
		return
	}
	if !m.Donor && m.Epoch.Host != p.id {
		r.violation(p, fmt.Sprintf("host %d feeds in epoch %v of another host", p.id, m.Epoch))
		return
	}
	if m.Donor {
		if c := r.campaign; c == nil || c.stage != backfilling || c.epoch != m.Epoch || c.donor != p.id {
			return
		}
	} else {
		if r.source != nil && r.source.epoch == m.Epoch {
			r.violation(p, "feeds this host in its own epoch")
			return
		}
		r.stepDown(fmt.Sprintf("host %d is the source in epoch %v", p.id, m.Epoch))
		if c := r.campaign; c != nil && (!c.wanted() || !c.tried.IsZero() && c.tried.Less(m.Epoch)) {
			r.endCampaign(ErrOvertaken)
		}
	}
	r.follow = &follow{peer: p.id, stream: m.Stream, epoch: m.Epoch, donor: m.Donor}
	p.feed = nil
	acks := r.w > 1 && !r.cfg.FlushToCount
	if r.hard.Promised.Less(m.Epoch) || acks && !r.hard.Acked {
		r.promise(m.Epoch)
	}
}

// settleFollow tells the source this host's history, once its promise is flushed.
func (r *Replica) settleFollow() {
	fo := r.follow
	if fo == nil || fo.stage != followPromising || !r.keeps() || r.changing.kind != changeNone {
		return
	}
	fo.stage = followMatching
	r.send(r.peer(fo.peer), &Message{
		Type: MsgHistory, Epoch: fo.epoch, Stream: fo.stream, Last: r.h.mark(), Base: r.h.base, Rows: r.h.epochs(),
	})
}

// onFeeder takes what the sending end of the feed says.
func (r *Replica) onFeeder(p *peer, m *Message) {
	fo := r.follow
	if fo == nil || fo.peer != p.id || m.Epoch != fo.epoch || m.Stream != fo.stream && m.Type != MsgHandOver {
		return // of a feed that is over
	}
	switch {
	case m.Type == MsgConfirm:
		r.send(p, &Message{Type: MsgConfirmed, Epoch: fo.epoch, Round: m.Round})
	case m.Type == MsgTrusted:
		fo.trusted = max(m.Index, 1)
	case m.Type == MsgHandOver:
		r.handedOver(p)
	case m.Type == MsgProbe && fo.stage == followMatching:
		r.onProbe(m)
	case m.Type == MsgBegin && fo.stage == followMatching:
		r.onBegin(p, m)
	case m.Type == MsgUpdate && fo.stage == followCopying:
		r.onUpdate(p, m)
	default:
		r.violation(p, fmt.Sprintf("%v in the middle of something else", m.Type))
	}
}

// handedOver takes over from a source that wants it.
func (r *Replica) handedOver(p *peer) {
	if r.campaign != nil || r.follow.donor {
		return
	}
	r.notice(Notice{Kind: NoticeSwitch, Peer: p.id, Text: "the source hands over to this host"})
	r.campaign = &campaign{began: r.now, handed: true}
	r.retryAt = r.now
}

func (r *Replica) onProbe(m *Message) {
	fo := r.follow
	fo.probe = m.Index
	switch {
	case m.Index == r.h.base.Index:
		r.answerProbe(m.Index, r.h.base.Sum, nil)
	case !r.h.has(m.Index):
		r.send(r.peer(fo.peer), &Message{Type: MsgSum, Epoch: fo.epoch, Stream: fo.stream, Index: m.Index})
	default:
		r.tokens++
		fo.token = r.tokens
		r.emit(AskSum{fo.token, m.Index})
	}
}

func (r *Replica) answerProbe(i queue.Index, sum uint64, err error) {
	fo := r.follow
	switch {
	case err == nil:
	case !r.h.knows(i): // retention was faster
		r.send(r.peer(fo.peer), &Message{Type: MsgSum, Epoch: fo.epoch, Stream: fo.stream, Index: i})
		return
	default:
		r.notice(Notice{Kind: NoticeSumFailed, Peer: fo.peer, Err: err})
		r.stopFollowing("the history could not be summed up")
		return
	}
	r.send(r.peer(fo.peer), &Message{Type: MsgSum, Epoch: fo.epoch, Stream: fo.stream, Index: i, Sum: sum, OK: true})
}

// onBegin sets aside what the source does not have. What counted here is never
// set aside, unless a take-over by force went past it.
func (r *Replica) onBegin(p *peer, m *Message) {
	fo := r.follow
	last := r.h.last()
	if m.Restart && (m.Base.Index != m.Index || fo.epoch.Less(m.Base.Epoch)) || !m.Restart && !r.h.knows(m.Index) {
		r.violation(p, fmt.Sprintf("begins behind %v, which is not here", m.Index))
		return
	}
	force := fo.donor && r.campaign.force
	if !m.Lossy && !m.Restart && !force && m.Index < r.counted {
		r.notice(Notice{Kind: NoticeRefused, Peer: p.id, Text: fmt.Sprintf(
			"the source in epoch %v lacks entries behind %v, and here entries up to %v count: not followed; one of the two histories is wrong", fo.epoch, m.Index, r.counted)})
		r.stopFollowing("what counts here is missing there")
		return
	}
	fo.stage, fo.fork = followPreparing, m
	aside := m.Index
	if m.Restart {
		aside = r.h.base.Index
	}
	first := queue.Index(0)
	if r.h.countTo(last) > r.h.countTo(aside) {
		first = r.h.at(r.h.countTo(aside) + 1)
	}
	n := r.h.messages(aside, last)
	switch {
	case m.Restart:
		r.notice(Notice{Kind: NoticeRestarted, Text: fmt.Sprintf("this host is behind retention: it sets %d messages aside and starts behind %v", n, m.Index)})
		r.changing = change{kind: changeRestart, base: m.Base}
		r.emit(Restart{Base: m.Base, First: first, Last: last, Messages: n, Epoch: fo.epoch})
	case first != 0:
		r.notice(Notice{Kind: NoticeDiverged, Peer: p.id, Text: fmt.Sprintf("%d messages, %v to %v, are not in the history of epoch %v: set aside", n, first, last, fo.epoch)})
		r.changing = change{kind: changeAside, above: m.Index}
		r.emit(SetAside{Above: m.Index, First: first, Last: last, Messages: n, Epoch: fo.epoch, Counted: m.Index < r.counted})
	default:
		r.began()
	}
}

// began says that the queue ends at the fork.
func (r *Replica) began() {
	fo := r.follow
	if fo == nil || fo.stage != followPreparing {
		return
	}
	fo.stage, fo.sum, fo.received = followCopying, fo.fork.Sum, r.h.last()
	fo.fork = nil
	r.ack()
}

// onUpdate takes entries, whole or not at all: a batch that goes over several
// updates is appended when its end is there.
func (r *Replica) onUpdate(p *peer, m *Message) {
	fo := r.follow
	sum := fo.sum
	prev := fo.received
	if m.Index != prev {
		r.violation(p, fmt.Sprintf("an update behind %v, where %v is the last entry", m.Index, prev))
		return
	}
	for _, e := range m.Entries {
		if !r.h.follows(prev, e.Index) {
			r.violation(p, fmt.Sprintf("entry %v cannot follow %v", e.Index, prev))
			return
		}
		if e.Control {
			if c, err := DecodeControl(e.Payload); err != nil || fo.epoch.Less(c.Epoch) {
				r.violation(p, fmt.Sprintf("entry %v is no control entry of this history (%v)", e.Index, err))
				return
			}
		}
		prev, sum = e.Index, Chain(sum, e)
	}
	if sum != m.Sum {
		r.notice(Notice{Kind: NoticeDamaged, Peer: p.id, Text: fmt.Sprintf("the update up to %v does not check", prev)})
		r.violation(p, "an update does not check")
		return
	}
	fo.sum, fo.received, fo.want = sum, prev, m.Want
	fo.pending = append(fo.pending, m.Entries...)
	if n := len(fo.pending); n > 0 && !fo.pending[n-1].More {
		entries := fo.pending
		fo.pending = nil
		r.changing = change{kind: changeCopy, entries: entries}
		r.emit(AppendCopied{entries})
	} else if n == 0 && m.Want {
		r.ack()
	}
	fo.counted = max(fo.counted, m.Counted)
	r.count()
}

// copied takes entries of the source that are in the queue now.
func (r *Replica) copied(entries []Entry) {
	for len(entries) > 0 {
		n := 1
		for n < len(entries) && entries[n].Index.Cycle() == entries[0].Index.Cycle() {
			n++
		}
		var controls []Row
		for _, e := range entries[:n] {
			if !e.Control {
				continue
			}
			if c, err := DecodeControl(e.Payload); err == nil { // onUpdate lets no other in
				controls = append(controls, Row{Control: c, Index: e.Index})
			}
		}
		r.h.append(Run{entries[0].Index, entries[n-1].Index}, controls)
		entries = entries[n:]
	}
	fo := r.follow
	if fo == nil {
		return
	}
	if fo.want {
		r.ack()
	}
	if r.cfg.FlushToCount {
		r.flush(r.h.last())
	}
	r.count()
}

// count takes what counts at the source, as far as it is here. A donor knows
// nothing about that in the new epoch.
func (r *Replica) count() {
	fo := r.follow
	if i := min(fo.counted, r.h.last()); i > r.counted && !fo.donor {
		r.counted, r.released = i, i
		r.emit(Counted{r.counted, r.released})
	}
}

// ack tells the source what this host holds.
func (r *Replica) ack() {
	fo := r.follow
	last := r.h.last()
	r.send(r.peer(fo.peer), &Message{
		Type: MsgAck, Epoch: fo.epoch, Stream: fo.stream, Received: fo.received, Appended: last,
		Flushed: min(r.flushed, last), Trust: r.hard.Trust,
	})
}

// ackFlushed tells the source what is on the disk.
func (r *Replica) ackFlushed() {
	if fo := r.follow; fo != nil && fo.stage == followCopying && r.cfg.Acknowledge {
		r.ack()
	}
}

// stopFollowing gives the feed up; the source may begin another after a while.
func (r *Replica) stopFollowing(why string) {
	fo := r.follow
	r.follow = nil
	r.send(r.peer(fo.peer), &Message{Type: MsgStop, Epoch: fo.epoch, Stream: fo.stream, Donor: fo.donor, Why: why})
	if fo.donor && r.campaign != nil {
		r.retryCampaign()
	}
}

// settleTrust makes this host Whole again once it holds, on its disk, all that
// the source had when it came. A host that is not Whole writes that down first.
func (r *Replica) settleTrust() {
	if r.seq == 0 && r.hard != r.written {
		r.write(r.hard)
	}
	fo := r.follow
	if fo == nil || fo.trusted == 0 || r.hard.Trust == Whole || fo.stage != followCopying || r.h.last() < fo.trusted {
		return
	}
	if r.flushed < fo.trusted {
		r.flush(fo.trusted)
		return
	}
	h := r.hard
	h.Trust = Whole
	r.write(h)
	r.notice(Notice{Kind: NoticeTrust, Text: "this host has caught up, and may promise again"})
}
