package topics_test

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/pawl-go/pawl"
	"github.com/pawl-go/pawl/engine"
	_ "github.com/pawl-go/pawl/engine/local"
	"github.com/pawl-go/pawl/internal/runtime"
	"github.com/pawl-go/pawl/internal/topics"
	"github.com/pawl-go/pawl/pawltest"
)

const news pawl.Topic[string] = "news"

// Reader keeps what it was told.
type Reader struct{ read pawl.Value[[]string] }

func (r *Reader) Hear(ctx context.Context, s string) (pawl.None, error) {
	r.read.Update(ctx, func(have []string) []string { return append(have, s) })
	return pawl.None{}, nil
}

func (r *Reader) Read(ctx context.Context, _ pawl.None) ([]string, error) {
	return r.read.Get(ctx), nil
}

// Press subscribes readers and publishes, with its outcome.
type Press struct{ issue pawl.Value[int] }

func (p *Press) Open(ctx context.Context, readers []string) (pawl.None, error) {
	for _, id := range readers {
		if err := pawl.Subscribe(ctx, news, pawl.Actor[*Reader](id), (*Reader).Hear); err != nil {
			return pawl.None{}, err
		}
	}
	return pawl.None{}, pawl.Publish(ctx, news, "opened")
}

func (p *Press) Print(ctx context.Context, _ pawl.None) (int, error) {
	n := p.issue.Update(ctx, func(n int) int { return n + 1 })
	return n, pawl.Publish(ctx, news, fmt.Sprint(n))
}

// TestExactlyOnce has the process die at each step that can fail, and then at
// each two: every reader hears each event once, in one order.
func TestExactlyOnce(t *testing.T) {
	pawltest.Explore(t, func(w *pawltest.World) {
		w.Host(func(app *pawl.App) { pawl.Register[Reader](app); pawl.Register[Press](app) })
		ctx, press := w.Context(), pawl.Actor[*Press]("p")
		_, err := pawl.Call(ctx, press, (*Press).Open, []string{"a", "b"})
		if err != nil {
			w.Fatal(err)
		}
		if n, err := pawl.Call(ctx, press, (*Press).Print, pawl.None{}); n != 1 || err != nil {
			w.Fatalf("printed %d, %v", n, err)
		}
		w.Settle()
		for _, id := range []string{"a", "b"} {
			got, err := pawl.Call(ctx, pawl.Actor[*Reader](id), (*Reader).Read, pawl.None{})
			if err != nil || !slices.Equal(got, []string{"opened", "1"}) {
				w.Errorf("%s has heard %v, %v", id, got, err)
			}
		}
	}, pawltest.Schedules(400))
}

