package soak

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/pawl-go/pawl/queue"
	"github.com/pawl-go/pawl/queue/replica/faultnet"
)

// round does something to the network, kills a host somewhere in the middle of the
// work, and sees that the others go on.
func (s *soak) round(ctx context.Context) error {
	s.fault()
	s.acks(ctx, s.r.IntN(30), time.Duration(1+s.r.IntN(200))*time.Millisecond)
	victim := s.victim()
	if s.r.IntN(6) == 0 {
		s.pauseSource(ctx)
	}
	if s.r.IntN(6) == 0 {
		to := s.hosts[s.r.IntN(hosts)]
		s.trace("switch from host %d to host %d", s.sourceHost().id(), to.id())
		s.sourceHost().tell("switch %d", to.id())
		s.acks(ctx, s.r.IntN(3), time.Duration(1+s.r.IntN(50))*time.Millisecond)
	}
	s.trace("kill host %d", victim.id())
	victim.kill()
	s.report.Kills++
	if s.r.IntN(2) == 0 {
		h := s.hosts[s.r.IntN(hosts)]
		s.trace("host %d takes over", h.id())
		h.tell("takeover")
		s.acks(ctx, s.r.IntN(5), time.Duration(1+s.r.IntN(300))*time.Millisecond)
	}
	if s.r.IntN(3) > 0 { // otherwise it stays down until something needs it
		if err := victim.start(); err != nil {
			return err
		}
	}
	if s.r.IntN(2) == 0 {
		for _, p := range s.proxies {
			p.Release()
		}
	}
	if s.r.IntN(4) > 0 && s.down() < 2 {
		return nil // the next one comes before all is well
	}
	if err := s.heal(); err != nil {
		return err
	}
	return s.progress(ctx)
}

// victim is a host that is up: any, or the source.
func (s *soak) victim() *host {
	v := s.hosts[s.r.IntN(hosts)]
	if s.r.IntN(3) == 0 {
		v = s.sourceHost()
	}
	for v.cmd == nil {
		v = s.hosts[int(v.id())%hosts]
	}
	return v
}

func (s *soak) down() int {
	n := 0
	for _, h := range s.hosts {
		if h.cmd == nil {
			n++
		}
	}
	return n
}

// fault does something to the network between two hosts.
func (s *soak) fault() {
	k := s.r.IntN(len(s.proxies))
	p, way := s.proxies[k], faultnet.Way(s.r.IntN(2))
	s.report.Faults++
	switch s.r.IntN(7) {
	case 0:
		s.trace("proxy %d: break", k)
		p.Break()
	case 1:
		s.trace("proxy %d: hold way %d", k, way)
		p.Hold(way)
	case 2:
		d := time.Duration(1+s.r.IntN(20)) * time.Millisecond
		s.trace("proxy %d: delay %v", k, d)
		p.Delay(d)
	case 3:
		n := int64(1 + s.r.IntN(2000))
		s.trace("proxy %d: cut way %d after %d bytes", k, way, n)
		p.CutAfter(way, n)
		p.Break()
	case 4:
		s.trace("proxy %d: refuse", k)
		p.Refuse()
	default:
		s.report.Faults--
	}
}

// pauseSource stops the source, has another host take over, and wakes it: what it
// goes on to append counts for nothing.
func (s *soak) pauseSource(ctx context.Context) {
	old := s.sourceHost()
	next := s.hosts[int(old.id())%hosts]
	s.trace("stop host %d, host %d takes over", old.id(), next.id())
	old.freeze()
	next.tell("takeover")
	s.until(ctx, 700*time.Millisecond, func() bool { return s.sourceHost() == next })
	old.thaw()
}

// settle ends all faults, and waits until all hosts have everything.
func (s *soak) settle(ctx context.Context) error {
	if err := s.heal(); err != nil {
		return err
	}
	if err := s.progress(ctx); err != nil {
		return err
	}
	for _, h := range s.hosts {
		h.tell("rest")
	}
	rested := s.until(ctx, time.Minute, func() bool {
		return !slices.ContainsFunc(s.hosts, func(h *host) bool { return !h.rests() })
	})
	if !rested {
		return fmt.Errorf("not all hosts come to rest:%s", s.states(ctx))
	}
	s.mu.Lock()
	last := s.mu.last
	s.mu.Unlock()
	for _, h := range s.hosts {
		h.tell("await %d", uint64(last))
	}
	ok := s.until(ctx, 2*time.Minute, func() bool {
		return !slices.ContainsFunc(s.hosts, func(h *host) bool { return h.has() < last })
	})
	if !ok {
		return fmt.Errorf("not all hosts have entry %s:%s", last, s.states(ctx))
	}
	for _, h := range s.hosts { // in good order, so that what is there is all
		h.tell("stop")
		select {
		case <-h.done:
			h.cmd = nil
		case <-time.After(time.Minute):
			return fmt.Errorf("host %d does not close", h.id())
		}
	}
	return nil
}

// check compares the queues of all hosts, up to the last entry that was
// acknowledged, with each other and with what was acknowledged.
func (s *soak) check() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.report.Acked = len(s.mu.acked)
	var first []entry
	for _, h := range s.hosts {
		entries, cycles, err := read(h.orders.Dir, s.mu.last)
		if err != nil {
			return fmt.Errorf("read host %d: %w", h.id(), err)
		}
		if first == nil {
			first, s.report.Entries, s.report.Cycles = entries, len(entries), cycles
			continue
		}
		for k := range min(len(first), len(entries)) {
			if first[k] != entries[k] {
				return fmt.Errorf("host %d has %q at %s, host 1 has %q at %s", h.id(), entries[k].text, entries[k].index, first[k].text, first[k].index)
			}
		}
		if len(first) != len(entries) {
			return fmt.Errorf("host %d has %d entries, host 1 has %d", h.id(), len(entries), len(first))
		}
	}
	at := make(map[string]queue.Index, len(first))
	for _, e := range first {
		if _, twice := at[e.text]; twice {
			return fmt.Errorf("%q is there twice, at %s and %s", e.text, at[e.text], e.index)
		}
		at[e.text] = e.index
	}
	var lost error
	for text, i := range s.mu.acked {
		if at[text] != i {
			lost = errors.Join(lost, fmt.Errorf("%q was acknowledged as %s, and is at %s", text, i, at[text]))
		}
	}
	return lost
}

type entry struct {
	index queue.Index
	text  string
}

// read reads a queue up to an entry.
func read(dir string, last queue.Index) (entries []entry, cycles int, err error) {
	q, err := queue.OpenReadOnly(dir, queue.Config{})
	if err != nil {
		return nil, 0, err
	}
	defer q.Close()
	t := q.NewTailer(0)
	defer t.Close()
	for {
		i, p, ok, err := t.TryNext()
		if err != nil {
			return nil, 0, err
		}
		if !ok || i > last {
			return entries, q.Stats().Cycles, nil
		}
		entries = append(entries, entry{i, string(p)})
	}
}
