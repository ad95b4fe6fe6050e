package core

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

// sim is a world of hosts with a network that cuts, holds up and loses, and with
// processes, machines and disks that fail. Everything in it follows from a seed.
type sim struct {
	t        *testing.T
	seed     uint64
	rand     *rand.Rand
	now      time.Time
	opts     simOptions
	hosts    []*simHost
	conns    []*simConn
	serial   uint64
	blocked  map[[2]HostID]bool
	crashing bool // at random, between effects

	// truth is the history that has counted somewhere: nothing in it may ever
	// be lost or contradicted. It starts at the first entry of all.
	truth   []Entry
	sources map[Epoch]HostID
	acts    []act
	weight  int
	forced  bool // somebody was told to take over by force: what counted may be lost

	log   strings.Builder
	trail bool

	script bool // a scenario: nothing is random
	chunk  int  // entries in an update
	said   []string
}

// say notes for a scenario what has happened.
func (s *sim) say(format string, args ...any) {
	if s.script {
		s.said = append(s.said, fmt.Sprintf(format, args...))
	}
}

type simOptions struct {
	hosts    int
	strategy Strategy
	flush    bool // FlushToCount
	steps    int
	forces   bool // take-overs by force too
	noAcks   bool
}

// simConn is a connection. The two queues hold what is under way.
type simConn struct {
	sim    *sim
	id     uint64
	ends   [2]HostID
	up     [2]bool     // the end has been told
	down   [2]bool     // the end has been told that it is over
	queue  [2][][]byte // to ends[k]
	broken bool
}

func (c *simConn) has(id HostID) bool { return c.ends[0] == id || c.ends[1] == id }

func (c *simConn) end(id HostID) int {
	if c.ends[0] == id {
		return 0
	}
	return 1
}

// cut breaks the connection: of what is under way a random part still arrives.
func (c *simConn) cut() {
	if c.broken {
		return
	}
	c.broken = true
	for k := range c.queue {
		c.queue[k] = c.queue[k][:c.sim.rand.IntN(len(c.queue[k])+1)]
	}
}

func newSim(t *testing.T, seed uint64, o simOptions) *sim {
	s := &sim{
		t: t, seed: seed, opts: o, rand: rand.New(rand.NewPCG(seed, 7)), now: time.Unix(1000, 0),
		blocked: map[[2]HostID]bool{}, sources: map[Epoch]HostID{},
	}
	var ids []HostID
	for k := range o.hosts {
		ids = append(ids, HostID(k+1))
	}
	for _, id := range ids {
		h := &simHost{sim: s, id: id, results: map[uint64]error{}, cfg: Config{
			Self: id, Hosts: ids, Master: 1, Acknowledge: !o.noAcks, Strategy: o.strategy, FlushToCount: o.flush,
		}}
		s.hosts = append(s.hosts, h)
		h.start()
	}
	return s
}

func (s *sim) host(id HostID) *simHost { return s.hosts[id-1] }

func (s *sim) trace(format string, args ...any) {
	if s.trail {
		fmt.Fprintf(&s.log, format+"\n", args...)
	}
}

func (s *sim) fail(format string, args ...any) {
	s.t.Helper()
	if s.trail {
		s.t.Log(tail(s.log.String(), 30000))
	}
	s.t.Fatalf("seed %d, %+v: %s", s.seed, s.opts, fmt.Sprintf(format, args...))
}

func tail(s string, n int) string { return s[max(0, len(s)-n):] }

// send puts a message on a connection, by way of its encoding.
func (s *sim) send(from HostID, e Send) {
	for _, c := range s.conns {
		if c.id == e.Conn && c.has(from) && !c.broken {
			to := 1 - c.end(from)
			c.queue[to] = append(c.queue[to], e.Msg.AppendTo(nil))
		}
	}
}

func (s *sim) drop(h HostID, e Drop) {
	if s.script {
		s.say("%d: drops host %d: %s", h, e.Peer, e.Why)
		for _, c := range s.conns {
			if c.id == e.Conn && c.has(h) {
				c.cut()
				c.down[c.end(h)] = true
			}
		}
		return
	}
	s.fail("a connection was dropped: %+v", e)
}

