package pawl

import (
	"context"
	"iter"

	"github.com/pawl-go/pawl/engine"
	"github.com/pawl-go/pawl/internal/runtime"
)

// pageSize is how many recorded entries an iteration reads at once.
const pageSize = 128

// entries iterates over a map as a run sees it: the recorded entries of all its
// names, hidden by the overlay. It is told the overlay anew at each step, so an
// entry that the loop sets or deletes ahead of it is seen so.
type entries struct {
	inst    *instance
	inv     *runtime.Invocation
	names   []string // the present name and former ones
	overlay func() *overlay
}

// get returns the encoded value of one entry.
func (e *entries) get(ctx context.Context, key string) ([]byte, bool, error) {
	if value, exists, hides := e.overlay().get(key); hides {
		return value, exists, nil
	}
	for _, name := range e.names {
		value, ok, err := e.inv.Lookup(ctx, engine.Key{Cell: name, Entry: key, InMap: true})
		if ok || err != nil {
			return value, ok, err
		}
	}
	return nil, false, nil
}

// all yields the entries with keys >= from in byte order.
func (e *entries) all(ctx context.Context, from string) iter.Seq2[engine.Cell, error] {
	return func(yield func(engine.Cell, error) bool) {
		pages := make([]page, len(e.names))
		for {
			if err := e.inv.Check(); err != nil {
				yield(engine.Cell{}, err)
				return
			}
			cell, ok, err := e.next(ctx, pages, from)
			if err != nil {
				yield(engine.Cell{}, err)
				return
			}
			if !ok || !yield(cell, nil) {
				return
			}
			from = cell.Entry + "\x00"
		}
	}
}

// next gives the first entry with a key >= from.
func (e *entries) next(ctx context.Context, pages []page, from string) (best engine.Cell, ok bool, err error) {
	o := e.overlay()
	if key, found := o.next(from); found {
		value, _, _ := o.get(key)
		best, ok = engine.Cell{Key: engine.Key{Entry: key}, Value: value}, true
	}
	if o != nil && o.cleared {
		return best, ok, nil
	}
	for n, name := range e.names {
		cell, found, err := pages[n].next(ctx, e, name, from)
		if err != nil {
			return best, false, err
		}
		if found && (!ok || cell.Entry < best.Entry) {
			best, ok = cell, true
		}
	}
	return best, ok, nil
}

// page is a piece of the recorded entries under one name.
type page struct {
	cells   []engine.Cell
	last    bool // there are none behind it
	read    bool
	version uint32
}

// next gives the first recorded entry with a key >= from that the overlay does
// not hide.
func (p *page) next(ctx context.Context, e *entries, name, from string) (engine.Cell, bool, error) {
	if p.version != e.inst.version {
		*p = page{version: e.inst.version} // recorded or discarded meanwhile
	}
	o := e.overlay()
	for {
		for len(p.cells) > 0 && p.cells[0].Entry < from {
			p.cells = p.cells[1:]
		}
		switch {
		case len(p.cells) == 0 && p.read && p.last:
			return engine.Cell{}, false, nil
		case len(p.cells) == 0:
			cells, err := e.inv.Scan(ctx, name, from, pageSize)
			if err != nil {
				return engine.Cell{}, false, err
			}
			p.cells, p.read, p.last = cells, true, len(cells) < pageSize
			continue
		}
		if _, _, hides := o.get(p.cells[0].Entry); !hides {
			return p.cells[0], true, nil
		}
		from = p.cells[0].Entry + "\x00"
	}
}
