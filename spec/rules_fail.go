package spec

import "slices"

// Failure is the rule failure: every attempt on one of the actors is lost; F
// and S are as they were. The attempts stay as zombies: their code may run on,
// and the guards are there for that.
func (s *State) Failure(actors ...Actor) error {
	s.effect()
	for at := range s.E {
		if p := &s.E[at]; slices.Contains(actors, p.Actor) {
			p.Zombie = true
			s.awaitOne(p.ID)
		}
	}
	return nil
}

// awaitOne notes for the mutant WaitForOneCallee which one that is.
func (s *State) awaitOne(i ID) {
	if q, callee := s.Request(i), s.callee(i); q != nil && callee != nil && s.Mutants.Has(WaitForOneCallee) {
		q.awaited = callee.ID
	}
}

// Gone takes a zombie out: its code has returned, or its process is dead. If
// it was ended by force, its actor is free now.
func (s *State) Gone(a Attempt) error {
	p := s.Process(a)
	switch {
	case p == nil:
		return refuse(RuleGone, a.ID, NoAttempt)
	case !p.Zombie:
		return refuse(RuleGone, a.ID, NotZombie)
	}
	s.effect()
	s.leave(a)
	if q := s.Request(a.ID); q != nil && q.Void && q.Step == a.Step {
		s.remove(q)
	}
	return nil
}

// Cancel is the rule cancel: a nested request that was never begun leaves F,
// wherever it stands, when the attempt that sent it has ended without an
// outcome. Not if the call was made once: a retry may wait for it.
func (s *State) Cancel(i ID) error {
	if s.Mutants.Has(PapersCancel) {
		return s.papersCancel(i)
	}
	q := s.Request(i)
	switch {
	case q == nil:
		return refuse(RuleCancel, i, NoRequest)
	case q.Kind != Nested:
		return refuse(RuleCancel, i, NotNested)
	case q.Once:
		return refuse(RuleCancel, i, MadeOnce)
	case !q.neverBegun():
		return refuse(RuleCancel, i, HasBegun)
	case s.alive(q.Sender):
		return refuse(RuleCancel, i, CallerLives)
	}
	s.effect()
	s.remove(q)
	return nil
}

// papersCancel is the rule cancel as the paper has it: any runnable nested
// request that does not run and for which no process waits.
func (s *State) papersCancel(i ID) error {
	q := s.Request(i)
	switch {
	case q == nil:
		return refuse(RuleCancel, i, NoRequest)
	case q.Kind != Nested:
		return refuse(RuleCancel, i, NotNested)
	case s.Live(i) != nil:
		return refuse(RuleCancel, i, Running)
	case s.Live(q.Return) != nil:
		return refuse(RuleCancel, i, CallerLives)
	case !s.Runnable(i):
		return refuse(RuleCancel, i, NotRunnable)
	}
	s.effect()
	s.remove(q)
	return nil
}

// Preempt is the rule preempt: a nested request whose caller has failed, or is
// itself preempted, leaves F with its attempt. It is never done to a process:
// it describes the loss of an unflushed tail, callees before callers. What has
// taken a tail call is flushed, so step 1 only.
func (s *State) Preempt(i ID) error {
	q := s.Request(i)
	switch {
	case q == nil:
		return refuse(RulePreempt, i, NoRequest)
	case q.Kind != Nested:
		return refuse(RulePreempt, i, NotNested)
	case q.Step > 1:
		return refuse(RulePreempt, i, WrongStep)
	case !s.Preemptable(i):
		return refuse(RulePreempt, i, CallerLives)
	case s.awaits(i):
		return refuse(RulePreempt, i, NotJoined)
	}
	s.effect()
	if p := s.Live(i); p != nil {
		s.leave(p.Attempt)
	}
	s.remove(s.Request(i))
	return nil
}

// Forget is the rule forget: a response that nobody waits for leaves F, since
// the attempt that made the call is lost, or the client is.
func (s *State) Forget(i ID) error {
	r := s.Response(i)
	switch {
	case r == nil:
		return refuse(RuleForget, i, NoResponse)
	case r.Kind == Nested && s.alive(r.Sender):
		return refuse(RuleForget, i, SomeoneWaits)
	}
	s.effect()
	s.remove(r)
	return nil
}
