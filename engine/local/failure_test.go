package local

import (
	"slices"
	"testing"

	"github.com/pawl-go/pawl/engine"
)

// A caller on a, callees on a and b; a fails.
func TestFailureMovesWhatWasThere(t *testing.T) {
	for _, durability := range []string{"process", "disk"} {
		t.Run(durability, func(t *testing.T) {
			w := newWorld(t, "cycle=1MiB&durability="+durability)
			a, pa := w.join("a", "A")
			b, pb := w.join("b", "B")
			caller, behind := call(b, "A", "1"), tell(b, "A", "1")
			w.send(b, engine.Attempt{}, caller)
			w.send(b, engine.Attempt{}, behind)
			token := pa.delivery(t, caller.ID, 1).Token
			here, there := nested(a, caller, "A", "2"), nested(a, caller, "B", "1")
			w.send(a, attempt(caller, 1), here, there)
			pb.delivery(t, there.ID, 1)
			if err := w.e.Fail(a); err != nil {
				t.Fatal(err)
			}
			<-a.Fenced()
			pb.until(t, "caller gone", func() bool { return slices.Contains(pb.callerGone, there.ID) })
			if _, err := a.Finish(attempt(caller, 1), &engine.Effects{}, value("late")); engine.CodeOf(err) != engine.ErrFenced {
				t.Errorf("a late outcome: %v", err)
			}
			if _, err := a.Send(attempt(caller, 1), &engine.Effects{Writes: []engine.Write{put("n", "late")}}); engine.CodeOf(err) != engine.ErrFenced {
				t.Errorf("a late write: %v", err)
			}
			c, pc := w.join("c", "A")
			d := pc.delivery(t, caller.ID, 1)
			if d.Attempts != 1 || d.Lost != 1 || d.Token <= token {
				t.Errorf("caller: %+v", d)
			}
			if !slices.Equal(sorted(d.Await), sorted([]engine.ID{here.ID, there.ID})) {
				t.Errorf("awaits %v, not %v and %v", d.Await, here.ID, there.ID)
			}
			if d := pc.delivery(t, here.ID, 1); d.Attempts != 1 || d.Lost != 1 || d.StartsAtOnce() {
				t.Errorf("callee that was held: %+v", d)
			}
			if d := pc.delivery(t, behind.ID, 1); d.Attempts != 0 {
				t.Errorf("the one behind: %+v", d)
			}
			w.finish(b, attempt(there, 1), nil, value("there"))
			if r := pc.response(t, there.ID); string(r.Outcome.Value) != "there" {
				t.Errorf("%+v", r)
			}
			if _, err := c.Begin(engine.Attempt{ID: here.ID, Step: 1, N: 2}, engine.Attempt{}, nil); err != nil {
				t.Fatal(err)
			}
			w.finish(c, attempt(here, 2), nil, value("here"))
			if r := pc.response(t, here.ID); string(r.Outcome.Value) != "here" {
				t.Errorf("%+v", r)
			}
		})
	}
}

func sorted(ids []engine.ID) []engine.ID {
	return slices.SortedFunc(slices.Values(ids), engine.ID.Compare)
}

// The rule cancel: what was never begun goes with the attempt that sent it,
// unless it was made once.
func TestOrphansAreCancelled(t *testing.T) {
	w := newWorld(t, "durability=process&cycle=64KiB")
	a, pa := w.join("a", "A", "B")
	client, _ := w.join("client")
	busy := tell(client, "B", "1")
	w.send(client, engine.Attempt{}, busy)
	caller := call(client, "A", "1")
	w.send(client, engine.Attempt{}, caller)
	orphan, once := nested(a, caller, "B", "1"), nested(a, caller, "B", "1")
	once.ID, once.Once = engine.OnceID(caller.ID, 1, "x"), true
	w.send(a, attempt(caller, 1), orphan, once)
	pa.delivery(t, once.ID, 1)
	if err := w.e.Fail(a); err != nil {
		t.Fatal(err)
	}
	_, pb := w.join("b", "A", "B")
	d := pb.delivery(t, caller.ID, 1)
	if !slices.Equal(d.Await, []engine.ID{once.ID}) {
		t.Errorf("awaits %v, want %v", d.Await, once.ID)
	}
	pb.delivery(t, once.ID, 1)
	if slices.Contains(pb.delivered(), orphan.ID) {
		t.Error("the orphan was delivered")
	}
	in, err := client.Operator().Invocation(t.Context(), orphan.ID)
	if err != nil || in.Status != engine.StatusCanceled {
		t.Errorf("%+v %v", in, err)
	}
}

