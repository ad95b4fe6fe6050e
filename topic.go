package pawl

import (
	"cmp"
	"context"
	"fmt"

	"github.com/pawl-go/pawl/internal/topics"
)

// Topic is a topic by its name, of at most 128 bytes, whose events are of type E:
//
//	const Orders pawl.Topic[Order] = "orders"
//
// An event goes once to every actor that has subscribed, in one order for all. A
// topic needs no creating; its events are not kept for later subscribers.
type Topic[E any] string

// Publish publishes an event: a tell to each subscriber. Outside of methods it
// returns when the event cannot be lost; in a method it leaves as a [Tell] does,
// and by the same options. It has at most half the size of Limits.Outcome. The
// error of a subscriber's method is logged and kept for an operator, as that of any
// tell.
func Publish[E any](ctx context.Context, t Topic[E], event E, opts ...TellOption) error {
	o, err := originOf(ctx)
	if err != nil {
		return err
	}
	r := request{origin: o, call: topics.Event(string(t), nil)}
	if err := checkTopic(string(t)); err != nil {
		return err
	}
	if err := r.encode(event); err != nil {
		return err
	}
	if err := checkSize(thing("event"), len(r.call.Payload), o.app.cfg.Limits.Outcome/2); err != nil {
		return r.about(err)
	}
	if err := r.applyTell(opts); err != nil {
		return err
	}
	return r.tell(ctx)
}

// Subscribe has each event of a topic told to a method of an actor. An actor has
// one subscription to a topic; another one replaces it. Outside of methods it
// holds when Subscribe has returned. In a method it is recorded with the outcome,
// and holds for what is published after that.
func Subscribe[A, E, Out any](
	ctx context.Context, t Topic[E], to Ref[A], m func(A, context.Context, E) (Out, error),
) error {
	r, err := prepare(ctx, to, m)
	if err != nil {
		return err
	}
	if err := cmp.Or(r.inFlow(), checkTopic(string(t))); err != nil {
		return err
	}
	s := topics.Subscription{
		Actor: r.call.To, Name: string(t), Topic: string(t), Method: r.call.Method,
		ContentType: r.app.cfg.Codec.ContentType(),
	}
	if r.inv != nil {
		return r.about(topics.SubscribeIn(r.inv, s))
	}
	_, err = topics.Of(r.comp).Subscribe(ctx, s)
	return r.about(err)
}

// Unsubscribe gives up an actor's subscription to a topic. It is no error if there
// is none. When it holds is as for [Subscribe].
func Unsubscribe[A, E any](ctx context.Context, t Topic[E], to Ref[A]) error {
	o, err := originOf(ctx)
	if err := cmp.Or(err, checkTopic(string(t))); err != nil {
		return err
	}
	if o.inv != nil {
		return topics.UnsubscribeIn(o.inv, topics.Subscription{Actor: to.actor(), Name: string(t), Topic: string(t)})
	}
	_, err = topics.Of(o.comp).Unsubscribe(ctx, to.actor(), string(t))
	return err
}

// Subscription is a subscription, as [Subscriptions] lists it.
type Subscription struct{ Topic, Method string }

// Subscriptions lists the recorded subscriptions of an actor, by topic. In a
// method, its own changes are not among them before its outcome.
func Subscriptions[A any](ctx context.Context, of Ref[A]) ([]Subscription, error) {
	o, err := originOf(ctx)
	if err != nil {
		return nil, err
	}
	var list []topics.Subscription
	if o.inv != nil {
		list, err = topics.ListIn(o.inv, of.actor())
	} else {
		list, err = topics.Of(o.comp).List(ctx, of.actor())
	}
	if err != nil {
		return nil, fmt.Errorf("list subscriptions of %v: %w", of, err)
	}
	out := make([]Subscription, len(list))
	for i, s := range list {
		out[i] = Subscription{Topic: s.Topic, Method: s.Method}
	}
	return out, nil
}

func checkTopic(name string) error {
	if name == "" {
		return misuse(ErrBadMethod, fmt.Errorf("the topic has no name"))
	}
	return checkName("topic", name, maxName)
}
