package enginetest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/pawl-go/pawl/engine"
	"github.com/pawl-go/pawl/internal/runtime"
)

// tail opens a tail that ends with the test.
func (n *Node) tail(from engine.Position, f engine.EventFilter) engine.Tail {
	n.w.Helper()
	t, err := n.Session().Operator().Tail(n.w.ctx, from, f)
	if err != nil {
		n.w.Fatalf("tail from %d: %v", from, err)
	}
	n.w.Cleanup(t.Close)
	return t
}

// now is a tail of what happens from now on.
func (n *Node) now(f engine.EventFilter) engine.Tail {
	n.w.Helper()
	s, err := n.Session().Operator().Stats(n.w.ctx)
	if err != nil {
		n.w.Fatal(err)
	}
	return n.tail(s.Last+1, f)
}

// read reads n events.
func (w *World) read(t engine.Tail, n int) (events []engine.Event) {
	w.Helper()
	ctx, cancel := context.WithTimeout(w.ctx, patience)
	defer cancel()
	for len(events) < n {
		more, err := t.Next(ctx)
		if err != nil {
			w.Fatalf("next event: %v; told: %s", err, telling(events))
		}
		events = append(events, more...)
	}
	return events
}

// tells fails the test unless a tail tells exactly this next.
func (w *World) tells(t engine.Tail, want ...string) {
	w.Helper()
	if got := telling(w.read(t, len(want))); got != strings.Join(want, ", ") {
		w.Errorf("told   %s\nwanted %s", got, strings.Join(want, ", "))
	}
}

// telling says what events are about, in a few words each.
func telling(events []engine.Event) string {
	var words []string
	for i := range events {
		e := &events[i]
		s := string(e.Kind)
		switch {
		case e.Component != "":
			s += " " + e.Component
		case e.Actor.Type != "":
			s += " " + e.Actor.String()
		}
		if e.Method != "" {
			s += "." + e.Method
		}
		if e.To.Type != "" {
			s += " " + e.To.String() + "." + e.ToMethod
		}
		if e.Attempt > 0 {
			s += fmt.Sprintf(" #%d", e.Attempt)
		}
		if f := e.Failure; f != nil {
			s += " !" + f.Code + f.Message
		}
		words = append(words, s)
	}
	return strings.Join(words, ", ")
}

