package kar

import (
	"net/http"

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
	case "actors", "sidecar_actors":
		return h.actors(w, r, what == "sidecar_actors")
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

// page is how many actors are read at a time.
const page = 1000

// actors lists the ids by type: of all actors, or of those whose type is
// hosted here.
func (h *Handler) actors(w http.ResponseWriter, r *http.Request, here bool) error {
	op := h.comp.Session().Operator()
	kinds, err := op.Types(r.Context())
	if err != nil {
		return err
	}
	all := map[string][]string{}
	for _, kind := range kinds {
		if topics.IsReserved(kind) || here && h.comp.Hosts(kind) == nil {
			continue
		}
		for from := ""; ; {
			some, err := op.Actors(r.Context(), kind, from, page)
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
	return object(w, all)
}
