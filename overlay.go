package pawl

import (
	"slices"

	"github.com/pawl-go/pawl/engine"
)

// overlay holds the entries of a map, or keys of flat cells, that a run has
// written and that are not recorded yet. They hide what is recorded.
type overlay struct {
	entries map[string]*pendingEntry
	order   []string // the keys in byte order, if sorted
	sorted  bool
	cleared bool // every recorded entry is gone
}

// pendingEntry is a value to be recorded; nil bytes may be a value (None).
type pendingEntry struct {
	value   []byte
	deleted bool
}

func (o *overlay) set(key string, value []byte, deleted bool) {
	if o.entries == nil {
		o.entries = map[string]*pendingEntry{}
	}
	if _, known := o.entries[key]; !known {
		o.sorted = false
	}
	o.entries[key] = &pendingEntry{value, deleted}
}

func (o *overlay) clear() { *o = overlay{cleared: true} }

// get says what the overlay knows of a key: hides is false if what is recorded
// counts. A nil overlay knows nothing.
func (o *overlay) get(key string) (value []byte, exists, hides bool) {
	if o == nil {
		return nil, false, false
	}
	if e := o.entries[key]; e != nil {
		return e.value, !e.deleted, true
	}
	return nil, false, o.cleared
}

// keys gives the keys in byte order.
func (o *overlay) keys() []string {
	if o == nil {
		return nil
	}
	if !o.sorted {
		o.order = o.order[:0]
		for k := range o.entries {
			o.order = append(o.order, k)
		}
		slices.Sort(o.order)
		o.sorted = true
	}
	return o.order
}

// next gives the first key >= from that exists in the overlay.
func (o *overlay) next(from string) (string, bool) {
	keys := o.keys()
	i, _ := slices.BinarySearch(keys, from)
	for ; i < len(keys); i++ {
		if !o.entries[keys[i]].deleted {
			return keys[i], true
		}
	}
	return "", false
}

// writes appends what is to be recorded of the map cell named cell, formerly was.
func (o *overlay) writes(dst []write, cell string, was []string) []write {
	if o.cleared {
		for _, name := range append([]string{cell}, was...) {
			dst = append(dst, write{Op: engine.Clear, Key: engine.Key{Cell: name, InMap: true}})
		}
	}
	for _, k := range o.keys() {
		e := o.entries[k]
		if e.deleted {
			dst = append(dst, write{Op: engine.Delete, Key: engine.Key{Cell: cell, Entry: k, InMap: true}})
		} else {
			dst = append(dst, write{Op: engine.Put, Key: engine.Key{Cell: cell, Entry: k, InMap: true}, Value: e.value})
		}
		if o.cleared {
			continue
		}
		for _, old := range was {
			dst = append(dst, write{Op: engine.Delete, Key: engine.Key{Cell: old, Entry: k, InMap: true}})
		}
	}
	return dst
}
