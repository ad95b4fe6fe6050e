package spec

import "slices"

// Deadlock gives a cycle of requests in F of which each waits for the next, nil
// if there is none. Edges run from each caller to its callees, and from each
// request to those of its actor's chain that are not its ancestors.
func (s *State) Deadlock() []ID {
	done := map[ID]bool{}
	var path []ID
	var walk func(i ID) []ID
	walk = func(i ID) []ID {
		if at := slices.Index(path, i); at >= 0 {
			return slices.Clone(path[at:])
		}
		if done[i] {
			return nil
		}
		path = append(path, i)
		for _, next := range s.waitsFor(i) {
			if cycle := walk(next); cycle != nil {
				return cycle
			}
		}
		path, done[i] = path[:len(path)-1], true
		return nil
	}
	for at := range s.F {
		if m := &s.F[at]; !m.Response {
			if cycle := walk(m.ID); cycle != nil {
				return cycle
			}
		}
	}
	return nil
}

// waitsFor gives the requests that must end before i can go on.
func (s *State) waitsFor(i ID) []ID {
	q := s.Request(i)
	var next []ID
	for at := range s.F {
		if m := &s.F[at]; !m.Response && m.Kind == Nested && m.Return == i {
			next = append(next, m.ID)
		}
	}
	if held := s.Held(q.Actor); !slices.Contains(held, i) {
		for _, h := range held {
			if !s.NestedIn(i, h) {
				next = append(next, h)
			}
		}
	}
	return next
}

// Victim chooses from a deadlock: the youngest request at step 1 that has not
// begun is to be refused; if there is none, the youngest later step is to be
// parked. None is given when all have begun.
func (s *State) Victim(cycle []ID) (i ID, rule Rule) {
	for at := range s.F {
		m := &s.F[at]
		switch {
		case m.Response || m.Attempts > 0 || !slices.Contains(cycle, m.ID):
		case m.Step == 1:
			i, rule = m.ID, RuleRefuse
		case rule != RuleRefuse:
			i, rule = m.ID, RulePark
		}
	}
	return i, rule
}
