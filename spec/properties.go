package spec

import (
	"fmt"
	"slices"
)

// Property is one of the twelve of the semantics. Check says what is wrong
// with a moment, "" for nothing.
type Property struct {
	Number int
	Name   string
	Check  func(*Moment) string
}

// Properties lists all, in the order of the semantics.
func Properties() []Property {
	return []Property{
		{1, "retry", Retried},
		{2, "no retry after success", NoRetryAfterSuccess},
		{3, "no concurrent attempts", NoConcurrentAttempts},
		{4, "happen-before", HappenBefore},
		{5, "one at a time", OneAtATime},
		{6, "order", Ordered},
		{7, "fencing", Fencing},
		{8, "nothing acknowledged is lost", NothingLost},
		{9, "all or none", AllOrNone},
		{10, "isolation", Isolation},
		{11, "no half chain", NoHalfChain},
		{12, "released answers hold", ReleasedHold},
	}
}

// Retried is property 1, "Retry. Begun, no outcome, not parked, not ended by an
// operator: request(i) in F, and i or an ancestor is leftmost on i's actor."
// Its other half, about maximal paths, is Settled.
func Retried(m *Moment) string {
	for at := range m.History.Lives {
		l := &m.History.Lives[at]
		if !l.Holds || l.Parked || !m.touches(l.Actor) {
			continue
		}
		if m.State.Request(l.ID) == nil {
			return fmt.Sprintf("%s has begun on %s and has no outcome, and its request is not in F", l.ID, l.Actor)
		}
		if h := m.State.Leftmost(l.Actor); h != nil && h.ID != l.ID && !slices.Contains(l.Birth, h.ID) {
			return fmt.Sprintf("%s has begun on %s, where %s is leftmost now", l.ID, l.Actor, h.ID)
		}
	}
	return ""
}

// Settled is the second half of property 1: "When failures stop, maximal paths
// leave F without requests." It is for states from which no rule but failure
// leads on. Deadlocks are answered, so they are no exception; what waits for a
// parked step that keeps its actor waits for an operator.
func Settled(s *State) string {
	if slices.ContainsFunc(s.Parked, func(m Message) bool { return m.InPlace }) {
		return ""
	}
	for at := range s.F {
		if q := &s.F[at]; !q.Response {
			return fmt.Sprintf("nothing can happen any more, and the request %s (%s.%s) is still in F", q.ID, q.Actor, q.Method)
		}
	}
	return ""
}

// NoRetryAfterSuccess is property 2: "No attempt of (i, step) begins after its
// outcome; one final outcome per id; all who wait see the same."
func NoRetryAfterSuccess(m *Moment) string {
	e := m.Event
	switch e.Rule {
	case RuleBegin:
		if m.Ended || m.Lived && e.By.Step < m.Life.Step {
			return fmt.Sprintf("attempt %d of step %d of %s begins after the outcome of that step", e.By.N, e.By.Step, e.By.ID)
		}
	case RuleEnd, RuleAnswer, RuleRefuse:
		if m.Ended {
			return fmt.Sprintf("%s has a second outcome", e.Of())
		}
	case RuleReturn, RuleRelease:
		if v, ok := m.History.told(e.ID); ok && v != m.Answered {
			return fmt.Sprintf("%s has the outcome %q, and somebody sees %q", e.ID, v, m.Answered)
		}
	}
	return ""
}

// NoConcurrentAttempts is property 3: "When (i, step, n) begins, every earlier
// attempt of i has an outcome or is a zombie."
func NoConcurrentAttempts(m *Moment) string {
	if m.Event.Rule == RuleBegin && len(m.Life.Live) > 0 {
		return fmt.Sprintf("attempt %d of %s begins while attempt %d runs", m.Event.By.N, m.Event.By.ID, m.Life.Live[0].N)
	}
	return ""
}

