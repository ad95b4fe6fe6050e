package local

import (
	"cmp"
	"slices"
	"strings"

	"github.com/pawl-go/pawl/engine"
)

// changes are the newest recorded writes of an actor that the store does not
// have yet. Reads lay them over the store.
type changes struct {
	wiped   bool           // all that the store has of the actor is void
	cleared []string       // all that the store has of these maps is void
	cells   []engine.Write // the newest write of each key; no Clear
	index   map[engine.Key]int
	bytes   int
}

// indexFrom is the number of keys from which they are found by a map.
const indexFrom = 12

// write applies the op writes.
func (f *flow) write(a *actor, ws []engine.Write) {
	if len(ws) == 0 {
		return
	}
	c := f.change(a)
	for i := range ws {
		if w := &ws[i]; w.Op == engine.Clear {
			c.clear(w.Cell)
		} else {
			c.set(w)
		}
	}
}

// change gives the actor's changes, and notes them for the next checkpoint.
func (f *flow) change(a *actor) *changes {
	if a.dirty == nil {
		a.dirty = &changes{}
		f.dirty = append(f.dirty, a)
	}
	return a.dirty
}

func (c *changes) find(k *engine.Key) int {
	if c.index != nil {
		if i, ok := c.index[*k]; ok {
			return i
		}
		return -1
	}
	for i := range c.cells {
		if c.cells[i].Key == *k {
			return i
		}
	}
	return -1
}

func (c *changes) set(w *engine.Write) {
	i := c.find(&w.Key)
	if i >= 0 {
		c.bytes += len(w.Value) - len(c.cells[i].Value)
		c.cells[i].Op, c.cells[i].Value = w.Op, w.Value
		return
	}
	c.bytes += len(w.Value) + len(w.Cell) + len(w.Entry)
	if c.index != nil {
		c.index[w.Key] = len(c.cells)
	}
	c.cells = append(c.cells, *w)
	if c.index == nil && len(c.cells) > indexFrom {
		c.reindex()
	}
}

func (c *changes) reindex() {
	c.index = make(map[engine.Key]int, 2*len(c.cells))
	for i := range c.cells {
		c.index[c.cells[i].Key] = i
	}
}

func (c *changes) clear(cell string) {
	c.cells = slices.DeleteFunc(c.cells, func(w engine.Write) bool { return w.InMap && w.Cell == cell })
	if c.index != nil {
		c.reindex()
	}
	if !c.wiped && !slices.Contains(c.cleared, cell) {
		c.cleared = append(c.cleared, cell)
	}
}

// wipe drops all state of an actor.
func (f *flow) wipe(a *actor) { *f.change(a) = changes{wiped: true} }

// overlay is what is known of an actor above the store: the changes being
// saved, and above them the newest. The changes in it are copied or no longer
// written to.
type overlay struct {
	layers [2]*changes // newest first; nil for none
}

// covers reports whether the store need not be asked for the key, and what the
// layers say of it; nil for nothing there.
func (v *overlay) covers(k *engine.Key) (w *engine.Write, covered bool) {
	for _, c := range v.layers {
		if c == nil {
			continue
		}
		if i := c.find(k); i >= 0 {
			if c.cells[i].Op == engine.Put {
				return &c.cells[i], true
			}
			return nil, true
		}
		if c.wiped || k.InMap && slices.Contains(c.cleared, k.Cell) {
			return nil, true
		}
	}
	return nil, false
}

// hides reports whether all that the store has of a cell's map, or of the flat
// cells for an empty name and inMap unset, is void.
func (v *overlay) hides(cell string, inMap bool) bool {
	for _, c := range v.layers {
		if c != nil && (c.wiped || inMap && slices.Contains(c.cleared, cell)) {
			return true
		}
	}
	return false
}

// puts lists the cells that the layers set and that match, in byte order of
// their keys.
func (v *overlay) puts(match func(*engine.Key) bool) []engine.Cell {
	var cells []engine.Cell
	for i, c := range v.layers {
		if c == nil {
			continue
		}
		for j := range c.cells {
			w := &c.cells[j]
			if w.Op != engine.Put || !match(&w.Key) {
				continue
			}
			if i == 1 && v.newer(&w.Key) {
				continue
			}
			cells = append(cells, engine.Cell{Key: w.Key, Value: w.Value})
		}
	}
	slices.SortFunc(cells, compareCells)
	return cells
}

// newer reports whether the newest layer says something of the key.
func (v *overlay) newer(k *engine.Key) bool {
	top := overlay{layers: [2]*changes{v.layers[0]}}
	_, covered := top.covers(k)
	return covered
}

func compareCells(x, y engine.Cell) int {
	return cmp.Or(strings.Compare(x.Cell, y.Cell), strings.Compare(x.Entry, y.Entry))
}

// view takes the overlay of an actor. The newest layer is copied, since it is
// written to once the lock is given back.
func (a *actor) view() (v overlay) {
	if d := a.dirty; d != nil {
		c := &changes{wiped: d.wiped, cleared: slices.Clone(d.cleared), cells: slices.Clone(d.cells)}
		if len(c.cells) > indexFrom {
			c.reindex()
		}
		v.layers[0] = c
	}
	v.layers[1] = a.saving
	return v
}
