package kar

import (
	"context"
	"encoding/json"
	"net/http"
	"sync"

	"github.com/pawl-go/pawl/engine"
	"github.com/pawl-go/pawl/sidecar/host"
)

func (h *Handler) state(w http.ResponseWriter, r *http.Request, a engine.Actor, seg []string) error {
	switch {
	case len(seg) > 2:
		return errNoRoute
	case len(seg) == 0:
		return h.whole(w, r, a)
	case len(seg) == 1 && r.Method == http.MethodPost:
		return h.submap(w, r, a, seg[0])
	}
	k := engine.Key{Cell: seg[0]}
	if len(seg) == 2 {
		k.Entry, k.InMap = seg[1], true
	}
	switch r.Method {
	case http.MethodGet, http.MethodHead:
		return h.get(w, r, a, k)
	case http.MethodPut:
		return h.put(w, r, a, k)
	case http.MethodDelete:
		c := host.Changes{}
		if k.InMap {
			c.SubmapRemovals = map[string][]string{k.Cell: {k.Entry}}
		} else {
			c.Removals = []string{k.Cell}
		}
		_, removed, err := h.change(r.Context(), a, &c)
		if err != nil {
			return err
		}
		return object(w, removed)
	}
	return notAllowed(w, "GET, HEAD, PUT, POST, DELETE")
}

func (h *Handler) get(w http.ResponseWriter, r *http.Request, a engine.Actor, k engine.Key) error {
	v, ok, err := h.comp.Session().Lookup(r.Context(), a, k)
	if err == nil {
		err = h.seen(r.Context(), a)
	}
	switch {
	case err != nil:
		return err
	case ok && r.Method == http.MethodHead:
		w.WriteHeader(http.StatusOK)
		return nil
	case ok:
		return raw(w, "application/json", v)
	case r.Method == http.MethodGet && wantsNil(r):
		return raw(w, "application/json", []byte("null"))
	}
	return refuse(http.StatusNotFound, a.String()+" has no such state")
}

// seen returns when what was just read counts. The method that runs on the
// actor here lives and dies with what it has read, and need not wait.
func (h *Handler) seen(ctx context.Context, a engine.Actor) error {
	if h.host.Running(a) != nil {
		return nil
	}
	s := h.comp.Session()
	return s.Wait(ctx, s.Last())
}

func (h *Handler) put(w http.ResponseWriter, r *http.Request, a engine.Actor, k engine.Key) error {
	b, err := body(w, r)
	if err != nil {
		return err
	}
	if !json.Valid(b) {
		return refuse(http.StatusBadRequest, "the body is not JSON")
	}
	c := host.Changes{}
	if k.InMap {
		c.SubmapUpdates = map[string]map[string]json.RawMessage{k.Cell: {k.Entry: b}}
	} else {
		c.Updates = map[string]json.RawMessage{k.Cell: b}
	}
	added, _, err := h.change(r.Context(), a, &c)
	switch {
	case err != nil:
		return err
	case added > 0:
		w.WriteHeader(http.StatusCreated)
	default:
		w.WriteHeader(http.StatusNoContent)
	}
	return nil
}

// submap serves POST .../state/:key: a submap as a whole.
func (h *Handler) submap(w http.ResponseWriter, r *http.Request, a engine.Actor, name string) error {
	var in struct {
		Op string `json:"op"`
	}
	if err := jsonBody(w, r, &in); err != nil {
		return err
	}
	if in.Op == "clear" {
		n, err := h.clear(r.Context(), a, name)
		if err != nil {
			return err
		}
		return object(w, n)
	}
	cells, err := h.entries(r.Context(), a, name)
	if err == nil {
		err = h.seen(r.Context(), a)
	}
	if err != nil {
		return err
	}
	switch in.Op {
	case "get":
		return object(w, values(cells))
	case "keys":
		keys := make([]string, 0, len(cells))
		for _, c := range cells {
			keys = append(keys, c.Entry)
		}
		return object(w, keys)
	case "size":
		return object(w, len(cells))
	}
	return refuse(http.StatusBadRequest, "no operation "+in.Op+" of a submap; there are get, keys, size and clear")
}

func values(cells []engine.Cell) map[string]json.RawMessage {
	m := make(map[string]json.RawMessage, len(cells))
	for _, c := range cells {
		m[c.Entry] = c.Value
	}
	return m
}

// whole serves .../state: everything, or many changes at once.
func (h *Handler) whole(w http.ResponseWriter, r *http.Request, a engine.Actor) error {
	switch r.Method {
	case http.MethodGet:
		return h.everything(w, r, a)
	case http.MethodDelete:
		n, err := h.clearAll(r.Context(), a)
		if err != nil {
			return err
		}
		return object(w, n)
	case http.MethodPost:
		var c host.Changes
		if err := jsonBody(w, r, &c); err != nil {
			return err
		}
		added, removed, err := h.change(r.Context(), a, &c)
		if err != nil {
			return err
		}
		return object(w, map[string]int{"added": added, "removed": removed})
	}
	return notAllowed(w, "GET, POST, DELETE")
}

// everything shows flat keys, and submaps as objects. A submap of the name of
// a flat key is hidden behind it; it can be read by its own route.
func (h *Handler) everything(w http.ResponseWriter, r *http.Request, a engine.Actor) error {
	all := map[string]any{}
	names, err := h.comp.Session().Operator().Maps(r.Context(), a)
	if err != nil {
		return err
	}
	for _, name := range names {
		cells, err := h.entries(r.Context(), a, name)
		if err != nil {
			return err
		}
		if len(cells) > 0 {
			all[name] = values(cells)
		}
	}
	flat, err := h.comp.Session().Load(r.Context(), a)
	if err != nil {
		return err
	}
	for _, c := range flat {
		all[c.Cell] = json.RawMessage(c.Value)
	}
	if err := h.seen(r.Context(), a); err != nil {
		return err
	}
	return object(w, all)
}

// states serializes the changes of an actor made here, for their counts. It is
// keyed by a hash, so that it does not grow.
type states struct {
	locks [256]sync.Mutex
}
