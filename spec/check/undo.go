package check

import (
	"slices"

	"github.com/pawl-go/pawl/spec"
)

// undo keeps what a crash may have to undo: for each record above the commit
// index, the state of the machine before it and the changes beside it.
type undo struct{ records []before }

// before is how things stood before a record.
type before struct {
	at      uint64
	state   *spec.State
	changes []func() // undone in reverse order
}

// mark notes the state before the record at a position. Nothing is noted
// while records count at once.
func (c *Checker) mark(at uint64) {
	if c.atOnce {
		return
	}
	c.undo.records = append(c.undo.records, before{at: at, state: c.s.Clone()})
}

// undoes notes how to undo a change of the record in hand.
func (c *Checker) undoes(f func()) {
	if n := len(c.undo.records); n > 0 && !c.atOnce {
		r := &c.undo.records[n-1]
		r.changes = append(r.changes, f)
	}
}

// settle drops what cannot be undone any more.
func (u *undo) settle(commit uint64) {
	n := 0
	for n < len(u.records) && u.records[n].at <= commit {
		n++
	}
	clear(u.records[:n])
	u.records = u.records[n:]
}

// cut undoes every record above at, and counts them.
func (c *Checker) cut(at uint64) int {
	n := 0
	for i := len(c.undo.records) - 1; i >= 0 && c.undo.records[i].at > at; i-- {
		r := &c.undo.records[i]
		for _, undo := range slices.Backward(r.changes) {
			undo()
		}
		c.s = *r.state
		n++
	}
	c.undo.records = c.undo.records[:len(c.undo.records)-n]
	return n
}

// put sets an entry of a map of the checker, and notes how to undo that.
func put[K comparable, V any](c *Checker, m map[K]V, k K, v V) {
	old, there := m[k]
	m[k] = v
	c.undoes(func() { restore(m, k, old, there) })
}

// take removes an entry of a map of the checker, and notes how to undo that.
func take[K comparable, V any](c *Checker, m map[K]V, k K) {
	old, there := m[k]
	if !there {
		return
	}
	delete(m, k)
	c.undoes(func() { restore(m, k, old, there) })
}

func restore[K comparable, V any](m map[K]V, k K, old V, there bool) {
	if there {
		m[k] = old
	} else {
		delete(m, k)
	}
}