// HappenBefore is property 4: "When an attempt of i begins, no request in F and
// no live attempt has i in its birth chain."
func HappenBefore(m *Moment) string {
	if m.Event.Rule != RuleBegin {
		return ""
	}
	i := m.Event.By.ID
	for at := range m.History.Lives {
		l := &m.History.Lives[at]
		if !slices.Contains(l.Birth, i) {
			continue
		}
		if q := m.State.Request(l.ID); q != nil && !q.Void || m.State.Live(l.ID) != nil {
			return fmt.Sprintf("%s begins while %s, called by an earlier attempt of it, has not ended", i, l.ID)
		}
	}
	return ""
}

// OneAtATime is property 5: "Of two live invocations of an actor, one is in the
// other's birth chain; at most the innermost is not waiting. From i's begin to
// its last outcome on an actor, failures and the gaps between tail-self steps
// included, only its descendants begin there."
func OneAtATime(m *Moment) string {
	if m.Event.Rule == RuleBegin {
		if h := m.holder(); h != nil {
			return fmt.Sprintf("%s begins on %s, which %s has and whose descendant it is not", m.Event.By.ID, h.Actor, h.ID)
		}
	}
	p := m.State.Process(m.Event.By)
	if p == nil || p.Zombie || p.Waiting() {
		return ""
	}
	for at := range m.State.E {
		q := &m.State.E[at]
		if q.Actor != p.Actor || q.ID == p.ID || q.Zombie || q.Waiting() && m.History.Descends(p.ID, q.ID) {
			continue
		}
		return fmt.Sprintf("%s and %s run on %s, and %s is not waiting for %s", p.ID, q.ID, p.Actor, q.ID, p.ID)
	}
	return ""
}

// holder gives one who has the actor of what begins, and is no ancestor of it.
func (m *Moment) holder() *Life {
	for at := range m.History.Lives {
		l := &m.History.Lives[at]
		if l.Holds && l.Actor == m.Asked.Actor && l.ID != m.Asked.ID && !slices.Contains(m.Life.Birth, l.ID) {
			return l
		}
	}
	return nil
}

// Ordered is property 6: "From one sender to one actor, requests begin in the
// order sent, across the sender's attempts too; a request nested in the
// invocation that holds the actor is exempt." So is a step entered in place: it
// is the invocation that holds the actor.
func Ordered(m *Moment) string {
	if m.Event.Rule != RuleBegin || m.Life.Began || m.Life.Holds {
		return ""
	}
	var before *Life
	for at := range m.History.Lives {
		l := &m.History.Lives[at]
		if l.Actor != m.Life.Actor {
			continue
		}
		if l.Holds && slices.Contains(m.Life.Birth, l.ID) {
			return ""
		}
		if l.ID == m.Life.ID {
			break
		}
		if l.Sender == m.Life.Sender && !l.Began && !l.Holds && !l.Parked {
			before = l
		}
	}
	if before != nil {
		return fmt.Sprintf("%s begins on %s before %s, which %s sent there before", m.Life.ID, m.Life.Actor, before.ID, m.Life.Sender)
	}
	return ""
}

// Fencing is property 7: "Records of a component stand below the record of its
// failure; F and S change by records only."
func Fencing(m *Moment) string {
	if !m.Acts || m.Event.Rule == RuleGone || m.Record.Empty() || slices.Contains(m.Life.Live, m.Event.By) {
		return ""
	}
	return fmt.Sprintf("%s of attempt %d of %s is recorded after the attempt was lost", m.Event.Rule, m.Event.By.N, m.Event.By.ID)
}

// NothingLost is property 8: "Nothing acknowledged is lost: its id is in F, or
// has an outcome, or is parked or ended by an operator, in every later L."
// What a lost attempt called is known to nobody: it may be cancelled.
func NothingLost(m *Moment) string {
	for at := range m.Record.Removed {
		i := m.Record.Removed[at].ID
		if l := m.History.Life(i); l != nil && !l.Parked && m.State.Request(i) == nil {
			return fmt.Sprintf("%s has no outcome and is not in F", i)
		}
	}
	if r := m.Event.Rule; (r == RuleCancel || r == RulePreempt) && m.Life.Kind != Nested {
		return fmt.Sprintf("%s was acknowledged, and is lost by %s", m.Life.ID, r)
	}
	return ""
}

