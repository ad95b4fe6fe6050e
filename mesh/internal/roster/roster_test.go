package roster

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/pawl-go/pawl/mesh/internal/wire"
)

var epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func newRoster(self string) *Roster {
	return &Roster{
		Self: self, MinDelay: 50 * time.Millisecond, MaxDelay: 5 * time.Second, FailAfter: 30 * time.Second,
		Jitter: func() float64 { return 0 },
	}
}

func identity(node string, inc uint64) wire.Identity {
	return wire.Identity{Node: node, Incarnation: inc, Addr: node + ":1", Lanes: 1}
}

func link(n byte) wire.LinkID { return wire.LinkID{n} }

// linked is a roster of a with a link of its own to b.
func linked(t *testing.T) *Roster {
	t.Helper()
	r := newRoster("a")
	r.Add(epoch, "b", "b:1", true)
	dials, _ := r.Due(epoch)
	if len(dials) != 1 || dials[0].ID != "b" || !r.Commit("b") {
		t.Fatalf("dials %v", dials)
	}
	ok, e := r.Establish(epoch, identity("b", 1), link(1), true)
	if !ok || len(e.Events) != 1 || e.Events[0].Kind != CameUp {
		t.Fatalf("%v %+v", ok, e)
	}
	r.Dialed(epoch, "b", true, true)
	return r
}

func TestUnreachableAfterThreeDials(t *testing.T) {
	r := linked(t)
	now := epoch
	if e := r.Lost(now, "b", link(1)); len(e.Events) != 0 {
		t.Fatalf("a loss alone is no event: %+v", e)
	}
	for attempt := 1; attempt <= 5; attempt++ {
		at, ok := r.Next()
		want := now
		if attempt > 1 {
			want = now.Add(r.MinDelay << (attempt - 2))
		}
		if !ok || !at.Equal(want) {
			t.Errorf("dial %d is due after %v, want %v", attempt, at.Sub(epoch), want.Sub(epoch))
		}
		now = at
		if dials, _ := r.Due(now); len(dials) != 1 || dials[0].LastLink != link(1) {
			t.Fatalf("dials %+v", dials)
		}
		e := r.Dialed(now, "b", false, true)
		if want := attempt == Attempts; (len(e.Events) == 1 && e.Events[0].Kind == BecameUnreachable) != want {
			t.Errorf("after %d failed dials: %+v", attempt, e)
		}
	}
	if state, _ := r.State("b"); state != Unreachable {
		t.Errorf("state %d", state)
	}
	ok, e := r.Establish(now, identity("b", 1), link(2), false)
	if !ok || len(e.Events) != 1 || e.Events[0].Kind != BecameReachable {
		t.Errorf("%v %+v", ok, e)
	}
}

func TestFailsWhenGoneTooLong(t *testing.T) {
	r := linked(t)
	r.Lost(epoch, "b", link(1))
	now := epoch.Add(r.FailAfter)
	_, e := r.Due(now)
	if len(e.Events) != 1 || e.Events[0].Kind != Failed || len(r.Members()) != 0 {
		t.Errorf("%+v", e)
	}
	if dials, _ := r.Due(now.Add(r.MaxDelay)); len(dials) != 1 {
		t.Error("a fixed peer is not dialled any more")
	}
}

func TestIncarnations(t *testing.T) {
	r := linked(t)
	who := identity("b", 0)
	if v, known, _ := r.Admit(epoch, who); v != wire.Stale || known != 1 {
		t.Errorf("a lower incarnation: %v, %d", v, known)
	}
	who.Incarnation = 2
	v, _, e := r.Admit(epoch, who)
	if v != wire.Welcome || len(e.Close) != 1 || len(e.Events) != 1 || e.Events[0].Kind != Failed || e.Events[0].Member.Incarnation != 1 {
		t.Errorf("a higher incarnation: %v, %+v", v, e)
	}
	if ok, e := r.Establish(epoch, who, link(2), false); !ok || e.Events[0].Kind != CameUp {
		t.Errorf("%v %+v", ok, e)
	}
	if ok, _ := r.Establish(epoch, identity("b", 1), link(3), true); ok {
		t.Error("a link to an older incarnation is taken")
	}
	if e := r.Remove(epoch, "b", 1, true); len(e.Events) != 0 {
		t.Errorf("the old one's goodbye: %+v", e)
	}
}

