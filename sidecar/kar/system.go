package kar

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/pawl-go/pawl/internal/topics"
	"github.com/pawl-go/pawl/sidecar/host"
)

func (h *Handler) system(w http.ResponseWriter, r *http.Request, seg []string) error {
	switch {
	case len(seg) == 1 && seg[0] == "health" && r.Method == http.MethodGet:
		text(w, http.StatusOK, "Peachy Keen!")
		return nil
	case len(seg) == 1 && seg[0] == "shutdown" && r.Method == http.MethodPost:
		text(w, http.StatusOK, "OK")
		h.cfg.Shutdown()
		return nil
	case len(seg) == 2 && seg[0] == "information" && r.Method == http.MethodGet:
		return h.information(w, r, seg[1])
	}
	return errNoRoute
}

// member is a component as KAR's clients see it.
type member struct {
	Actors   []string `json:"actors"`
	Services []string `json:"services"`
}

// information serves GET /system/information/:what.
func (h *Handler) information(w http.ResponseWriter, r *http.Request, what string) error {
	switch what {
	case "id":
		text(w, http.StatusOK, h.cfg.Name)
		return nil
	case "sidecars":
		return object(w, h.members())
	case "actors":
		return h.everywhere(w, r)
	case "sidecar_actors":
		return h.here(w)
	}
	return refuse(http.StatusBadRequest, "no information "+what+"; there are id, sidecars, actors and sidecar_actors")
}

func (h *Handler) members() map[string]member {
	all := map[string]member{}
	for _, m := range h.comp.Session().Members() {
		about := member{Actors: []string{}, Services: []string{}}
		for _, t := range m.Types {
			switch {
			case topics.IsReserved(t.Name):
			case t.Identity == host.ServicePrefix:
				about.Services = append(about.Services, t.Name[len(host.ServicePrefix):])
			default:
				about.Actors = append(about.Actors, t.Name)
			}
		}
		all[m.Name] = about
	}
	return all
}

// here lists the ids of the actors that the application has in memory, by type.
func (h *Handler) here(w http.ResponseWriter) error {
	return object(w, host.LiveHere(h.comp, h.cfg.Actors))
}

// page is how many actors are read at a time; listTimeout bounds how long the
// other components may take to answer.
const (
	page        = 1000
	listTimeout = 5 * time.Second
)

// everywhere lists the ids of all actors that are in memory somewhere, or have
// state or requests, by type.
func (h *Handler) everywhere(w http.ResponseWriter, r *http.Request) error {
	ctx, cancel := context.WithTimeout(r.Context(), listTimeout)
	defer cancel()
	all, err := host.Live(ctx, h.comp)
	if err != nil {
		return err
	}
	op := h.comp.Session().Operator()
	kinds, err := op.Types(ctx)
	if err != nil {
		return err
	}
	for _, kind := range kinds {
		if topics.IsReserved(kind) || strings.HasPrefix(kind, host.ServicePrefix) {
			continue
		}
		for from := ""; ; {
			some, err := op.Actors(ctx, kind, from, page)
			if err != nil {
				return err
			}
			for _, a := range some {
				all[kind] = append(all[kind], a.ID)
			}
			if len(some) < page {
				break
			}
			from = some[len(some)-1].ID + "\x00"
		}
	}
	for kind, ids := range all {
		slices.Sort(ids)
		all[kind] = slices.Compact(ids)
	}
	return object(w, all)
}
