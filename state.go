package pawl

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"slices"

	"github.com/pawl-go/pawl/engine"
	"github.com/pawl-go/pawl/internal/runtime"
)

// RawState is untyped access to the state of the actor on which a method runs:
// by keys, and by entries of maps, as encoded by the type's codec. It sees what
// cells have written and they see what it writes. It is the method's, as its
// cells are; reads and writes return the errors that cells panic with.
type RawState struct {
	inv  *runtime.Invocation
	inst *instance
}

// State gives untyped access to the state of the actor of a method. It panics
// with ErrNotInMethod outside of methods.
func State(ctx context.Context) *RawState {
	inv := inMethod(ctx, "State")
	inst, ok := inv.Instance().(*instance)
	if !ok {
		panic(misuse(ErrNotInMethod, errNeedsMethod))
	}
	return &RawState{inv, inst}
}

// looseState holds what was written to keys and maps that no cell has.
type looseState struct {
	flat overlay
	maps map[string]*overlay
}

func (l *looseState) writes(dst []write) []write {
	if l == nil {
		return dst
	}
	for _, k := range l.flat.keys() {
		e := l.flat.entries[k]
		w := write{Op: engine.Put, Key: engine.Key{Cell: k}, Value: e.value}
		if e.deleted {
			w = write{Op: engine.Delete, Key: engine.Key{Cell: k}}
		}
		dst = append(dst, w)
	}
	names := make([]string, 0, len(l.maps))
	for name := range l.maps {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		dst = l.maps[name].writes(dst, name, nil)
	}
	return dst
}

// stateName says what an untyped access was about.
type stateName string

func (n stateName) String() string { return fmt.Sprintf("state %q", string(n)) }

// flatCell is a Value of any type.
type flatCell interface {
	durable
	rawGet() ([]byte, bool, error)
	rawSet([]byte) error
	drop()
}

func (c *Value[T]) rawGet() ([]byte, bool, error) {
	if !c.is(present) {
		return nil, false, nil
	}
	b, err := c.bytes()
	return b, err == nil, err
}

func (c *Value[T]) rawSet(b []byte) error {
	var v T
	if err := decode(c.inst.t.codec, b, &v); err != nil {
		return badPayload("decode", c.spec.String()+" as", v, err)
	}
	c.put(v)
	return nil
}

// cell finds the cell of a key, nil if there is none.
func (s *RawState) cell(key string) flatCell {
	if owner, ok := s.inst.t.keys[key]; ok && owner.rank == 0 {
		f, _ := s.inst.at(owner.cell).(flatCell)
		return f
	}
	return nil
}

// mapCell finds the map of a name, nil if there is none.
func (s *RawState) mapCell(name string) *mapCell {
	for n := range s.inst.t.cells {
		if spec := &s.inst.t.cells[n]; spec.inMap && spec.name == name {
			m, _ := s.inst.at(n).(interface{ core() *mapCell })
			return m.core()
		}
	}
	return nil
}

func (c *mapCell) core() *mapCell { return c }

func (s *RawState) check(write bool, what string) error {
	if err := s.inv.Check(); err != nil {
		return err
	}
	if write && s.inv.ReadOnly() {
		return readOnly(s.inv, stateName(what))
	}
	return nil
}

// Get returns the encoded value of a key; ok is false if there is none. It must
// not be changed.
func (s *RawState) Get(ctx context.Context, key string) (value json.RawMessage, ok bool, err error) {
	if err := s.check(false, key); err != nil {
		return nil, false, err
	}
	if c := s.cell(key); c != nil {
		return raw(c.rawGet())
	}
	if l := s.inst.loose; l != nil {
		if v, exists, hides := l.flat.get(key); hides {
			return v, exists, nil
		}
	}
	return raw(s.inv.Lookup(ctx, engine.Key{Cell: key}))
}

func raw(b []byte, ok bool, err error) (json.RawMessage, bool, error) { return b, ok, err }

// Set sets a key, of at most 1 KiB, to an encoded value, which is the state's
// from then on. A key that is a cell's must decode into it (ErrBadPayload).
func (s *RawState) Set(_ context.Context, key string, value json.RawMessage) error {
	if err := s.check(true, key); err != nil {
		return err
	}
	if err := checkName("state key", key, maxKey); err != nil {
		return err
	}
	if err := checkSize(stateName(key), len(value), s.inst.t.app.cfg.Limits.Payload); err != nil {
		return err
	}
	if c := s.cell(key); c != nil {
		return c.rawSet(value)
	}
	s.inst.looseFlat().set(key, value, false)
	return nil
}

