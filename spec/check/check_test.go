package check

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/pawl-go/pawl/engine/trace"
	"github.com/pawl-go/pawl/spec"
)

// story is a trace in the making: one component, session 1, unless said.
type story struct {
	events []trace.Event
	at     uint64
	commit bool // each record counts at once, by an event
}

func tell(lines ...func(*story)) []trace.Event {
	s := &story{commit: true}
	for _, l := range append([]func(*story){opens(0), joins(1)}, lines...) {
		l(s)
	}
	return s.events
}

func (s *story) add(es ...trace.Event) {
	if es[0].Kind.Record() {
		s.at++
	}
	for i := range es {
		if es[i].Kind.Record() {
			es[i].At = s.at
			es[i].More = i < len(es)-1
		}
		engines := es[i].Kind == trace.Epoch || es[i].Kind == trace.Counted || es[i].Kind == trace.Cancel
		if es[i].Session == 0 && !engines {
			es[i].Session = 1
		}
	}
	s.events = append(s.events, es...)
	if s.commit && es[0].Kind.Record() {
		s.events = append(s.events, trace.Event{Kind: trace.Commit, At: s.at})
	}
}

func event(es ...trace.Event) func(*story) { return func(s *story) { s.add(es...) } }

func opens(at uint64) func(*story) {
	return func(s *story) {
		s.events = append(s.events, trace.Event{Kind: trace.Open, At: at})
		s.at = at
		s.add(trace.Event{Kind: trace.Epoch, Epoch: 1})
	}
}

func lazily(s *story) { s.commit = false }

func joins(session uint64) func(*story) {
	return event(trace.Event{Kind: trace.Join, Session: session})
}

func fails(session uint64, more ...trace.Event) func(*story) {
	return event(append([]trace.Event{{Kind: trace.Fail, Session: session}}, more...)...)
}

// attempt parses "i.step#n".
func try(s string) trace.Attempt {
	var a trace.Attempt
	id, rest, _ := strings.Cut(s, ".")
	a.ID = id
	if _, err := fmt.Sscanf(rest, "%d#%d", &a.Step, &a.N); err != nil {
		panic(s)
	}
	return a
}

func asks(id, actor string) func(*story) {
	return event(trace.Event{Kind: trace.Send, Attempt: trace.Attempt{ID: id, Step: 1}, Actor: actor, Method: "m", Form: trace.FormCall})
}

func calls(by, id, actor string) func(*story) {
	return event(trace.Event{
		Kind: trace.Send, Attempt: trace.Attempt{ID: id, Step: 1}, Actor: actor, Method: "m", Form: trace.FormNested,
		By: try(by), Caller: try(by).ID,
	})
}

func sends(by, id, actor string) trace.Event {
	return trace.Event{
		Kind: trace.Send, Attempt: trace.Attempt{ID: id, Step: 1}, Actor: actor, Method: "m", Form: trace.FormTell, By: try(by),
	}
}

func of(kind trace.Kind, a, actor string) trace.Event {
	return trace.Event{Kind: kind, Attempt: try(a), Actor: actor, Method: "m"}
}

func begins(a, actor string) func(*story) { return event(of(trace.Begin, a, actor)) }

func beginsOn(session uint64, a, actor string) func(*story) {
	e := of(trace.Begin, a, actor)
	e.Session = session
	return event(e)
}

func waits(a, actor, callee string) func(*story) {
	e := of(trace.Wait, a, actor)
	e.Callee = callee
	return event(e)
}

func returns(a, actor, callee, hash string) func(*story) {
	e := of(trace.Return, a, actor)
	e.Callee, e.Hash = callee, hash
	return event(e)
}

func outcomeOf(a, actor, hash string) trace.Event {
	e := of(trace.Outcome, a, actor)
	e.End, e.Hash = trace.EndValue, hash
	return e
}

func ends(a, actor, hash string) func(*story) { return event(outcomeOf(a, actor, hash)) }

func tails(a, actor, to string, inPlace bool) func(*story) {
	e := of(trace.Outcome, a, actor)
	e.End, e.To, e.ToMethod, e.InPlace = trace.EndTail, to, "m", inPlace
	return event(e)
}

func writes(a, actor, cell, hash string) trace.Event {
	return trace.Event{Kind: trace.Write, By: try(a), Actor: actor, Cells: []trace.Cell{{Cell: cell, Hash: hash}}}
}

func answers(id, hash string, at uint64) func(*story) {
	return event(trace.Event{Kind: trace.Release, Op: "answer", Attempt: trace.Attempt{ID: id}, Hash: hash, At: at})
}

func counted(id string, n uint32) trace.Event {
	return trace.Event{Kind: trace.Counted, Attempt: trace.Attempt{ID: id, N: n}}
}

