package local

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/pawl-go/pawl/engine"
)

var bg = context.Background()

// machine drives an engine at random; whatever happens, what a crash leaves is
// what was there.
type machine struct {
	*world
	rt       *rapid.T
	now      time.Time
	clockNow atomic.Int64 // now, as the engine sees it
	nodes    []*node
	names    int
}

type node struct {
	s engine.Session
	p *probe
}

func TestWhateverHappensACrashLeavesWhatWasThere(t *testing.T) {
	if f := flag.Lookup("rapid.checks"); f.Value.String() == f.DefValue {
		flag.Set("rapid.checks", "30") // each opens the engine many times
	}
	n := 0
	rapid.Check(t, func(rt *rapid.T) {
		n++
		m := &machine{world: prepareWorld(t, "durability=process&cycle=64KiB&checkpoint=64KiB&retain=0s"), rt: rt}
		m.dir = filepath.Join(t.TempDir(), fmt.Sprint(n))
		m.url = "local:" + m.dir + "?durability=process&cycle=64KiB&checkpoint=64KiB&retain=0s"
		m.now = time.Unix(1_000_000, 0)
		m.clockNow.Store(m.now.UnixNano())
		m.opts.Now = func() time.Time { return time.Unix(0, m.clockNow.Load()) }
		m.tb = rt
		m.open()
		defer func() { m.h.Close() }()
		m.join()
		rt.Repeat(map[string]func(*rapid.T){
			"send": m.send, "sendFrom": m.sendFrom, "finish": m.finish, "finish2": m.finish, "tail": m.tail, "begin": m.begin,
			"park": m.park, "operator": m.operate, "checkpoint": m.checkpoint, "crash": m.crashNow, "clean": m.restart,
			"join": func(*rapid.T) { m.join() }, "fail": m.fail, "leave": m.leave, "clock": m.clock, "write": m.write,
			"": m.check,
		})
	})
}

// checkMaps: those maps are listed of which a scan finds entries.
func (m *machine) checkMaps() {
	for _, typ := range testTypes {
		for _, id := range []string{"1", "\x00"} {
			a := engine.Actor{Type: typ, ID: id}
			var want []string
			for _, name := range testMaps {
				entries, err := m.e.scan(a, name, "", 1)
				if err != nil {
					m.rt.Fatal(err)
				}
				if len(entries) > 0 {
					want = append(want, name)
				}
			}
			if got, err := (operator{m.e}).Maps(bg, a); err != nil || !slices.Equal(got, want) {
				m.rt.Fatalf("the maps of %v are %q, %v; want %q", a, got, err, want)
			}
		}
	}
}

func (m *machine) check(rt *rapid.T) {
	m.checkMaps()
	m.e.mu.Lock()
	defer m.e.mu.Unlock()
	if err := m.e.mu.f.valid(); err != nil {
		rt.Fatal(err)
	}
}

func (m *machine) join() {
	if len(m.nodes) > 2 {
		return
	}
	m.names++
	s, p := m.world.join(fmt.Sprintf("n%d", m.names), rapid.SampledFrom([][]string{{"A", "B"}, {"A", "B", "C"}, {"C"}}).Draw(m.rt, "types")...)
	m.nodes = append(m.nodes, &node{s, p})
}

func (m *machine) node() *node {
	if len(m.nodes) == 0 {
		m.rt.Skip()
	}
	return m.nodes[rapid.IntRange(0, len(m.nodes)-1).Draw(m.rt, "node")]
}

// running picks an attempt that may act: to end, no callee of it may be out.
func (m *machine) running(ends bool) (n *node, r *engine.Request, by engine.Attempt) {
	m.e.mu.Lock()
	var ps []*pending
	for _, p := range m.e.mu.f.reqs {
		callees := slices.Collect(p.children)
		if p.status == inFlow && p.host != nil && !(ends && len(callees) > 0) {
			ps = append(ps, p)
		}
	}
	inOrder(ps)
	m.e.mu.Unlock()
	if len(ps) == 0 {
		m.rt.Skip()
	}
	p := ps[rapid.IntRange(0, len(ps)-1).Draw(m.rt, "attempt")]
	for _, n := range m.nodes {
		if n.s.(*session).m == p.host {
			return n, p.req, engine.Attempt{ID: p.req.ID, Step: p.req.Step, N: max(1, p.attempts)}
		}
	}
	m.rt.Fatalf("%v is at no node", p.req.ID)
	return
}

