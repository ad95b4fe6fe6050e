package spec

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// flowOf builds a state from requests "id actor caller", "-" for no caller.
func flowOf(requests ...string) *State {
	s := &State{}
	for _, r := range requests {
		var i, a, caller string
		if _, err := fmt.Sscan(r, &i, &a, &caller); err != nil {
			panic(err)
		}
		m := Message{ID: ID(i), Actor: Actor(a), Step: 1}
		if caller != "-" {
			m.Kind, m.Return = Nested, ID(caller)
		}
		s.F = append(s.F, m)
	}
	return s
}

func TestLeftmost(t *testing.T) {
	s := flowOf("i a -", "j b -", "k a -")
	if h := s.Leftmost("a"); h == nil || h.ID != "i" {
		t.Fatalf("leftmost of a is %v, want i", h)
	}
	if h := s.Leftmost("c"); h != nil {
		t.Fatalf("leftmost of c is %v, want none", h)
	}
	s.F[0].Response = true
	if h := s.Leftmost("a"); h.ID != "k" {
		t.Fatalf("a response is leftmost")
	}
}

func TestHeld(t *testing.T) {
	for _, c := range []struct {
		name string
		f    []string
		want []ID
	}{
		{"nothing", nil, nil},
		{"one holds, one waits", []string{"i a -", "j a -"}, []ID{"i"}},
		{"a callback is in the chain", []string{"i a -", "j a -", "k b i", "cb a k"}, []ID{"i", "cb"}},
		{"a callback of a callback", []string{"i a -", "k b i", "cb a k", "l c cb", "cc a l"}, []ID{"i", "cb", "cc"}},
		{"of two siblings' callbacks the oldest", []string{"i a -", "k b i", "l c i", "cb a k", "cc a l"}, []ID{"i", "cb"}},
		{"an ancestor that is not on the actor", []string{"i b -", "k a i", "l a i"}, []ID{"k"}},
	} {
		if got := flowOf(c.f...).Held("a"); !slices.Equal(got, c.want) {
			t.Errorf("%s: held is %v, want %v", c.name, got, c.want)
		}
	}
	s := flowOf("i a -", "j a -")
	s.Parked = []Message{{ID: "p", Actor: "a", InPlace: true}}
	if got := s.Held("a"); got != nil {
		t.Errorf("a parked step keeps its actor, and held is %v", got)
	}
}

func TestRunnable(t *testing.T) {
	s := flowOf("i a -", "j a -", "k b i", "cb a k", "q c -")
	for i, want := range map[ID]bool{
		"i":  false, // it waits for k
		"j":  false, // behind i
		"k":  false, // it waits for cb
		"cb": true,  // in the chain of a
		"q":  true,
		"x":  false, // not there
	} {
		if got := s.Runnable(i); got != want {
			t.Errorf("runnable(%s) is %v, want %v", i, got, want)
		}
	}
	s.E = []Process{{Attempt: Attempt{"i", 1, 1}, Actor: "a"}}
	if s.Runnable("cb") {
		t.Error("cb may run beside i, which does not wait")
	}
	s.E[0].Waits = []ID{"k"}
	if !s.Runnable("cb") {
		t.Error("cb may not run while i waits")
	}
	s.E[0].Waits, s.E[0].Zombie = nil, true
	if !s.Runnable("cb") {
		t.Error("a zombie keeps cb from running")
	}
}

func TestJoined(t *testing.T) {
	s := flowOf("i a -", "k b i")
	if s.Joined("i") || !s.Joined("k") {
		t.Error("i has k out, k has nothing out")
	}
	s.F[1].Response = true
	if s.Joined("i") {
		t.Error("a response is unread")
	}
	s.F = s.F[:1]
	if !s.Joined("i") {
		t.Error("i has nothing out")
	}
}

func TestPreemptable(t *testing.T) {
	s := flowOf("i a -", "k b i", "l c k")
	s.F[1].Sender, s.F[2].Sender = Attempt{"i", 1, 1}, Attempt{"k", 1, 1}
	s.E = []Process{{Attempt: Attempt{"i", 1, 1}, Actor: "a"}, {Attempt: Attempt{"k", 1, 1}, Actor: "b"}}
	if s.Preemptable("i") || s.Preemptable("k") || s.Preemptable("l") {
		t.Error("all callers live")
	}
	s.E[0].Zombie = true
	if s.Preemptable("i") || !s.Preemptable("k") || !s.Preemptable("l") {
		t.Error("k's caller has failed, l's is preemptable")
	}
}

func TestDeadlock(t *testing.T) {
	for _, c := range []struct {
		name string
		f    []string
		want ID // the victim
	}{
		{"two calls cross", []string{"i a -", "j b -", "k b i", "l a j"}, "l"},
		{"a callback does not wait for its ancestor", []string{"i a -", "k b i", "cb a k"}, ""},
		{"a line is no deadlock", []string{"i a -", "j a -", "k a -"}, ""},
		{"siblings' callbacks in a line", []string{"i a -", "k b i", "l c i", "cb a k", "cc a l"}, ""},
	} {
		s := flowOf(c.f...)
		cycle := s.Deadlock()
		if got, _ := s.Victim(cycle); got != c.want {
			t.Errorf("%s: the cycle is %v, the victim %q, want %q", c.name, cycle, got, c.want)
		}
	}
	s := flowOf("i a -", "j b -", "k b i", "l a j")
	for at := range s.F {
		s.F[at].Step = 2
	}
	if i, rule := s.Victim(s.Deadlock()); i != "l" || rule != RulePark {
		t.Errorf("of later steps %s is to %s, want l to be parked", i, rule)
	}
}

// TestIndex: a long flow is searched by an index; it must find what a search
// of the list finds.
func TestIndex(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := &State{}
		next := 0
		for range rapid.IntRange(1, 4*indexed).Draw(t, "events") {
			switch k := rapid.IntRange(0, 5).Draw(t, "what"); {
			case k < 4 || len(s.F) == 0:
				next++
				s.append(Message{ID: ID(fmt.Sprint(next)), Response: k == 3})
			case k == 4:
				s.remove(&s.F[rapid.IntRange(0, len(s.F)-1).Draw(t, "at")])
			default:
				s.insert(Message{ID: ID(fmt.Sprint(next + 1000))})
				next++
			}
			for i := range next + 1 {
				id := ID(fmt.Sprint(i))
				at := slices.IndexFunc(s.F, func(m Message) bool { return m.ID == id && !m.Response })
				got := s.Request(id)
				if at < 0 && got != nil || at >= 0 && got != &s.F[at] {
					t.Fatalf("of %d messages, request %s is at %d, and Request gives %v", len(s.F), id, at, got)
				}
			}
		}
	})
}