func TestAllowed(t *testing.T) {
	for name, events := range map[string][]trace.Event{
		"a call": tell(asks("i", "A/a"), begins("i.1#1", "A/a"), ends("i.1#1", "A/a", "v"), answers("i", "v", 4)),
		"a nested call, and a callback": tell(asks("i", "A/a"), begins("i.1#1", "A/a"),
			calls("i.1#1", "j", "B/b"), begins("j.1#1", "B/b"), waits("i.1#1", "A/a", "j"),
			calls("j.1#1", "k", "A/a"), waits("j.1#1", "B/b", "k"), begins("k.1#1", "A/a"), ends("k.1#1", "A/a", "1"),
			returns("j.1#1", "B/b", "k", "1"), ends("j.1#1", "B/b", "2"), returns("i.1#1", "A/a", "j", "2"),
			ends("i.1#1", "A/a", "3"), answers("i", "3", 8)),
		"the caller fails, and its retry waits for the callee": tell(joins(2), asks("i", "A/a"), begins("i.1#1", "A/a"),
			calls("i.1#1", "j", "B/b"), beginsOn(2, "j.1#1", "B/b"), waits("i.1#1", "A/a", "j"),
			fails(1, counted("i", 1)), joins(3),
			func(s *story) { e := outcomeOf("j.1#1", "B/b", "v"); e.Session = 2; s.add(e) },
			beginsOn(3, "i.1#2", "A/a")),
		"tail calls keep the lock or give it up": tell(asks("i", "A/a"), asks("x", "A/a"), begins("i.1#1", "A/a"),
			tails("i.1#1", "A/a", "A/a", true), begins("i.2#1", "A/a"), tails("i.2#1", "A/a", "B/b", false),
			begins("x.1#1", "A/a"), begins("i.3#1", "B/b"), ends("i.3#1", "B/b", "v")),
		"a retry that has not looked at what it has called": tell(asks("i", "A/a"), begins("i.1#1", "A/a"),
			calls("i.1#1", "j", "B/b"), begins("j.1#1", "B/b"), ends("j.1#1", "B/b", "1"),
			event(trace.Event{Kind: trace.Retry, Session: 1, Attempt: try("i.1#1"), Actor: "A/a"}),
			begins("i.1#2", "A/a"), ends("i.1#2", "A/a", "2")),
		"what was not committed is undone, and runs again": tell(asks("i", "A/a"), begins("i.1#1", "A/a"), lazily,
			event(writes("i.1#1", "A/a", "n", "1"), outcomeOf("i.1#1", "A/a", "v")), opens(3), joins(2),
			event(counted("i", 1)), event(trace.Event{Kind: trace.Commit, At: 6}),
			beginsOn(2, "i.1#2", "A/a"),
			event(trace.Event{Kind: trace.Load, Session: 2, Attempt: try("i.1#2"), Actor: "A/a"})),
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := Slice(events, Options{}); err != nil {
				t.Fatal(err)
			}
		})
	}
}

