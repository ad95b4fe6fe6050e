package journal

import (
	"errors"
	"testing"

	"github.com/pawl-go/pawl/spec"
)

// scene drives a machine.
type scene struct {
	t *testing.T
	*Machine
}

func (s scene) do(events ...spec.Event) {
	s.t.Helper()
	for at := range events {
		if err := s.Do(&events[at]); err != nil {
			s.t.Fatalf("event %d: %v", at, err)
		}
	}
}

func (s scene) early(e spec.Event) {
	s.t.Helper()
	var r *spec.Refusal
	if err := s.Do(&e); !errors.As(err, &r) || r.Condition != NotCommitted {
		s.t.Fatalf("%s of %s: %v, want: %s", e.Rule, e.Of(), err, NotCommitted)
	}
}

func (s scene) commitAll() {
	for s.Uncommitted() > 0 {
		s.Commit()
	}
}

func (s scene) crash(keep int) {
	s.t.Helper()
	if err := s.Crash(keep); err != nil {
		s.t.Fatalf("crash: %v", err)
	}
}

func send(i spec.ID, a spec.Actor) spec.Event {
	return spec.Event{Rule: spec.RuleSend, Msg: spec.Message{ID: i, Kind: spec.Call, Return: "client", Actor: a, Method: "m"}}
}

func begin(i spec.ID, n int) spec.Event { return of(spec.RuleBegin, i, n) }

func of(r spec.Rule, i spec.ID, n int) spec.Event {
	return spec.Event{Rule: r, By: spec.Attempt{ID: i, Step: 1, N: n}}
}

func call(by spec.ID, n int, i spec.ID, a spec.Actor) spec.Event {
	e := of(spec.RuleCall, by, n)
	e.Msg = spec.Message{ID: i, Kind: spec.Nested, Return: by, Sender: e.By, Actor: a, Method: "m"}
	return e
}

func tell(by, i spec.ID, a spec.Actor) spec.Event {
	e := of(spec.RuleTell, by, 1)
	e.When, e.Msg = spec.Immediately, spec.Message{ID: i, Sender: e.By, Actor: a, Method: "m"}
	return e
}

func write(i spec.ID, a spec.Actor, v spec.Value) spec.Event {
	e := of(spec.RuleStep, i, 1)
	e.Writes = []spec.Write{{Cell: spec.Cell{Actor: a}, Value: v}}
	return e
}

func end(i spec.ID, n int) spec.Event {
	e := of(spec.RuleEnd, i, n)
	e.Value = "v"
	return e
}

func release(i spec.ID) spec.Event { return spec.Event{Rule: spec.RuleRelease, ID: i} }

// TestEdges: what waits for the commit index, and what does not.
func TestEdges(t *testing.T) {
	s := scene{t, New(0)}
	s.do(send("i", "a"))
	s.early(begin("i", 1))
	s.commitAll()
	s.do(begin("i", 1), tell("i", "t", "b"), call("i", 1, "k", "c"))
	s.early(begin("t", 1))
	s.do(begin("k", 1), end("k", 1)) // a nested call begins and returns at once
	s.do(spec.Event{Rule: spec.RuleWait, By: spec.Attempt{ID: "i", Step: 1, N: 1}, Waits: []spec.ID{"k"}})
	back := of(spec.RuleReturn, "i", 1)
	back.ID = "k"
	s.do(back, end("i", 1))
	s.early(release("i"))
	s.commitAll()
	s.do(release("i"), begin("t", 1))
}

// TestEdgesOutside: in another process a nested call waits too, and so does a
// begin behind an outcome on its actor.
func TestEdgesOutside(t *testing.T) {
	s := scene{t, New(0, "b")}
	s.do(send("i", "a"), send("j", "b"), send("l", "b"))
	s.commitAll()
	s.do(begin("i", 1), call("i", 1, "k", "c"), begin("k", 1), begin("j", 1), end("j", 1))
	s.early(begin("l", 1))
	s.commitAll()
	s.do(begin("l", 1))
}

// TestCrash: what is cut is undone; what began at once is lost with its caller.
func TestCrash(t *testing.T) {
	s := scene{t, New(0)}
	s.do(send("i", "a"))
	s.commitAll()
	s.do(begin("i", 1), call("i", 1, "k", "b"), begin("k", 1), write("k", "b", "1"), end("k", 1))
	s.crash(1) // the call stays, the end of the callee is cut
	if s.World.State.Request("k") == nil || len(s.World.State.S) != 0 {
		t.Fatalf("F is %v, S is %v", s.World.State.F, s.World.State.S)
	}
	s.do(begin("k", 2), end("k", 2), spec.Event{Rule: spec.RuleForget, ID: "k"}, begin("i", 2))
	s.crash(0)
	if s.World.State.Request("k") == nil {
		t.Fatal("what was committed before the second attempt is lost")
	}
}

// TestCrashOutside: an attempt in another process lives on, unless something of
// it is cut.
func TestCrashOutside(t *testing.T) {
	for _, keep := range []int{0, 1} {
		s := scene{t, New(0, "b")}
		s.do(send("j", "b"))
		s.commitAll()
		s.do(begin("j", 1), tell("j", "t", "c"))
		s.crash(keep)
		if lives := s.World.State.Live("j") != nil; lives != (keep == 1) {
			t.Errorf("with %d of 1 records kept the attempt lives: %v", keep, lives)
		}
	}
}

// TestRefutedCrash: what has been seen cannot be left out.
func TestRefutedCrash(t *testing.T) {
	s := scene{t, New(TellBegunBeforeCommit)}
	s.do(send("i", "a"), begin("i", 1))
	err := s.Crash(0)
	if r := new(Refuted); !errors.As(err, &r) || r.Event.Rule != spec.RuleBegin {
		t.Fatalf("got %v, want the begin refuted", err)
	}
}
