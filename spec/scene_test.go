package spec

import (
	"errors"
	"testing"
)

// scene drives a world event by event.
type scene struct {
	t *testing.T
	*World
}

func newScene(t *testing.T, mutants Mutants) *scene {
	t.Helper()
	return &scene{t, NewWorld(mutants)}
}

// do applies events that must be allowed.
func (s *scene) do(events ...Event) {
	s.t.Helper()
	for at := range events {
		if err := s.Do(&events[at]); err != nil {
			s.t.Fatalf("event %d: %v", at, err)
		}
	}
}

// refused applies an event that must be refused for the condition.
func (s *scene) refused(e Event, want Condition) {
	s.t.Helper()
	before := string(s.AppendKey(nil))
	err := s.Do(&e)
	var r *Refusal
	if !errors.As(err, &r) {
		s.t.Fatalf("%s of %s: %v, want a refusal: %s", e.Rule, e.Of(), err, want)
	}
	if r.Condition != want {
		s.t.Fatalf("refused with %v, want: %s", r, want)
	}
	if string(s.AppendKey(nil)) != before {
		s.t.Fatalf("%s was refused and changed the state", e.Rule)
	}
}

// violates applies an event that must violate the property.
func (s *scene) violates(e Event, property int) {
	s.t.Helper()
	err := s.Do(&e)
	var v *Violation
	if !errors.As(err, &v) || v.Property.Number != property {
		s.t.Fatalf("%s of %s: %v, want a violation of property %d", e.Rule, e.Of(), err, property)
	}
}

// flow checks F, messages written as by show.
func (s *scene) flow(want ...string) {
	s.t.Helper()
	var got []string
	for _, m := range s.State.F {
		got = append(got, show(m))
	}
	if len(got) != len(want) {
		s.t.Fatalf("F is %q, want %q", got, want)
	}
	for at := range got {
		if got[at] != want[at] {
			s.t.Fatalf("F is %q, want %q", got, want)
		}
	}
}

// show writes a message: "i a.m", "i=v" for a response.
func show(m Message) string {
	if m.Response {
		return string(m.ID) + "=" + string(m.Value)
	}
	return string(m.ID) + " " + string(m.Actor) + "." + m.Method
}

// state checks the recorded state of an actor.
func (s *scene) state(a Actor, want Value) {
	s.t.Helper()
	if got := s.State.S[Cell{a, ""}]; got != want {
		s.t.Fatalf("S(%s) is %q, want %q", a, got, want)
	}
}

// Events. An attempt is written at(i, step, n).

func at(i ID, step, n int) Attempt { return Attempt{i, step, n} }

func send(i ID, a Actor) Event {
	return Event{Rule: RuleSend, Msg: Message{ID: i, Kind: Call, Return: "client", Actor: a, Method: "m"}}
}

func drop(i ID, a Actor) Event {
	return Event{Rule: RuleSend, Msg: Message{ID: i, Actor: a, Method: "m"}}
}

func begin(x Attempt) Event { return Event{Rule: RuleBegin, By: x} }

func call(x Attempt, i ID, a Actor) Event {
	return Event{Rule: RuleCall, By: x, Msg: Message{ID: i, Kind: Nested, Return: x.ID, Sender: x, Actor: a, Method: "m"}}
}

func callOnce(x Attempt, i ID, a Actor) Event {
	e := call(x, i, a)
	e.Rule, e.Msg.Once = RuleCallOnce, true
	return e
}

func wait(x Attempt, ids ...ID) Event { return Event{Rule: RuleWait, By: x, Waits: ids} }

func back(x Attempt, i ID) Event { return Event{Rule: RuleReturn, By: x, ID: i} }

func tell(x Attempt, i ID, a Actor, when When) Event {
	return Event{Rule: RuleTell, By: x, When: when, Msg: Message{ID: i, Sender: x, Actor: a, Method: "m"}}
}

func step(x Attempt, a Actor, v Value) Event {
	return Event{Rule: RuleStep, By: x, Writes: []Write{{Cell{a, ""}, v}}}
}

func end(x Attempt, v Value) Event { return Event{Rule: RuleEnd, By: x, Value: v} }

func fails(x Attempt, v Value) Event { return Event{Rule: RuleEnd, By: x, Value: v, Failed: true} }

func tailOther(x Attempt, a Actor) Event {
	return Event{Rule: RuleTailOther, By: x, Msg: Message{Actor: a, Method: "next"}}
}

func tailSelf(x Attempt) Event {
	return Event{Rule: RuleTailSelf, By: x, Msg: Message{Method: "next"}}
}

func failure(actors ...Actor) Event { return Event{Rule: RuleFailure, Actors: actors} }

func by(r Rule, x Attempt) Event { return Event{Rule: r, By: x} }

func on(r Rule, i ID) Event { return Event{Rule: r, ID: i, Value: "operator"} }
