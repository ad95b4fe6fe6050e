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

import "github.com/pawl-go/pawl/engine"

// Line holds the pending requests of one actor. The zero Line is empty. T is
// what the owner keeps for a request, usually a pointer. Not safe for
// concurrent use.
//
// There is a line for every live actor, and most hold one request or none: that
// takes two words. Only a line that has more is kept in its long form, until it
// is empty.
type Line[T Item] struct {
	only T // the one request, or the zero T; unused in the long form
	long *long[T]
}

// Item is what a line keeps for a request: it knows the request's frame.
type Item interface {
	comparable
	Link() *engine.Frame
}

// Len is the number of requests in the line.
func (l *Line[T]) Len() int {
	switch {
	case l.long != nil:
		return l.long.len()
	case l.single():
		return 1
	}
	return 0
}

// single reports whether the line is one request in the short form.
func (l *Line[T]) single() bool {
	var none T
	return l.long == nil && l.only != none
}

// Root returns h0; ok is false for an empty line.
func (l *Line[T]) Root() (h0 T, ok bool) {
	if l.long != nil {
		return l.long.root()
	}
	return l.only, l.single()
}

// Top returns the innermost request of the chain.
func (l *Line[T]) Top() (top T, ok bool) {
	if l.long != nil {
		return l.long.top()
	}
	return l.only, l.single()
}

// Held yields the chain, h0 first.
func (l *Line[T]) Held(yield func(T) bool) {
	switch {
	case l.long != nil:
		l.long.holders(yield)
	case l.single():
		yield(l.only)
	}
}

// Holds reports whether x is in the chain.
func (l *Line[T]) Holds(x T) bool {
	if l.long != nil {
		return l.long.holds(x)
	}
	return l.single() && l.only == x
}

// All yields every request in flow order as far as it matters: the root, those
// nested in it, then the rest.
func (l *Line[T]) All(yield func(T) bool) {
	switch {
	case l.long != nil:
		l.long.all(yield)
	case l.single():
		yield(l.only)
	}
}

// Add puts a request at the end.
func (l *Line[T]) Add(x T) {
	if l.long == nil && !l.single() {
		l.only = x
		return
	}
	l.lengthen()
	l.long.add(x)
}

// AddFirst puts a request in front of all others: one that comes back to the
// place that it has kept. Nothing may be nested in the present root.
func (l *Line[T]) AddFirst(x T) {
	if l.long == nil && !l.single() {
		l.only = x
		return
	}
	l.lengthen()
	l.long.addFirst(x)
}

// lengthen brings a line of one into the long form.
func (l *Line[T]) lengthen() {
	if l.long != nil {
		return
	}
	var none T
	l.long = &long[T]{head: append(make([]T, 0, 4), l.only)}
	l.only = none
}

// Replace puts y in the place of x: a tail call that keeps the lock. It
// reports whether x was there.
func (l *Line[T]) Replace(x, y T) bool {
	if l.long != nil {
		return l.long.replace(x, y)
	}
	if !l.single() || l.only != x {
		return false
	}
	l.only = y
	return true
}

// Remove takes x out, wherever it stands, and reports whether it was there.
func (l *Line[T]) Remove(x T) bool {
	var none T
	if l.long == nil {
		there := l.single() && l.only == x
		if there {
			l.only = none
		}
		return there
	}
	there := l.long.remove(x)
	if l.long.len() == 0 {
		l.long = nil
	}
	return there
}
