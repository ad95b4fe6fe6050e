package topics

import (
	"context"
	"fmt"
	"strings"

	"github.com/pawl-go/pawl/engine"
	"github.com/pawl-go/pawl/internal/runtime"
)

// Caller is a component, from outside of methods. *runtime.Component is one.
type Caller interface {
	Session() engine.Session
	Call(ctx context.Context, c runtime.Call) (*engine.Outcome, error)
	Tell(ctx context.Context, c runtime.Call) (engine.ID, error)
}

// Client changes and lists topics and subscriptions from outside of methods.
// Each change holds when the method has returned. Safe for concurrent use.
type Client struct{ c Caller }

// Of makes a Client of a component that has joined.
func Of(c Caller) Client { return Client{c} }

// Subscribe sets a subscription, replacing the one of the same name that its
// actor may have; replaced says so.
func (c Client) Subscribe(ctx context.Context, s Subscription) (replaced bool, err error) {
	return c.ask(ctx, subscriberActor(s.Actor), subscribe, messageOf(&s).encode())
}

// Unsubscribe gives up a subscription by its name; found says whether there was
// one.
func (c Client) Unsubscribe(ctx context.Context, a engine.Actor, name string) (found bool, err error) {
	s := Subscription{Actor: a, Name: name}
	return c.ask(ctx, subscriberActor(a), unsubscribe, messageOf(&s).encode())
}

// UnsubscribeAll gives up all subscriptions of an actor.
func (c Client) UnsubscribeAll(ctx context.Context, a engine.Actor) error {
	_, err := c.ask(ctx, subscriberActor(a), clearAll, nil)
	return err
}

// List lists the subscriptions of an actor by their names, as recorded and
// committed.
func (c Client) List(ctx context.Context, a engine.Actor) ([]Subscription, error) {
	list, err := recorded(ctx, c.c.Session(), subscriberActor(a), "")
	if err != nil {
		return nil, fmt.Errorf("list subscriptions of %v: %w", a, err)
	}
	return list, c.commit(ctx)
}

// Subscribers lists the subscriptions to a topic; known says whether it was
// created or has any.
func (c Client) Subscribers(ctx context.Context, topic string) (list []Subscription, known bool, err error) {
	s := c.c.Session()
	if list, err = recorded(ctx, s, topicActor(topic), subscriptionCell); err != nil {
		return nil, false, fmt.Errorf("list subscribers of %s: %w", topic, err)
	}
	if _, known, err = s.Lookup(ctx, topicActor(topic), engine.Key{Cell: existsCell}); err != nil {
		return nil, false, fmt.Errorf("look up topic %s: %w", topic, err)
	}
	return list, known, c.commit(ctx)
}

// commit waits until what was read counts.
func (c Client) commit(ctx context.Context) error {
	s := c.c.Session()
	return s.Wait(ctx, s.Last())
}

// Publish publishes an event, which is opaque, and returns when it cannot be lost.
// A topic that was not created is one without subscribers.
func (c Client) Publish(ctx context.Context, topic string, event []byte) (engine.ID, error) {
	return c.c.Tell(ctx, Event(topic, event))
}

// Create makes a topic known; created says that it was not. A topic need not be
// created to be used.
func (c Client) Create(ctx context.Context, topic string) (created bool, err error) {
	return c.ask(ctx, topicActor(topic), create, nil)
}

// Delete forgets a topic with all subscriptions to it; found says whether it was
// known.
func (c Client) Delete(ctx context.Context, topic string) (found bool, err error) {
	return c.ask(ctx, topicActor(topic), remove, nil)
}

func (c Client) ask(ctx context.Context, a engine.Actor, method string, payload []byte) (bool, error) {
	o, err := c.c.Call(ctx, runtime.Call{To: a, Method: method, Payload: payload})
	if err != nil {
		return false, err
	}
	if f := o.Failure; f != nil {
		return false, &engine.Error{Code: engine.Code(f.Code), Actor: a.String(), Method: method, Err: fmt.Errorf("%s", f.Message)}
	}
	return string(o.Value) == "true", nil
}

// SubscribeIn makes a method subscribe: by tells that leave with its outcome.
func SubscribeIn(inv *runtime.Invocation, s Subscription) error {
	return tellBoth(inv, &s, subscribe)
}

// UnsubscribeIn makes a method give up a subscription to a topic, by tells that
// leave with its outcome.
func UnsubscribeIn(inv *runtime.Invocation, s Subscription) error {
	return tellBoth(inv, &s, unsubscribe)
}

// tellBoth tells the topic, so that what is published behind it in the flow finds
// it done, and the subscriber, which counts.
func tellBoth(inv *runtime.Invocation, s *Subscription, method string) error {
	for _, to := range []engine.Actor{topicActor(s.Topic), subscriberActor(s.Actor)} {
		if _, err := inv.Tell(inv, runtime.Call{To: to, Method: method, Payload: messageOf(s).encode()}); err != nil {
			return err
		}
	}
	return nil
}

// ListIn lists the recorded subscriptions of an actor, in a method.
func ListIn(inv *runtime.Invocation, a engine.Actor) ([]Subscription, error) {
	if err := inv.Check(); err != nil {
		return nil, err
	}
	return recorded(inv, inv.Component().Session(), subscriberActor(a), "")
}

func recorded(ctx context.Context, s engine.Session, a engine.Actor, prefix string) ([]Subscription, error) {
	cells, err := s.Load(ctx, a)
	if err != nil {
		return nil, err
	}
	var list []Subscription
	for _, c := range cells {
		if !strings.HasPrefix(c.Cell, prefix) {
			continue
		}
		m, err := decode(c.Value)
		if err != nil {
			return nil, err
		}
		list = append(list, m.subscription())
	}
	return list, nil
}