func TestRefused(t *testing.T) {
	write := writes("i.1#1", "A/a", "n", "1")
	for name, x := range map[string]struct {
		events    []trace.Event
		property  int
		condition spec.Condition // of the rule, if one refuses
	}{
		"two outcomes": {tell(asks("i", "A/a"), begins("i.1#1", "A/a"), ends("i.1#1", "A/a", "v"), begins("i.1#2", "A/a")), 0, spec.NoRequest},
		"not its turn": {tell(asks("x", "A/a"), asks("i", "A/a"), begins("i.1#1", "A/a")), 0, spec.NotRunnable},
		"a tell before its record counts": {tell(asks("i", "A/a"), begins("i.1#1", "A/a"), lazily,
			event(sends("i.1#1", "j", "B/b")), begins("j.1#1", "B/b")), 0, ""},
		"a strict type on state that does not count": {tell(asks("i", "A/a"), asks("j", "A/a"), begins("i.1#1", "A/a"), lazily,
			ends("i.1#1", "A/a", "v"), func(s *story) {
				e := of(trace.Begin, "j.1#1", "A/a")
				e.Strict = true
				s.add(e)
			}), 0, ""},
		"a retry before the failure is recorded": {tell(joins(2), asks("i", "A/a"), begins("i.1#1", "A/a"),
			beginsOn(2, "i.1#2", "A/a")), 0, spec.Running},
		"a retry before the failure counts": {tell(joins(2), asks("i", "A/a"), begins("i.1#1", "A/a"), lazily,
			fails(1, counted("i", 1)), beginsOn(2, "i.1#2", "A/a")), 0, ""},
		"a retry beside a callee": {tell(joins(2), asks("i", "A/a"), begins("i.1#1", "A/a"), calls("i.1#1", "j", "B/b"),
			beginsOn(2, "j.1#1", "B/b"), fails(1, counted("i", 1)), beginsOn(2, "i.1#2", "A/a")), 4, ""},
		"an end without its callees": {tell(asks("i", "A/a"), begins("i.1#1", "A/a"), calls("i.1#1", "j", "B/b"),
			ends("i.1#1", "A/a", "v")), 0, spec.NotJoined},
		"a record of a session that is over": {tell(asks("i", "A/a"), begins("i.1#1", "A/a"), fails(1, counted("i", 1)),
			ends("i.1#1", "A/a", "v")), 7, ""},
		"a chain is cut": {tell(joins(2), asks("i", "A/a"), begins("i.1#1", "A/a"), calls("i.1#1", "j", "B/b"), beginsOn(2, "j.1#1", "B/b"),
			func(s *story) { tails("j.1#1", "B/b", "C/c", false)(s) }, fails(1, counted("i", 1), trace.Event{Kind: trace.Cancel, Attempt: trace.Attempt{ID: "j"}})), 0, spec.HasBegun},
		"a begin on unrecorded writes": {tell(asks("i", "A/a"), begins("i.1#1", "A/a"), calls("i.1#1", "j", "A/a"), waits("i.1#1", "A/a", "j"),
			func(s *story) {
				e := of(trace.Begin, "j.1#1", "A/a")
				e.Under, e.Cells = try("i.1#1"), write.Cells
				s.add(e)
			}), 10, ""},
		"an error with writes": {tell(asks("i", "A/a"), begins("i.1#1", "A/a"), func(s *story) {
			e := outcomeOf("i.1#1", "A/a", "v")
			e.End = trace.EndError
			s.add(write, e)
		}), 9, ""},
		"a read of what is not recorded": {tell(asks("i", "A/a"), begins("i.1#1", "A/a"), event(write, outcomeOf("i.1#1", "A/a", "v")),
			asks("j", "A/a"), begins("j.1#1", "A/a"),
			event(trace.Event{Kind: trace.Load, Attempt: try("j.1#1"), Actor: "A/a", At: 5, Cells: []trace.Cell{{Cell: "n", Hash: "2"}}})), 10, ""},
		"an answer before its record counts": {tell(asks("i", "A/a"), begins("i.1#1", "A/a"), lazily, ends("i.1#1", "A/a", "v"), answers("i", "v", 4)), 12, ""},
		"another answer":                     {tell(asks("i", "A/a"), begins("i.1#1", "A/a"), ends("i.1#1", "A/a", "v"), answers("i", "w", 4)), 2, ""},
		"what counted is lost":               {tell(asks("i", "A/a"), begins("i.1#1", "A/a"), ends("i.1#1", "A/a", "v"), opens(3)), 8, ""},
		"the lock is lost by a tail call to self": {tell(asks("i", "A/a"), asks("x", "A/a"), begins("i.1#1", "A/a"),
			tails("i.1#1", "A/a", "A/a", true), begins("x.1#1", "A/a")), 0, spec.NotRunnable},
	} {
		t.Run(name, func(t *testing.T) {
			report, err := Slice(x.events, Options{})
			v, ok := errors.AsType[*Violation](err)
			if !ok {
				t.Fatalf("got %v, want a violation", err)
			}
			if v.Index != report.Events || v.Index < len(x.events)-2 {
				t.Errorf("found at event %d of %d: %v", v.Index, len(x.events), err)
			}
			refusal, _ := errors.AsType[*spec.Refusal](err)
			switch {
			case x.condition != "" && (refusal == nil || refusal.Condition != x.condition):
				t.Errorf("got %v, want a refusal: %s", err, x.condition)
			case x.condition == "" && v.Property != x.property:
				t.Errorf("got property %d (%v), want %d", v.Property, err, x.property)
			}
		})
	}
}

// TestSettled: a trace that ended settled leaves nothing in the flow.
func TestSettled(t *testing.T) {
	events := tell(asks("i", "A/a"), begins("i.1#1", "A/a"))
	if _, err := Slice(events, Options{}); err != nil {
		t.Fatal(err)
	}
	_, err := Slice(events, Options{Settled: true})
	if v, ok := errors.AsType[*Violation](err); !ok || v.Property != 1 {
		t.Errorf("got %v, want a violation of property 1", err)
	}
}

// TestCorruptTrace: what cannot be read is reported with how far it was good.
func TestCorruptTrace(t *testing.T) {
	var text strings.Builder
	for _, e := range tell(asks("i", "A/a")) {
		text.WriteString(e.String() + "\n")
	}
	text.WriteString(`{"kind":"nonsense"}` + "\n")
	report, err := Events(trace.Events(strings.NewReader(text.String())), Options{})
	if _, ok := errors.AsType[*trace.CorruptError](err); !ok || report.Events == 0 || !strings.Contains(err.Error(), "the first") {
		t.Errorf("got %v after %d events, want a CorruptError that says how far it got", err, report.Events)
	}
}
