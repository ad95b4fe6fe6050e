package roster

import (
	"testing"
	"time"

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
	return wire.Identity{Node: node, Incarnation: inc, Addr: node + ":1", Lanes: 1, Dial: 1}
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
	who := identity("b", 1)
	who.Dial = 0 // it has dialled nobody yet
	ok, e := r.Establish(epoch, who, link(1), true)
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
		if dials, _ := r.Due(now); len(dials) != 1 {
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
	if v, _, _ := r.Admit(now, identity("b", 1)); v != wire.Welcome {
		t.Fatal(v)
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

// What the smaller name has admitted it gives up when it commits to a dial of its own,
// and for good: the peer may have given it up by then, and had the other link meanwhile.
func TestAdmittedDialIsOvertaken(t *testing.T) {
	r := newRoster("a")
	r.Add(epoch, "b", "b:1", true)
	theirs := identity("b", 1)
	if v, _, _ := r.Admit(epoch, theirs); v != wire.Welcome {
		t.Fatal(v)
	}
	if dials, _ := r.Due(epoch); len(dials) != 1 || !r.Commit("b") {
		t.Fatalf("dials %v", dials)
	}
	if ok, _ := r.Establish(epoch, identity("b", 1), link(1), true); !ok {
		t.Fatal("ours is not established")
	}
	r.Dialed(epoch, "b", true, true)
	if ok, e := r.Establish(epoch, theirs, link(2), false); ok || len(e.Close) != 0 {
		t.Errorf("theirs takes its place: %+v", e)
	}
	r.Lost(epoch, "b", link(1))
	if ok, _ := r.Establish(epoch, theirs, link(2), false); ok {
		t.Error("theirs takes its place after it")
	}
}

// A peer of which nothing is known yet crosses like any other.
func TestStrangerCrosses(t *testing.T) {
	r := newRoster("a")
	r.Add(epoch, "b", "b:1", true)
	if dials, _ := r.Due(epoch); len(dials) != 1 || !r.Commit("b") {
		t.Fatalf("dials %v", dials)
	}
	if v, _, _ := r.Admit(epoch, identity("b", 1)); v != wire.Crossed {
		t.Error(v)
	}
}

// Once a link of ours is up, what the peer dialled before is stale, though it comes when
// that link is over: it tells nothing of it.
func TestDialBeforeOurLinkIsStale(t *testing.T) {
	r := newRoster("b")
	r.Add(epoch, "a", "a:1", true)
	if dials, _ := r.Due(epoch); len(dials) != 1 || !r.Commit("a") {
		t.Fatalf("dials %v", dials)
	}
	who := identity("a", 1)
	who.Dial = 5 // its latest
	if ok, _ := r.Establish(epoch, who, link(1), true); !ok {
		t.Fatal("ours is not established")
	}
	r.Dialed(epoch, "a", true, true)
	r.Lost(epoch, "a", link(1))
	if v, _, _ := r.Admit(epoch, who); v != wire.NoSuchLink {
		t.Errorf("the earlier dial: %v", v)
	}
	who.Dial++
	if v, _, _ := r.Admit(epoch, who); v != wire.Welcome {
		t.Errorf("the later one: %v", v)
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
