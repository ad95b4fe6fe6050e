package enginetest

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pawl-go/pawl/engine"
	"github.com/pawl-go/pawl/engine/trace"
	"github.com/pawl-go/pawl/internal/runtime"
	"github.com/pawl-go/pawl/spec/check"
)

// patience is how long a test waits for an event that must come.
const patience = 20 * time.Second

// World is one test: an engine, components that host scripted actors, and the
// record of what they said.
type World struct {
	*testing.T
	h       Harness
	eng     engine.Engine
	options engine.Options
	ctx     context.Context
	scripts map[string]Script // "Type.method"
	types   map[string]runtime.Type
	ids     int
	nodes   []*Node
	trace   trace.Memory // of all lives

	mu     sync.Mutex
	said   []string
	heard  chan struct{} // closed and made anew when something is said
	gates  map[string]chan struct{}
	opened map[string]bool
}

// Script is the code of a method.
type Script func(s *Scene) runtime.Result

// Node is a component of the world.
type Node struct {
	*runtime.Component
	w    *World
	name string
	dead bool // its process has died: what its scripts say is not heard
}

// NewWorld makes the world of one test. It ends with the test.
func NewWorld(t *testing.T, h Harness) *World {
	w := &World{
		T: t, h: h, ctx: t.Context(),
		options: engine.Options{App: "world", Logger: slog.New(slog.DiscardHandler)},
		scripts: map[string]Script{}, types: map[string]runtime.Type{},
		heard: make(chan struct{}), gates: map[string]chan struct{}{}, opened: map[string]bool{},
	}
	w.options.Trace = w.trace.Life()
	t.Cleanup(w.end)
	return w
}

// end lets every script go, so that the runners end.
func (w *World) end() {
	w.mu.Lock()
	for name := range w.gates {
		w.open(name)
	}
	w.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for _, n := range w.nodes {
		_ = n.Close(ctx)
	}
	if w.eng != nil {
		_ = w.eng.Close()
	}
}

// Trace gives what has been traced so far, of all lives.
func (w *World) Trace() []trace.Event { return w.trace.Events() }

// Allowed fails the test if its trace is not allowed by the semantics.
func (w *World) Allowed() {
	w.Helper()
	if _, err := check.Slice(w.Trace(), check.Options{}); err != nil {
		w.Errorf("%v", err)
	}
}

// On gives a method ("Type.method") its script, on every component to come.
func (w *World) On(name string, s Script) { w.scripts[name] = s }

// Type sets the options of a type, for every component to come.
func (w *World) Type(name string, t runtime.Type) { w.types[name] = t }

// Node starts a component that hosts the types ("" for all scripted ones).
func (w *World) Node(types ...string) *Node {
	w.Helper()
	if w.eng == nil {
		w.eng = w.h.Open(w.T, w.options)
	}
	w.ids++
	n := &Node{w: w, name: fmt.Sprintf("node%d", w.ids)}
	c, err := runtime.New(runtime.Config{Name: n.name, Logger: w.options.Logger, Types: n.hosted(types)})
	if err != nil {
		w.Fatal(err)
	}
	n.Component = c
	if err := c.Join(w.ctx, w.eng); err != nil {
		w.Fatalf("join: %v", err)
	}
	w.nodes = append(w.nodes, n)
	return n
}

func (n *Node) hosted(types []string) []*runtime.Type {
	hosted := map[string]*runtime.Type{}
	for name := range n.w.scripts {
		kind, method, _ := strings.Cut(name, ".")
		if len(types) > 0 && !slices.Contains(types, kind) {
			continue
		}
		t := hosted[kind]
		if t == nil {
			opts := n.w.types[kind]
			t = &opts
			t.Name, t.Methods = kind, map[string]*runtime.Method{}
			t.New = func(id string) runtime.Instance { return newInstance(n, engine.Actor{Type: kind, ID: id}) }
			hosted[kind] = t
		}
		t.Methods[method] = &runtime.Method{Name: method}
	}
	var list []*runtime.Type
	for _, t := range hosted {
		list = append(list, t)
	}
	return list
}

// Kill declares the component failed, as if its process had died.
func (n *Node) Kill() {
	n.w.Helper()
	n.w.h.Fail(n.w.T, n.Session())
}

