package core

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
)

// scenario runs a file of commands on a world in which nothing is random: what
// happens is what the file says. Each command has a method of its own below, and
// prints what has come of it. -rewrite writes that into the files.
type scenario struct {
	t *testing.T
	d *datadriven.TestData
	*sim
}

func TestScenarios(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scenarios: %v", err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			var w *sim
			datadriven.RunTest(t, file, func(t *testing.T, d *datadriven.TestData) string {
				s := &scenario{t, d, w}
				run, ok := commands[d.Cmd]
				if !ok {
					d.Fatalf(t, "no command %q", d.Cmd)
				}
				run(s)
				w = s.sim
				out := strings.Join(w.said, "\n")
				w.said = nil
				if out == "" {
					return "ok"
				}
				return out
			})
		})
	}
}

var commands = map[string]func(*scenario){
	"hosts": (*scenario).makeHosts, "connect": (*scenario).connect, "cut": (*scenario).cut, "block": (*scenario).block,
	"run": (*scenario).settle, "deliver": (*scenario).deliver, "tick": (*scenario).pass, "hold": (*scenario).hold, "job": (*scenario).job, "pause": (*scenario).pause,
	"append": (*scenario).append, "flush": (*scenario).flush, "roll": (*scenario).rollOver, "release": (*scenario).release,
	"kill": (*scenario).kill, "power": (*scenario).powerOff, "wipe": (*scenario).wipe, "start": (*scenario).start,
	"full": (*scenario).fill, "damage": (*scenario).damage, "history": (*scenario).history,
	"takeover": (*scenario).takeover, "switch": (*scenario).switchOver, "cancel": (*scenario).cancel, "close": (*scenario).closeHost,
	"status": (*scenario).status, "log": (*scenario).showLog, "table": (*scenario).showTable,
}

// ids are the hosts that a command names; none stands for all.
func (s *scenario) ids() []*simHost {
	var hs []*simHost
	for _, arg := range s.d.CmdArgs {
		if id, err := strconv.Atoi(arg.Key); err == nil {
			hs = append(hs, s.host(HostID(id)))
		}
	}
	if len(hs) == 0 {
		return s.hosts
	}
	return hs
}

func (s *scenario) flag(name string) bool { return s.d.HasArg(name) }

func (s *scenario) number(name string, n int) int {
	s.d.MaybeScanArgs(s.t, name, &n)
	return n
}

// makeHosts makes a world. Strategies are named as in reports.
func (s *scenario) makeHosts() {
	strategies := map[string]Strategy{
		"any": Any(), "majority": Majority(), "all": All(), "unbounded": Unbounded(),
		"gap2": MaxGap(Limit{Messages: 2}), "bytes10": MaxGap(Limit{Bytes: 10}), "age1s": MaxGap(Limit{Age: time.Second}),
		"any-or-fail": Any().OrFail(0), "gap2-or-fail": MaxGap(Limit{Messages: 2}).OrFail(0), "any-or-flush": Any().OrFlush(0),
		"custom": Custom(2, func(t Table) bool { return t.Gap > 1 }),
	}
	name := "any"
	s.d.MaybeScanArgs(s.t, "strategy", &name)
	st, ok := strategies[name]
	if !ok {
		s.d.Fatalf(s.t, "no strategy %q", name)
	}
	opts := simOptions{hosts: s.number("n", 3), strategy: st, flush: s.flag("flushed"), noAcks: s.flag("no-acks")}
	s.sim = newScript(s.t, opts, func(c *Config) {
		c.AllowLoss = s.flag("allow-loss")
		c.Master = HostID(s.number("master", 1))
	})
	s.chunk = s.number("chunk", 100)
	s.forced = opts.noAcks || s.flag("allow-loss")
	if s.flag("together") {
		s.connectAll()
		s.settle()
		s.said = nil
	}
}

func newScript(t *testing.T, o simOptions, change func(*Config)) *sim {
	s := newSim(t, 0, simOptions{strategy: o.strategy})
	s.opts, s.script, s.chunk = o, true, 100
	var ids []HostID
	for k := range o.hosts {
		ids = append(ids, HostID(k+1))
	}
	for _, id := range ids {
		h := &simHost{sim: s, id: id, results: map[uint64]error{}, cfg: Config{
			Self: id, Hosts: ids, Acknowledge: !o.noAcks, Strategy: o.strategy, FlushToCount: o.flush,
		}}
		change(&h.cfg)
		s.hosts = append(s.hosts, h)
		h.start()
	}
	return s
}