// An attempt that was counted as lost is not counted again before it begins.
func TestLostAttemptsAreCountedOnce(t *testing.T) {
	w := newWorld(t, "durability=process&cycle=64KiB")
	s, p := w.join("c", "A")
	r := tell(s, "A", "1")
	w.send(s, engine.Attempt{}, r)
	p.delivery(t, r.ID, 1)
	for i, want := range []struct{ attempts, lost uint32 }{{1, 1}, {1, 1}, {2, 2}, {2, 2}, {3, 3}} {
		w.crash()
		s, p = w.join("c", "A")
		d := p.delivery(t, r.ID, 1)
		if d.Attempts != want.attempts || d.Lost != want.lost {
			t.Errorf("crash %d: attempts %d lost %d, want %+v", i, d.Attempts, d.Lost, want)
		}
		if i%2 == 1 {
			if _, err := s.Begin(engine.Attempt{ID: r.ID, Step: 1, N: d.Attempts + 1}, engine.Attempt{}, nil); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// What nobody hosted cannot have begun.
func TestUnhostedDoesNotCountAsBegun(t *testing.T) {
	w := newWorld(t, "durability=process&cycle=64KiB")
	s, _ := w.join("c", "A")
	r := tell(s, "B", "1")
	w.send(s, engine.Attempt{}, r)
	w.crash()
	_, p := w.join("c", "B")
	if d := p.delivery(t, r.ID, 1); d.Attempts != 0 || d.Lost != 0 {
		t.Errorf("%+v", d)
	}
}

func TestLeaveHandsOver(t *testing.T) {
	w := newWorld(t, "durability=process&cycle=64KiB")
	a, pa := w.join("a", "A")
	r := call(a, "A", "1")
	w.send(a, engine.Attempt{}, r)
	pa.delivery(t, r.ID, 1)
	_, pb := w.join("b", "A")
	if err := a.Leave(t.Context()); err != nil {
		t.Fatal(err)
	}
	if d := pb.delivery(t, r.ID, 1); d.Lost != 0 || d.Attempts != 1 {
		t.Errorf("%+v", d)
	}
	if _, err := a.Send(engine.Attempt{}, &engine.Effects{Requests: []*engine.Request{tell(a, "A", "1")}}); engine.CodeOf(err) != engine.ErrFenced {
		t.Errorf("sent after it left: %v", err)
	}
}

func TestManyLossesAreSplit(t *testing.T) {
	l := &losses{sessions: []uint64{7}, left: true}
	for i := range 2*lossesPerRecord + 5 {
		l.counted = append(l.counted, count{id: engine.ID{Hi: 1, Lo: uint64(i)}})
		if i < 10 {
			l.orphans = append(l.orphans, engine.ID{Hi: 2, Lo: uint64(i)})
		}
	}
	parts := l.split()
	counted, orphans := 0, 0
	for i, p := range parts {
		counted, orphans = counted+len(p.counted), orphans+len(p.orphans)
		if last := i == len(parts)-1; last != (len(p.sessions) > 0) || !p.left {
			t.Errorf("part %d ends %v", i, p.sessions)
		}
	}
	if len(parts) != 3 || counted != 2*lossesPerRecord+5 || orphans != 10 {
		t.Errorf("%d parts, %d and %d", len(parts), counted, orphans)
	}
}
