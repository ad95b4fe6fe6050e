package host

import (
	"encoding/json"

	"github.com/pawl-go/pawl/engine"
)

// Changes are changes of an actor's state that are made in one step: by a request
// for many at once, or with the outcome of a method. Removals come first, so a key
// that stands in both is set.
type Changes struct {
	Updates        map[string]json.RawMessage            `json:"updates,omitempty"`
	SubmapUpdates  map[string]map[string]json.RawMessage `json:"submapupdates,omitempty"`
	Removals       []string                              `json:"removals,omitempty"`
	SubmapRemovals map[string][]string                   `json:"submapremovals,omitempty"`
}

// Writes are the changes as an engine has them. Nothing is looked up: what is not
// there is removed as well.
func (c *Changes) Writes() (writes []engine.Write) {
	if c == nil {
		return nil
	}
	entry := func(m, k string) engine.Key { return engine.Key{Cell: m, Entry: k, InMap: true} }
	put := func(k engine.Key, v []byte) { writes = append(writes, engine.Write{Op: engine.Put, Key: k, Value: v}) }
	remove := func(k engine.Key) { writes = append(writes, engine.Write{Op: engine.Delete, Key: k}) }
	for _, k := range c.Removals {
		remove(engine.Key{Cell: k})
	}
	for m, keys := range c.SubmapRemovals {
		for _, k := range keys {
			remove(entry(m, k))
		}
	}
	for k, v := range c.Updates {
		put(engine.Key{Cell: k}, v)
	}
	for m, entries := range c.SubmapUpdates {
		for k, v := range entries {
			put(entry(m, k), v)
		}
	}
	return writes
}
