package v1

import (
	"net/http"

	"github.com/pawl-go/pawl/engine"
	"github.com/pawl-go/pawl/internal/topics"
)

// Subscription is a subscription of an actor. In the body of PUT
// .../subscriptions/{name}, topic and method count.
type Subscription struct {
	Name   string `json:"name,omitempty"`
	Type   string `json:"type,omitempty"`
	Actor  string `json:"actor,omitempty"`
	Path   string `json:"path,omitempty"`
	Topic  string `json:"topic"`
	Method string `json:"method"`
}

func subscriptionsOf(list []topics.Subscription) Page[Subscription] {
	out := Page[Subscription]{Items: []Subscription{}}
	for _, s := range list {
		out.Items = append(out.Items, Subscription{
			Name: s.Name, Type: s.Actor.Type, Actor: s.Actor.ID, Path: ActorPath(s.Actor), Topic: s.Topic, Method: s.Method,
		})
	}
	return out
}

// subscriptions serves GET .../subscriptions.
func (h *Handler) subscriptions(w http.ResponseWriter, r *http.Request) error {
	list, err := topics.Of(h.rt).List(r.Context(), actorOf(r))
	if err != nil {
		return err
	}
	return respond(w, http.StatusOK, subscriptionsOf(list))
}

// topic serves GET /v1/topics/{topic}.
func (h *Handler) topic(w http.ResponseWriter, r *http.Request) error {
	list, _, err := topics.Of(h.rt).Subscribers(r.Context(), r.PathValue("topic"))
	if err != nil {
		return err
	}
	return respond(w, http.StatusOK, subscriptionsOf(list))
}

// subscribe serves PUT .../subscriptions/{name}.
func (h *Handler) subscribe(w http.ResponseWriter, r *http.Request) error {
	var in Subscription
	if err := body(r, &in); err != nil {
		return err
	}
	if in.Topic == "" || in.Method == "" {
		return problem(CodeBadRequest, "the body needs topic and method")
	}
	a := actorOf(r)
	if _, err := h.methodOf(a.Type, in.Method); err != nil {
		return err
	}
	_, err := topics.Of(h.rt).Subscribe(r.Context(), topics.Subscription{
		Actor: a, Name: r.PathValue("name"), Topic: in.Topic, Method: in.Method, ContentType: "application/json",
	})
	if err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// unsubscribe serves DELETE .../subscriptions/{name}.
func (h *Handler) unsubscribe(w http.ResponseWriter, r *http.Request) error {
	found, err := topics.Of(h.rt).Unsubscribe(r.Context(), actorOf(r), r.PathValue("name"))
	if err != nil {
		return err
	}
	if !found {
		return problem(engine.ErrNotFound, "%s has no subscription %s", actorOf(r), r.PathValue("name"))
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// publish serves POST /v1/topics/{topic}/publish.
func (h *Handler) publish(w http.ResponseWriter, r *http.Request) error {
	event, err := h.valueOf(r)
	if err != nil {
		return err
	}
	c := topics.Event(r.PathValue("topic"), event)
	c.Key = keyOf(r)
	q := r.URL.Query()
	if c.NotBefore, err = due(q.Get("delay"), q.Get("at")); err != nil {
		return err
	}
	id, err := h.rt.Tell(r.Context(), c)
	if err != nil {
		return err
	}
	return h.accepted(w, r, id)
}
