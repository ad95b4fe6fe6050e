package spec

import (
	"cmp"
	"encoding/binary"
	"slices"
)

// AppendKey appends the canonical encoding of a world: two worlds with the
// same key allow the same paths, and the same verdicts on them. As in the
// paper, the place of a response in F is irrelevant, and so is the order of
// requests for different actors; and what has ended long ago is forgotten,
// where no fresh id can meet it again.
func (w *World) AppendKey(b []byte) []byte {
	b = w.State.appendKey(b)
	return w.History.appendKey(b, w.State)
}

func (s *State) appendKey(b []byte) []byte {
	b = list(b, byActor(s.F), appendMessage)
	b = list(b, sorted(s.E, compareProcess), appendProcess)
	b = number(b, len(s.S))
	cells := make([]Cell, 0, 8)
	for c := range s.S {
		cells = append(cells, c)
	}
	slices.SortFunc(cells, compareCell)
	for _, c := range cells {
		b = text(text(text(b, c.Actor), c.Name), s.S[c])
	}
	b = list(b, sorted(s.Kept, compareMessage), appendMessage)
	return list(b, byActor(s.Parked), appendMessage)
}

func (h *History) appendKey(b []byte, s *State) []byte {
	lives := slices.Clone(h.Lives)
	slices.SortStableFunc(lives, func(x, y Life) int { return cmp.Compare(x.Actor, y.Actor) })
	b = list(b, lives, appendLife)
	ids := make([]ID, 0, 8)
	for i, f := range h.Ended {
		if f.Kind != Nested || f.Once || s.names(i) {
			ids = append(ids, i)
		}
	}
	slices.Sort(ids)
	for _, i := range ids {
		f := h.Ended[i]
		b = text(text(b, i), f.Value)
		b = append(b, byte(f.How), flag(f.Released))
	}
	return b
}

// names reports whether an id is in F or E.
func (s *State) names(i ID) bool {
	return s.Request(i) != nil || s.Response(i) != nil ||
		slices.ContainsFunc(s.E, func(p Process) bool { return p.ID == i || slices.Contains(p.Calls, i) })
}

// byActor sorts messages by actor and leaves the order of each actor's
// requests; responses, which have no actor, go by id.
func byActor(f []Message) []Message {
	f = slices.Clone(f)
	slices.SortStableFunc(f, func(x, y Message) int {
		if x.Response && y.Response {
			return cmp.Compare(x.ID, y.ID)
		}
		return cmp.Compare(x.Actor, y.Actor)
	})
	return f
}

func sorted[T any](in []T, compare func(x, y T) int) []T {
	out := slices.Clone(in)
	slices.SortFunc(out, compare)
	return out
}

func compareMessage(x, y Message) int { return cmp.Compare(x.ID, y.ID) }

func compareCell(x, y Cell) int {
	return cmp.Or(cmp.Compare(x.Actor, y.Actor), cmp.Compare(x.Name, y.Name))
}

func compareProcess(x, y Process) int {
	return cmp.Or(cmp.Compare(x.ID, y.ID), cmp.Compare(x.Step, y.Step), cmp.Compare(x.N, y.N))
}

func appendMessage(b []byte, m Message) []byte {
	b = text(text(b, m.ID), m.Return)
	b = append(b, byte(m.Kind), flag(m.Response), flag(m.Once), flag(m.InPlace), flag(m.Decided), flag(m.Void))
	b = attempt(b, m.Sender)
	b = text(text(text(b, m.Actor), m.Method), m.Arg)
	b = text(text(text(b, m.Value), m.Verdict), m.awaited)
	return number(number(b, m.Step), m.Attempts)
}

func appendProcess(b []byte, p Process) []byte {
	b = attempt(b, p.Attempt)
	b = number(append(text(b, p.Actor), flag(p.Zombie)), p.Point.PC)
	b = number(b, p.Point.Sent)
	b = text(text(text(text(b, p.Method), p.Point.V), p.Point.X), p.Point.Y)
	b = list(b, p.Calls, text[ID])
	b = list(b, p.Waits, text[ID])
	b = list(b, p.Writes, func(b []byte, w Write) []byte { return text(text(text(b, w.Cell.Actor), w.Cell.Name), w.Value) })
	return list(list(b, p.Held, appendMessage), p.Last, appendMessage)
}

func appendLife(b []byte, l Life) []byte {
	b = text(text(text(b, l.ID), l.Sender), l.Actor)
	b = append(number(b, l.Step), byte(l.Kind), flag(l.Once), flag(l.Began), flag(l.Holds), flag(l.Parked), flag(l.Told), flag(l.Released))
	b = list(text(b, l.Answer), l.Birth, text[ID])
	return list(b, l.Live, attempt)
}

func attempt(b []byte, a Attempt) []byte { return number(number(text(b, a.ID), a.Step), a.N) }

// list appends the length of a list and its elements.
func list[T any](b []byte, xs []T, one func([]byte, T) []byte) []byte {
	b = number(b, len(xs))
	for _, x := range xs {
		b = one(b, x)
	}
	return b
}

// text appends a string with its length.
func text[S ~string](b []byte, s S) []byte {
	return append(number(b, len(s)), s...)
}

func number(b []byte, n int) []byte { return binary.AppendUvarint(b, uint64(n)) }

func flag(f bool) byte {
	if f {
		return 1
	}
	return 0
}
