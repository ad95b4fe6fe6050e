package kar

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/pawl-go/pawl/engine"
	"github.com/pawl-go/pawl/sidecar/host"
)

// reminder is one as KAR's clients see it.
type reminder struct {
	Actor      actorRef        `json:"actor"`
	ID         string          `json:"id"`
	Path       string          `json:"path"`
	TargetTime time.Time       `json:"targetTime"`
	Period     time.Duration   `json:"period,omitempty"` // nanoseconds
	Data       json.RawMessage `json:"data,omitempty"`
}

type actorRef struct{ Type, ID string }

// schedule is the body of a PUT.
type schedule struct {
	Path       string          `json:"path"`
	TargetTime time.Time       `json:"targetTime"`
	Period     string          `json:"period"` // a Go duration; empty: once
	Data       json.RawMessage `json:"data"`   // the arguments
}

func (h *Handler) reminders(w http.ResponseWriter, r *http.Request, a engine.Actor, seg []string) error {
	if len(seg) > 1 {
		return errNoRoute
	}
	if len(seg) == 1 && r.Method == http.MethodPut {
		return h.remind(w, r, a, seg[0])
	}
	all, err := h.comp.Session().Reminders(r.Context(), a)
	if err != nil {
		return err
	}
	if len(seg) == 1 {
		all = slices.DeleteFunc(slices.Clone(all), func(rem engine.Reminder) bool { return rem.Name != seg[0] })
		if len(all) == 0 && !wantsNil(r) {
			return refuse(http.StatusNotFound, a.String()+" has no reminder "+seg[0])
		}
	}
	switch r.Method {
	case http.MethodGet:
		return showReminders(w, all, len(seg) == 1)
	case http.MethodDelete:
		for _, rem := range all {
			if err := h.comp.Remind(r.Context(), engine.ReminderChange{Reminder: rem, Remove: true}); err != nil {
				return err
			}
		}
		return object(w, len(all))
	}
	return notAllowed(w, "GET, PUT, DELETE")
}

// wantsNil: what is missing is answered null instead of 404.
func wantsNil(r *http.Request) bool {
	v := r.URL.Query().Get("nilOnAbsent")
	return v != "" && v != "false"
}

func showReminders(w http.ResponseWriter, all []engine.Reminder, one bool) error {
	out := make([]reminder, 0, len(all))
	for _, rem := range all {
		out = append(out, reminder{
			Actor: actorRef{rem.Actor.Type, rem.Actor.ID}, ID: rem.Name, Path: "/" + rem.Method,
			TargetTime: rem.Due, Period: rem.Every, Data: rem.Payload,
		})
	}
	switch {
	case !one:
		return object(w, out)
	case len(out) == 0:
		return object(w, nil)
	}
	return object(w, out[0])
}

// remind sets a reminder. Its firings are due on the schedule that begins at
// targetTime, however late one is.
func (h *Handler) remind(w http.ResponseWriter, r *http.Request, a engine.Actor, name string) error {
	var in schedule
	if err := jsonBody(w, r, &in); err != nil {
		return err
	}
	rem := engine.Reminder{Actor: a, Name: name, Method: strings.TrimPrefix(in.Path, "/"), Due: in.TargetTime}
	if rem.Method == "" || rem.Due.IsZero() {
		return refuse(http.StatusBadRequest, "a reminder needs path and targetTime")
	}
	if in.Period != "" {
		var err error
		if rem.Every, err = time.ParseDuration(in.Period); err != nil || rem.Every <= 0 {
			return refuse(http.StatusBadRequest, "period "+in.Period+` is not a positive Go duration such as "1m30s"`)
		}
	}
	rem.Payload = host.For(h.comp, a.Type, host.Arguments(in.Data))
	before, err := h.comp.Session().Reminders(r.Context(), a)
	if err != nil {
		return err
	}
	if err := h.comp.Remind(r.Context(), engine.ReminderChange{Reminder: rem}); err != nil {
		return err
	}
	if slices.ContainsFunc(before, func(old engine.Reminder) bool { return old.Name == name }) {
		text(w, http.StatusOK, "OK")
		return nil
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}
