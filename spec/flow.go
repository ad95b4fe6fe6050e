package spec

import "slices"

// The flow is a plain list. Rules change it by the three functions of the
// paper's notation, F ++ M, F[M/N] and F - M, which also note the change in
// the record of the rule.

// append is F ++ m.
func (s *State) append(m Message) {
	s.F = append(s.F, m)
	s.index.added(s.F)
	s.record.Sent = append(s.record.Sent, m)
}

// insert puts m before the first request for its actor that has not begun.
func (s *State) insert(m Message) {
	at := slices.IndexFunc(s.F, func(x Message) bool { return !x.Response && x.Actor == m.Actor && !x.begun() })
	if at < 0 {
		s.append(m)
		return
	}
	s.F = slices.Insert(s.F, at, m)
	s.index.stale()
	s.record.Sent = append(s.record.Sent, m)
}

// replace is F[q/m], for a request q in F.
func (s *State) replace(q *Message, m Message) {
	s.record.Removed = append(s.record.Removed, *q)
	s.record.Sent = append(s.record.Sent, m)
	*q = m
}

// remove is F - q, for a message q in F. Pointers into F are void after it.
func (s *State) remove(q *Message) {
	s.record.Removed = append(s.record.Removed, *q)
	id, response := q.ID, q.Response
	s.F = slices.DeleteFunc(s.F, func(m Message) bool { return m.ID == id && m.Response == response })
	s.index.stale()
}

// Request gives the request of an invocation in F, nil if there is none. It is
// valid until the next rule, and only rules change it.
func (s *State) Request(i ID) *Message { return s.find(i, false) }

// Response gives the response of an invocation in F, as Request does.
func (s *State) Response(i ID) *Message { return s.find(i, true) }

func (s *State) find(i ID, response bool) *Message {
	if len(s.F) >= indexed {
		if at, ok := s.index.find(s.F, i, response); ok {
			return &s.F[at]
		}
		return nil
	}
	for at := range s.F {
		if m := &s.F[at]; m.ID == i && m.Response == response {
			return m
		}
	}
	return nil
}

// indexed is the length from which a flow is searched by an index, so that no
// predicate costs more than it should when a trace has hundreds of requests.
const indexed = 32

// index finds messages in a long flow. It is made again after a removal.
type index struct {
	at    map[key]int
	valid bool
}

type key struct {
	id       ID
	response bool
}

func keyOf(m *Message) key { return key{m.ID, m.Response} }

func (x *index) stale() { x.valid = false }

func (x *index) added(f []Message) {
	if last := len(f) - 1; x.valid {
		x.at[keyOf(&f[last])] = last
	}
}

func (x *index) find(f []Message, i ID, response bool) (int, bool) {
	if !x.valid {
		x.fill(f)
	}
	at, ok := x.at[key{i, response}]
	return at, ok
}

func (x *index) fill(f []Message) {
	if x.at == nil {
		x.at = make(map[key]int, 2*len(f))
	}
	clear(x.at)
	for at := range f {
		x.at[keyOf(&f[at])] = at
	}
	x.valid = true
}
