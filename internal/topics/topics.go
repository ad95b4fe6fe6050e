package topics

import (
	"net/url"
	"strings"

	"github.com/pawl-go/pawl/engine"
	"github.com/pawl-go/pawl/internal/runtime"
)

// The actor types, and what every reserved name begins with.
const (
	Reserved       = "pawl."
	TopicType      = Reserved + "topic"
	SubscriberType = Reserved + "subscriber"
)

// The methods of a topic and of a subscriber.
const (
	publish     = "publish"
	create      = "create"
	remove      = "delete"
	subscribe   = "subscribe"
	unsubscribe = "unsubscribe"
	clearAll    = "clear"
)

// IsReserved reports whether an actor type's name is of those that applications
// may not take.
func IsReserved(kind string) bool { return strings.HasPrefix(kind, Reserved) }

// Subscription says that an actor wants the events of a topic.
type Subscription struct {
	Actor engine.Actor
	Name  string // of the subscription, unique for its actor
	Topic string
	// Method of the actor is told each event; its argument is the event, or with
	// Array the JSON array that holds it alone.
	Method string
	Array  bool
	// ContentType is kept for who lists it.
	ContentType string
}

// Types are the actor types that a component hosts for topics. OutcomeLimit is
// that of its runtime.Config; 0 stands for the same default.
func Types(outcomeLimit int) []*runtime.Type {
	if outcomeLimit <= 0 {
		outcomeLimit = 16 << 20
	}
	return []*runtime.Type{
		newType(TopicType, outcomeLimit, map[string]step{
			publish: publishStep, create: createStep, remove: removeStep,
			subscribe: topicSubscribe, unsubscribe: topicUnsubscribe,
		}),
		newType(SubscriberType, outcomeLimit, map[string]step{
			subscribe: subscribeStep, unsubscribe: unsubscribeStep, clearAll: clearStep,
		}),
	}
}

func newType(name string, outcomeLimit int, steps map[string]step) *runtime.Type {
	t := &runtime.Type{
		Name: name, Identity: name + "/1", Methods: map[string]*runtime.Method{},
		New: func(string) runtime.Instance { return &instance{outcomeLimit: outcomeLimit} },
	}
	for method, do := range steps {
		t.Methods[method] = &runtime.Method{Name: method, Host: do}
	}
	return t
}

// Event is the request that publishes an event: a tell, to be made by a
// component or in a method, with whatever else a tell may have (a key, a delay).
func Event(topic string, event []byte) runtime.Call {
	return runtime.Call{To: topicActor(topic), Method: publish, Payload: event}
}

func topicActor(topic string) engine.Actor { return engine.Actor{Type: TopicType, ID: topic} }

// subscriberActor keeps the subscriptions of a. An escaped type has no slash.
func subscriberActor(a engine.Actor) engine.Actor {
	return engine.Actor{Type: SubscriberType, ID: url.PathEscape(a.Type) + "/" + a.ID}
}
