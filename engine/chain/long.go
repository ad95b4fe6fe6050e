package chain

import "slices"

// long is a line of any length, split so that its chain is at hand.
type long[T Item] struct {
	// head[at:] are the requests not nested in the root, the root first.
	head []T
	at   int
	// nested are the requests nested in the root, in flow order.
	nested []T
	// held are those of nested that are in the chain: held[i] is h(i+1).
	held []T
}

// len is the number of requests in the line.
func (l *long[T]) len() int { return len(l.head) - l.at + len(l.nested) }

// root returns h0; ok is false for an empty line.
func (l *long[T]) root() (h0 T, ok bool) {
	if l.at == len(l.head) {
		return h0, false
	}
	return l.head[l.at], true
}

// top returns the innermost request of the chain.
func (l *long[T]) top() (top T, ok bool) {
	if n := len(l.held); n > 0 {
		return l.held[n-1], true
	}
	return l.root()
}

// holders yields the chain, h0 first.
func (l *long[T]) holders(yield func(T) bool) {
	h0, ok := l.root()
	if !ok || !yield(h0) {
		return
	}
	for _, h := range l.held {
		if !yield(h) {
			return
		}
	}
}

// holds reports whether x is in the chain.
func (l *long[T]) holds(x T) bool {
	if h0, ok := l.root(); ok && h0 == x {
		return true
	}
	return slices.Contains(l.held, x)
}

// all yields every request in flow order as far as it matters: the root, those
// nested in it, then the rest.
func (l *long[T]) all(yield func(T) bool) {
	if h0, ok := l.root(); !ok || !yield(h0) {
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

// add puts a request at the end.
func (l *long[T]) add(x T) {
	h0, ok := l.root()
	if !ok || !x.Link().Within(h0.Link()) {
		l.push(x)
		return
	}
	l.nested = append(l.nested, x)
	if top, _ := l.top(); x.Link().Within(top.Link()) {
		l.held = append(l.held, x)
	}
}

// addFirst puts a request in front of all others: one that comes back to the
// place that it has kept. Nothing may be nested in the present root.
func (l *long[T]) addFirst(x T) {
	if l.at > 0 {
		l.at--
		l.head[l.at] = x
		return
	}
	l.head = slices.Insert(l.head, 0, x)
}

func (l *long[T]) push(x T) {
	if l.at > 0 && l.at == len(l.head) {
		l.head, l.at = l.head[:0], 0
	}
	l.head = append(l.head, x)
}

// replace puts y in the place of x: a tail call that keeps the lock. It
// reports whether x was there.
func (l *long[T]) replace(x, y T) bool {
	done := false
	for _, s := range [][]T{l.head[l.at:], l.nested, l.held} {
		if i := slices.Index(s, x); i >= 0 {
			s[i], done = y, true
		}
	}
	return done
}

// remove takes x out, wherever it stands, and reports whether it was there.
func (l *long[T]) remove(x T) bool {
	if h0, ok := l.root(); ok && h0 == x {
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
func (l *long[T]) removeRoot() {
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
		l.add(x)
	}
}

// rehold builds the chain anew above the root.
func (l *long[T]) rehold() {
	l.held = l.held[:0]
	for _, x := range l.nested {
		if top, ok := l.top(); ok && x.Link().Within(top.Link()) {
			l.held = append(l.held, x)
		}
	}
}