func (s *sim) connectAll() {
	for _, a := range s.hosts {
		for _, b := range s.hosts {
			if a.id > b.id {
				s.dial(a, b)
			}
		}
	}
}

// connect: all, or the two that are named.
func (s *scenario) connect() {
	if len(s.d.CmdArgs) == 0 {
		clear(s.blocked)
		s.connectAll()
		return
	}
	hs := s.ids()
	delete(s.blocked, [2]HostID{hs[0].id, hs[1].id})
	delete(s.blocked, [2]HostID{hs[1].id, hs[0].id})
	s.dial(hs[1], hs[0])
}

// cut ends the connections of the first host with the others named, or with all,
// and keeps them apart. What was under way is lost.
func (s *scenario) cut() {
	hs := s.ids()
	others := hs[1:]
	if len(others) == 0 {
		others = s.hosts
	}
	for _, other := range others {
		if other == hs[0] {
			continue
		}
		s.blocked[[2]HostID{hs[0].id, other.id}], s.blocked[[2]HostID{other.id, hs[0].id}] = true, true
		for _, c := range s.conns {
			if c.has(hs[0].id) && c.has(other.id) {
				c.cut()
			}
		}
	}
}

// block holds up what the first host sends to the second, one way.
func (s *scenario) block() {
	hs := s.ids()
	s.blocked[[2]HostID{hs[0].id, hs[1].id}] = true
}

// settle lets everything happen that is under way.
func (s *scenario) settle() { s.sim.settle() }

func (s *sim) settle() {
	for step := 0; s.settleOnce(); step++ {
		if step > 10000 {
			s.fail("the hosts talk for ever")
		}
		s.sweep()
	}
}

func (s *sim) settleOnce() bool {
	worked := false
	for _, h := range s.hosts {
		if !h.held && h.r != nil && !h.paused && len(h.jobs) > 0 {
			job := h.jobs[0]
			h.jobs = h.jobs[1:]
			job()
			worked = true
		}
	}
	for _, c := range slices.Clone(s.conns) {
		for k := range 2 {
			worked = s.carry(c, k) || worked
		}
	}
	return worked
}

// deliver lets the given number of messages go from the first host to the second.
func (s *scenario) deliver() {
	hs := s.ids()
	for range s.number("n", 1) {
		for _, c := range s.conns {
			if c.has(hs[0].id) && c.has(hs[1].id) {
				s.carry(c, c.end(hs[1].id))
			}
		}
	}
}

// pass lets time go by, and everything happen meanwhile.
func (s *scenario) pass() {
	for range s.number("n", 1) {
		s.sim.tick()
		s.settle()
	}
}

// hold keeps a host from flushing and reading; off lets it go on.
func (s *scenario) hold() {
	for _, h := range s.ids() {
		h.held = !s.flag("off")
	}
}

// job lets a host that is held do the first of its jobs.
func (s *scenario) job() {
	h := s.ids()[0]
	for range s.number("n", 1) {
		job := h.jobs[0]
		h.jobs = h.jobs[1:]
		job()
	}
}

// pause stops a host as SIGSTOP does; off lets it go on.
func (s *scenario) pause() {
	for _, h := range s.ids() {
		h.paused = !s.flag("off")
	}
}

func (s *scenario) append() {
	for _, h := range s.ids()[:1] {
		for range s.number("n", 1) {
			if err := h.r.Admit(); err != nil {
				var locked *LockedError
				s.say("%d: refused (locked %v): %v", h.id, errors.As(err, &locked), err)
				return
			}
			h.appendBatch(s.number("batch", 1))
		}
	}
	if !s.flag("only") {
		s.settle()
	}
}

func (s *scenario) flush() {
	for _, h := range s.ids() {
		h.flush(len(h.log))
	}
	s.settle()
}

func (s *scenario) rollOver() { s.ids()[0].roll = true }
func (s *scenario) release()  { s.ids()[0].release() }

func (s *scenario) kill() {
	for _, h := range s.ids() {
		h.kill()
	}
}

func (s *scenario) powerOff() {
	for _, h := range s.ids() {
		h.power()
	}
}

