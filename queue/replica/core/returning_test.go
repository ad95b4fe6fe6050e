package core

import (
	"fmt"
	"slices"
	"testing"
)

// A source that lives, with as many hosts as must hold an entry, stays the source
// whoever dies and comes back beside it, and however soon: nothing but a command
// deposes it. Its own death is followed by a take-over, and it comes back as one of
// those others.
func TestNobodyOvertakesASourceThatLives(t *testing.T) {
	first, seeds := simSeeds(t)
	for _, n := range []int{2, 3, 5} {
		for _, st := range []Strategy{Any(), Majority(), All()} {
			t.Run(fmt.Sprintf("hosts=%d/%v", n, st), func(t *testing.T) {
				for k := range 5 * seeds {
					newReign(t, first+k, simOptions{hosts: n, strategy: st}).run()
				}
			})
		}
	}
}

// reign is a world in which no connection is cut, but for those of hosts that die.
type reign struct {
	*sim
	core  []*simHost // the source and those that it counts on; they live
	epoch Epoch
	busy  int // steps since the last tick
}

func newReign(t *testing.T, seed uint64, o simOptions) *reign {
	s := &reign{sim: newSim(t, seed, o)}
	s.connectAll()
	s.until("there is a source", func() bool { return s.reigns(s.source()) })
	return s
}

func (s *reign) run() {
	for range 4 {
		for range 150 {
			s.others()
			s.check()
		}
		s.succession()
	}
}

// reigns takes a new source, with those who have promised it.
func (s *reign) reigns(h *simHost) bool {
	if h == nil {
		return false
	}
	s.epoch, s.core = h.r.source.epoch, []*simHost{h}
	for _, other := range s.hosts {
		if other != h && other.hard.Promised == s.epoch && other.r != nil && len(s.core) < h.cfg.counting() {
			s.core = append(s.core, other)
		}
	}
	return len(s.core) == h.cfg.counting()
}

// check sees that the source still is one.
func (s *reign) check() {
	if src := s.core[0].r.source; src == nil || src.epoch != s.epoch {
		s.fail("host %d has ceased to be the source in epoch %v, and nobody has said so", s.core[0].id, s.epoch)
	}
}

// others does something at random to the hosts that do not matter.
func (s *reign) others() {
	h := s.any()
	if slices.Contains(s.core, h) {
		h = nil
	}
	switch p := s.rand.IntN(20); {
	case p == 0 && h != nil:
		h.kill()
	case p == 1 && h != nil && h.r != nil && s.opts.strategy.kind != allHosts:
		s.command(h, func(id uint64) Event { return TakeOver{ID: id, Elected: true} })
	case p < 5:
		s.any().start()
	case p < 8:
		s.connect()
	case p < 10:
		s.core[0].append()
	default:
		s.step()
	}
}

// connect connects two hosts at random.
func (s *reign) connect() {
	if a, b := s.any(), s.any(); a.id > b.id {
		s.dial(a, b)
	}
}

// step lets something happen that is under way. Time goes by when nothing is, or much
// has: what is sent arrives within the lease.
func (s *reign) step() {
	worked := s.work()
	s.sweep()
	if s.busy++; !worked || s.busy > 300 {
		s.busy = 0
		s.tick()
	}
}

func (s *reign) until(what string, ok func() bool) {
	for range 20000 {
		if ok() {
			return
		}
		s.step()
	}
	s.fail("not in time: %s", what)
}

// succession kills the source. Another host is told to take over, or elected once the
// others have not heard it for a while.
func (s *reign) succession() {
	old := s.core[0]
	for _, h := range s.hosts {
		h.start()
	}
	s.connectAll()
	s.until("all hosts hold everything", s.agreed)
	old.kill()
	if old.cfg.counting() == len(s.hosts) && s.rand.IntN(2) == 0 {
		old.start() // without it nothing counts
		s.connectAll()
	} else {
		heir := s.any()
		for heir == old {
			heir = s.any()
		}
		s.command(heir, func(id uint64) Event { return TakeOver{ID: id, Elected: s.rand.IntN(2) == 0} })
	}
	s.until("a source follows", func() bool {
		if h := s.source(); h != nil && h.cfg.counting() == len(s.hosts) {
			old.start()
			s.connectAll()
		}
		return s.reigns(s.source())
	})
}