// dial connects two hosts that have no connection with both ends up.
func (s *sim) dial(a, b *simHost) {
	if a.r == nil || b.r == nil || a.paused || b.paused || s.blocked[[2]HostID{a.id, b.id}] || s.blocked[[2]HostID{b.id, a.id}] {
		return
	}
	for _, c := range s.conns {
		if c.has(a.id) && c.has(b.id) && !c.broken {
			return
		}
	}
	s.serial++
	s.conns = append(s.conns, &simConn{sim: s, id: s.serial, ends: [2]HostID{a.id, b.id}})
}

// carry moves a connection on at one end: the news that it is up, a message, or
// the news that it is over.
func (s *sim) carry(c *simConn, k int) bool {
	h, other := s.host(c.ends[k]), s.host(c.ends[1-k])
	if h.r == nil {
		c.down[k] = true
		return false
	}
	if h.paused {
		return false
	}
	switch {
	case !c.up[k] && !c.broken:
		c.up[k] = true
		s.trace("%d: up %d (%d)", h.id, other.id, c.id)
		h.step(PeerUp{other.id, c.id})
	case len(c.queue[k]) > 0 && c.up[k]:
		if s.blocked[[2]HostID{other.id, h.id}] {
			return false
		}
		b := c.queue[k][0]
		c.queue[k] = c.queue[k][1:]
		m, err := DecodeMessage(b)
		if err != nil {
			s.fail("decode: %v", err)
		}
		s.trace("%d: from %d: %v %+v", h.id, other.id, m.Type, *m)
		h.step(Received{other.id, c.id, m})
	case c.broken && !c.down[k]:
		c.down[k] = true
		if c.up[k] {
			s.trace("%d: down %d (%d)", h.id, other.id, c.id)
			h.step(PeerDown{other.id, c.id})
		}
	default:
		return false
	}
	return true
}

func (s *sim) sweep() {
	s.conns = slices.DeleteFunc(s.conns, func(c *simConn) bool { return c.down[0] && c.down[1] })
}

// work does one thing that is under way at random, and says whether there was any.
func (s *sim) work() bool {
	type choice struct {
		c *simConn
		k int
		h *simHost
	}
	var all []choice
	for _, c := range s.conns {
		all = append(all, choice{c: c, k: 0}, choice{c: c, k: 1})
	}
	for _, h := range s.hosts {
		if h.r != nil && !h.paused && len(h.jobs) > 0 {
			all = append(all, choice{h: h})
		}
	}
	s.rand.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	for _, x := range all {
		if x.h != nil {
			job := x.h.jobs[0]
			x.h.jobs = x.h.jobs[1:]
			job()
			return true
		}
		if s.carry(x.c, x.k) {
			return true
		}
	}
	return false
}

func (s *sim) tick() {
	s.now = s.now.Add(DefaultHeartbeatInterval / 4)
	for _, h := range s.hosts {
		if !h.paused {
			h.step(Tick{s.now})
		}
	}
}

func (s *sim) any() *simHost { return s.hosts[s.rand.IntN(len(s.hosts))] }

// mayLose reports whether one more host may lose what it holds: entries that
// count are held by w hosts, so fewer than w may lose them at a time.
func (s *sim) mayLose(h *simHost) bool {
	n := 0
	for _, other := range s.hosts {
		if other != h && !other.trusted() {
			n++
		}
	}
	return n+1 < len(s.hosts)-h.cfg.promising()+1
}

// act is something that happens at random, so often.
type act struct {
	weight int
	do     func(*sim)
}

// acts is all that happens, with about how often in a thousand. Each seed has
// weights of its own: what is rare in one world is common in another.
func acts() []act {
	return []act{
		{560, func(s *sim) { s.work() }},
		{140, func(s *sim) { s.any().append() }},
		{60, func(s *sim) { s.tick() }},
		{60, func(s *sim) {
			if a, b := s.any(), s.any(); a.id > b.id {
				s.dial(a, b)
			}
		}},
		{20, func(s *sim) {
			if len(s.conns) > 0 {
				s.conns[s.rand.IntN(len(s.conns))].cut()
			}
		}},
		{10, func(s *sim) { s.blocked[[2]HostID{s.any().id, s.any().id}] = true }},
		{10, (*sim).split},
		{15, func(s *sim) { clear(s.blocked) }},
		{20, func(s *sim) { h := s.any(); h.flush(s.rand.IntN(len(h.log) + 1)) }},
		{10, func(s *sim) { s.any().release() }},
		{40, func(s *sim) { s.any().start() }},
		{8, func(s *sim) { s.any().kill() }},
		{8, func(s *sim) {
			if h := s.any(); s.opts.flush || s.mayLose(h) {
				h.power()
			}
		}},
		{3, func(s *sim) {
			if h := s.any(); s.mayLose(h) {
				h.wipe()
			}
		}},
		{8, func(s *sim) { h := s.any(); h.paused = h.r != nil }},
		{10, func(s *sim) { s.any().paused = false }},
		{12, func(s *sim) {
			s.command(s.any(), func(id uint64) Event { return TakeOver{ID: id, Force: s.opts.forces && s.rand.IntN(2) == 0} })
		}},
		{6, func(s *sim) { s.command(s.any(), func(id uint64) Event { return Switch{id, s.any().id} }) }},
		{3, func(s *sim) { s.shutDown(s.any()) }},
		{4, func(s *sim) { s.coup(false) }},
		{4, func(s *sim) { s.coup(true) }},
	}
}