var events = []test{
	{"what happens, in order, from any event on", func(w *World) {
		counterScripts(w)
		w.On("A.first", func(s *Scene) runtime.Result { s.Tell("C/d", "get", ""); return tail("C/c", "add", "") })
		n := w.Node()
		t := n.now(engine.EventFilter{})
		n.Ask("A/a", "first", "")
		n.Ask("C/c", "add", "fail")
		all := w.read(t, 6)
		// The tell may end before or after the tail call.
		of := func(events []engine.Event, id string) (out []engine.Event) {
			for _, e := range events {
				if e.Actor.ID == id {
					out = append(out, e)
				}
			}
			return out
		}
		for len(of(all, "c")) < 4 || len(of(all, "d")) < 2 {
			all = append(all, w.read(t, 1)...)
		}
		for id, want := range map[string]string{
			"a": "send A/a.first, tail A/a.first C/c.add",
			"c": "write C/c.add, outcome C/c.add, send C/c.add, failure C/c.add !no",
			"d": "send C/d.get, outcome C/d.get",
		} {
			if got := telling(of(all, id)); got != want {
				w.Errorf("of %s told   %s\nwanted %s", id, got, want)
			}
		}
		for i := 1; i < len(all); i++ {
			x, y := &all[i-1], &all[i]
			if y.At < x.At || y.At == x.At && y.N != x.N+1 || y.At > x.At && y.N != 0 {
				w.Errorf("event %d.%d follows %d.%d", y.At, y.N, x.At, x.N)
			}
		}
		for i := range all { // a tail can begin at every record
			from := all[i].At
			rest := slices.IndexFunc(all, func(e engine.Event) bool { return e.At == from })
			if got, want := telling(w.read(n.tail(from, engine.EventFilter{}), len(all)-rest)), telling(all[rest:]); got != want {
				w.Errorf("from %d told   %s\nwanted %s", from, got, want)
			}
		}
		if t.At() < all[len(all)-1].At {
			w.Errorf("it has read up to %d, and given out %d", t.At(), all[len(all)-1].At)
		}
	}},
	{"a tail waits, and goes on after its wait was ended", func(w *World) {
		counterScripts(w)
		n := w.Node()
		t := n.now(engine.EventFilter{Type: "C", Kinds: []engine.EventKind{engine.EventSend}})
		ctx, cancel := context.WithTimeout(w.ctx, 10*time.Millisecond)
		defer cancel()
		if events, err := t.Next(ctx); !errors.Is(err, context.DeadlineExceeded) {
			w.Errorf("nothing has happened, and it tells %s, %v", telling(events), err)
		}
		heard := make(chan string, 1)
		go func() {
			events, err := t.Next(w.ctx)
			heard <- fmt.Sprint(telling(events), err)
		}()
		n.Ask("C/c", "add", "")
		select {
		case got := <-heard:
			if got != "send C/c.add<nil>" {
				w.Errorf("told %s", got)
			}
		case <-time.After(patience):
			w.Error("it was not woken")
		}
	}},
	{"filters", func(w *World) {
		counterScripts(w)
		w.On("A.first", func(*Scene) runtime.Result { return tail("C/c", "get", "") })
		n := w.Node()
		s, err := n.Session().Operator().Stats(w.ctx)
		if err != nil {
			w.Fatal(err)
		}
		n.Ask("C/c", "add", "")
		n.Ask("C/d", "add", "")
		p := n.Start("A/a", "first", "")
		w.Wait(p)
		for _, tc := range []struct {
			f    engine.EventFilter
			want []string
		}{
			{engine.EventFilter{Type: "A"}, []string{"send A/a.first", "tail A/a.first C/c.get"}},
			{engine.EventFilter{Type: "C", ID: "d"}, []string{"send C/d.add", "write C/d.add", "outcome C/d.add"}},
			{engine.EventFilter{Method: "get"}, []string{"tail A/a.first C/c.get", "outcome C/c.get"}},
			{engine.EventFilter{Invocation: p.ID()}, []string{"send A/a.first", "tail A/a.first C/c.get", "outcome C/c.get"}},
			{engine.EventFilter{Kinds: []engine.EventKind{engine.EventOutcome}}, []string{"outcome C/c.add", "outcome C/d.add", "outcome C/c.get"}},
		} {
			w.tells(n.tail(s.Last+1, tc.f), tc.want...)
		}
	}},
	{"an operator's acts", func(w *World) {
		w.Type("A", runtime.Type{MaxAttempts: 1})
		w.On("A.go", func(s *Scene) runtime.Result { s.Pass("go"); return value("") })
		client, n := w.Node("None"), w.Node("A")
		op, a := client.Session().Operator(), engine.Actor{Type: "A", ID: "a"}
		t := client.now(engine.EventFilter{Type: "A"})
		must := func(err error) {
			w.Helper()
			if err != nil {
				w.Fatal(err)
			}
		}
		id := client.Tell("A/a", "go", "")
		w.Hear("at go")
		n.Kill()
		w.Node("A")
		w.tells(t, "send A/a.go", "retry A/a.go #1", "park A/a.go !parked1 attempts ended by the death of their process")
		w.Open("go")
		must(op.Resume(w.ctx, id))
		w.tells(t, "resume A/a.go", "begin A/a.go #2", "outcome A/a.go")
		must(op.Pause(w.ctx, a))
		p := client.Start("A/a", "go", "")
		must(op.Cancel(w.ctx, p.ID(), "not wanted", false))
		must(op.Unpause(w.ctx, a))
		must(op.Write(w.ctx, a, []engine.Write{{Key: engine.Key{Cell: "x"}, Value: []byte("1")}}))
		must(op.Purge(w.ctx, a))
		w.tells(t, "pause A/a", "send A/a.go", "overrule A/a.go !cancelednot wanted", "cancel A/a.go !cancelednot wanted", "unpause A/a", "write A/a", "purge A/a")
	}},
	{"components that join, fail and leave, and what it does to their work", func(w *World) {
		counterScripts(w)
		client := w.Node("None")
		t := client.now(engine.EventFilter{})
		n := w.Node("C")
		p := client.Start("C/c", "add", "stop")
		w.Hear("at stop")
		n.Kill()
		n = w.Node("C")
		w.Wait(p)
		ctx, cancel := context.WithTimeout(w.ctx, patience)
		defer cancel()
		if err := n.Close(ctx); err != nil {
			w.Fatal(err)
		}
		w.tells(t, "join node2", "send C/c.add", "lost node2", "retry C/c.add #1", "join node3", "begin C/c.add #2",
			"write C/c.add", "outcome C/c.add", "leave node3")
	}},
	{"over a crash, from the oldest on", func(w *World) {
		counterScripts(w)
		w.Node().Start("C/c", "add", "stop")
		w.Hear("at stop")
		w.Crash()
		n := w.Node()
		w.tells(n.tail(0, engine.EventFilter{}), "epoch", "join node1", "send C/c.add", "retry C/c.add #1", "epoch", "join node2",
			"begin C/c.add #2", "write C/c.add", "outcome C/c.add")
	}},
	{"up to a record", func(w *World) {
		counterScripts(w)
		n := w.Node()
		n.Ask("C/c", "add", "")
		s, err := n.Session().Operator().Stats(w.ctx)
		if err != nil {
			w.Fatal(err)
		}
		n.Ask("C/c", "add", "")
		for _, f := range []engine.EventFilter{{Until: s.Last}, {Until: s.Last, Type: "none"}} {
			t := n.tail(0, f)
			if f.Type == "" {
				w.tells(t, "epoch", "join node1", "send C/c.add", "write C/c.add", "outcome C/c.add")
			}
			if more, err := t.Next(w.ctx); !errors.Is(err, io.EOF) || t.At() < s.Last {
				w.Errorf("behind %d it tells %s, %v, and is at %d", s.Last, telling(more), err, t.At())
			}
		}
	}},
	{"a record that never was", func(w *World) {
		counterScripts(w)
		n := w.Node()
		s, err := n.Session().Operator().Stats(w.ctx)
		if err != nil {
			w.Fatal(err)
		}
		if _, err := n.Session().Operator().Tail(w.ctx, s.Last+1000, engine.EventFilter{}); !errors.Is(err, engine.ErrNotFound) {
			w.Errorf("a tail from there: %v", err)
		}
	}},
}
