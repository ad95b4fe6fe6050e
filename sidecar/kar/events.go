package kar

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"github.com/pawl-go/pawl/engine"
	"github.com/pawl-go/pawl/internal/topics"
)

// subscription is one as KAR's clients see it.
type subscription struct {
	Actor       actorRef `json:"actor"`
	ID          string   `json:"id"`
	Path        string   `json:"path"`
	Topic       string   `json:"topic"`
	ContentType string   `json:"contentType,omitempty"`
}

// events answers for the subscriptions of an actor: seg is empty or names one.
func (h *Handler) events(w http.ResponseWriter, r *http.Request, a engine.Actor, seg []string) error {
	if len(seg) > 1 {
		return errNoRoute
	}
	if len(seg) == 1 && r.Method == http.MethodPut {
		return h.subscribe(w, r, a, seg[0])
	}
	client := topics.Of(h.comp)
	all, err := client.List(r.Context(), a)
	if err != nil {
		return err
	}
	if len(seg) == 1 {
		all = slices.DeleteFunc(all, func(s topics.Subscription) bool { return s.Name != seg[0] })
		if len(all) == 0 && !wantsNil(r) {
			return refuse(http.StatusNotFound, a.String()+" has no subscription "+seg[0])
		}
	}
	switch r.Method {
	case http.MethodGet:
		return showSubscriptions(w, all, len(seg) == 1)
	case http.MethodDelete:
		for _, s := range all {
			if _, err := client.Unsubscribe(r.Context(), a, s.Name); err != nil {
				return err
			}
		}
		return object(w, len(all))
	}
	return notAllowed(w, "GET, PUT, DELETE")
}

func showSubscriptions(w http.ResponseWriter, all []topics.Subscription, one bool) error {
	out := make([]subscription, 0, len(all))
	for _, s := range all {
		out = append(out, subscription{
			Actor: actorRef{s.Actor.Type, s.Actor.ID}, ID: s.Name, Path: "/" + s.Method,
			Topic: s.Topic, ContentType: s.ContentType,
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

// subscribe sets a subscription. The actor's method gets each event as its one
// argument.
func (h *Handler) subscribe(w http.ResponseWriter, r *http.Request, a engine.Actor, name string) error {
	var in struct {
		Path        string `json:"path"`
		Topic       string `json:"topic"`
		ContentType string `json:"contentType"`
	}
	if err := jsonBody(w, r, &in); err != nil {
		return err
	}
	s := topics.Subscription{
		Actor: a, Name: name, Topic: in.Topic, Method: strings.TrimPrefix(in.Path, "/"),
		Array: true, ContentType: in.ContentType,
	}
	if s.Method == "" || s.Topic == "" {
		return refuse(http.StatusBadRequest, "a subscription needs path and topic")
	}
	replaced, err := topics.Of(h.comp).Subscribe(r.Context(), s)
	if err != nil {
		return err
	}
	if replaced {
		text(w, http.StatusOK, "OK")
		return nil
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// topic answers for a topic: seg is its name, or that and "publish".
func (h *Handler) topic(w http.ResponseWriter, r *http.Request, seg []string) error {
	client, name := topics.Of(h.comp), seg[0]
	switch {
	case name == "" || len(seg) > 2 || len(seg) == 2 && seg[1] != "publish":
		return errNoRoute
	case len(seg) == 2 && r.Method == http.MethodPost:
		return h.publish(w, r, name)
	case len(seg) == 2:
		return notAllowed(w, http.MethodPost)
	case r.Method == http.MethodPut: // the body says how many partitions, which there are not
		created, err := client.Create(r.Context(), name)
		if err != nil {
			return err
		}
		status := http.StatusOK
		if created {
			status = http.StatusCreated
		}
		text(w, status, "OK")
		return nil
	case r.Method == http.MethodDelete:
		if _, err := client.Delete(r.Context(), name); err != nil {
			return err
		}
		text(w, http.StatusOK, "OK")
		return nil
	}
	return notAllowed(w, "PUT, DELETE")
}

// publish answers when the event cannot be lost. What is not JSON is passed on as
// a string.
func (h *Handler) publish(w http.ResponseWriter, r *http.Request, name string) error {
	event, err := body(w, r)
	if err != nil {
		return err
	}
	if !json.Valid(event) {
		if event, err = json.Marshal(string(event)); err != nil {
			return err
		}
	}
	if _, err := topics.Of(h.comp).Publish(r.Context(), name, event); err != nil {
		return err
	}
	text(w, http.StatusOK, "OK")
	return nil
}