// component joins a component on fresh data that hosts topics and a type Box,
// which says on heard what its method put is told.
func component(t *testing.T, outcomeLimit int) (c *runtime.Component, heard chan string) {
	t.Helper()
	eng, err := engine.Open(t.Context(), "local:"+t.TempDir()+"?durability=process",
		engine.Options{App: "topics", Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	heard = make(chan string, 10_000) // a test's events at most
	box := &runtime.Type{
		Name: "Box", Methods: map[string]*runtime.Method{"put": {Name: "put"}, "other": {Name: "other"}},
		New: func(id string) runtime.Instance { return &box{id: id, heard: heard} },
	}
	c, err = runtime.New(runtime.Config{
		Name: "one", Types: append(topics.Types(outcomeLimit), box), OutcomeLimit: outcomeLimit,
		Logger: slog.New(slog.DiscardHandler),
	})
	if err == nil {
		err = c.Join(t.Context(), eng)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close(context.Background()); _ = eng.Close() })
	return c, heard
}

type box struct {
	id    string
	heard chan string
}

func (b *box) Load([]engine.Cell) error                          { return nil }
func (b *box) Activate(*runtime.Invocation) error                { return nil }
func (b *box) Writes(dst []engine.Write) ([]engine.Write, error) { return dst, nil }
func (b *box) Recorded()                                         {}
func (b *box) Discard()                                          {}
func (b *box) Settle()                                           {}
func (b *box) Deactivate()                                       {}
func (b *box) Invoke(_ *runtime.Invocation, m *runtime.Method, payload []byte) runtime.Result {
	b.heard <- b.id + "." + m.Name + " " + string(payload)
	return runtime.Result{}
}

func subscribe(t *testing.T, c topics.Client, s topics.Subscription) (replaced bool) {
	t.Helper()
	replaced, err := c.Subscribe(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	return replaced
}

func TestSubscriptionsByName(t *testing.T) {
	comp, heard := component(t, 0)
	c, ctx := topics.Of(comp), t.Context()
	odd := engine.Actor{Type: "Box", ID: "a/b \xff ü_"}
	one := topics.Subscription{Actor: odd, Name: "s\xff", Topic: "x/y", Method: "put", ContentType: "text/plain"}
	if subscribe(t, c, one) {
		t.Error("the first one replaced something")
	}
	list, err := c.List(ctx, odd)
	if err != nil || !slices.Equal(list, []topics.Subscription{one}) {
		t.Errorf("listed %v, %v", list, err)
	}
	two := one
	two.Topic, two.Method, two.Array = "z", "other", true
	if !subscribe(t, c, two) {
		t.Error("the second one replaced nothing")
	}
	for _, topic := range []string{"x/y", "nobody", "z"} {
		if _, err := c.Publish(ctx, topic, []byte(`"`+topic+`"`)); err != nil {
			t.Fatal(err)
		}
	}
	if got := <-heard; got != odd.ID+`.other ["z"]` {
		t.Errorf("heard %q", got)
	}
	if left, known, err := c.Subscribers(ctx, "x/y"); len(left) != 0 || !known || err != nil {
		t.Errorf("x/y still has %v (%v, %v)", left, known, err)
	}
	if found, err := c.Unsubscribe(ctx, odd, "none"); found || err != nil {
		t.Errorf("unsubscribe of none: %v %v", found, err)
	}
	if found, err := c.Unsubscribe(ctx, odd, "s\xff"); !found || err != nil {
		t.Errorf("unsubscribe: %v %v", found, err)
	}
	if left, _, err := c.Subscribers(ctx, "z"); len(left) != 0 || err != nil {
		t.Errorf("z still has %v, %v", left, err)
	}
}

func TestDeleteAndClear(t *testing.T) {
	comp, _ := component(t, 0)
	c, ctx := topics.Of(comp), t.Context()
	a := engine.Actor{Type: "Box", ID: "a"}
	if created, err := c.Create(ctx, "x"); !created || err != nil {
		t.Errorf("create: %v %v", created, err)
	}
	if created, err := c.Create(ctx, "x"); created || err != nil {
		t.Errorf("create again: %v %v", created, err)
	}
	for _, topic := range []string{"x", "y", "z"} {
		subscribe(t, c, topics.Subscription{Actor: a, Name: topic, Topic: topic, Method: "put"})
	}
	if found, err := c.Delete(ctx, "x"); !found || err != nil {
		t.Errorf("delete: %v %v", found, err)
	}
	if err := c.UnsubscribeAll(ctx, a); err != nil { // behind what Delete has told the subscriber
		t.Fatal(err)
	}
	for _, topic := range []string{"x", "y", "z"} {
		if left, _, err := c.Subscribers(ctx, topic); len(left) != 0 || err != nil {
			t.Errorf("%s still has %v, %v", topic, left, err)
		}
	}
	if left, err := c.List(ctx, a); len(left) != 0 || err != nil {
		t.Errorf("still listed: %v, %v", left, err)
	}
}

// TestMoreThanOneOutcome: an event that one outcome cannot carry to all reaches
// each once, and the next one comes behind it everywhere.
func TestMoreThanOneOutcome(t *testing.T) {
	comp, heard := component(t, 10_000)
	c, ctx := topics.Of(comp), t.Context()
	const readers = 17
	for n := range readers {
		subscribe(t, c, topics.Subscription{Actor: engine.Actor{Type: "Box", ID: fmt.Sprint(n)}, Name: "s", Topic: "x", Method: "put"})
	}
	events := []string{strings.Repeat("1", 1500), strings.Repeat("2", 1500), strings.Repeat("3", 4900)}
	for _, e := range events {
		if _, err := c.Publish(ctx, "x", []byte(e)); err != nil {
			t.Fatal(err)
		}
	}
	got := map[string]string{}
	for range readers * len(events) {
		who, what, _ := strings.Cut(<-heard, " ")
		got[who] += what[:1]
	}
	for who, what := range got {
		if what != "123" {
			t.Errorf("%s has heard %s", who, what)
		}
	}
	if len(got) != readers || len(heard) > 0 {
		t.Errorf("%d readers, and %d events too many", len(got), len(heard))
	}
}
