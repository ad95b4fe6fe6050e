package spec

import (
	"maps"
	"slices"
)

// History is what the properties remember of a path, beside the state: ghost
// state, which no rule reads. It is kept by what happened, not by what the
// rules say, so that a broken rule shows. Not safe for concurrent use.
type History struct {
	// Lives are the invocations that have not ended, in the order in which
	// their present step was sent.
	Lives []Life
	// Ended says how all others have ended.
	Ended map[ID]Final

	shared bool
}

// Life is an invocation that has not ended. Its slices are replaced, never changed.
type Life struct {
	ID     ID
	Kind   Kind
	Once   bool
	Sender ID   // who sent the present step: a caller, a client, for a tail call the invocation itself
	Birth  []ID // the chain of callers at its creation, the innermost first

	Actor Actor
	Step  int
	Began bool // an attempt of the step has begun, ever
	Holds bool // the step holds its actor: from its begin, or from before it in place, to its outcome there

	Live     []Attempt // begun, without an outcome, not lost
	Parked   bool
	Told     bool // those who waited have an answer already: it was parked or ended by force
	Answer   Value
	Released bool // a client has that answer
}

// How says how an invocation has ended.
type How uint8

// The ends.
const (
	ByOutcome How = iota
	ByOperator
	ByCancel
	ByPreempt
)

// Final is the end of an invocation: Value is what whoever waits is told.
type Final struct {
	How      How
	Value    Value
	Once     bool
	Kind     Kind
	Released bool // a client has it
}

// Clone copies the history.
func (h *History) Clone() *History {
	h.shared = true
	return &History{Lives: slices.Clone(h.Lives), Ended: h.Ended, shared: true}
}

// Life gives an invocation that has not ended; nil if there is none.
func (h *History) Life(i ID) *Life {
	for at := range h.Lives {
		if h.Lives[at].ID == i {
			return &h.Lives[at]
		}
	}
	return nil
}

// Descends reports whether j is in the birth chain of i.
func (h *History) Descends(i, j ID) bool {
	l := h.Life(i)
	return l != nil && slices.Contains(l.Birth, j)
}

// told gives what those who wait for an invocation are told.
func (h *History) told(i ID) (Value, bool) {
	if f, ok := h.Ended[i]; ok {
		return f.Value, true
	}
	if l := h.Life(i); l != nil && l.Told {
		return l.Answer, true
	}
	return "", false
}

// end moves an invocation from the living to the ended.
func (h *History) end(i ID, how How, v Value) {
	at := slices.IndexFunc(h.Lives, func(l Life) bool { return l.ID == i })
	if at < 0 {
		return
	}
	l := h.Lives[at]
	if l.Told {
		v = l.Answer
	}
	h.Lives = slices.Delete(h.Lives, at, at+1)
	h.final(i, Final{How: how, Value: v, Once: l.Once, Kind: l.Kind, Released: l.Released})
}

func (h *History) final(i ID, f Final) {
	if h.Ended == nil || h.shared {
		h.Ended, h.shared = maps.Clone(h.Ended), false
		if h.Ended == nil {
			h.Ended = map[ID]Final{}
		}
	}
	h.Ended[i] = f
}

// released notes that a client has the answer.
func (h *History) released(i ID) {
	if f, ok := h.Ended[i]; ok {
		f.Released = true
		h.final(i, f)
	} else if l := h.Life(i); l != nil {
		l.Released = true
	}
}

// observe takes in an event that has been applied.
func (h *History) observe(m *Moment) {
	e := m.Event
	h.born(m) // first: what a step sends stands before its tail call
	switch e.Rule {
	case RuleBegin:
		h.began(e.By)
	case RuleEnd:
		h.end(e.By.ID, ByOutcome, m.outcome())
	case RuleTailOther, RuleTailSelf:
		h.tailed(e.By.ID, m.sent(e.By.ID), e.Rule == RuleTailSelf)
	case RuleRetry, RulePostpone:
		h.quit(e.By, e.Rule == RulePostpone)
	case RuleFailure:
		h.failed(e.Actors)
	case RuleCancel:
		h.end(e.ID, ByCancel, "")
	case RulePreempt:
		h.end(e.ID, ByPreempt, "")
	case RuleRelease:
		h.released(e.ID)
	case RulePark, RuleResume, RuleSkip, RuleAnswer, RuleRefuse, RuleForce, RuleGone:
		h.operated(m)
	}
}

// began notes an attempt.
func (h *History) began(a Attempt) {
	if l := h.Life(a.ID); l != nil {
		l.Began, l.Holds = true, true
		l.Live = append(slices.Clip(l.Live), a)
	}
}

// tailed notes the next step. In place it keeps its order and its actor.
func (h *History) tailed(i ID, next *Message, inPlace bool) {
	at := slices.IndexFunc(h.Lives, func(l Life) bool { return l.ID == i })
	if at < 0 || next == nil {
		return
	}
	l := h.Lives[at]
	l.Actor, l.Step, l.Live, l.Began = next.Actor, next.Step, nil, false
	if !inPlace {
		l.Holds, l.Sender = false, i
		h.Lives = append(slices.Delete(h.Lives, at, at+1), l)
		return
	}
	h.Lives[at] = l
}

// quit notes that the code of an attempt asks for another one.
func (h *History) quit(a Attempt, postponed bool) {
	if l := h.Life(a.ID); l != nil {
		l.Live = slices.DeleteFunc(slices.Clone(l.Live), func(x Attempt) bool { return x == a })
		l.Holds = l.Holds && !postponed
	}
}

// failed notes that all attempts on the actors are lost.
func (h *History) failed(actors []Actor) {
	for at := range h.Lives {
		if l := &h.Lives[at]; slices.Contains(actors, l.Actor) {
			l.Live = nil
		}
	}
}

// operated notes what parking and operators do.
func (h *History) operated(m *Moment) {
	e := m.Event
	l := h.Life(e.Of())
	if l == nil {
		return
	}
	switch e.Rule {
	case RulePark:
		l.Parked, l.Told, l.Answer = true, true, e.Value
		l.Holds = m.State.parkedInPlace(e.ID)
	case RuleResume:
		l.Parked, l.Birth, l.Kind, l.Sender, l.Once = false, nil, Tell, "", false
	case RuleForce:
		l.Told, l.Answer, l.Live = true, e.Value, nil
	case RuleGone:
		if m.Asked.Void && m.Asked.Step == e.By.Step {
			h.end(l.ID, ByOperator, l.Answer)
		}
	case RuleRefuse:
		h.end(l.ID, ByOutcome, e.Value)
	default:
		h.end(l.ID, ByOperator, m.outcome())
	}
}

// born notes the requests that are new in F.
func (h *History) born(m *Moment) {
	for at := range m.Record.Sent {
		q := &m.Record.Sent[at]
		if q.Response || q.Void || h.Life(q.ID) != nil {
			continue
		}
		l := Life{ID: q.ID, Kind: q.Kind, Once: q.Once, Sender: q.Sender.ID, Actor: q.Actor, Step: q.Step}
		if q.Sender.ID == "" {
			l.Sender = q.Return
		}
		if q.Kind == Nested {
			l.Birth = []ID{q.Return}
			if caller := h.Life(q.Return); caller != nil {
				l.Birth = slices.Concat(l.Birth, caller.Birth)
			}
		}
		h.Lives = append(h.Lives, l)
	}
}
