package core

import (
	"fmt"
	"slices"
	"time"
)

// lease is how long a source may begin anything new: for LeaseTimeout after it has
// heard as many hosts as must hold an entry. Who is cut off has no way to know whether
// another host has taken over; what it begins then may all be set aside.
//
// Nothing that is safe relies on it, since nothing counts without those hosts. It
// bounds how much is done in vain.
type lease struct {
	heard  time.Time // enough hosts, last
	asked  time.Time // for a sign of life
	over   bool      // told
	always bool      // this host needs no other
}

// settleLease asks the sinks for signs of life, four times in LeaseTimeout, and finds
// out when enough were heard.
func (r *Replica) settleLease() {
	s := r.source
	l := &s.lease
	l.always = r.w == 1 || r.cfg.Strategy.over == overFlush
	if l.always {
		return
	}
	heard := make([]time.Time, 0, len(r.peers))
	ask := r.now.Sub(l.asked) >= r.cfg.LeaseTimeout/4
	for _, p := range r.peers {
		f := p.feed
		if f == nil {
			continue
		}
		if ask {
			l.asked = r.now
			r.send(p, &Message{Type: MsgConfirm, Epoch: s.epoch, Stream: f.stream, Round: s.round})
		}
		heard = append(heard, p.heard) // also one that looks for the fork, which may take long
	}
	if n := r.w - 1; n <= len(heard) {
		slices.SortFunc(heard, func(a, b time.Time) int { return b.Compare(a) })
		if at := heard[n-1]; at.After(l.heard) {
			l.heard = at
		}
	}
	if over := !r.leased(); over != l.over {
		l.over = over
		r.noticeLease()
	}
}

func (r *Replica) noticeLease() {
	text := "enough hosts are heard again: this one goes on"
	if r.source.lease.over {
		text = fmt.Sprintf("of the %d hosts that must hold an entry not enough have been heard for %v: this one, the source, begins nothing new", r.w, r.cfg.LeaseTimeout)
	}
	r.notice(Notice{Kind: NoticeLease, Text: text})
	r.emit(Lease{Held: !r.source.lease.over})
}

func (r *Replica) leased() bool {
	return r.source != nil && (r.source.lease.always || r.now.Sub(r.source.lease.heard) < r.cfg.LeaseTimeout)
}

// LeaseEnd is when this host may begin nothing new any more, unless enough others are
// heard meanwhile: see Config.LeaseTimeout. It is zero where this host is not the
// source, and far away where it needs no other. It changes nothing.
func (r *Replica) LeaseEnd() time.Time {
	switch {
	case r.source == nil:
		return time.Time{}
	case r.source.lease.always:
		return r.now.Add(farAway)
	}
	return r.source.lease.heard.Add(r.cfg.LeaseTimeout)
}

const farAway = 365 * 24 * time.Hour