// AllOrNone is property 9: "The writes, reminders and tells of a step are
// recorded with its outcome or not at all; an error's are not." A re-entry, a
// request and Sync record earlier what the semantics say they do.
func AllOrNone(m *Moment) string {
	var writes []Write
	var tells []Message
	e := m.Event
	switch e.Rule {
	case RuleEnd, RuleTailOther, RuleTailSelf:
		if !e.Failed && !m.Asked.Decided {
			writes, tells = m.Was.Writes, slices.Concat(m.Was.Held, m.Was.Last)
		}
	case RuleSync:
		writes, tells = m.Was.Writes, m.Was.Held
	case RuleCall, RuleCallOnce:
		if m.sent(e.Msg.ID) != nil {
			tells = m.Was.Held
		}
	case RuleTell:
		if e.When == Immediately {
			tells = append(slices.Clip(m.Was.Held), first(e.Msg))
		}
	case RuleBegin:
		if len(m.Record.Writes) > 0 {
			writes = m.Under
		}
	}
	if !slices.Equal(m.Record.Writes, writes) {
		return fmt.Sprintf("%s of %s records the writes %v, and not %v", e.Rule, e.Of(), m.Record.Writes, writes)
	}
	if sent := m.tells(); e.By.ID != "" && !slices.Equal(sent, tells) {
		return fmt.Sprintf("%s of %s sends %d held tells, and not %d", e.Rule, e.Of(), len(sent), len(tells))
	}
	return ""
}

// tells gives the tells of the attempt that acted which this event put into F.
func (m *Moment) tells() []Message {
	var tells []Message
	for at := range m.Record.Sent {
		if q := &m.Record.Sent[at]; q.Kind == Tell && q.Sender == m.Event.By && q.ID != m.Event.By.ID {
			tells = append(tells, *q)
		}
	}
	return tells
}

// Isolation is property 10: "At most one invocation of an actor has unrecorded
// writes; a read is the recorded state and the reader's own writes."
func Isolation(m *Moment) string {
	e := m.Event
	p := m.State.Process(e.By)
	if p == nil || p.Zombie {
		return ""
	}
	if e.Rule == RuleRead {
		if v := m.State.Read(e.By, e.Cell.Name); v != e.Value {
			return fmt.Sprintf("%s reads %q in %v, where it should see %q", e.By.ID, e.Value, e.Cell, v)
		}
	}
	if e.Rule != RuleBegin && e.Rule != RuleStep {
		return ""
	}
	for at := range m.State.E {
		q := &m.State.E[at]
		if q.Actor == p.Actor && q.ID != p.ID && !q.Zombie && len(q.Writes) > 0 {
			return fmt.Sprintf("%s runs on %s, where %s has writes that are not recorded", p.ID, p.Actor, q.ID)
		}
	}
	return ""
}

// NoHalfChain is property 11: "An invocation that has taken a tail call ends
// only by its outcome, by parking or by an operator."
func NoHalfChain(m *Moment) string {
	for at := range m.Record.Removed {
		q := &m.Record.Removed[at]
		if q.Response || q.Step == 1 || m.sent(q.ID) != nil {
			continue
		}
		switch m.Event.Rule {
		case RuleEnd, RulePark, RuleAnswer, RuleForce, RuleGone:
		default:
			return fmt.Sprintf("%s is ended by %s at step %d", q.ID, m.Event.Rule, q.Step)
		}
	}
	return ""
}

// ReleasedHold is property 12: "Released answers and reads hold in every later
// L." Here L only grows, so that it says: what a client has been told is never
// told otherwise. That a cut takes nothing released away is for the second
// machine.
func ReleasedHold(m *Moment) string {
	if !m.Final.Released {
		return ""
	}
	switch m.Event.Rule {
	case RuleEnd, RuleAnswer, RuleRefuse, RulePark, RuleForce:
		if m.outcome() != m.Final.Value {
			return fmt.Sprintf("%s was answered %q to a client, and has the outcome %q now", m.Event.Of(), m.Final.Value, m.outcome())
		}
	}
	return ""
}
