package spec

import "slices"

// End is the rule end: the attempt leaves E; in one step its writes and tells
// are recorded, the request leaves F and the response enters it. The outcome
// of one that failed (an application error) records nothing else. If an
// operator has given the outcome, that one counts, and nothing else does.
func (s *State) End(a Attempt, v Value, failed bool) error {
	p, q, err := s.ending(RuleEnd, a)
	if err != nil {
		return err
	}
	if q.Decided {
		v, failed = q.Verdict, true
	}
	s.effect()
	if !failed {
		s.flushStep(p)
	}
	s.leave(a)
	s.respond(a.ID, v)
	return nil
}

// TailOther is the rule tail-other: a tail call to another actor, or to the
// same one with the lock released on purpose. Same id, next step, same return
// address, at the end of F.
func (s *State) TailOther(a Attempt, to Actor, method string, arg Value, release bool) error {
	p, q, err := s.ending(RuleTailOther, a)
	switch {
	case err != nil:
		return err
	case to == p.Actor && !release:
		return refuse(RuleTailOther, a.ID, SameActor)
	case q.Decided:
		return refuse(RuleTailOther, a.ID, IsDecided)
	}
	s.effect()
	s.flushStep(p)
	s.leave(a)
	q = s.Request(a.ID)
	next := nextStep(q, to, method, arg)
	s.remove(q)
	s.append(next)
	return nil
}

// TailSelf is the rule tail-self: a tail call to the same actor takes the
// place of the request in F, so that the actor's lock is kept.
func (s *State) TailSelf(a Attempt, method string, arg Value) error {
	p, q, err := s.ending(RuleTailSelf, a)
	switch {
	case err != nil:
		return err
	case q.Decided:
		return refuse(RuleTailSelf, a.ID, IsDecided)
	}
	if s.Mutants.Has(ReleaseOnTailSelf) {
		return s.TailOther(a, p.Actor, method, arg, true)
	}
	s.effect()
	s.flushStep(p)
	to := p.Actor
	s.leave(a)
	q = s.Request(a.ID)
	next := nextStep(q, to, method, arg)
	next.InPlace = true
	s.replace(q, next)
	return nil
}

// ending checks what end and the tail calls have in common.
func (s *State) ending(r Rule, a Attempt) (*Process, *Message, error) {
	p, err := s.acting(r, a)
	if err != nil {
		return nil, nil, err
	}
	q := s.Request(a.ID)
	switch {
	case q == nil:
		return nil, nil, refuse(r, a.ID, NoRequest)
	case q.Step != a.Step:
		return nil, nil, refuse(r, a.ID, WrongStep)
	case !s.Joined(a.ID) && !s.Mutants.Has(EndWithoutJoin):
		return nil, nil, refuse(r, a.ID, NotJoined)
	}
	return p, q, nil
}

// flushStep records all that a step has made: writes, then tells.
func (s *State) flushStep(p *Process) {
	s.flushWrites(p)
	s.flushTells(p)
	for _, m := range p.Last {
		s.append(m)
	}
	p.Last = nil
}

// nextStep is the request of a tail call.
func nextStep(q *Message, to Actor, method string, arg Value) Message {
	next := *q
	next.Actor, next.Method, next.Arg = to, method, arg
	next.Step, next.Attempts, next.InPlace = q.Step+1, 0, false
	return next
}

// respond is F - request(i) ++ (i, r, v), without the response for a tell.
func (s *State) respond(i ID, v Value) {
	q := s.Request(i)
	was := *q
	if !s.Mutants.Has(CompletionForgotten) {
		s.remove(q)
	}
	s.answer(&was, v)
}

// answer is F ++ (i, r, v) for a request that was there. The step of i is
// over: outcomes kept for it go, and its own is kept if the call was made once.
func (s *State) answer(q *Message, v Value) {
	r := Message{ID: q.ID, Kind: q.Kind, Return: q.Return, Sender: q.Sender, Once: q.Once, Response: true, Value: v}
	s.dropKept(q.ID)
	if r.Once && s.Request(r.Return) != nil {
		s.Kept = append(s.Kept, r)
	}
	if r.Kind != Tell {
		s.append(r)
	}
}

// dropKept drops the outcomes kept for a caller: its step has ended.
func (s *State) dropKept(caller ID) {
	s.Kept = slices.DeleteFunc(s.Kept, func(m Message) bool { return m.Return == caller })
}

// Retry is the rule retry: the code asks for another attempt. What the attempt
// made and did not record is dropped; F and S are as they were.
func (s *State) Retry(a Attempt) error {
	if _, err := s.acting(RuleRetry, a); err != nil {
		return err
	}
	s.effect()
	s.leave(a)
	return nil
}

// Postpone is the retry of a type that lets others pass: the request moves to
// the end of F. Never for a step entered in place.
func (s *State) Postpone(a Attempt) error {
	_, q, err := s.ending(RulePostpone, a)
	switch {
	case err != nil:
		return err
	case q.InPlace:
		return refuse(RulePostpone, a.ID, KeepsActor)
	}
	s.effect()
	s.leave(a)
	last := *q
	s.remove(q)
	s.append(last)
	return nil
}
