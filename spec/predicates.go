package spec

import "slices"

// Process gives an attempt in E, a zombie as well; nil if it is not there. It
// is valid until the next rule, and only rules change it.
func (s *State) Process(a Attempt) *Process {
	for at := range s.E {
		if s.E[at].Attempt == a {
			return &s.E[at]
		}
	}
	return nil
}

// Live gives the attempt of an invocation that runs now and is no zombie; nil
// if there is none.
func (s *State) Live(i ID) *Process {
	for at := range s.E {
		if p := &s.E[at]; p.ID == i && !p.Zombie {
			return p
		}
	}
	return nil
}

// alive reports whether an attempt runs and is no zombie.
func (s *State) alive(a Attempt) bool {
	p := s.Process(a)
	return p != nil && !p.Zombie
}

// Leftmost gives the oldest request in F for an actor, nil if there is none.
func (s *State) Leftmost(a Actor) *Message {
	for at := range s.F {
		if m := &s.F[at]; !m.Response && m.Actor == a {
			return m
		}
	}
	return nil
}

// NestedIn reports whether the request of i is nested in j, by any number of
// return addresses.
func (s *State) NestedIn(i, j ID) bool {
	for m := s.Request(i); m != nil && m.Kind == Nested; m = s.Request(m.Return) {
		if m.Return == j {
			return true
		}
	}
	return false
}

// Held gives the chain of an actor: h0 is its leftmost request, h(n+1) is the
// oldest request for the actor that is nested in h(n). While a parked step
// that was entered in place holds the actor, the chain is empty.
func (s *State) Held(a Actor) []ID {
	h := s.Leftmost(a)
	if h == nil || slices.ContainsFunc(s.Parked, func(m Message) bool { return m.Actor == a && m.InPlace }) {
		return nil
	}
	held := []ID{h.ID}
	for h = s.firstNested(a, h.ID); h != nil; h = s.firstNested(a, h.ID) {
		held = append(held, h.ID)
	}
	return held
}

// parkedInPlace reports whether an invocation is parked and holds its actor.
func (s *State) parkedInPlace(i ID) bool {
	return slices.ContainsFunc(s.Parked, func(m Message) bool { return m.ID == i && m.InPlace })
}

// firstNested gives the oldest request for an actor that is nested in i.
func (s *State) firstNested(a Actor, i ID) *Message {
	for at := range s.F {
		if m := &s.F[at]; !m.Response && m.Actor == a && s.NestedIn(m.ID, i) {
			return m
		}
	}
	return nil
}

// holds reports whether a request is in the chain of its actor.
func (s *State) holds(q *Message) bool {
	if s.Mutants.Has(ReachableWithoutChain) {
		h := s.Leftmost(q.Actor)
		return h.ID == q.ID || s.NestedIn(q.ID, h.ID)
	}
	return slices.Contains(s.Held(q.Actor), q.ID)
}

// Runnable reports whether a request may begin: it is in the chain of its
// actor, every callee of its earlier attempts has ended, and every other
// attempt on its actor waits.
func (s *State) Runnable(i ID) bool {
	q := s.Request(i)
	return q != nil && s.holds(q) && !s.awaits(i) && s.allWait(q.Actor, i)
}

// awaits reports whether a request in F has return address i: a callee of an
// earlier attempt of i.
func (s *State) awaits(i ID) bool {
	if s.Mutants.Has(WaitForOneCallee) {
		q := s.Request(i)
		return q != nil && s.Request(q.awaited) != nil
	}
	return s.callee(i) != nil
}

// callee gives the oldest request in F with return address i.
func (s *State) callee(i ID) *Message {
	for at := range s.F {
		if m := &s.F[at]; !m.Response && m.Kind == Nested && m.Return == i {
			return m
		}
	}
	return nil
}

// allWait reports whether every attempt on an actor but those of i waits.
func (s *State) allWait(a Actor, i ID) bool {
	for at := range s.E {
		if p := &s.E[at]; p.Actor == a && p.ID != i && !p.Zombie && !p.Waiting() {
			return false
		}
	}
	return true
}

// Joined reports whether no request and no unread response in F has return
// address i: only then an attempt of i may end.
func (s *State) Joined(i ID) bool {
	for at := range s.F {
		if m := &s.F[at]; m.Kind == Nested && m.Return == i {
			return false
		}
	}
	return true
}

// turnFree reports whether a waiting attempt may go on: no request in F is
// nested in it and begun on its actor.
func (s *State) turnFree(p *Process) bool {
	for at := range s.F {
		m := &s.F[at]
		if !m.Response && m.Actor == p.Actor && m.begun() && s.NestedIn(m.ID, p.ID) {
			return false
		}
	}
	return true
}

// Preemptable reports whether a nested request's caller has failed, or is
// itself preemptable.
func (s *State) Preemptable(i ID) bool {
	for q := s.Request(i); q != nil && q.Kind == Nested; q = s.Request(q.Return) {
		if !s.alive(q.Sender) {
			return true
		}
	}
	return false
}
