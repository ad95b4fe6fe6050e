package spec

import (
	"slices"
	"testing"
)

// only keeps one property, so that a test sees that one fail and no other.
func (s *scene) only(number int) {
	s.Properties = slices.DeleteFunc(Properties(), func(p Property) bool { return p.Number != number })
}

// Each property is broken on purpose: by a mutant, or by a hand that reaches
// into the state behind the rules' backs.
func TestEveryPropertyCanFail(t *testing.T) {
	broken := map[int]func(*scene){
		1: func(s *scene) {
			s.do(send("i", "a"), begin(at("i", 1, 1)))
			gone := &scene{s.t, s.Clone()}
			gone.State.F = nil
			gone.violates(send("j", "a"), 1) // its request is lost
			s.State.F = append([]Message{{ID: "j", Actor: "a", Step: 1}}, s.State.F...)
			s.violates(send("k", "a"), 1) // another one is leftmost
		},
		2: func(s *scene) {
			s.State.Mutants = CompletionForgotten
			s.do(send("i", "a"), begin(at("i", 1, 1)), end(at("i", 1, 1), "v"))
			again := &scene{s.t, s.Clone()}
			again.violates(begin(at("i", 1, 2)), 2)
			twice := &scene{s.t, s.Clone()}
			twice.violates(on(RuleAnswer, "i"), 2)
			s.State.Response("i").Value = "w"
			s.violates(on(RuleRelease, "i"), 2)
		},
		3: func(s *scene) {
			s.do(send("i", "a"), begin(at("i", 1, 1)))
			s.State.E = nil
			s.violates(begin(at("i", 1, 2)), 3)
		},
		4: func(s *scene) {
			s.State.Mutants = WaitForOneCallee
			x := at("i", 1, 1)
			s.do(send("i", "a"), begin(x), call(x, "k", "b"), call(x, "l", "c"), begin(at("k", 1, 1)), failure("a"))
			s.do(end(at("k", 1, 1), "v"))
			s.violates(begin(at("i", 1, 2)), 4)
		},
		5: func(s *scene) {
			x, y := at("i", 1, 1), at("j", 1, 1)
			s.do(send("i", "a"), send("j", "a"), begin(x), call(x, "k", "b"), wait(x, "k"))
			slices.Reverse(s.State.F)
			other := &scene{s.t, s.Clone()}
			other.violates(begin(y), 5) // j begins, i has the actor
			s.State.E = append(s.State.E, Process{Attempt: y, Actor: "a"})
			s.State.Process(x).Waits = nil
			s.violates(step(y, "a", "1"), 5) // both run
		},
		6: func(s *scene) {
			s.do(send("i", "a"), send("j", "a"))
			slices.Reverse(s.State.F)
			s.violates(begin(at("j", 1, 1)), 6)
		},
		7: func(s *scene) {
			s.State.Mutants = FencedWriteAccepted
			x := at("i", 1, 1)
			s.do(send("i", "a"), begin(x), step(x, "a", "1"), failure("a"))
			s.violates(by(RuleSync, x), 7)
		},
		8: func(s *scene) {
			s.do(send("i", "a"))
			e := on(RuleForget, "i")
			m := Moment{Event: &e, State: &State{}, History: s.History, Record: &Record{Removed: s.State.F}}
			if NothingLost(&m) == "" {
				s.t.Error("property 8 allows that a request is forgotten")
			}
		},
		9: func(s *scene) {
			x := at("i", 1, 1)
			s.do(send("i", "a"), begin(x), step(x, "a", "1"), tell(x, "t", "b", WithNext))
			for _, part := range []struct {
				event  Event
				record Record
			}{
				{end(x, "v"), Record{}},
				{fails(x, "v"), Record{Writes: s.State.Process(x).Writes}},
				{by(RuleRetry, x), Record{Sent: s.State.Process(x).Held}},
				{failure("a"), Record{Writes: s.State.Process(x).Writes}},
				{call(x, "k", "b"), Record{Sent: []Message{{ID: "k", Kind: Nested}}}},
			} {
				m := Moment{Event: &part.event, Record: &part.record, Was: *s.State.Process(x)}
				if AllOrNone(&m) == "" {
					s.t.Errorf("property 9 allows that %s records %+v", part.event.Rule, part.record)
				}
			}
		},
		10: func(s *scene) {
			x, k := at("i", 1, 1), at("k", 1, 1)
			s.do(send("i", "a"), begin(x), step(x, "a", "1"))
			s.do(call(x, "k", "b"), wait(x, "k"), begin(k), call(k, "cb", "a"))
			s.State.Mutants = NoFlushAtReentry
			again := &scene{s.t, s.Clone()}
			again.violates(begin(at("cb", 1, 1)), 10)
			s.State.Mutants = 0
			s.do(begin(at("cb", 1, 1)))
			s.violates(Event{Rule: RuleRead, By: at("cb", 1, 1), Value: "what was before"}, 10)
		},
		11: func(s *scene) {
			s.State.Mutants = PapersCancel
			x, k := at("i", 1, 1), at("k", 1, 1)
			s.do(send("i", "a"), begin(x), call(x, "k", "b"), begin(k), tailOther(k, "c"), failure("a"))
			s.violates(on(RuleCancel, "k"), 11)
		},
		12: func(s *scene) {
			s.State.Mutants = CompletionForgotten
			s.do(send("i", "a"), begin(at("i", 1, 1)), end(at("i", 1, 1), "v"), on(RuleRelease, "i"))
			s.violates(on(RuleAnswer, "i"), 12)
		},
	}
	for _, p := range Properties() {
		t.Run(p.Name, func(t *testing.T) {
			s := newScene(t, 0)
			s.only(p.Number)
			broken[p.Number](s)
		})
	}
}

// TestSettled: a maximal path leaves no request, but for what an operator has
// been left.
func TestSettled(t *testing.T) {
	s := newScene(t, 0)
	s.do(send("i", "a"))
	if Settled(s.State) == "" {
		t.Fatal("a request in F is no end")
	}
	x, y := at("i", 1, 1), at("i", 2, 1)
	s.do(begin(x), tailSelf(x), begin(y), failure("a"), on(RulePark, "i"), send("j", "a"))
	if got := Settled(s.State); got != "" {
		t.Fatalf("j waits for an operator: %s", got)
	}
	s.do(on(RuleSkip, "i"), begin(at("j", 1, 1)), end(at("j", 1, 1), ""), on(RuleRelease, "j"), on(RuleRelease, "i"))
	if got := Settled(s.State); got != "" {
		t.Fatal(got)
	}
}

// TestCancelOfATell: only what nobody knows of may be cancelled.
func TestCancelOfATell(t *testing.T) {
	e := on(RuleCancel, "t")
	m := Moment{Event: &e, State: &State{}, History: &History{}, Record: &Record{}, Life: Life{ID: "t", Kind: Tell}, Lived: true}
	if NothingLost(&m) == "" {
		t.Fatal("a tell was cancelled")
	}
}
