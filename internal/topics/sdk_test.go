package topics_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/pawl-go/pawl"
	"github.com/pawl-go/pawl/pawltest"
)

// Subscriber changes the subscription of a reader, from a method.
type Subscriber struct{}

// Change subscribes reader r or gives that up, and returns what it sees then.
func (*Subscriber) Change(ctx context.Context, on bool) ([]pawl.Subscription, error) {
	return change(ctx, on)
}

var reader = pawl.Actor[*Reader]("r")

func change(ctx context.Context, on bool) ([]pawl.Subscription, error) {
	var err error
	if on {
		err = pawl.Subscribe(ctx, news, reader, (*Reader).Hear)
	} else {
		err = pawl.Unsubscribe(ctx, news, reader)
	}
	if err != nil {
		return nil, err
	}
	return pawl.Subscriptions(ctx, reader)
}

// A subscription holds when Subscribe has returned, in a method from its outcome
// on, and until Unsubscribe; made or given up twice it is as once.
func TestSubscriptions(t *testing.T) {
	pawltest.Run(t, func(w *pawltest.World) {
		w.Host(func(app *pawl.App) { pawl.Register[Reader](app); pawl.Register[Subscriber](app) })
		read := 0
		// hears publishes an event, and tells whether the reader has heard it.
		hears := func() bool {
			if err := pawl.Publish(w.Context(), news, "event"); err != nil {
				w.Error(err)
			}
			w.Settle()
			all, err := pawl.Call(w.Context(), reader, (*Reader).Read, pawl.None{})
			n := len(all) - read
			read = len(all)
			if err != nil || n > 1 {
				w.Errorf("one event was heard %d times, %v", n, err)
			}
			return n == 1
		}
		if hears() {
			w.Error("it hears what it has not subscribed to")
		}
		one := []pawl.Subscription{{Topic: "news", Method: "Hear"}}
		for _, step := range []struct {
			on   bool
			want []pawl.Subscription
		}{{true, one}, {true, one}, {false, nil}, {false, nil}} {
			got, err := change(w.Context(), step.on)
			if err != nil || !slices.Equal(got, step.want) {
				w.Errorf("outside of methods, subscribed %v: %v, %v", step.on, got, err)
			}
			if hears() != step.on {
				w.Errorf("outside of methods, subscribed %v: it hears %v", step.on, !step.on)
			}
		}
		for _, step := range []struct {
			on   bool
			want []pawl.Subscription // as before the method: its change comes with its outcome
		}{{true, nil}, {true, one}, {false, one}, {false, nil}} {
			got, err := pawl.Call(w.Context(), pawl.Actor[*Subscriber]("s"), (*Subscriber).Change, step.on)
			if err != nil || !slices.Equal(got, step.want) {
				w.Errorf("in a method, subscribed %v: %v, %v", step.on, got, err)
			}
			if hears() != step.on {
				w.Errorf("in a method, subscribed %v: it hears %v", step.on, !step.on)
			}
		}
	})
}

func TestTopicMistakes(t *testing.T) {
	pawltest.Run(t, func(w *pawltest.World) {
		w.Host(func(app *pawl.App) { pawl.Register[Reader](app) })
		none := pawl.Topic[string]("")
		for _, c := range []struct {
			ctx   context.Context
			topic pawl.Topic[string]
			want  pawl.Code
		}{{w.Context(), none, pawl.ErrBadMethod}, {context.Background(), news, pawl.ErrNoApp}} {
			for name, err := range map[string]error{
				"Publish":     pawl.Publish(c.ctx, c.topic, "event"),
				"Subscribe":   pawl.Subscribe(c.ctx, c.topic, reader, (*Reader).Hear),
				"Unsubscribe": pawl.Unsubscribe(c.ctx, c.topic, reader),
			} {
				if !errors.Is(err, c.want) {
					w.Errorf("%s to topic %q: %v, want %s", name, c.topic, err, c.want)
				}
			}
		}
	})
}