// coup isolates a source and tells another host to take over, perhaps right after
// a third has lost what it had not flushed: the worst time for it.
func (s *sim) coup(lossy bool) {
	src, h, other := s.source(), s.any(), s.any()
	if src == nil || h == src || other == src {
		return
	}
	if lossy && s.mayLose(other) {
		other.power()
		other.start()
	}
	clear(s.blocked)
	for _, c := range s.conns {
		if c.has(src.id) {
			c.cut()
		}
	}
	for _, x := range s.hosts {
		if x != src {
			s.blocked[[2]HostID{src.id, x.id}], s.blocked[[2]HostID{x.id, src.id}] = true, true
			for _, y := range s.hosts {
				if x.id > y.id && y != src {
					s.dial(x, y)
				}
			}
		}
	}
	s.command(h, func(id uint64) Event { return TakeOver{ID: id} })
}

// split cuts the network in two, at once in both directions.
func (s *sim) split() {
	clear(s.blocked)
	var side [MaxHosts + 1]int
	for _, h := range s.hosts {
		side[h.id] = s.rand.IntN(2)
	}
	for _, a := range s.hosts {
		for _, b := range s.hosts {
			if side[a.id] != side[b.id] {
				s.blocked[[2]HostID{a.id, b.id}] = true
			}
		}
	}
	for _, c := range s.conns {
		if side[c.ends[0]] != side[c.ends[1]] {
			c.cut()
		}
	}
}

// swarm draws the weights of this world.
func (s *sim) swarm() {
	s.acts = acts()
	for k := range s.acts {
		s.acts[k].weight = s.acts[k].weight * []int{1, 2, 2, 2, 6}[s.rand.IntN(5)]
		s.weight += s.acts[k].weight
	}
}

// chaos does something at random.
func (s *sim) chaos() {
	p := s.rand.IntN(s.weight)
	for _, a := range s.acts {
		if p -= a.weight; p < 0 {
			a.do(s)
			break
		}
	}
	s.sweep()
}

func (s *sim) command(h *simHost, event func(uint64) Event) {
	if h.r == nil || h.paused {
		return
	}
	h.serial++
	ev := event(h.serial)
	if t, ok := ev.(TakeOver); ok && t.Force {
		s.forced = true
	}
	s.trace("%d: %T%+v", h.id, ev, ev)
	h.step(ev)
}

// shutDown ends a host in good order.
func (s *sim) shutDown(h *simHost) {
	if h.r == nil || h.paused {
		return
	}
	h.step(Close{})
	for h.r != nil && !h.closed && len(h.jobs) > 0 {
		job := h.jobs[0]
		h.jobs = h.jobs[1:]
		job()
	}
	if h.r != nil && !h.closed {
		s.fail("host %d does not close", h.id)
	}
	h.kill()
	if s.rand.IntN(2) == 0 {
		h.boot++ // the machine may be switched off now
	}
}

func (s *sim) run() {
	s.trail = os.Getenv("PAWL_TRAIL") != ""
	s.swarm()
	s.crashing = s.rand.IntN(4) > 0
	for range s.opts.steps {
		s.chaos()
	}
	s.heal()
	if !s.forced && len(s.truth) > int(s.hosts[0].base.Count)+len(s.hosts[0].log) {
		s.fail("%d entries have counted, and %d are there", len(s.truth), len(s.hosts[0].log))
	}
}