// Delete removes a key. It is no error if there is none.
func (s *RawState) Delete(_ context.Context, key string) error {
	if err := s.check(true, key); err != nil {
		return err
	}
	if c := s.cell(key); c != nil {
		c.drop()
		return nil
	}
	s.inst.looseFlat().set(key, nil, true)
	return nil
}

// Keys lists the keys that have values, in byte order, those without a cell and
// former names included; entries of maps are not among them.
func (s *RawState) Keys(ctx context.Context) ([]string, error) {
	if err := s.check(false, ""); err != nil {
		return nil, err
	}
	recorded, err := s.inv.Component().Session().Load(ctx, s.inv.Self())
	if err != nil {
		return nil, fmt.Errorf("list state of %v: %w", s.inv.Self(), err)
	}
	has := map[string]bool{}
	for _, c := range recorded {
		has[c.Cell] = true
	}
	if l := s.inst.loose; l != nil {
		for k, e := range l.flat.entries {
			has[k] = !e.deleted
		}
	}
	for n := range s.inst.t.cells {
		if c, ok := s.inst.at(n).(interface{ presence(map[string]bool) }); ok {
			c.presence(has)
		}
	}
	var keys []string
	for k, yes := range has {
		if yes {
			keys = append(keys, k)
		}
	}
	slices.Sort(keys)
	return keys, nil
}

// presence corrects what is recorded by what was written since.
func (c *cell) presence(has map[string]bool) {
	if c.is(dirty) {
		has[c.spec.name] = c.is(present)
		if c.is(fromOld) {
			for _, old := range c.spec.was {
				delete(has, old)
			}
		}
	}
}

// Entry returns the encoded value of an entry of a map; ok is false if there is
// none. It must not be changed.
func (s *RawState) Entry(ctx context.Context, mapName, key string) (value json.RawMessage, ok bool, err error) {
	if err := s.check(false, mapName); err != nil {
		return nil, false, err
	}
	return raw(s.entries(mapName).get(ctx, key))
}

// SetEntry sets an entry of a map to an encoded value, which is the state's from
// then on. It is not checked against the map's type.
func (s *RawState) SetEntry(_ context.Context, mapName, key string, value json.RawMessage) error {
	if err := s.check(true, mapName); err != nil {
		return err
	}
	if err := checkName("state key", mapName, maxKey); err != nil {
		return err
	}
	if err := s.inst.checkEntry(stateName(mapName), key, value); err != nil {
		return err
	}
	s.overlay(mapName).set(key, value, false)
	return nil
}

// DeleteEntry removes an entry of a map. It is no error if there is none.
func (s *RawState) DeleteEntry(_ context.Context, mapName, key string) error {
	if err := s.check(true, mapName); err != nil {
		return err
	}
	s.overlay(mapName).set(key, nil, true)
	return nil
}

// Clear removes every entry of a map.
func (s *RawState) Clear(_ context.Context, mapName string) error {
	if err := s.check(true, mapName); err != nil {
		return err
	}
	s.overlay(mapName).clear()
	return nil
}

// Entries iterates over the entries of a map in byte order, from the first key
// >= from on. An error ends the iteration.
func (s *RawState) Entries(ctx context.Context, mapName, from string) iter.Seq2[Entry[string, json.RawMessage], error] {
	return func(yield func(Entry[string, json.RawMessage], error) bool) {
		for c, err := range s.entries(mapName).all(ctx, from) {
			if !yield(Entry[string, json.RawMessage]{Key: c.Entry, Value: c.Value}, err) || err != nil {
				return
			}
		}
	}
}

// entries reads a map, with a cell or without.
func (s *RawState) entries(name string) *entries {
	e := &entries{inst: s.inst, inv: s.inv, names: []string{name}}
	if m := s.mapCell(name); m != nil {
		e.names = append(e.names, m.spec.was...)
		e.overlay = func() *overlay { return m.pending }
		return e
	}
	e.overlay = func() *overlay {
		if s.inst.loose == nil {
			return nil
		}
		return s.inst.loose.maps[name]
	}
	return e
}

// overlay is where writes to a map go.
func (s *RawState) overlay(name string) *overlay {
	if m := s.mapCell(name); m != nil {
		return m.changed()
	}
	l := s.inst.looseState()
	if l.maps == nil {
		l.maps = map[string]*overlay{}
	}
	if l.maps[name] == nil {
		l.maps[name] = &overlay{}
	}
	return l.maps[name]
}

func (i *instance) looseState() *looseState {
	if i.loose == nil {
		i.loose = &looseState{}
	}
	return i.loose
}

func (i *instance) looseFlat() *overlay { return &i.looseState().flat }