func (s *scenario) wipe() {
	for _, h := range s.ids() {
		h.wipe()
	}
}

func (s *scenario) start() {
	for _, h := range s.ids() {
		h.start()
	}
}

func (s *scenario) fill() {
	for _, h := range s.ids() {
		h.full = !s.flag("off")
	}
}

// damage changes the payload of a host's last entry on its disk.
func (s *scenario) damage() {
	h := s.ids()[0]
	e := &h.log[len(h.log)-1]
	e.Payload = append([]byte("damaged "), e.Payload...)
}

// history puts messages into a queue that has never been replicated.
func (s *scenario) history() {
	h := s.ids()[0]
	h.kill()
	for word := range strings.FieldsSeq(s.d.Input) {
		i := h.next()
		h.log = append(h.log, Entry{Index: i, Payload: []byte(word)})
	}
	h.start()
}

func (s *scenario) takeover() {
	h := s.ids()[0]
	s.command(h, func(id uint64) Event { return TakeOver{ID: id, Force: s.flag("force"), Elected: s.flag("elected")} })
}

func (s *scenario) switchOver() {
	hs := s.ids()
	s.command(hs[0], func(id uint64) Event { return Switch{ID: id, Target: hs[1].id} })
}

func (s *scenario) cancel() {
	h := s.ids()[0]
	h.step(Cancel{h.serial})
}

func (s *scenario) closeHost() {
	h := s.ids()[0]
	h.step(Close{})
	s.settle()
	h.kill()
}

func (s *scenario) status() {
	for _, h := range s.ids() {
		if h.r == nil {
			s.say("%d: down", h.id)
			continue
		}
		st := h.r.Status()
		line := fmt.Sprintf("%d: %v epoch %v source %d last %v counted %v released %v gap %d", h.id, st.Role, st.Epoch, st.Source, st.Last, st.Counted, st.Released, st.Gap)
		if st.Trust != Whole {
			line += " " + st.Trust.String()
		}
		if st.Single != 0 {
			line += fmt.Sprintf(" single %d", st.Single)
		}
		if st.Locked && st.Role == Sink && st.Source == 0 || len(st.WaitsFor) > 0 {
			line += fmt.Sprintf(" (%s, waits for %v)", st.Why, st.WaitsFor)
		}
		s.say("%s", line)
	}
}

func (s *scenario) showLog() {
	for _, h := range s.ids() {
		line := fmt.Sprintf("%d:", h.id)
		if h.base.Index != 0 {
			line += fmt.Sprintf(" behind %v", h.base.Index)
		}
		for _, e := range h.log {
			text := string(e.Payload)
			if e.Control {
				c, err := DecodeControl(e.Payload)
				if err != nil {
					s.t.Fatal(err)
				}
				text = fmt.Sprintf("[%v %v]", c.Kind, c.Epoch)
				if c.Lossy {
					text = fmt.Sprintf("[%v %v lossy]", c.Kind, c.Epoch)
				}
			}
			line += fmt.Sprintf(" %v=%s", e.Index, text)
		}
		s.say("%s", line)
	}
}

func (s *scenario) showTable() {
	r := s.ids()[0].r
	t := r.Table()
	s.say("last %v flushed %v counted %v gap %d live %d; held by 1: %v, by 2: %v", t.Last, t.Flushed, t.Counted, t.Gap, t.Live, r.Held(1), r.Held(2))
	for _, row := range t.Sinks {
		s.say("host %d %v sent %v received %v appended %v flushed %v gap %d %v", row.Host, row.State, row.Sent, row.Received, row.Appended, row.Flushed, row.Gap, row.Trust)
	}
}

func (s *sim) sayNotice(h *simHost, n Notice) {
	line := fmt.Sprintf("%d: %s", h.id, n.Kind)
	if n.Peer != 0 {
		line += fmt.Sprintf(" host %d", n.Peer)
	}
	if n.Text != "" {
		line += ": " + n.Text
	}
	if n.Err != nil {
		line += fmt.Sprintf(": %v", n.Err)
	}
	s.said = append(s.said, line)
	for _, r := range n.Reports {
		if !r.Reachable {
			s.say("   host %d cannot be reached", r.Host)
			continue
		}
		s.say("   host %d promises %v last %v counted %v %v", r.Host, r.Promises, r.Last, r.Counted, r.Trust)
	}
}
