package elect

import (
	"errors"
	"math/rand/v2"
	"testing"

	"go.etcd.io/raft/v3/raftpb"

	"github.com/pawl-go/pawl/queue/replica/core"
)

// world is some hosts without clocks; those that are down hear nothing.
type world struct {
	t     *testing.T
	hosts []core.HostID
	up    map[core.HostID]*Elector
	kept  map[core.HostID][]byte
	lose  func(from, to core.HostID) bool
}

func newWorld(t *testing.T, n int) *world {
	w := &world{t: t, up: map[core.HostID]*Elector{}, kept: map[core.HostID][]byte{}}
	for id := core.HostID(1); int(id) <= n; id++ {
		w.hosts = append(w.hosts, id)
	}
	for _, id := range w.hosts {
		w.start(id)
	}
	return w
}

func (w *world) start(id core.HostID) {
	w.t.Helper()
	e, err := New(id, w.hosts, w.kept[id])
	if err != nil {
		w.t.Fatal(err)
	}
	w.up[id] = e
}

func (w *world) take(from core.HostID, out Output, err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
	if out.State != nil {
		w.kept[from] = out.State
	}
	for _, m := range out.Messages {
		if e := w.up[m.To]; e != nil && (w.lose == nil || !w.lose(from, m.To)) {
			out, err := e.Step(from, m.Body)
			w.take(m.To, out, err)
		}
	}
}

// elect lets time pass at all hosts, until one of those that are up is known to all
// of them as the leader.
func (w *world) elect() core.HostID {
	w.t.Helper()
	for range 100 * ElectionTicks {
		w.tick()
		leaders := map[core.HostID]bool{}
		for _, e := range w.up {
			leaders[e.Leader()] = true
		}
		for id := range leaders {
			if len(leaders) == 1 && w.up[id] != nil {
				return id
			}
		}
	}
	w.t.Fatal("nobody is elected")
	return 0
}

func (w *world) tick() {
	w.t.Helper()
	for _, id := range w.hosts {
		if e := w.up[id]; e != nil {
			out, err := e.Tick()
			w.take(id, out, err)
		}
	}
}

func TestElection(t *testing.T) {
	w := newWorld(t, 3)
	first := w.elect()
	delete(w.up, first)
	second := w.elect()
	if second == first {
		t.Fatalf("%d is down and elected", first)
	}
	w.start(first)
	if now := w.elect(); now != second {
		t.Fatalf("host %d was elected, and now host %d", second, now)
	}
	out, err := w.up[second].Transfer(first)
	w.take(second, out, err)
	if now := w.elect(); now != first {
		t.Fatalf("handed over to host %d, and host %d is elected", first, now)
	}
	for _, id := range w.hosts { // too few
		if id != first {
			delete(w.up, id)
		}
	}
	for range 10 * ElectionTicks {
		w.tick()
	}
	if now := w.up[first].Leader(); now != 0 {
		t.Fatalf("host %d is elected by a minority", now)
	}
}

// TestManyElections: hosts restart, some without their state, and messages are lost;
// whenever that ends somebody is elected. What is kept stays small.
func TestManyElections(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 1))
	w := newWorld(t, 5)
	for range 300 {
		id := w.hosts[r.IntN(len(w.hosts))]
		switch r.IntN(5) {
		case 0:
			delete(w.up, id)
		case 1:
			w.kept[id] = nil
			w.start(id)
		default:
			if w.up[id] == nil {
				w.start(id)
			}
		}
		w.lose = func(core.HostID, core.HostID) bool { return r.IntN(4) == 0 }
		for range r.IntN(3 * ElectionTicks) {
			w.tick()
		}
	}
	w.lose = nil
	for _, id := range w.hosts {
		if w.up[id] == nil {
			w.start(id)
		}
		if n := len(w.kept[id]); n > 64<<10 {
			t.Errorf("host %d keeps %d bytes", id, n)
		}
	}
	w.elect()
}

func TestRefuses(t *testing.T) {
	if _, err := New(1, []core.HostID{1, 2}, nil); err == nil {
		t.Error("an election of two")
	}
	if _, err := New(1, []core.HostID{1, 2, 3}, []byte(`{"index":5}`)); err != nil {
		t.Errorf("a damaged state: %v", err)
	}
	w := newWorld(t, 3)
	e := w.up[1]
	if _, err := e.Step(2, []byte("nonsense")); !errors.Is(err, ErrMessage) {
		t.Errorf("nonsense: %v", err)
	}
	var out Output
	for len(out.Messages) == 0 {
		var err error
		if out, err = w.up[2].Tick(); err != nil {
			t.Fatal(err)
		}
	}
	for _, m := range out.Messages {
		if m.To == 1 {
			if _, err := e.Step(3, m.Body); !errors.Is(err, ErrMessage) {
				t.Errorf("a message of another host: %v", err)
			}
		}
	}
}

// TestContradiction: a message that raft cannot make sense of ends the connection and
// not the process.
func TestContradiction(t *testing.T) {
	w := newWorld(t, 3)
	e := w.up[1]
	m := raftpb.Message{
		Type: raftpb.MsgApp, From: 2, To: 1, Term: 9, LogTerm: 1, Index: 1, Commit: 2, Entries: []raftpb.Entry{{Term: 9, Index: 2}},
	}
	body, err := m.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := e.Step(2, body); err != nil {
		t.Fatal(err)
	}
	m.Index, m.LogTerm, m.Entries[0].Term = 2, 9, 8 // entry 2 is committed
	if body, err = m.Marshal(); err != nil {
		t.Fatal(err)
	}
	if _, err := e.Step(2, body); !errors.Is(err, ErrMessage) {
		t.Fatal(err)
	}
	w.elect()
}

func FuzzState(f *testing.F) {
	hosts := []core.HostID{1, 2, 3}
	e, err := New(2, hosts, nil)
	if err != nil {
		f.Fatal(err)
	}
	for range 3 * ElectionTicks {
		out, err := e.Tick()
		if err != nil {
			f.Fatal(err)
		}
		if out.State != nil {
			f.Add(out.State)
		}
		for _, m := range out.Messages {
			f.Add(m.Body)
		}
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		e, err := New(1, hosts, b)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := e.Step(2, b); err != nil && !errors.Is(err, ErrMessage) {
			t.Fatal(err)
		}
		if _, err := e.Tick(); err != nil {
			t.Fatal(err)
		}
	})
}
