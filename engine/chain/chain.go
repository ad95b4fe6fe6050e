// Package chain is the order of the requests pending for one actor, as a pure
// value: which of them hold the actor, and which may be next. Both sides of
// the contract use it: a runtime to decide what begins, an engine to decide
// which requests count as begun after a failure and who waits for whom.
//
// The requests of an actor stand in one line, in flow order. The chain of the
// actor is held(a) of the semantics: h0 is the oldest request, h(n+1) is the
// oldest request that is nested in h(n). A request nested in h0 can only come
// from an attempt of h0 or of something nested in it, so it is younger than
// h0: the line splits into the chain's root, those nested in it, and the rest.
//
//	line:   h0 | nested in h0: h1 x h2 | the rest: r1 r2 r3
//	held:   h0 h1 h2                     (x waits for h1, r1 for h0)
//
// Add costs one step unless the request is nested; Remove of the oldest costs
// one step; both are linear in the number of requests nested in h0 else.
package chain

import (
	"slices"

	"github.com/pawl-go/pawl/engine"
)

// Line holds the pending requests of one actor. The zero Line is empty. T is
// what the owner keeps for a request, usually a pointer. Not safe for
// concurrent use.
type Line[T Item] struct {
	// head[at:] are the requests not nested in the root, the root first.
	head []T
	at   int
	// nested are the requests nested in the root, in flow order.
	nested []T
	// held are those of nested that are in the chain: held[i] is h(i+1).
	held []T
}

// Item is what a line keeps for a request: it knows the request's frame.
type Item interface {
	comparable
	Link() *engine.Frame
}

// Len is the number of requests in the line.
func (l *Line[T]) Len() int { return len(l.head) - l.at + len(l.nested) }

// Root returns h0; ok is false for an empty line.
func (l *Line[T]) Root() (h0 T, ok bool) {
	if l.at == len(l.head) {
		return h0, false
	}
	return l.head[l.at], true
}

// Top returns the innermost request of the chain.
func (l *Line[T]) Top() (top T, ok bool) {
	if n := len(l.held); n > 0 {
		return l.held[n-1], true
	}
	return l.Root()
}

// Held yields the chain, h0 first.
func (l *Line[T]) Held(yield func(T) bool) {
	h0, ok := l.Root()
	if !ok || !yield(h0) {
		return
	}
	for _, h := range l.held {
		if !yield(h) {
			return
		}
	}
}

// Holds reports whether x is in the chain.
func (l *Line[T]) Holds(x T) bool {
	if h0, ok := l.Root(); ok && h0 == x {
		return true
	}
	return slices.Contains(l.held, x)
}

// All yields every request in flow order as far as it matters: the root, those
// nested in it, then the rest.
func (l *Line[T]) All(yield func(T) bool) {
	if h0, ok := l.Root(); !ok || !yield(h0) {
		return
	}
	for _, x := range l.nested {
		if !yield(x) {
			return
		}
	}
	for _, x := range l.head[l.at+1:] {
		if !yield(x) {
			return
		}
	}
}

// Add puts a request at the end.
func (l *Line[T]) Add(x T) {
	h0, ok := l.Root()
	if !ok || !x.Link().NestedIn(h0.Link().ID) {
		l.push(x)
		return
	}
	l.nested = append(l.nested, x)
	if top, _ := l.Top(); x.Link().NestedIn(top.Link().ID) {
		l.held = append(l.held, x)
	}
}

// AddFirst puts a request in front of all others: one that comes back to the
// place that it has kept. Nothing may be nested in the present root.
func (l *Line[T]) AddFirst(x T) {
	if l.at > 0 {
		l.at--
		l.head[l.at] = x
		return
	}
	l.head = slices.Insert(l.head, 0, x)
}

func (l *Line[T]) push(x T) {
	if l.at > 0 && l.at == len(l.head) {
		l.head, l.at = l.head[:0], 0
	}
	l.head = append(l.head, x)
}

// Replace puts y in the place of x: a tail call that keeps the lock. It
// reports whether x was there.
func (l *Line[T]) Replace(x, y T) bool {
	done := false
	for _, s := range [][]T{l.head[l.at:], l.nested, l.held} {
		if i := slices.Index(s, x); i >= 0 {
			s[i], done = y, true
		}
	}
	return done
}

// Remove takes x out, wherever it stands, and reports whether it was there.
func (l *Line[T]) Remove(x T) bool {
	if h0, ok := l.Root(); ok && h0 == x {
		l.removeRoot()
		return true
	}
	if i := slices.Index(l.nested, x); i >= 0 {
		l.nested = slices.Delete(l.nested, i, i+1)
		if slices.Contains(l.held, x) {
			l.rehold()
		}
		return true
	}
	if i := slices.Index(l.head[l.at:], x); i >= 0 {
		l.head = slices.Delete(l.head, l.at+i, l.at+i+1)
		return true
	}
	return false
}

// removeRoot takes h0 out. Nothing nested in it is left but through an
// operator's force; what is left then joins the rest, first.
func (l *Line[T]) removeRoot() {
	var none T
	l.head[l.at] = none
	l.at++
	if l.at == len(l.head) {
		l.head, l.at = l.head[:0], 0
	} else if l.at > 64 && l.at > len(l.head)/2 {
		l.head = slices.Delete(l.head, 0, l.at)
		l.at = 0
	}
	l.held = l.held[:0]
	if len(l.nested) == 0 {
		return
	}
	rest := append(slices.Clone(l.nested), l.head[l.at:]...)
	l.head, l.at, l.nested = l.head[:0], 0, l.nested[:0]
	for _, x := range rest {
		l.Add(x)
	}
}

// rehold builds the chain anew above the root.
func (l *Line[T]) rehold() {
	l.held = l.held[:0]
	for _, x := range l.nested {
		if top, ok := l.Top(); ok && x.Link().NestedIn(top.Link().ID) {
			l.held = append(l.held, x)
		}
	}
}
