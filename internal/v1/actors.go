package v1

import (
	"context"
	"encoding/base64"
	"net/http"
	"slices"
	"strconv"

	"github.com/pawl-go/pawl/engine"
)

// listActors serves GET /v1/actors?type=: in byte order of their ids.
func (h *Handler) listActors(w http.ResponseWriter, r *http.Request) error {
	q := r.URL.Query()
	kind := q.Get("type")
	if kind == "" {
		return problem(CodeBadRequest, "GET /v1/actors needs ?type=; GET /v1/types lists them")
	}
	n, err := limit(r, 100, 1000)
	if err != nil {
		return err
	}
	from, err := base64.RawURLEncoding.DecodeString(q.Get("cursor"))
	if err != nil {
		return problem(CodeBadRequest, "cursor=%s does not come from a list of actors", q.Get("cursor"))
	}
	op := h.rt.Session().Operator()
	actors, err := op.Actors(r.Context(), kind, string(from), n+1)
	if err != nil {
		return err
	}
	paused, err := pausedActors(r.Context(), op)
	if err != nil {
		return err
	}
	out := Page[Actor]{Items: []Actor{}}
	for _, a := range actors[:min(n, len(actors))] {
		out.Items = append(out.Items, Actor{Type: a.Type, ID: a.ID, Path: ActorPath(a), Paused: paused[a]})
	}
	if len(actors) > n {
		out.Next = base64.RawURLEncoding.EncodeToString([]byte(actors[n].ID))
	}
	if err := h.settle(w, r); err != nil {
		return err
	}
	return respond(w, http.StatusOK, out)
}

// getActor serves GET /v1/actors/{type}/{id}, where an invocation's path leads: an
// actor that the list has, or one that is paused.
func (h *Handler) getActor(w http.ResponseWriter, r *http.Request) error {
	a, op := actorOf(r), h.rt.Session().Operator()
	found, err := op.Actors(r.Context(), a.Type, a.ID, 1)
	if err != nil {
		return err
	}
	paused, err := pausedActors(r.Context(), op)
	if err != nil {
		return err
	}
	if err := h.settle(w, r); err != nil {
		return err
	}
	if !paused[a] && !slices.Contains(found, a) {
		return problem(engine.ErrNotFound, "%s has no state, nothing is pending for it, and it is not paused", a)
	}
	return respond(w, http.StatusOK, Actor{Type: a.Type, ID: a.ID, Path: ActorPath(a), Paused: paused[a]})
}

func pausedActors(ctx context.Context, op engine.Operator) (map[engine.Actor]bool, error) {
	stats, err := op.Stats(ctx)
	if err != nil {
		return nil, err
	}
	paused := map[engine.Actor]bool{}
	for _, a := range stats.Paused {
		paused[a] = true
	}
	return paused, nil
}

// shownOfMap is how many entries of a map the listing of a state shows.
const shownOfMap = 20

// state serves GET /v1/actors/{type}/{id}/state: the flat cells, and the
// beginning of each map cell that the type is known to have.
func (h *Handler) state(w http.ResponseWriter, r *http.Request) error {
	a, s := actorOf(r), h.rt.Session()
	cells, err := s.Load(r.Context(), a)
	if err != nil {
		return err
	}
	out := Page[Cell]{Items: []Cell{}}
	for _, c := range cells {
		out.Items = append(out.Items, Cell{Key: c.Cell, Value: jsonOrNull(raw(c.Value))})
	}
	var maps []string
	if h.cfg.MapCells != nil {
		maps = h.cfg.MapCells(a.Type)
	}
	for _, name := range maps {
		c, err := h.scan(r, a, name, "", shownOfMap)
		if err != nil {
			return err
		}
		if len(c.Entries) > 0 {
			out.Items = append(out.Items, c)
		}
	}
	if err := h.settle(w, r); err != nil {
		return err
	}
	return respond(w, http.StatusOK, out)
}

// cell serves GET /v1/actors/{type}/{id}/state/{key}: the value of a flat cell
// as it is, or else the entries of the map of that name (?from=&limit=).
func (h *Handler) cell(w http.ResponseWriter, r *http.Request) error {
	a, key := actorOf(r), r.PathValue("key")
	v, ok, err := h.rt.Session().Lookup(r.Context(), a, engine.Key{Cell: key})
	if err != nil {
		return err
	}
	if ok {
		if err := h.settle(w, r); err != nil {
			return err
		}
		w.Header().Set("ETag", etag(v))
		return payload(w, v)
	}
	n, err := limit(r, 100, 1000)
	if err != nil {
		return err
	}
	c, err := h.scan(r, a, key, r.URL.Query().Get("from"), n)
	if err != nil {
		return err
	}
	if len(c.Entries) == 0 && r.URL.Query().Get("from") == "" {
		return problem(engine.ErrNotFound, "%s has no cell %s", a, key)
	}
	if err := h.settle(w, r); err != nil {
		return err
	}
	return respond(w, http.StatusOK, c)
}

func (h *Handler) scan(r *http.Request, a engine.Actor, name, from string, n int) (Cell, error) {
	out := Cell{Key: name, Map: true}
	entries, err := h.rt.Session().Scan(r.Context(), a, name, from, n+1)
	if err != nil {
		return out, err
	}
	for _, e := range entries[:min(n, len(entries))] {
		out.Entries = append(out.Entries, Cell{Key: e.Entry, Value: jsonOrNull(raw(e.Value))})
	}
	out.More = len(entries) > n
	return out, nil
}

// entry serves GET /v1/actors/{type}/{id}/state/{key}/{entry}.
func (h *Handler) entry(w http.ResponseWriter, r *http.Request) error {
	a, key, entry := actorOf(r), r.PathValue("key"), r.PathValue("entry")
	v, ok, err := h.rt.Session().Lookup(r.Context(), a, engine.Key{Cell: key, Entry: entry, InMap: true})
	if err != nil {
		return err
	}
	if !ok {
		return problem(engine.ErrNotFound, "the map %s of %s has no entry %s", key, a, strconv.Quote(entry))
	}
	if err := h.settle(w, r); err != nil {
		return err
	}
	w.Header().Set("ETag", etag(v))
	return payload(w, v)
}
