package pawl

import (
	"context"
	"fmt"
	"iter"
	"reflect"
	"slices"
)

// Map is a durable cell with entries of their own: each is read when it is asked
// for, and written alone, so that a map may be larger than memory. Entries are in
// byte order of their keys, of at most 1 KiB. All that is said of [Value] holds;
// but reads can fail, with ErrUnavailable or, for an entry that does not decode,
// ErrBadState; and what Get returned is the caller's to keep.
type Map[K ~string, V any] struct {
	_ noCopy
	mapCell
	_ [0]func(K) V
}

// Entry is an entry of a Map.
type Entry[K ~string, V any] struct {
	Key   K
	Value V
}

// mapCell is what maps have in common.
type mapCell struct {
	self    *mapCell
	inst    *instance
	spec    *cellSpec
	pending *overlay // nil while nothing was written
}

func (c *mapCell) bind(i *instance, s *cellSpec) error {
	if c.self != nil {
		return i.usedActor()
	}
	c.self, c.inst, c.spec = c, i, s
	return nil
}

func (*mapCell) isMap() bool { return true }

func (*Map[K, V]) contents() []reflect.Type { return []reflect.Type{reflect.TypeFor[V]()} }

// reader lets the running method read.
func (c *mapCell) reader(ctx context.Context) *entries {
	if c.self != c {
		panic(misuse(ErrNotInMethod, errCopied))
	}
	inv := c.inst.enter(ctx, c.spec)
	return &entries{
		inst: c.inst, inv: inv,
		names:   slices.Concat([]string{c.spec.name}, c.spec.was),
		overlay: func() *overlay { return c.pending },
	}
}

// writer lets the running method write.
func (c *mapCell) writer(ctx context.Context) *overlay {
	if c.self != c {
		panic(misuse(ErrNotInMethod, errCopied))
	}
	c.inst.change(ctx, c.spec)
	return c.changed()
}

// Get returns the value of a key; ok is false if there is none.
func (c *Map[K, V]) Get(ctx context.Context, k K) (v V, ok bool, err error) {
	rec, ok, err := c.reader(ctx).get(ctx, string(k))
	if err != nil || !ok {
		return v, false, err
	}
	v, err = c.decode(string(k), rec)
	return v, err == nil, err
}

// Set sets the value of a key. V is encoded at once; one that does not encode, or
// is too large, as its key may be, fails the method when it ends.
func (c *Map[K, V]) Set(ctx context.Context, k K, v V) {
	o := c.writer(ctx)
	b, err := encode(c.inst.t.codec, v)
	if err != nil {
		c.inst.refuse(&Error{Code: ErrBadPayload, Err: fmt.Errorf("encode entry %q of %v: %w", k, c.spec, err)})
		return
	}
	if err := c.inst.checkEntry(c.spec, string(k), b); err != nil {
		c.inst.refuse(err)
		return
	}
	o.set(string(k), b, false)
}

// Delete removes a key. It is no error if there is none.
func (c *Map[K, V]) Delete(ctx context.Context, k K) { c.writer(ctx).set(string(k), nil, true) }

// Clear removes every key.
func (c *Map[K, V]) Clear(ctx context.Context) { c.writer(ctx).clear() }

// Len counts the keys; it reads them all.
func (c *Map[K, V]) Len(ctx context.Context) (n int, err error) {
	for _, err := range c.reader(ctx).all(ctx, "") {
		if err != nil {
			return 0, err
		}
		n++
	}
	return n, nil
}

// All iterates over the entries in byte order of their keys. An error ends the
// iteration. The loop may change the map: an entry ahead is seen as it was
// changed.
func (c *Map[K, V]) All(ctx context.Context) iter.Seq2[Entry[K, V], error] { return c.From(ctx, "") }

// From is All from the first key >= k on.
func (c *Map[K, V]) From(ctx context.Context, k K) iter.Seq2[Entry[K, V], error] {
	r := c.reader(ctx)
	return func(yield func(Entry[K, V], error) bool) {
		for cell, err := range r.all(ctx, string(k)) {
			e := Entry[K, V]{Key: K(cell.Entry)}
			if err == nil {
				e.Value, err = c.decode(cell.Entry, cell.Value)
			}
			if !yield(e, err) || err != nil {
				return
			}
		}
	}
}

func (c *Map[K, V]) decode(key string, rec []byte) (v V, err error) {
	if err := decode(c.inst.t.codec, rec, &v); err != nil {
		var none V
		return none, c.inst.badState(c.spec, len(rec), fmt.Errorf("entry %q: %w", key, err))
	}
	return v, nil
}

// changed gives the overlay to write to. The map is dirty from then on.
func (c *mapCell) changed() *overlay {
	if c.pending == nil {
		c.pending = &overlay{}
		c.inst.dirty = append(c.inst.dirty, c.durable())
	}
	return c.pending
}

// durable gives the map as its instance keeps it.
func (c *mapCell) durable() durable { return pendingMap{c} }

// pendingMap is a map in the list of what was changed, whatever its types.
type pendingMap struct{ *mapCell }

func (pendingMap) contents() []reflect.Type { return nil }

func (c *mapCell) encoded(dst []write) ([]write, []byte, error) { //nolint:unparam // as durable has it
	return c.pending.writes(dst, c.spec.name, c.spec.was), nil, nil
}

func (c *mapCell) recorded([]byte) { c.pending = nil }
func (c *mapCell) discard()        { c.pending = nil }
func (c *mapCell) forget()         {}
func (c *mapCell) touched() bool   { return false } // what Get returned is the caller's

// checkEntry refuses a map's entry that is over a limit.
func (i *instance) checkEntry(cell fmt.Stringer, key string, value []byte) error {
	if err := checkName("state key", key, maxKey); err != nil {
		return err
	}
	return checkSize(entryName{cell, key}, len(value), i.t.app.cfg.Limits.Payload)
}

// entryName names an entry in a message.
type entryName struct {
	cell fmt.Stringer
	key  string
}

func (n entryName) String() string { return fmt.Sprintf("entry %q of %v", n.key, n.cell) }
