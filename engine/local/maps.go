package local

import (
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/cockroachdb/pebble/v2"

	"github.com/pawl-go/pawl/engine"
)

// Maps implements engine.Operator.
func (o operator) Maps(_ context.Context, a engine.Actor) (_ []string, err error) {
	g, err := o.e.look(a)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, g.close()) }()
	found := map[string]bool{}
	for _, c := range g.puts(func(k *engine.Key) bool { return k.InMap }) {
		found[c.Cell] = true
	}
	if g.snap != nil {
		if err := g.maps(a, found); err != nil {
			return nil, err
		}
	}
	return slices.Sorted(maps.Keys(found)), nil
}

// maps adds the maps of which the store has an entry that counts. It reads on in a map
// only while its entries were changed since.
func (g *glance) maps(a engine.Actor, found map[string]bool) (err error) {
	actor := actorKey(a)
	all := append(slices.Clip(actor), keyMap)
	it, err := g.snap.NewIter(&pebble.IterOptions{LowerBound: all, UpperBound: after(all)})
	if err != nil {
		return readFailed(err)
	}
	defer func() { err = errors.Join(err, it.Close()) }()
	for ok := it.First(); ok; {
		k, whole := cutCellKey(it.Key()[len(actor):])
		if !whole {
			return readFailed(errBadRecord)
		}
		if !found[k.Cell] && !g.hides(k.Cell, true) {
			if _, covered := g.covers(&k); covered {
				ok = it.Next()
				continue
			}
			found[k.Cell] = true
		}
		ok = it.SeekGE(after(appendMapKey(slices.Clip(actor), k.Cell)))
	}
	return readFailed(it.Error())
}
