package core

import (
	"slices"

	"github.com/pawl-go/pawl/queue"
)

// Status is how a replica stands, for gauges and operators.
type Status struct {
	Self     HostID
	Role     Role
	Epoch    Epoch // promised
	Source   HostID
	Living   HostID // the source that this host holds to be alive; 0: none
	Followed HostID // the living source of another host that can be reached; 0: none has one
	Locked   bool   // the application may not append here
	Why      string // it is locked
	WaitsFor []HostID
	Last     Mark
	Counted  queue.Index
	Released queue.Index
	Flushed  queue.Index
	Keep     queue.Index // retention must leave everything above
	Gap      uint64
	Trust    Trust
	Single   HostID // who alone may hold the last entries; 0: nobody
	Need     int    // w
	Promises int    // q
	Table    Table
}

// Status tells how the replica stands.
func (r *Replica) Status() Status {
	s := Status{
		Self: r.cfg.Self, Role: r.role(), Epoch: r.hard.Promised, Source: r.sourceHost(), Last: r.h.mark(),
		Counted: r.counted, Released: r.released, Flushed: r.flushed, Keep: r.counted, Gap: r.Gap(),
		Living: r.living(), Followed: r.followed(), Trust: r.hard.Trust, Single: r.singleHost(), Need: r.w, Promises: r.q, Table: r.Table(),
	}
	if r.source == nil || r.source.locked {
		e := r.lockedError()
		s.Locked, s.Why, s.WaitsFor = true, e.Why, e.WaitsFor
	}
	return s
}

func (r *Replica) role() Role {
	switch {
	case r.source != nil:
		return Source
	case r.campaign != nil && r.campaign.stage != gathering:
		return Candidate
	}
	return Sink
}

// sourceHost is whom this host knows to be the source.
func (r *Replica) sourceHost() HostID {
	switch {
	case r.source != nil:
		return r.cfg.Self
	case r.follow != nil && !r.follow.donor && r.follow.stage == followCopying:
		return r.follow.peer
	}
	return 0
}

// living is the source that this host holds to be alive: itself, the one that it
// follows (its connection ends when nothing has been heard of it for the heartbeat
// timeout), or the candidate to whom it gave its promise a moment ago. A source that
// hears too few hosts for anything to count is in nobody's way.
func (r *Replica) living() HostID {
	g := r.granted
	switch {
	case r.source != nil:
		if r.leased() {
			return r.cfg.Self
		}
	case r.follow != nil && !r.follow.donor:
		if p := r.peer(r.follow.peer); p.state == nil || p.state.OK {
			return p.id
		}
	case g.host != 0 && r.now.Before(g.until) && r.peer(g.host).conn == g.conn:
		return g.host
	}
	return 0
}

// followed is another living source of which a host says that it hears it, or that it
// is it.
func (r *Replica) followed() HostID {
	for _, p := range r.peers {
		if source := r.sourceOf(p); source != 0 && source != r.cfg.Self {
			return source
		}
	}
	return 0
}

// sourceOf is the living source as a host has said it.
func (r *Replica) sourceOf(p *peer) HostID {
	if !r.reachable(p) || p.state.Source == p.id && !p.state.OK {
		return 0
	}
	return p.state.Source
}

// summary is what others are told when it changes.
type summary struct {
	promised Epoch
	last     Epoch
	source   HostID
	leased   bool
	trust    Trust
	single   HostID
}

// settleState tells everybody when this host stands elsewhere than it said.
func (r *Replica) settleState() {
	r.tellState()
	if role := r.role(); role != r.toldRole {
		r.toldRole = role
		r.notice(Notice{Kind: NoticeRole, Text: role.String()})
	}
	r.tellWaits()
}

// claimed is whom State names: a source names itself, whoever it hears, for those who
// follow it.
func (r *Replica) claimed() HostID {
	if r.source != nil {
		return r.cfg.Self
	}
	return r.living()
}

func (r *Replica) tellState() {
	s := summary{r.written.Promised, r.h.mark().Epoch, r.claimed(), r.leased(), r.hard.Trust, r.singleHost()}
	if s == r.told {
		return
	}
	r.told = s
	for _, p := range r.peers {
		if p.conn != 0 {
			r.send(p, r.stateMessage())
		}
	}
}

// tellWaits says once for whom a campaign waits.
func (r *Replica) tellWaits() {
	waits := ""
	if r.source == nil && r.follow == nil {
		if e := r.lockedError(); len(e.WaitsFor) > 0 {
			waits = e.Error()
		}
	}
	if waits != r.toldWaits {
		r.toldWaits = waits
		if waits != "" {
			r.notice(Notice{Kind: NoticeWaits, Text: waits})
		}
	}
}

func (r *Replica) stateMessage() *Message {
	return &Message{
		Type: MsgState, Promised: r.written.Promised, Last: r.h.mark(), Counted: r.counted, Trust: r.hard.Trust,
		Source: r.claimed(), OK: r.leased(), Single: r.singleHost(), Config: r.config, Birth: r.hard.Birth,
	}
}

// Hosts is the host ids of the queue, in order.
func (r *Replica) Hosts() []HostID { return slices.Clone(r.cfg.Hosts) }