// Crash ends every process and opens the engine again, without components.
func (w *World) Crash() {
	w.Helper()
	w.mu.Lock()
	for _, n := range w.nodes {
		n.dead = true
	}
	w.mu.Unlock()
	w.eng = w.h.Crash(w.T)
}

// Say records an event.
func (w *World) Say(format string, args ...any) { w.say(nil, format, args...) }

func (w *World) say(by *Node, format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if by != nil && by.dead {
		return
	}
	w.said = append(w.said, fmt.Sprintf(format, args...))
	close(w.heard)
	w.heard = make(chan struct{})
}

// Hear waits until an event was said as many times as it is named here.
func (w *World) Hear(events ...string) {
	w.Helper()
	want := map[string]int{}
	for _, e := range events {
		want[e]++
	}
	timeout := time.After(patience)
	for {
		w.mu.Lock()
		heard := w.heard
		missing := ""
		for e, n := range want {
			if count(w.said, e) < n {
				missing = e
			}
		}
		w.mu.Unlock()
		if missing == "" {
			return
		}
		select {
		case <-heard:
		case <-timeout:
			w.Fatalf("never heard %q; heard: %s", missing, w.Heard())
		}
	}
}

// Heard lists what was said.
func (w *World) Heard() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return strings.Join(w.said, ", ")
}

// Expect fails the test unless exactly this was said.
func (w *World) Expect(events ...string) {
	w.Helper()
	if got, want := w.Heard(), strings.Join(events, ", "); got != want {
		w.Errorf("heard  %s\nwanted %s", got, want)
	}
}

// Times fails the test unless an event was said n times.
func (w *World) Times(event string, n int) {
	w.Helper()
	w.mu.Lock()
	got := count(w.said, event)
	w.mu.Unlock()
	if got != n {
		w.Errorf("%q was said %d times, not %d: %s", event, got, n, w.Heard())
	}
}

// Before fails the test unless a was first said before b was first said.
func (w *World) Before(a, b string) {
	w.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	i, j := slices.Index(w.said, a), slices.Index(w.said, b)
	if i < 0 || j < 0 || i > j {
		w.Errorf("%q does not stand before %q: %s", a, b, strings.Join(w.said, ", "))
	}
}

func count(all []string, one string) int {
	n := 0
	for _, s := range all {
		if s == one {
			n++
		}
	}
	return n
}

// Open opens a gate, for now and for later.
func (w *World) Open(name string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.open(name)
}

func (w *World) open(name string) {
	if !w.opened[name] {
		w.opened[name] = true
		close(w.gate(name))
	}
}

func (w *World) gate(name string) chan struct{} {
	if w.gates[name] == nil {
		w.gates[name] = make(chan struct{})
	}
	return w.gates[name]
}

func parse(to, method, arg string) runtime.Call {
	kind, id, _ := strings.Cut(to, "/")
	return runtime.Call{To: engine.Actor{Type: kind, ID: id}, Method: method, Payload: []byte(arg)}
}

// Start calls from outside and returns the wait.
func (n *Node) Start(to, method, arg string) *runtime.Pending {
	n.w.Helper()
	p, err := n.Go(n.w.ctx, parse(to, method, arg))
	if err != nil {
		n.w.Fatalf("start %s.%s: %v", to, method, err)
	}
	return p
}

// Tell tells from outside.
func (n *Node) Tell(to, method, arg string) engine.ID {
	n.w.Helper()
	id, err := n.Component.Tell(n.w.ctx, parse(to, method, arg))
	if err != nil {
		n.w.Fatalf("tell %s.%s: %v", to, method, err)
	}
	return id
}

// Wait waits for an outcome: its value, or "!" and the code or message.
func (w *World) Wait(p *runtime.Pending) string {
	w.Helper()
	ctx, cancel := context.WithTimeout(w.ctx, patience)
	defer cancel()
	o, err := p.Wait(ctx)
	if err != nil {
		w.Fatalf("wait for %v: %v; heard: %s", p.ID(), err, w.Heard())
	}
	return text(o)
}

// Ask calls from outside and waits.
func (n *Node) Ask(to, method, arg string) string {
	n.w.Helper()
	return n.w.Wait(n.Start(to, method, arg))
}

func text(o *engine.Outcome) string {
	switch {
	case o.Failure == nil:
		return string(o.Value)
	case o.Failure.Code != "":
		return "!" + o.Failure.Code
	}
	return "!" + o.Failure.Message
}