func TestVerdicts(t *testing.T) {
	r := linked(t)
	self, other := identity("a", 1), identity("c", 1)
	other.Target = "d"
	for _, c := range []struct {
		who  wire.Identity
		want wire.Verdict
	}{{self, wire.SameName}, {other, wire.WrongNode}} {
		if v, _, _ := r.Admit(epoch, c.who); v != c.want {
			t.Errorf("%s: %v, want %v", c.who.Node, v, c.want)
		}
	}
	// b has not heard of our link: its dial crossed ours, and ours is kept.
	if v, _, e := r.Admit(epoch, identity("b", 1)); v != wire.Crossed || len(e.Close) != 0 {
		t.Errorf("%v %+v", v, e)
	}
	// b has had our link, and lost it.
	again := identity("b", 1)
	again.LastLink = link(1)
	if v, _, e := r.Admit(epoch, again); v != wire.Welcome || len(e.Close) != 1 {
		t.Errorf("%v %+v", v, e)
	}
}

// A dial that is given up for the peer's is not established any more, though all its
// streams are attached, and commits to nothing.
func TestGivenUpDialIsOver(t *testing.T) {
	for _, late := range []bool{false, true} { // it commits after it has been given up
		r := newRoster("b")
		r.Add(epoch, "a", "a:1", true)
		if dials, _ := r.Due(epoch); len(dials) != 1 || !late && !r.Commit("a") {
			t.Fatalf("dials %v", dials)
		}
		theirs := identity("a", 1)
		if v, _, e := r.Admit(epoch, theirs); v != wire.Welcome || len(e.Abort) != 1 {
			t.Fatalf("%v %+v", v, e)
		}
		if late && r.Commit("a") {
			t.Error("it is committed")
		}
		if ok, _ := r.Establish(epoch, identity("a", 1), link(1), true); ok {
			t.Error("it is established")
		}
		r.Dialed(epoch, "a", false, false)
		if ok, _ := r.Establish(epoch, theirs, link(2), false); !ok {
			t.Error("the peer's is not")
		}
	}
}

// Of two dials of one peer the later counts, whenever they are dealt with.
func TestEarlierDialIsStale(t *testing.T) {
	dial := func(inc, number uint64) wire.Identity {
		who := identity("a", inc)
		who.Dial = number
		return who
	}
	r := newRoster("b")
	for number := range uint64(2) {
		if v, _, _ := r.Admit(epoch, dial(1, number+1)); v != wire.Welcome {
			t.Fatal(v)
		}
	}
	if ok, _ := r.Establish(epoch, dial(1, 2), link(2), false); !ok {
		t.Error("the later one is not established")
	}
	if ok, e := r.Establish(epoch, dial(1, 1), link(1), false); ok || len(e.Close) != 0 {
		t.Errorf("the earlier one takes its place: %+v", e)
	}
	if v, _, e := r.Admit(epoch, dial(1, 1)); v != wire.NoSuchLink || len(e.Close) != 0 {
		t.Errorf("the earlier one is admitted: %v, %+v", v, e)
	}
	if v, _, _ := r.Admit(epoch, dial(2, 1)); v != wire.Welcome {
		t.Errorf("the first of another life: %v", v)
	}
}

func TestStrangersAndGoodbyes(t *testing.T) {
	r := newRoster("a")
	r.Admit(epoch, identity("x", 1)) // and never comes up
	if _, e := r.Due(epoch.Add(strangers)); len(e.Gone) != 1 || len(e.Events) != 0 {
		t.Errorf("a stranger is kept: %+v", e)
	}
	r.Admit(epoch, identity("y", 1))
	r.Establish(epoch, identity("y", 1), link(1), false)
	if e := r.Remove(epoch, "y", 1, true); len(e.Gone) != 1 || e.Events[0].Kind != Left || len(e.Close) != 1 {
		t.Errorf("%+v", e)
	}
	looker := identity("z", 1)
	looker.Observer = true
	r.Admit(epoch, looker)
	if _, e := r.Establish(epoch, looker, link(2), false); len(e.Events) != 0 || len(r.Members()) != 0 {
		t.Errorf("an observer is a member: %+v", e)
	}
	if e := r.Lost(epoch, "z", link(2)); len(e.Gone) != 1 {
		t.Errorf("%+v", e)
	}
}

// world is two rosters, and the dials under way between them: each a connection that
// goes through the steps of a handshake, in any order among the others.
type world struct {
	t     *rapid.T
	now   time.Time
	nodes map[string]*Roster
	up    map[string]wire.LinkID // what each node takes for the link
	dials []*crossing
	next  byte
}

type crossing struct {
	from, to string
	id       wire.Identity
	step     int
	dead     bool
}

func (w *world) other(name string) string {
	if name == "a" {
		return "b"
	}
	return "a"
}

// do carries out effects at a node, and tells the other side of what is closed.
func (w *world) do(name string, e Effects) {
	for _, l := range e.Close {
		if w.up[name] == l {
			delete(w.up, name)
		}
		w.broken(w.other(name), l)
	}
	for range e.Abort {
		for _, d := range w.dials {
			if d.from == name {
				d.dead = true
			}
		}
	}
}