func (m *machine) actor() engine.Actor {
	return engine.Actor{
		Type: rapid.SampledFrom(testTypes).Draw(m.rt, "type"),
		ID:   rapid.SampledFrom([]string{"1", "2", "\x00", ""}).Draw(m.rt, "id"),
	}
}

func (m *machine) request(s engine.Session, by *engine.Request) *engine.Request {
	a := m.actor()
	r := call(s, a.Type, a.ID)
	r.Created = m.now
	switch rapid.IntRange(0, 6).Draw(m.rt, "kind") {
	case 0:
		r.Kind = engine.KindTell
	case 1:
		r.Kind, r.NotBefore = engine.KindTell, m.now.Add(time.Duration(rapid.IntRange(-1, 3).Draw(m.rt, "delay"))*time.Minute)
	case 2:
		r.Keyed = true
		r.ID = engine.Derive("key", fmt.Sprint(rapid.IntRange(0, 9).Draw(m.rt, "key")))
	case 3, 4, 5:
		if by == nil {
			break
		}
		r.Kind, r.Caller, r.Depth = engine.KindNested, &by.Frame, by.Depth+1
		if rapid.Bool().Draw(m.rt, "once") {
			r.Once = true
			r.ID = engine.OnceID(by.ID, by.Step, fmt.Sprint(rapid.IntRange(0, 2).Draw(m.rt, "name")))
			if rapid.Bool().Draw(m.rt, "tell") {
				r.Kind, r.Caller, r.Depth = engine.KindTell, nil, 0
			}
		}
	case 6:
		if by != nil {
			r.Waiter = by.ID
		}
	}
	return r
}

func (m *machine) writes() (ws []engine.Write) {
	for range rapid.IntRange(0, 3).Draw(m.rt, "writes") {
		w := engine.Write{Op: engine.WriteOp(rapid.IntRange(0, 2).Draw(m.rt, "op"))}
		w.InMap = w.Op == engine.Clear || rapid.Bool().Draw(m.rt, "map")
		w.Cell = rapid.SampledFrom(testMaps).Draw(m.rt, "cell")
		if w.InMap && w.Op != engine.Clear {
			w.Entry = rapid.SampledFrom([]string{"", "a", "b\x00", "c"}).Draw(m.rt, "entry")
		}
		if w.Op == engine.Put {
			w.Value = make([]byte, rapid.SampledFrom([]int{0, 1, 40, 4000}).Draw(m.rt, "size"))
		}
		ws = append(ws, w)
	}
	return ws
}

func (m *machine) effects(s engine.Session, by *engine.Request) *engine.Effects {
	ef := &engine.Effects{Writes: m.writes()}
	for range rapid.IntRange(0, 2).Draw(m.rt, "requests") {
		ef.Requests = append(ef.Requests, m.request(s, by))
	}
	if rapid.IntRange(0, 3).Draw(m.rt, "remind") == 0 {
		ef.Reminders = append(ef.Reminders, engine.ReminderChange{
			Reminder: engine.Reminder{
				Actor: m.actor(), Name: rapid.SampledFrom([]string{"r", "s"}).Draw(m.rt, "name"), Method: "ring",
				Due:     m.now.Add(time.Duration(rapid.IntRange(-1, 3).Draw(m.rt, "due")) * time.Minute),
				Every:   time.Duration(rapid.IntRange(0, 2).Draw(m.rt, "every")) * time.Minute,
				Misfire: engine.Misfire(rapid.IntRange(0, 2).Draw(m.rt, "misfire")),
			},
			Remove: rapid.IntRange(0, 3).Draw(m.rt, "remove") == 0,
		})
	}
	return ef
}

func (m *machine) send(*rapid.T) {
	n := m.node()
	if _, err := n.s.Send(engine.Attempt{}, &engine.Effects{Requests: []*engine.Request{m.request(n.s, nil)}}); engine.CodeOf(err) != "" && engine.CodeOf(err) != engine.ErrKeyReused {
		m.rt.Fatal(err)
	}
}

func (m *machine) sendFrom(*rapid.T) {
	n, r, by := m.running(false)
	if _, err := n.s.Send(by, m.effects(n.s, r)); err != nil && engine.CodeOf(err) != engine.ErrKeyReused {
		m.rt.Fatal(err)
	}
}

func (m *machine) outcome() *engine.Outcome {
	if rapid.IntRange(0, 2).Draw(m.rt, "fails") == 0 {
		return &engine.Outcome{Failure: &engine.Failure{Code: "app", Message: "no", Causes: []*engine.Failure{{Message: "cause"}}}}
	}
	return value("out")
}

