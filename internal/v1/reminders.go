package v1

import (
	"encoding/json"
	"net/http"
	"time"

	"github.com/pawl-go/pawl/engine"
)

// Reminder is a durable timer of an actor.
type Reminder struct {
	Name    string          `json:"name"`
	Method  string          `json:"method"`
	Input   json.RawMessage `json:"input,omitempty"`
	Next    time.Time       `json:"next"`
	Every   string          `json:"every,omitempty"` // a duration; empty: once
	Misfire string          `json:"misfire,omitempty"`
}

// SetReminder is the body of PUT .../reminders/{name}.
type SetReminder struct {
	Method  string          `json:"method"`
	Input   json.RawMessage `json:"input,omitempty"`
	Delay   string          `json:"delay,omitempty"` // until the first firing, or
	At      string          `json:"at,omitempty"`    // when it is
	Every   string          `json:"every,omitempty"`
	Misfire string          `json:"misfire,omitempty"` // once (the default), all, none
}

var misfires = map[string]engine.Misfire{
	"": engine.FireOnce, "once": engine.FireOnce, "all": engine.FireAll, "none": engine.FireNone,
}

func reminderOf(r *engine.Reminder) Reminder {
	out := Reminder{Name: r.Name, Method: r.Method, Input: raw(r.Payload), Next: r.Due}
	if r.Every > 0 {
		out.Every = r.Every.String()
	}
	switch r.Misfire {
	case engine.FireAll:
		out.Misfire = "all"
	case engine.FireNone:
		out.Misfire = "none"
	case engine.FireOnce:
	}
	return out
}

func (h *Handler) remindersOf(w http.ResponseWriter, r *http.Request) ([]Reminder, error) {
	rs, err := h.rt.Session().Reminders(r.Context(), actorOf(r))
	if err != nil {
		return nil, err
	}
	out := make([]Reminder, len(rs))
	for i := range rs {
		out[i] = reminderOf(&rs[i])
	}
	return out, h.settle(w, r)
}

// reminders serves GET .../reminders.
func (h *Handler) reminders(w http.ResponseWriter, r *http.Request) error {
	rs, err := h.remindersOf(w, r)
	if err != nil {
		return err
	}
	return respond(w, http.StatusOK, Page[Reminder]{Items: rs})
}

// reminder serves GET .../reminders/{name}.
func (h *Handler) reminder(w http.ResponseWriter, r *http.Request) error {
	rs, err := h.remindersOf(w, r)
	if err != nil {
		return err
	}
	for i := range rs {
		if rs[i].Name == r.PathValue("name") {
			return respond(w, http.StatusOK, rs[i])
		}
	}
	return problem(engine.ErrNotFound, "%s has no reminder %s", actorOf(r), r.PathValue("name"))
}

// remind serves PUT .../reminders/{name}.
func (h *Handler) remind(w http.ResponseWriter, r *http.Request) error {
	var in SetReminder
	if err := body(r, &in); err != nil {
		return err
	}
	if in.Method == "" {
		return problem(CodeBadRequest, "the body needs a method")
	}
	a := actorOf(r)
	if _, err := h.methodOf(a.Type, in.Method); err != nil {
		return err
	}
	misfire, ok := misfires[in.Misfire]
	if !ok {
		return problem(CodeBadRequest, "misfire %q is not one of once, all, none", in.Misfire)
	}
	ch := engine.ReminderChange{Reminder: engine.Reminder{
		Actor: a, Name: r.PathValue("name"), Method: in.Method, Payload: in.Input, Misfire: misfire,
	}}
	var err error
	if in.Every != "" {
		if ch.Every, err = duration(in.Every); err != nil || ch.Every == 0 {
			return problem(CodeBadRequest, "every=%s: use a duration such as 90s or 1h", in.Every)
		}
	}
	if ch.Due, err = due(in.Delay, in.At); err != nil {
		return err
	}
	if ch.Due.IsZero() {
		ch.Due = time.Now().Add(ch.Every)
	}
	if err := h.rt.Remind(r.Context(), ch); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// unremind serves DELETE .../reminders/{name}.
func (h *Handler) unremind(w http.ResponseWriter, r *http.Request) error {
	err := h.rt.Remind(r.Context(), engine.ReminderChange{
		Reminder: engine.Reminder{Actor: actorOf(r), Name: r.PathValue("name")}, Remove: true,
	})
	if err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}
