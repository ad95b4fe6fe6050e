package pawltest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"testing"
	"time"

	"github.com/pawl-go/pawl"
	"github.com/pawl-go/pawl/engine"
	"github.com/pawl-go/pawl/internal/probe"
	rt "github.com/pawl-go/pawl/internal/runtime"
)

// Context gives an actor its cells, empty, and returns the context of a method
// that runs on it, so that a test calls its methods as plain Go, without anything
// being recorded anywhere:
//
//	alice := new(Account)
//	ctx := pawltest.Context(t, "alice", alice)
//	balance, err := alice.Deposit(ctx, Deposit{Amount: 5})
//
// Nested calls are answered by [Stub], tells are kept for [Told], a tail call is
// read off the error by [Tailed]. All calls with one context are one method to
// Pawl: they see what those before them wrote. The actor must be new, and of a
// type that can be registered; ctx ends with the test.
func Context[A any](t testing.TB, id string, actor A) context.Context {
	t.Helper()
	r := &rig{t: t, over: make(chan struct{}), begun: make(chan *rt.Invocation, 1), state: map[engine.Key][]byte{}}
	name := worlds.add(func(string) (engine.Engine, error) { return r, nil })
	defer worlds.remove(name)
	app, err := pawl.Open(background, "pawltest:"+name, pawl.Config{
		App: "pawltest", Component: "test", Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatalf("Context: %v", err)
	}
	pawl.RegisterFunc(app, func(string) A { return actor })
	if err := app.Start(background); err != nil {
		t.Fatalf("Context: %v", err)
	}
	t.Cleanup(func() {
		closed := make(chan error, 1)
		go func() { closed <- app.Close() }()
		<-r.left
		close(r.over)
		if err := <-closed; err != nil {
			t.Errorf("Context: %v", err)
		}
	})
	if err := r.deliver(id); err != nil {
		t.Fatalf("Context: %v", err)
	}
	inv, ok := <-r.begun
	if !ok {
		t.FailNow() // Park has said why
	}
	return inv
}

// rigOf finds the rig of a context that Context has made.
func rigOf(ctx context.Context) *rig {
	if inv := rt.From(ctx); inv != nil {
		if r, ok := inv.Component().Session().(*rig); ok {
			return r
		}
	}
	panic("pawltest: the context is not one of pawltest.Context")
}

// Stub answers nested calls of a method, named by its method expression, that are
// made with a context of [Context]. A second stub of a method replaces the first.
// A call that has none fails the test.
//
//	pawltest.Stub(ctx, (*Card).Charge, func(card pawl.Ref[*Card], amount int) (string, error) {
//		return "receipt", nil
//	})
func Stub[A, In, Out any](
	ctx context.Context, m func(A, context.Context, In) (Out, error), answer func(to pawl.Ref[A], in In) (Out, error),
) {
	r := rigOf(ctx)
	r.t.Helper()
	r.stub(r.target(m), func(req *engine.Request) *engine.Outcome {
		var in In
		if err := decode(req.Payload, &in); err != nil {
			return &engine.Outcome{Failure: probe.FailureOf(fmt.Errorf("decode argument: %w", err))}
		}
		out, err := answer(pawl.Ref[A]{Type: req.Actor.Type, ID: req.Actor.ID}, in)
		if err != nil {
			return &engine.Outcome{Failure: probe.FailureOf(err)}
		}
		value, err := encode(out)
		if err != nil {
			return &engine.Outcome{Failure: probe.FailureOf(fmt.Errorf("encode result: %w", err))}
		}
		return &engine.Outcome{Value: value}
	})
}

// Told gives the inputs of the tells of a method, whoever they are for, that were
// made with a context of [Context], in order. It records what was written so far,
// as [pawl.Sync] does. Tells with pawl.WithOutcome are not among them.
func Told[A, In, Out any](ctx context.Context, m func(A, context.Context, In) (Out, error)) []In {
	r := rigOf(ctx)
	r.t.Helper()
	if err := pawl.Sync(ctx); err != nil {
		r.t.Fatalf("Told: %v", err)
	}
	var list []In
	for _, req := range r.told(r.target(m)) {
		var in In
		if err := decode(req.Payload, &in); err != nil {
			r.t.Fatalf("Told: decode argument of %s.%s: %v", req.Actor, req.Method, err)
		}
		list = append(list, in)
	}
	return list
}

// Tailed makes sure that a method has returned a tail call of m to an actor, and
// gives its input:
//
//	_, err := transfer.Begin(ctx, order)
//	w := pawltest.Tailed(t, err, order.From, (*Account).Withdraw)
func Tailed[A, In, Out any](t testing.TB, err error, to pawl.Ref[A], m func(A, context.Context, In) (Out, error)) (in In) {
	t.Helper()
	name, nameErr := probe.MethodName(m)
	if nameErr != nil {
		t.Fatalf("Tailed: %v", nameErr)
	}
	tail, ok := err.(probe.Tail) //nolint:errorlint // a tail call is returned as it is
	if !ok {
		t.Fatalf("Tailed: the method returned the error %v, not a tail call to %v.%s", err, to, name)
	}
	actor, method, argument := tail.Made()
	if actor != (engine.Actor{Type: to.Type, ID: to.ID}) || method != name {
		t.Fatalf("Tailed: the method ended with a tail call to %v.%s, not to %v.%s", actor, method, to, name)
	}
	if err := argument(&in); err != nil {
		t.Fatalf("Tailed: decode argument of %v.%s: %v", actor, method, err)
	}
	return in
}

func decode(b []byte, v any) error {
	if _, none := v.(*pawl.None); none || len(b) == 0 {
		return nil
	}
	return json.Unmarshal(b, v)
}

func encode(v any) ([]byte, error) {
	if _, none := v.(pawl.None); none {
		return nil, nil
	}
	return json.Marshal(v)
}

// Begins implements probe.Probe: the method that was delivered stands for the
// test. Its goroutine is kept until that has ended, and then ends with it.
func (r *rig) Begins(inv *rt.Invocation, _ any) {
	if inv.ReadOnly() {
		return
	}
	r.begun <- inv
	<-r.over
	runtime.Goexit()
}

// Ended implements probe.Probe.
func (r *rig) Ended(*rt.Invocation, any) {}

// Touched implements probe.Probe.
func (r *rig) Touched(*rt.Invocation, string) {}

// Jitter implements probe.Probe.
func (r *rig) Jitter(n time.Duration) time.Duration { return n / 2 }

// Probe implements probe.Source.
func (r *rig) Probe() probe.Probe { return r }

// deliver begins the invocation that stands for the test.
func (r *rig) deliver(id string) error {
	kind := r.types[0]
	for _, m := range kind.Methods {
		if m.ReadOnly {
			continue
		}
		r.handler.Deliver(engine.Delivery{Request: &engine.Request{
			Frame: engine.Frame{ID: engine.ID{Hi: 1, Lo: 1}, Actor: engine.Actor{Type: kind.Name, ID: id}},
			Step:  1, Method: m.Name,
		}})
		return nil
	}
	return errors.New("the actor has no callable method that may write")
}