func (m *machine) finish(*rapid.T) {
	n, _, by := m.running(true)
	ef := m.effects(n.s, nil)
	if _, err := n.s.Finish(by, ef, m.outcome()); err != nil && engine.CodeOf(err) != engine.ErrKeyReused {
		m.rt.Fatal(err)
	}
}

func (m *machine) tail(*rapid.T) {
	n, r, by := m.running(true)
	to := m.actor()
	if rapid.Bool().Draw(m.rt, "self") {
		to = r.Actor
	}
	t := r.Tail(to, "next", []byte("x"), rapid.Bool().Draw(m.rt, "keep"))
	if _, err := n.s.Finish(by, &engine.Effects{Writes: m.writes()}, &engine.Outcome{Tail: t}); err != nil {
		m.rt.Fatal(err)
	}
}

func (m *machine) begin(*rapid.T) {
	n, _, by := m.running(false)
	by.N++
	if _, err := n.s.Begin(by, engine.Attempt{}, nil); err != nil {
		m.rt.Fatal(err)
	}
}

func (m *machine) park(*rapid.T) {
	n, r, by := m.running(true)
	var err error
	if rapid.Bool().Draw(m.rt, "postpone") && !r.InPlace {
		_, err = n.s.Postpone(by)
	} else {
		_, err = n.s.Park(by, engine.Fail(engine.ErrBadState, "bad"))
	}
	if err != nil {
		m.rt.Fatal(err)
	}
}

// known picks the id of an invocation.
func (m *machine) known() engine.ID {
	m.e.mu.Lock()
	ids := slices.SortedFunc(maps.Keys(m.e.mu.f.reqs), engine.ID.Compare)
	m.e.mu.Unlock()
	if len(ids) == 0 {
		m.rt.Skip()
	}
	return rapid.SampledFrom(ids).Draw(m.rt, "invocation")
}

func (m *machine) operate(*rapid.T) {
	o := operator{m.e}
	id := m.known()
	ctx, cancel := context.WithCancel(bg)
	cancel() // nobody ends what has not begun
	var err error
	switch rapid.IntRange(0, 6).Draw(m.rt, "act") {
	case 0:
		err = o.Cancel(ctx, id, "", rapid.Bool().Draw(m.rt, "force"))
	case 1:
		err = o.Answer(ctx, id, value("answer"))
	case 2, 3:
		err = o.Resume(ctx, id)
	case 4:
		err = o.Skip(ctx, id)
	case 5:
		err = o.pause(ctx, m.actor(), rapid.Bool().Draw(m.rt, "on"))
	case 6:
		err = o.Purge(ctx, m.actor())
	}
	if err != nil && engine.CodeOf(err) != engine.ErrNotFound && !errors.Is(err, context.Canceled) {
		m.rt.Fatal(err)
	}
}

func (m *machine) write(*rapid.T) {
	if err := (operator{m.e}).Write(bg, m.actor(), m.writes()); err != nil {
		m.rt.Fatal(err)
	}
}

func (m *machine) checkpoint(*rapid.T) {
	if err := m.e.checkpoint(); err != nil {
		m.rt.Fatal(err)
	}
}

func (m *machine) crashNow(*rapid.T) {
	m.crash()
	m.nodes = nil
	m.join()
}

func (m *machine) restart(*rapid.T) {
	m.e.stop()
	m.e.lastCheckpoint()
	before := m.e.dumpClosed()
	if err := m.e.letGo(); err != nil {
		m.rt.Fatal(err)
	}
	m.recover(before)
	m.nodes = nil
	m.join()
}

func (m *machine) fail(*rapid.T) {
	n := m.node()
	if err := m.e.Fail(n.s); err != nil {
		m.rt.Fatal(err)
	}
	m.nodes = slices.DeleteFunc(m.nodes, func(x *node) bool { return x == n })
}

func (m *machine) leave(*rapid.T) {
	n := m.node()
	if err := n.s.Leave(bg); err != nil {
		m.rt.Fatal(err)
	}
	m.nodes = slices.DeleteFunc(m.nodes, func(x *node) bool { return x == n })
}

func (m *machine) clock(*rapid.T) {
	m.now = m.now.Add(time.Duration(rapid.IntRange(-30, 90).Draw(m.rt, "seconds")) * time.Second)
	m.clockNow.Store(m.now.UnixNano())
	m.e.tick()
}
