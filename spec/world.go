package spec

import (
	"fmt"
	"slices"
)

// World is a state with its history, every step of it judged by all
// properties: what an explorer clones and a trace checker feeds. Not safe for
// concurrent use.
type World struct {
	State   *State
	History *History
	// Properties are those that Do judges by; NewWorld sets all of them.
	Properties []Property
}

// NewWorld gives an empty world.
func NewWorld(mutants Mutants) *World {
	return &World{State: &State{Mutants: mutants}, History: &History{}, Properties: Properties()}
}

// Clone copies the world.
func (w *World) Clone() *World {
	return &World{w.State.Clone(), w.History.Clone(), w.Properties}
}

// Violation is the error for a property that does not hold.
type Violation struct {
	Property Property
	Detail   string
}

// Error gives "property NUMBER (NAME): DETAIL".
func (v *Violation) Error() string {
	return fmt.Sprintf("property %d (%s): %s", v.Property.Number, v.Property.Name, v.Detail)
}

// Moment is an event with what it met and what it did. State and History are
// as they are after it; the other fields say how things stood before.
type Moment struct {
	Event   *Event
	State   *State
	History *History
	Record  *Record // what the event changed in F and S

	Was      Process // the process that acted
	Acts     bool    // there was one
	Asked    Message // the request in F that the event is about
	Answered Value   // the response in F that the event is about
	Under    []Write // the unrecorded writes of those that a begin re-enters

	Life  Life // the invocation that the event is about
	Lived bool // it had not ended
	Final Final
	Ended bool // it had ended, by Final
}

// Do applies an event and judges what it did. It returns a *Refusal when the
// rule's condition does not hold, and nothing has changed; a *Violation when
// the rules let through what a property forbids.
func (w *World) Do(e *Event) error {
	m := w.before(e)
	if err := w.State.Apply(e); err != nil {
		return err
	}
	m.Record = w.State.Record()
	w.History.observe(&m)
	for _, p := range w.Properties {
		if detail := p.Check(&m); detail != "" {
			return &Violation{p, detail}
		}
	}
	return nil
}

// before notes how things stand before an event.
func (w *World) before(e *Event) Moment {
	m := Moment{Event: e, State: w.State, History: w.History}
	i := e.Of()
	if p := w.State.Process(e.By); p != nil {
		m.Was, m.Acts = *p, true
	}
	if q := w.State.Request(i); q != nil {
		m.Asked = *q
	}
	if r := w.State.Response(e.ID); r != nil {
		m.Answered = r.Value
	}
	if l := w.History.Life(i); l != nil {
		m.Life, m.Lived = *l, true
	}
	m.Final, m.Ended = w.History.Ended[i]
	if e.Rule == RuleBegin {
		for at := range w.State.E {
			if p := &w.State.E[at]; p.Actor == m.Asked.Actor && !p.Zombie {
				m.Under = append(m.Under, p.Writes...)
			}
		}
	}
	return m
}

// outcome is what an invocation that has ended by this event has come to.
func (m *Moment) outcome() Value {
	if m.Asked.Decided {
		return m.Asked.Verdict
	}
	return m.Event.Value
}

// sent gives the request of an invocation that this event put into F.
func (m *Moment) sent(i ID) *Message {
	for at := range m.Record.Sent {
		if q := &m.Record.Sent[at]; q.ID == i && !q.Response {
			return q
		}
	}
	return nil
}

// touches reports whether the event changed the requests in F for an actor, or
// who has it.
func (m *Moment) touches(a Actor) bool {
	on := func(q Message) bool { return q.Actor == a }
	return m.Asked.Actor == a || slices.ContainsFunc(m.Record.Removed, on) || slices.ContainsFunc(m.Record.Sent, on)
}
