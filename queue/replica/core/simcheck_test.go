package core

import "bytes"

// What must hold in every world of the simulation, whatever happens.

// checkCounted compares what counts at a host with what has counted anywhere.
func (s *sim) checkCounted(h *simHost, e Counted) {
	if s.forced {
		return
	}
	n := h.position(e.Counted)
	s.trace("%d counts %v", h.id, e.Counted)
	skip := int(h.base.Count)
	for k, entry := range h.log[:n] {
		switch {
		case skip+k < len(s.truth):
			if !same(s.truth[skip+k], entry) {
				s.fail("host %d counts %v %q, where %v %q has counted", h.id, entry.Index, entry.Payload, s.truth[skip+k].Index, s.truth[skip+k].Payload)
			}
		default:
			s.truth = append(s.truth, entry)
		}
	}
	s.checkHeld(h, e)
	if k := s.opts.strategy.kind; e.Released > e.Counted && k >= anyHost && k != custom {
		s.fail("host %d lets appends up to %v return, and only %v counts", h.id, e.Released, e.Counted)
	}
}

// checkHeld sees that what counts is held by w hosts, those included that may have
// lost it since.
func (s *sim) checkHeld(h *simHost, e Counted) {
	n := h.position(e.Counted)
	if n == 0 || s.opts.noAcks || s.opts.strategy.over == overFlush {
		return
	}
	holders := 0
	for _, other := range s.hosts {
		has := other.log
		if s.opts.flush {
			has = has[:other.flushed]
		}
		k := n - 1 + int(h.base.Count) - int(other.base.Count)
		if k < 0 || k < len(has) && same(has[k], h.log[n-1]) || !other.trusted() {
			holders++
		}
	}
	if holders < h.cfg.counting() {
		s.fail("host %d counts %v, which %d hosts hold", h.id, e.Counted, holders)
	}
}

func same(a, b Entry) bool {
	return a.Index == b.Index && a.More == b.More && a.Control == b.Control && bytes.Equal(a.Payload, b.Payload)
}

// checkUnlocked sees that a new source has all that ever counted.
func (s *sim) checkUnlocked(h *simHost) {
	if s.forced {
		return
	}
	if n := int(h.base.Count) + len(h.log); n < len(s.truth) {
		s.fail("host %d is the source with %d entries, and %d have counted", h.id, n, len(s.truth))
	}
	for k, entry := range h.log {
		if k += int(h.base.Count); k < len(s.truth) && !same(s.truth[k], entry) {
			s.fail("host %d is the source with %v %q, where %v %q has counted", h.id, entry.Index, entry.Payload, s.truth[k].Index, s.truth[k].Payload)
		}
	}
}

// checkEpoch sees that an epoch begins once, at its own host.
func (s *sim) checkEpoch(h *simHost, c Control) {
	if c.Kind != EpochBegins {
		return
	}
	if other, ok := s.sources[c.Epoch]; ok || c.Epoch.Host != h.id {
		s.fail("host %d begins epoch %v, which host %d had begun", h.id, c.Epoch, other)
	}
	s.sources[c.Epoch] = h.id
}

// forget drops the epochs of a host whose disk is lost, and of which nobody has
// heard: they may be used again, since there is nothing of them anywhere.
func (s *sim) forget(h *simHost) {
	for e := range s.sources {
		heard := e.Host != h.id
		for _, other := range s.hosts {
			promised := other.hard.Promised
			if other.r != nil {
				promised = other.r.hard.Promised
			}
			heard = heard || other != h && !promised.Less(e)
		}
		if !heard {
			delete(s.sources, e)
		}
	}
}

func (s *sim) checkAside(h *simHost, e SetAside) {
	if e.Counted && !s.forced {
		s.fail("host %d sets aside what counted: %+v", h.id, e)
	}
}

func (s *sim) checkNotice(h *simHost, n Notice) {
	if s.script {
		s.sayNotice(h, n)
		return
	}
	switch n.Kind {
	case NoticeProtocol, NoticeDamaged, NoticeMismatch, NoticeRefused:
		if n.Kind != NoticeRefused || !s.forced {
			s.fail("host %d: %+v", h.id, n)
		}
	}
}

// heal makes everything work again, and sees that the hosts come to agree.
func (s *sim) heal() {
	s.crashing = false
	clear(s.blocked)
	for _, h := range s.hosts {
		h.paused = false
		h.start()
	}
	for round := range 200 {
		for _, a := range s.hosts {
			for _, b := range s.hosts {
				if a.id > b.id {
					s.dial(a, b)
				}
			}
		}
		for k := 0; s.work(); k++ {
			s.sweep()
			if k > 100000 {
				s.fail("the hosts talk for ever")
			}
		}
		for _, h := range s.hosts {
			h.flush(len(h.log))
		}
		s.tick()
		if h := s.any(); s.stuck(round, h) {
			s.command(h, func(id uint64) Event { return TakeOver{ID: id, Force: s.opts.forces} })
		}
		if h := s.source(); h != nil && round < 150 && round%10 == 0 {
			h.append()
		}
		if s.agreed() {
			if round > 155 {
				return
			}
		}
	}
	for _, h := range s.hosts {
		st := h.r.Status()
		s.t.Logf("host %d: %v epoch %v source %d last %v counted %v trust %v locked %v %q waits for %v", h.id, st.Role, st.Epoch, st.Source, st.Last, st.Counted, st.Trust, st.Locked, st.Why, st.WaitsFor)
	}
	s.fail("the hosts do not come to agree")
}

// stuck reports whether somebody must tell h to take over: when there is no source,
// or when force has made two histories of which one must be given up.
func (s *sim) stuck(round int, h *simHost) bool {
	if s.opts.forces {
		return round > 50 && s.source() == nil || round > 100 && round < 140 && round%4 == 0 && h.r.sourceHost() == 0
	}
	return round > 50 && s.source() == nil && h.trusted()
}

func (s *sim) source() *simHost {
	for _, h := range s.hosts {
		if h.r != nil && h.r.source != nil && !h.r.source.locked {
			return h
		}
	}
	return nil
}

// agreed reports whether all hosts hold the same, and all of it counts.
func (s *sim) agreed() bool {
	src := s.source()
	if src == nil || src.r.counted != src.last() {
		return false
	}
	for _, h := range s.hosts {
		if h.last() != src.last() || h.r.counted != h.last() || h.r.hard.Trust != Whole {
			return false
		}
		for k, entry := range h.log {
			j := k + int(h.base.Count) - int(src.base.Count)
			if j >= 0 && !same(src.log[j], entry) {
				s.fail("hosts %d and %d differ at %v", src.id, h.id, entry.Index)
			}
		}
	}
	return true
}
