package local

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/pawl-go/pawl/engine"
)

// changes are the newest recorded writes of an actor that the store does not
// have yet. Reads lay them over the store.
type changes struct {
	cells   []engine.Write      // the newest write of each key; no Clear
	index   map[engine.Key]int  // of cells, if they are many
	cleared map[string]struct{} // all that the store has of these maps is void
	under   *changes            // older ones, that a checkpoint is writing
	wiped   bool                // all that the store has of the actor is void
	saving  bool                // a checkpoint is writing them: they stay as they are
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
	if a.changes == nil || a.changes.saving {
		a.changes = &changes{under: a.changes}
		f.dirty = append(f.dirty, a)
	}
	return a.changes
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
		c.cells[i].Op, c.cells[i].Value = w.Op, w.Value
		return
	}
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
	if c.wiped {
		return
	}
	if c.cleared == nil {
		c.cleared = map[string]struct{}{}
	}
	c.cleared[cell] = struct{}{}
}

// voids reports whether all that is under these changes of a map is void.
func (c *changes) voids(cell string) bool {
	_, cleared := c.cleared[cell]
	return c.wiped || cleared
}

// wipe drops all state of an actor.
func (f *flow) wipe(a *actor) {
	c := f.change(a)
	*c = changes{under: c.under, wiped: true}
}

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
		if c.wiped || k.InMap && c.voids(k.Cell) {
			return nil, true
		}
	}
	return nil, false
}

// hides reports whether all that the store has of a cell's map, or of the flat
// cells for an empty name and inMap unset, is void.
func (v *overlay) hides(cell string, inMap bool) bool {
	for _, c := range v.layers {
		if c != nil && (c.wiped || inMap && c.voids(cell)) {
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
	d := a.changes
	if d != nil && !d.saving {
		c := &changes{wiped: d.wiped, cleared: maps.Clone(d.cleared), cells: slices.Clone(d.cells)}
		if len(c.cells) > indexFrom {
			c.reindex()
		}
		v.layers[0], d = c, d.under
	}
	v.layers[1] = d
	return v
}
