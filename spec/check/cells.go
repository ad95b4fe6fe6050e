package check

import (
	"fmt"
	"maps"
	"slices"

	"github.com/pawl-go/pawl/engine/trace"
)

// cells is the recorded state S: the hashes of the values of each actor's
// cells, with the versions that a reader who began a little earlier may see.
type cells map[string]*actorCells

type actorCells struct {
	now map[key]string
	// past are the newest changes, oldest first.
	past []change
}

// key names a piece of state.
type key struct {
	cell, entry string
	inMap       bool
}

// change is what one record has done to one cell.
type change struct {
	at       uint64
	key      key
	old, new string
}

// versions is how many changes of an actor are known to its readers.
const versions = 256

func keyOf(c *trace.Cell) key { return key{c.Cell, c.Entry, c.InMap} }

func (s cells) of(actor string) *actorCells {
	a := s[actor]
	if a == nil {
		a = &actorCells{now: map[key]string{}}
		s[actor] = a
	}
	return a
}

// write applies the writes of a record. It returns how to undo them.
func (a *actorCells) write(at uint64, writes []trace.Cell) (undo func()) {
	before := len(a.past)
	for i := range writes {
		w := &writes[i]
		if !w.Clear {
			a.set(at, keyOf(w), w.Hash)
			continue
		}
		for k := range a.now {
			if k.inMap && k.cell == w.Cell {
				a.set(at, k, "")
			}
		}
	}
	made := slices.Clone(a.past[before:])
	if drop := len(a.past) - versions; drop > 0 {
		a.past = slices.Clone(a.past[drop:])
	}
	return func() { a.revert(made) }
}

// clear drops all, at a purge.
func (a *actorCells) clear(at uint64) (undo func()) {
	before := len(a.past)
	for k := range a.now {
		a.set(at, k, "")
	}
	made := slices.Clone(a.past[before:])
	return func() { a.revert(made) }
}

func (a *actorCells) set(at uint64, k key, hash string) {
	a.past = append(a.past, change{at, k, a.now[k], hash})
	a.put(k, hash)
}

func (a *actorCells) put(k key, hash string) {
	if hash == "" {
		delete(a.now, k)
	} else {
		a.now[k] = hash
	}
}

func (a *actorCells) revert(made []change) {
	for _, c := range slices.Backward(made) {
		a.put(c.key, c.old)
	}
	a.past = a.past[:max(0, len(a.past)-len(made))]
}

// holds reports whether some version of the actor's state as of a record from
// at on, or the newest, agrees with what was read. With whole, what was read
// are all flat cells.
func (s cells) holds(actor string, at uint64, read []trace.Cell, whole bool) error {
	a := s.of(actor)
	view := maps.Clone(a.now)
	first := agrees(view, read, whole)
	if first == nil {
		return nil
	}
	for i := len(a.past) - 1; i >= 0 && a.past[i].at > at; i-- {
		c := &a.past[i]
		if view[c.key] = c.old; c.old == "" {
			delete(view, c.key)
		}
		if i > 0 && a.past[i-1].at == c.at {
			continue // within a record
		}
		if agrees(view, read, whole) == nil {
			return nil
		}
	}
	return first
}

// agrees compares what was read with a version of the state.
func agrees(view map[key]string, read []trace.Cell, whole bool) error {
	flat := 0
	for i := range read {
		k := keyOf(&read[i])
		if view[k] != read[i].Hash {
			return fmt.Errorf("cell %q is recorded as %s, and was read as %s", name(k), shown(view[k]), shown(read[i].Hash))
		}
		if !k.inMap && read[i].Hash != "" {
			flat++
		}
	}
	if !whole {
		return nil
	}
	for k := range view {
		if !k.inMap {
			flat--
		}
	}
	if flat < 0 {
		return fmt.Errorf("%d recorded cells were not read", -flat)
	}
	return nil
}

func name(k key) string {
	if k.inMap {
		return k.cell + "[" + k.entry + "]"
	}
	return k.cell
}

func shown(hash string) string {
	if hash == "" {
		return "nothing"
	}
	return hash
}
