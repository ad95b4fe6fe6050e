package spec

import "slices"

// Call is the rule call: a fresh request m, nested in the attempt, at the end
// of F, behind the tells held so far. The attempt goes on; it waits by Wait.
func (s *State) Call(a Attempt, m Message) error {
	p, err := s.acting(RuleCall, a)
	switch {
	case err != nil:
		return err
	case m.Kind != Nested || m.Return != a.ID || m.Sender != a:
		return refuse(RuleCall, a.ID, WrongKind)
	case !s.fresh(m.ID):
		return refuse(RuleCall, m.ID, NotFresh)
	}
	s.effect()
	s.flushTells(p)
	p.Calls = append(slices.Clip(p.Calls), m.ID)
	s.append(first(m))
	return nil
}

// CallOnce is the rule call once. M's id belongs to the attempt's step and the
// name of the call: if it is in F, or its outcome is kept, there is no new
// request, and the attempt may wait for it as if it had made it.
func (s *State) CallOnce(a Attempt, m Message) error {
	p, err := s.acting(RuleCallOnce, a)
	switch {
	case err != nil:
		return err
	case m.Kind != Nested || m.Return != a.ID || m.Sender != a || !m.Once:
		return refuse(RuleCallOnce, a.ID, WrongKind)
	case slices.Contains(p.Calls, m.ID):
		return refuse(RuleCallOnce, m.ID, NotFresh)
	}
	s.effect()
	q, kept := s.Request(m.ID), s.kept(m.ID)
	if r := s.Response(m.ID); r != nil {
		q, kept = r, nil
	}
	p.Calls = append(slices.Clip(p.Calls), m.ID)
	switch {
	case q != nil:
		q.Sender = a
	case kept != nil:
		again := *kept
		again.Sender = a
		s.append(again)
	default:
		s.flushTells(p)
		s.append(first(m))
	}
	return nil
}

// first is a request as it enters F: at its first step, never begun.
func first(m Message) Message {
	m.Step, m.Attempts, m.InPlace, m.Response = 1, 0, false, false
	return m
}

// fresh reports whether an id is used nowhere.
func (s *State) fresh(i ID) bool {
	return s.Request(i) == nil && s.Response(i) == nil && s.kept(i) == nil
}

// kept gives the kept outcome of a call made once.
func (s *State) kept(i ID) *Message {
	at := slices.IndexFunc(s.Kept, func(m Message) bool { return m.ID == i })
	if at < 0 {
		return nil
	}
	return &s.Kept[at]
}

// When says when a tell that a method makes leaves for F.
type When uint8

// The times at which a tell leaves.
const (
	WithNext    When = iota // with the next request, at Sync or with the outcome, whichever is first
	Immediately             // now, behind those held before it
	WithOutcome             // with the outcome, whatever comes between
)

// Tell is the rule tell: a fresh request whose outcome nobody waits for. It is
// held until its time; those held before it leave before it.
func (s *State) Tell(a Attempt, m Message, when When) error {
	p, err := s.acting(RuleTell, a)
	switch {
	case err != nil:
		return err
	case m.Kind != Tell || m.Return != "" || m.Sender != a:
		return refuse(RuleTell, a.ID, WrongKind)
	case !s.fresh(m.ID):
		return refuse(RuleTell, m.ID, NotFresh)
	}
	s.effect()
	switch when {
	case WithNext:
		p.Held = append(slices.Clip(p.Held), first(m))
	case WithOutcome:
		p.Last = append(slices.Clip(p.Last), first(m))
	case Immediately:
		s.flushTells(p)
		s.append(first(m))
	}
	return nil
}

// Wait gives the attempt's turn up until responses of all the given calls have
// returned. A method at its end waits for all its calls out.
func (s *State) Wait(a Attempt, calls ...ID) error {
	p, err := s.acting(RuleWait, a)
	if err != nil {
		return err
	}
	for _, i := range calls {
		if !slices.Contains(p.Calls, i) {
			return refuse(RuleWait, i, NotCalled)
		}
	}
	s.effect()
	p.Waits = slices.Clone(calls)
	return nil
}

// Return is the rule return: the attempt waits for i, its response is in F,
// and nothing nested in the attempt has begun on its actor. The response
// leaves F; with the last one the attempt goes on.
func (s *State) Return(a Attempt, i ID) error {
	p, err := s.living(RuleReturn, a)
	if err != nil {
		return err
	}
	r := s.Response(i)
	switch {
	case !slices.Contains(p.Waits, i):
		return refuse(RuleReturn, i, DoesNotWait)
	case r == nil || r.Kind != Nested || r.Return != a.ID:
		return refuse(RuleReturn, i, NoResponse)
	case !s.turnFree(p):
		return refuse(RuleReturn, i, TurnTaken)
	}
	s.effect()
	p.Waits = without(p.Waits, i)
	p.Calls = without(p.Calls, i)
	s.remove(r)
	return nil
}

// GoOn ends a wait without its outcome, by a deadline: the attempt takes its
// turn back under the same condition. The calls stay out.
func (s *State) GoOn(a Attempt) error {
	p, err := s.living(RuleGoOn, a)
	switch {
	case err != nil:
		return err
	case !p.Waiting():
		return refuse(RuleGoOn, a.ID, DoesNotWait)
	case !s.turnFree(p):
		return refuse(RuleGoOn, a.ID, TurnTaken)
	}
	s.effect()
	p.Waits = nil
	return nil
}

// without copies a list, less one id.
func without(ids []ID, i ID) []ID {
	var rest []ID
	for _, x := range ids {
		if x != i {
			rest = append(rest, x)
		}
	}
	return rest
}
