package spec

import "slices"

// Send puts a request from outside at the end of F: a client's call or tell, a
// reminder's firing. One whose id is there already joins the first.
func (s *State) Send(m Message) error {
	if m.Kind == Nested || m.Sender != (Attempt{}) || (m.Kind == Call) != (m.Return != "") {
		return refuse(RuleSend, m.ID, WrongKind)
	}
	s.effect()
	if s.fresh(m.ID) {
		s.append(first(m))
	}
	return nil
}

// Release gives a client its answer: the response leaves F and the system.
func (s *State) Release(i ID) error {
	r := s.Response(i)
	if r == nil || r.Kind != Call {
		return refuse(RuleRelease, i, NoResponse)
	}
	s.effect()
	s.remove(r)
	return nil
}

// Park takes the place of a begin: the request leaves F, whoever waits for it
// gets v, and it is kept without a return address. A step that was entered in
// place holds its actor meanwhile.
func (s *State) Park(i ID, v Value) error {
	q, err := s.idle(RulePark, i)
	switch {
	case err != nil:
		return err
	case q.Decided:
		return refuse(RulePark, i, IsDecided)
	}
	s.effect()
	parked := *q
	parked.Kind, parked.Return, parked.Sender, parked.Once = Tell, "", Attempt{}, false
	s.Parked = append(slices.Clip(s.Parked), parked)
	s.respond(i, v)
	return nil
}

// Resume puts a parked request back, as an independent tell: at the end of F,
// or, if it has kept its actor, ahead of all that has not begun there.
func (s *State) Resume(i ID) error {
	at := slices.IndexFunc(s.Parked, func(m Message) bool { return m.ID == i })
	if at < 0 {
		return refuse(RuleResume, i, NotParked)
	}
	s.effect()
	q := s.Parked[at]
	s.Parked = slices.Concat(s.Parked[:at], s.Parked[at+1:])
	if q.InPlace {
		s.insert(q)
	} else {
		s.append(q)
	}
	return nil
}

// Skip drops a parked request, and frees the actor that it may hold.
func (s *State) Skip(i ID) error {
	at := slices.IndexFunc(s.Parked, func(m Message) bool { return m.ID == i })
	if at < 0 {
		return refuse(RuleSkip, i, NotParked)
	}
	s.effect()
	s.Parked = slices.Concat(s.Parked[:at], s.Parked[at+1:])
	return nil
}

// Answer is an operator's cancel or answer of what does not run and awaits no
// callee: it has the outcome v at once. One that is parked is dropped.
func (s *State) Answer(i ID, v Value) error {
	if slices.ContainsFunc(s.Parked, func(m Message) bool { return m.ID == i }) {
		return s.Skip(i)
	}
	q, err := s.idle(RuleAnswer, i)
	if err != nil {
		return err
	}
	s.effect()
	if q.Decided {
		v = q.Verdict
	}
	s.respond(i, v)
	return nil
}

// Refuse answers what cannot be run with an error: a deadlock, no host, a busy
// time-out. It ends only what is at step 1 and has not begun.
func (s *State) Refuse(i ID, v Value) error {
	q, err := s.idle(RuleRefuse, i)
	switch {
	case err != nil:
		return err
	case !q.neverBegun():
		return refuse(RuleRefuse, i, HasBegun)
	}
	s.effect()
	s.respond(i, v)
	return nil
}

// idle gives a request that does not run and awaits no callee.
func (s *State) idle(r Rule, i ID) (*Message, error) {
	q := s.Request(i)
	switch {
	case q == nil:
		return nil, refuse(r, i, NoRequest)
	case q.Void:
		return nil, refuse(r, i, IsDecided)
	case s.Live(i) != nil:
		return nil, refuse(r, i, Running)
	case s.awaits(i):
		return nil, refuse(r, i, NotJoined)
	}
	return q, nil
}

// Overrule is an operator's cancel or answer of what runs: v takes the place of
// the outcome of its code (see End), and no further attempt begins.
func (s *State) Overrule(i ID, v Value) error {
	q := s.Request(i)
	switch {
	case q == nil:
		return refuse(RuleOverrule, i, NoRequest)
	case q.Decided:
		return refuse(RuleOverrule, i, IsDecided)
	}
	s.effect()
	q.Decided, q.Verdict = true, v
	return nil
}

// Force is an operator's cancel of what runs, with force: the attempt is
// fenced, whoever waits gets v at once, and a tomb stays in the request's place
// until its code has returned (see Gone), so that its actor stays locked. What
// it has called goes on: the tomb's caller is joined with it, and what of it is
// on the same actor comes next there.
func (s *State) Force(i ID, v Value) error {
	q, p := s.Request(i), s.Live(i)
	switch {
	case q == nil:
		return refuse(RuleForce, i, NoRequest)
	case p == nil:
		return refuse(RuleForce, i, NoAttempt)
	}
	s.effect()
	p.Zombie = true
	was, tomb := *q, *q
	tomb.Kind, tomb.Return, tomb.Sender, tomb.Once = Tell, "", Attempt{}, false
	tomb.Decided, tomb.Verdict, tomb.Void = true, v, true
	s.replace(q, tomb)
	s.moveBehind(i, tomb.Actor)
	s.adopt(i, &was)
	s.answer(&was, v)
	return nil
}

// moveBehind puts the requests for an actor that are nested in i behind i.
func (s *State) moveBehind(i ID, a Actor) {
	nested := func(m Message) bool { return !m.Response && m.Actor == a && s.NestedIn(m.ID, i) }
	var first, rest []Message
	for _, m := range s.F {
		if nested(m) {
			first = append(first, m)
		} else {
			rest = append(rest, m)
		}
	}
	at := slices.IndexFunc(rest, func(m Message) bool { return m.ID == i && !m.Response })
	s.F = slices.Insert(rest, at+1, first...)
	s.index.stale()
}

// adopt gives what i has called to i's own caller; without one it is nobody's. What
// i was answered and has not read, nobody reads.
func (s *State) adopt(i ID, q *Message) {
	for _, m := range slices.Clone(s.F) {
		if m.Response && m.Kind == Nested && m.Return == i {
			s.remove(&m)
		}
	}
	for at := range s.F {
		m := &s.F[at]
		switch {
		case m.Kind != Nested || m.Return != i:
		case q.Kind == Nested:
			m.Return = q.Return
		default:
			m.Kind, m.Return, m.Sender = Tell, "", Attempt{}
		}
	}
}
