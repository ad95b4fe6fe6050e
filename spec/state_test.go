package spec

import (
	"errors"
	"strings"
	"testing"
)

// TestClone: what happens to a copy does not happen to the original.
func TestClone(t *testing.T) {
	s := newScene(t, 0)
	x := at("i", 1, 1)
	s.do(send("i", "a"), begin(x), step(x, "a", "1"), call(x, "k", "b"), begin(at("k", 1, 1)), step(at("k", 1, 1), "b", "2"))
	before := string(s.AppendKey(nil))
	c := &scene{t, s.Clone()}
	if string(c.AppendKey(nil)) != before {
		t.Fatal("the copy differs")
	}
	c.do(end(at("k", 1, 1), "v"), wait(x, "k"), back(x, "k"), step(x, "a", "3"), end(x, "w"), on(RuleRelease, "i"))
	if string(s.AppendKey(nil)) != before {
		t.Fatal("the original has changed with the copy")
	}
	s.do(failure("a"))
	s.state("b", "")
	c.state("b", "2")
}

// TestKey: the order of requests for different actors does not count, that of
// requests for one actor does.
func TestKey(t *testing.T) {
	key := func(events ...Event) string {
		s := newScene(t, 0)
		s.do(events...)
		return string(s.AppendKey(nil))
	}
	if key(send("i", "a"), send("j", "b")) != key(send("j", "b"), send("i", "a")) {
		t.Error("requests for two actors in another order are another state")
	}
	if key(send("i", "a"), send("j", "a")) == key(send("j", "a"), send("i", "a")) {
		t.Error("requests for one actor in another order are the same state")
	}
	x := at("i", 1, 1)
	if key(send("i", "a"), begin(x)) == key(send("i", "a"), begin(x), failure("a")) {
		t.Error("a zombie is as good as alive")
	}
}

func TestMutantNames(t *testing.T) {
	for _, m := range AllMutants() {
		got, err := ParseMutant(m.String())
		if err != nil || got != m {
			t.Errorf("ParseMutant(%s) = %v, %v", m, got, err)
		}
	}
	if m, err := ParseMutant("none"); m != 0 || err != nil || m.String() != "none" {
		t.Errorf("ParseMutant(none) = %v, %v", m, err)
	}
	if _, err := ParseMutant("no-such"); err == nil || !strings.Contains(err.Error(), "papers-cancel") {
		t.Errorf("the error does not list the mutants: %v", err)
	}
	if got := (PapersCancel | EndWithoutJoin).String(); got != "papers-cancel+end-without-join" {
		t.Errorf("two mutants are named %q", got)
	}
}

func TestErrors(t *testing.T) {
	s := newScene(t, 0)
	e := begin(at("i", 1, 1))
	if got, want := s.Do(&e).Error(), "begin i: no request of this id is in F"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	unknown := Event{Rule: "leap", ID: "i"}
	err := s.Do(&unknown)
	if r := (*Refusal)(nil); err == nil || errors.As(err, &r) {
		t.Errorf("a rule that does not exist: %v", err)
	}
	v := Violation{Properties()[6], "detail"}
	if got, want := v.Error(), "property 7 (fencing): detail"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestForceOverACallback: what a forced invocation has called is joined by its
// caller, and what of it is on its own actor comes next there.
func TestForceOverACallback(t *testing.T) {
	s := newScene(t, 0)
	x, k, cb := at("i", 1, 1), at("k", 1, 1), at("cb", 1, 1)
	s.do(send("i", "a"), begin(x), call(x, "k", "b"), wait(x, "k"), begin(k), send("j", "b"))
	s.do(call(k, "l", "c"), begin(at("l", 1, 1)), call(at("l", 1, 1), "cb", "b"), wait(k, "l"), begin(cb), on(RuleForce, "k"))
	s.flow("i a.m", "k b.m", "cb b.m", "j b.m", "l c.m", "k=operator")
	s.do(back(x, "k"))
	s.refused(end(x, "v"), NotJoined) // l and cb still run
	s.do(by(RuleGone, k))
	s.refused(begin(at("j", 1, 1)), NotRunnable)
	s.do(end(cb, "v"), begin(at("j", 1, 1)))
}
