package v1

import (
	"maps"
	"net/http"
	"slices"

	"github.com/pawl-go/pawl/engine"
	"github.com/pawl-go/pawl/internal/topics"
)

// components serves GET /v1/components: the members and the engine's counts.
func (h *Handler) components(w http.ResponseWriter, r *http.Request) error {
	s := h.rt.Session()
	st, err := s.Operator().Stats(r.Context())
	if err != nil {
		return err
	}
	out := Components{App: h.cfg.App, Version: Version(), Items: []Component{}, Engine: Stats{
		Durability: st.Durability, Epoch: st.Epoch, Last: uint64(st.Last), Committed: uint64(st.Committed),
		Pending: st.Pending, Scheduled: st.Scheduled, Parked: st.Parked, Failed: st.Failed,
		Reminders: st.Reminders, Paused: len(st.Paused), JournalBytes: st.JournalBytes,
	}}
	for _, m := range s.Members() {
		c := Component{Name: m.Name, Session: m.Session, Joined: m.Joined, Live: m.Live, Types: []string{}}
		for _, t := range m.Types {
			if !topics.IsReserved(t.Name) {
				c.Types = append(c.Types, t.Name)
			}
		}
		out.Items = append(out.Items, c)
	}
	return respond(w, http.StatusOK, out)
}

// types serves GET /v1/types: all that are hosted, stored or waited for; with
// ?all=true those of our own too.
func (h *Handler) types(w http.ResponseWriter, r *http.Request) error {
	s := h.rt.Session()
	names, err := s.Operator().Types(r.Context())
	if err != nil {
		return err
	}
	found := map[string]*Type{}
	at := func(name string) *Type {
		if found[name] == nil {
			found[name] = &Type{Name: name, Hosts: []string{}}
		}
		return found[name]
	}
	for _, name := range names {
		at(name)
	}
	for _, m := range s.Members() {
		for _, t := range m.Types {
			into := at(t.Name)
			into.Hosts = append(into.Hosts, m.Name)
			into.Methods = merge(into.Methods, t.Methods)
		}
	}
	out := Page[Type]{Items: []Type{}}
	for _, name := range slices.Sorted(maps.Keys(found)) {
		if topics.IsReserved(name) && r.URL.Query().Get("all") == "" {
			continue
		}
		t := found[name]
		for i := range t.Methods {
			if m := &t.Methods[i]; h.cfg.Schema != nil {
				m.Input, m.Output = h.cfg.Schema(name, m.Name)
			}
		}
		out.Items = append(out.Items, *t)
	}
	return respond(w, http.StatusOK, out)
}

// merge adds the methods that are not there yet; components may differ during
// a deploy.
func merge(into []Method, more []engine.Method) []Method {
	for _, m := range more {
		if !slices.ContainsFunc(into, func(have Method) bool { return have.Name == m.Name }) {
			into = append(into, Method{Name: m.Name, ReadOnly: m.ReadOnly})
		}
	}
	slices.SortFunc(into, func(a, b Method) int {
		if a.Name < b.Name {
			return -1
		}
		return 1
	})
	return into
}

// live serves GET /v1/health/live: the process answers.
func (h *Handler) live(w http.ResponseWriter, _ *http.Request) error {
	return respond(w, http.StatusOK, map[string]string{"status": "live"})
}

// ready serves GET /v1/health/ready: it is a member and its engine records.
func (h *Handler) ready(w http.ResponseWriter, r *http.Request) error {
	s := h.rt.Session()
	select {
	case <-s.Fenced():
		return problem(engine.ErrFenced, "this component was declared failed; start the process again")
	default:
	}
	if _, err := s.Operator().Stats(r.Context()); err != nil {
		return err
	}
	return respond(w, http.StatusOK, map[string]string{"status": "ready"})
}