func (w *world) broken(name string, l wire.LinkID) {
	for _, d := range w.dials {
		if d.id.Link == l {
			d.dead = true
		}
	}
	if w.up[name] == l {
		delete(w.up, name)
		w.do(name, w.nodes[name].Lost(w.now, w.other(name), l))
	}
}

// advance takes a dial one step on; it reports whether it is still under way.
func (w *world) advance(d *crossing) bool {
	from, to := w.nodes[d.from], w.nodes[d.to]
	if d.dead {
		w.do(d.from, from.Dialed(w.now, d.to, false, false))
		return false
	}
	switch d.step {
	case 0: // greeted; the dialler goes on only if its dial is still wanted
		if !from.Commit(d.to) {
			d.dead = true
		}
	case 1:
		v, _, e := to.Admit(w.now, d.id)
		w.do(d.to, e)
		d.dead = d.dead || v != wire.Welcome
	case 2: // all lanes are attached
		ok, e := to.Establish(w.now, d.id, d.id.Link, false)
		w.do(d.to, e)
		if ok {
			w.up[d.to] = d.id.Link
		} else {
			d.dead = true
		}
	case 3: // ready
		ok, e := from.Establish(w.now, identity(d.to, 1), d.id.Link, true)
		w.do(d.from, e)
		w.do(d.from, from.Dialed(w.now, d.to, ok, false))
		if ok {
			w.up[d.from] = d.id.Link
		} else {
			w.broken(d.to, d.id.Link)
		}
		return false
	}
	d.step++
	return true
}

func (w *world) begin(name string) {
	dials, e := w.nodes[name].Due(w.now)
	w.do(name, e)
	for _, due := range dials {
		w.next++
		id := identity(name, 1)
		id.Link, id.LastLink = link(w.next), due.LastLink
		w.dials = append(w.dials, &crossing{from: name, to: due.ID, id: id})
	}
}

// However two nodes' dials interleave, and whenever a link is lost, in the end both
// have one link and it is the same.
func TestTwoNodesAgree(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := &world{t: t, now: epoch, nodes: map[string]*Roster{"a": newRoster("a"), "b": newRoster("b")}, up: map[string]wire.LinkID{}}
		w.nodes["a"].Add(epoch, "b", "b:1", true)
		w.nodes["b"].Add(epoch, "a", "a:1", true)
		step := func(i int) {
			if d := w.dials[i]; !w.advance(d) {
				w.dials = append(w.dials[:i], w.dials[i+1:]...)
			}
		}
		for range rapid.IntRange(0, 60).Draw(t, "steps") {
			w.now = w.now.Add(10 * time.Millisecond)
			switch rapid.IntRange(0, 9).Draw(t, "what") {
			case 0:
				w.begin("a")
			case 1:
				w.begin("b")
			case 2:
				if l, ok := w.up["a"]; ok {
					w.broken("a", l)
					w.broken("b", l)
				}
			default:
				if len(w.dials) > 0 {
					step(rapid.IntRange(0, len(w.dials)-1).Draw(t, "dial"))
				}
			}
		}
		for round := 0; round < 100 && (w.up["a"] != w.up["b"] || w.up["a"] == link(0)); round++ {
			w.now = w.now.Add(w.nodes["a"].MaxDelay)
			w.begin("a")
			w.begin("b")
			for len(w.dials) > 0 {
				step(0)
			}
		}
		if w.up["a"] != w.up["b"] || w.up["a"] == link(0) {
			t.Fatal(fmt.Sprintf("a has link %v, b %v", w.up["a"], w.up["b"]))
		}
	})
}

// Of two dials that cross before either is admitted, the smaller name's is kept,
// whatever comes first.
func TestCrossedDialsKeepTheSmallerNames(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := &world{t: t, now: epoch, nodes: map[string]*Roster{"a": newRoster("a"), "b": newRoster("b")}, up: map[string]wire.LinkID{}}
		w.nodes["a"].Add(epoch, "b", "b:1", true)
		w.nodes["b"].Add(epoch, "a", "a:1", true)
		w.begin("a")
		w.begin("b")
		for _, d := range append([]*crossing{}, w.dials...) {
			w.advance(d) // both are committed
		}
		ours := w.dials[0].id.Link
		for len(w.dials) > 0 {
			i := rapid.IntRange(0, len(w.dials)-1).Draw(t, "dial")
			if !w.advance(w.dials[i]) {
				w.dials = append(w.dials[:i], w.dials[i+1:]...)
			}
		}
		if w.up["a"] != ours || w.up["b"] != ours {
			t.Fatalf("a has %v, b has %v, want %v", w.up["a"], w.up["b"], ours)
		}
	})
}
