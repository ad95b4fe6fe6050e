package local

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/pawl-go/pawl/engine"
	"github.com/pawl-go/pawl/queue/replica"
)

// A source that is cut off begins nothing: nothing is delivered, nothing counts any more,
// requests from outside are refused. What runs is recorded, and when the other hosts are
// heard again everything goes on, in order.
func TestCutOffSourceBeginsNothing(t *testing.T) {
	h := newThreeHosts(t, 300*time.Millisecond)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	one, two, three := h.open(ctx, 1), h.open(ctx, 2), h.open(ctx, 3)
	e := <-one
	p := newProbe()
	s, err := e.Join(ctx, engine.Component{Name: "c", Types: []engine.Type{{Name: "A"}, {Name: "B"}}}, p)
	if err != nil {
		t.Fatal(err)
	}
	lease := func(held bool) {
		t.Helper()
		q := e.copied.q
		if err := q.WaitStats(ctx, func(replica.Stats) bool { return q.Leased() == held }); err != nil {
			t.Fatal(err)
		}
	}
	send := func(by engine.Attempt, r *engine.Request) (engine.Position, error) {
		return s.Send(by, &engine.Effects{Requests: []*engine.Request{r}})
	}
	outer := call(s, "A", "1")
	at, err := send(engine.Attempt{}, outer)
	for errors.As(err, new(*replica.LeaseError)) { // so short a lease is also lost on a busy machine
		lease(true)
		at, err = send(engine.Attempt{}, outer)
	}
	if err == nil {
		err = s.Wait(ctx, at)
	}
	if err != nil {
		t.Fatal(err)
	}
	p.delivery(t, outer.ID, 1)
	h.cut(1, true)
	lease(false)
	if s.Committed(at) {
		t.Error("what has counted is acted on at a source that is cut off")
	}
	if _, err := send(engine.Attempt{}, call(s, "A", "2")); !errors.Is(err, engine.ErrUnavailable) || !errors.As(err, new(*replica.LeaseError)) {
		t.Errorf("a request from outside: %v", err)
	}
	first, second := nested(s, outer, "B", "1"), nested(s, outer, "B", "1")
	for _, r := range []*engine.Request{first, second} {
		if _, err := send(attempt(outer, 1), r); err != nil {
			t.Fatal(err)
		}
	}
	p.note(func() {
		if n := len(p.deliveries); n != 1 {
			t.Errorf("%d deliveries, want only that from before", n)
		}
	})
	other, err := e.Join(short(t), engine.Component{Name: "d"}, newProbe())
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("join a source that is cut off: %v %v", other, err)
	}
	h.cut(1, false)
	p.delivery(t, second.ID, 1)
	p.note(func() {
		if n := len(p.deliveries); n != 3 || p.deliveries[1].Request.ID != first.ID {
			t.Errorf("delivered: %+v, want the two calls once, in order", p.deliveries)
		}
	})
	end, err := s.Finish(attempt(first, 1), &engine.Effects{}, value("done"))
	if err == nil {
		err = s.Wait(ctx, end)
	}
	if err != nil {
		t.Errorf("finish after the cut: %v", err)
	}
	// Leaving is bounded, and what it leads to comes when the cut is over.
	h.cut(1, true)
	lease(false)
	if err := s.Leave(short(t)); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("leave a source that is cut off: %v", err)
	}
	<-s.Fenced()
	h.cut(1, false)
	after := newProbe()
	if _, err := e.Join(ctx, engine.Component{Name: "c", Types: []engine.Type{{Name: "A"}, {Name: "B"}}}, after); err != nil {
		t.Fatal(err)
	}
	after.delivery(t, second.ID, 1)
	cancel()
	for _, opened := range []<-chan *Engine{one, two, three} {
		for range opened { // it is open until it is closed
		}
	}
}

// short is a context for what cannot end otherwise.
func short(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	t.Cleanup(cancel)
	return ctx
}
