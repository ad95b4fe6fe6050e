package host

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/pawl-go/pawl/engine"
)

// changes is the state that an answer may carry, to be recorded with the
// outcome, in one step:
//
//	{"value": 7, "state": {"balance": 7, "note": null}, "maps": {"items": {"a": 1, "b": null}, "old": null}}
//
// A null removes: a key, an entry, or all of a map.
type changes struct {
	State map[string]json.RawMessage            `json:"state"`
	Maps  map[string]map[string]json.RawMessage `json:"maps"`
}

// nameLimit bounds a key, in bytes (the page on limits).
const nameLimit = 1 << 10

// writes are the changes for the engine, in the order of their names.
func (c *changes) writes() ([]engine.Write, *engine.Failure) {
	var ws []engine.Write
	for _, k := range slices.Sorted(maps.Keys(c.State)) {
		if f := named(k); f != nil {
			return nil, f
		}
		ws = append(ws, change(engine.Key{Cell: k}, c.State[k]))
	}
	for _, m := range slices.Sorted(maps.Keys(c.Maps)) {
		if f := named(m); f != nil {
			return nil, f
		}
		entries := c.Maps[m]
		if entries == nil {
			ws = append(ws, engine.Write{Op: engine.Clear, Key: engine.Key{Cell: m, InMap: true}})
		}
		for _, k := range slices.Sorted(maps.Keys(entries)) {
			if f := named(k); f != nil {
				return nil, f
			}
			ws = append(ws, change(engine.Key{Cell: m, Entry: k, InMap: true}, entries[k]))
		}
	}
	return ws, nil
}

func change(k engine.Key, v json.RawMessage) engine.Write {
	if v = bytes.TrimSpace(v); len(v) == 0 || bytes.Equal(v, []byte("null")) {
		return engine.Write{Op: engine.Delete, Key: k}
	}
	return engine.Write{Key: k, Value: v}
}

// named refuses a name that is too long.
func named(k string) *engine.Failure {
	if len(k) <= nameLimit {
		return nil
	}
	return engine.Fail(engine.ErrTooLarge, fmt.Sprintf("the application answered with a state key of %d bytes, the limit is %d", len(k), nameLimit))
}
