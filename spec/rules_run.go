package spec

import "slices"

// Begin is the rule begin: a runnable request of which no attempt is in E gets
// one; the request stays in F. The writes of the attempts that it re-enters are
// recorded in the same step.
func (s *State) Begin(a Attempt) error {
	q := s.Request(a.ID)
	switch {
	case q == nil:
		return refuse(RuleBegin, a.ID, NoRequest)
	case q.Step != a.Step:
		return refuse(RuleBegin, a.ID, WrongStep)
	case q.Attempts >= a.N:
		return refuse(RuleBegin, a.ID, WrongAttempt)
	case q.Decided:
		return refuse(RuleBegin, a.ID, IsDecided)
	case s.Live(a.ID) != nil:
		return refuse(RuleBegin, a.ID, Running)
	case !s.Runnable(a.ID):
		return refuse(RuleBegin, a.ID, NotRunnable)
	}
	s.effect()
	if !s.Mutants.Has(NoFlushAtReentry) {
		s.flushAtReentry(q.Actor)
	}
	q.Attempts = a.N
	s.E = append(s.E, Process{Attempt: a, Actor: q.Actor, Method: q.Method, Point: Point{V: q.Arg}})
	return nil
}

// flushAtReentry records the writes of all who wait on an actor: whoever
// begins there now is nested in them.
func (s *State) flushAtReentry(a Actor) {
	for at := range s.E {
		if p := &s.E[at]; p.Actor == a && !p.Zombie {
			s.flushWrites(p)
		}
	}
}

// Step is the rule step: an attempt writes cells of its own actor. The writes
// are its own until they are recorded. A zombie may do it as well: nobody sees.
func (s *State) Step(a Attempt, writes ...Write) error {
	p := s.Process(a)
	switch {
	case p == nil:
		return refuse(RuleStep, a.ID, NoAttempt)
	case p.Waiting():
		return refuse(RuleStep, a.ID, Waits)
	}
	for _, w := range writes {
		if w.Cell.Actor != p.Actor {
			return refuse(RuleStep, a.ID, OtherActor)
		}
	}
	s.effect()
	p.Writes = append(slices.Clip(p.Writes), writes...)
	return nil
}

// Sync records the writes so far and sends the held tells, in one step.
func (s *State) Sync(a Attempt) error {
	p, err := s.acting(RuleSync, a)
	if err != nil {
		return err
	}
	s.effect()
	s.flushWrites(p)
	s.flushTells(p)
	return nil
}
