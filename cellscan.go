package pawl

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
)

// cellSpec is a cell of an actor type, as found at registration.
type cellSpec struct {
	name   string   // the state key
	was    []string // former keys, the newest first
	path   string   // Type.field, for messages
	offset uintptr  // in the actor's struct
	typ    reflect.Type
	refs   bool // decoded values share memory
	inMap  bool
}

// durable is implemented by pointers to cells.
type durable interface {
	bind(i *instance, s *cellSpec) error
	// encoded appends what was changed, and returns the value's bytes as
	// recorded hence.
	encoded(dst []write) ([]write, []byte, error)
	recorded(rec []byte)
	discard()
	// forget drops a decoded value that code may still hold.
	forget()
	// touched reports whether a decoded value was changed in place.
	touched() bool
	// contents are the types to be encoded.
	contents() []reflect.Type
	isMap() bool
}

var durableType = reflect.TypeFor[durable]()

// scanCells finds the cells in the actor's struct and in structs within it.
func (r *registration) scanCells() {
	r.scanStruct(r.t.goType.Elem(), "", r.t.goName(), 0)
	r.checkKeys()
}

func (r *registration) scanStruct(t reflect.Type, prefix, path string, offset uintptr) {
	for f := range t.Fields() {
		name, was, err := cellTag(f.Tag)
		fieldPath := path + "." + f.Name
		if err != nil {
			r.mistake("field %s: %w", fieldPath, err)
			continue
		}
		at := offset + f.Offset
		switch {
		case isCell(f.Type):
			if name == "" {
				name = f.Name
			}
			r.addCell(f.Type, prefix, name, was, fieldPath, at)
		case f.Type.Kind() == reflect.Struct:
			below := prefix
			if name != "" || !f.Anonymous {
				below += cmp.Or(name, f.Name) + "."
			}
			r.scanStruct(f.Type, below, fieldPath, at)
		default:
			if cell := cellWithin(f.Type, map[reflect.Type]bool{}); cell != nil {
				r.mistake("field %s: a cell (%v) in a slice, array or map, or behind a pointer, is not found again: "+
					"use a field, or a pawl.Map", fieldPath, cell)
			}
		}
	}
}

func isCell(t reflect.Type) bool {
	return t.Kind() == reflect.Struct && reflect.PointerTo(t).Implements(durableType)
}

// cellWithin looks for a cell type where none may be.
func cellWithin(t reflect.Type, seen map[reflect.Type]bool) reflect.Type {
	if seen[t] {
		return nil
	}
	seen[t] = true
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Chan:
		return cellWithin(t.Elem(), seen)
	case reflect.Map:
		if cell := cellWithin(t.Key(), seen); cell != nil {
			return cell
		}
		return cellWithin(t.Elem(), seen)
	case reflect.Struct:
		if isCell(t) {
			return t
		}
		for f := range t.Fields() {
			if cell := cellWithin(f.Type, seen); cell != nil {
				return cell
			}
		}
	default:
	}
	return nil
}

func (r *registration) addCell(t reflect.Type, prefix, name string, was []string, path string, offset uintptr) {
	cell := reflect.New(t).Interface().(durable) // isCell said so
	s := cellSpec{
		name: prefix + name, path: path, offset: offset, typ: t, inMap: cell.isMap(),
	}
	for _, old := range was {
		s.was = append(s.was, prefix+old)
	}
	for _, c := range cell.contents() {
		s.refs = s.refs || hasReferences(c)
		if _, ok := r.t.codec.(jsonCodec); !ok {
			continue
		}
		for _, m := range jsonMistakes(c) {
			r.mistake("field %s: %w", path, m)
		}
	}
	r.t.cells = append(r.t.cells, s)
}

// checkKeys refuses state keys, former ones included, of two cells.
func (r *registration) checkKeys() {
	r.t.keys = map[string]keyOwner{}
	owners := map[string]string{}
	for i, s := range r.t.cells {
		for rank, key := range slices.Concat([]string{s.name}, s.was) {
			if len(key) > maxKey {
				r.mistake("field %s: state key of %d bytes, limit %d", s.path, len(key), maxKey)
			}
			if other, taken := owners[key]; taken {
				r.mistake("fields %s and %s have the same state key %q", other, s.path, key)
				continue
			}
			owners[key] = s.path
			if !s.inMap {
				r.t.keys[key] = keyOwner{cell: i, rank: rank}
			}
		}
	}
}

// keyOwner says which cell a recorded key belongs to; rank 0 is its present
// name, and the former ones follow.
type keyOwner struct{ cell, rank int }

// String gives the field and its key.
func (s *cellSpec) String() string { return fmt.Sprintf("%s (state key %q)", s.path, s.name) }
