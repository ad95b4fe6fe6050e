package pawltest

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/pawl-go/pawl/engine"
	"github.com/pawl-go/pawl/internal/probe"
	rt "github.com/pawl-go/pawl/internal/runtime"
)

// rig stands for an engine below an actor that a test calls by hand: an engine
// and a session that deliver nothing, and answer calls by stubs.
type rig struct {
	engine.Session // nil: what is not here has no place without a runtime
	t              testing.TB
	types          []engine.Type
	handler        engine.Handler
	begun          chan *rt.Invocation
	left           chan struct{} // closed when the app leaves
	over           chan struct{} // closed when the test has ended
	ids            atomic.Uint64

	mu    sync.Mutex
	stubs map[target]func(*engine.Request) *engine.Outcome
	tells []*engine.Request
	state map[engine.Key][]byte
}

// target is a method of a type; of any type if kind is "".
type target struct{ kind, method string }

func (r *rig) target(m any) target {
	r.t.Helper()
	name, err := probe.MethodName(m)
	if err != nil {
		r.t.Fatalf("name the method: %v", err)
	}
	return target{probe.TypeName(m), name}
}

func (t target) fits(r *engine.Request) bool {
	return t.method == r.Method && (t.kind == "" || t.kind == r.Actor.Type)
}

func (r *rig) stub(t target, answer func(*engine.Request) *engine.Outcome) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.stubs == nil {
		r.stubs = map[target]func(*engine.Request) *engine.Outcome{}
	}
	r.stubs[t] = answer
}

func (r *rig) told(t target) []*engine.Request {
	r.mu.Lock()
	defer r.mu.Unlock()
	var list []*engine.Request
	for _, req := range r.tells {
		if t.fits(req) {
			list = append(list, req)
		}
	}
	return list
}

// answer runs the stub of a call.
func (r *rig) answer(req *engine.Request) *engine.Outcome {
	r.mu.Lock()
	answer := r.stubs[target{req.Actor.Type, req.Method}]
	if answer == nil {
		answer = r.stubs[target{"", req.Method}]
	}
	r.mu.Unlock()
	if answer != nil {
		return answer(req)
	}
	r.t.Errorf("%s.%s was called, and has no stub: answer it with pawltest.Stub", req.Actor, req.Method)
	return &engine.Outcome{Failure: engine.Fail(engine.ErrNoMethod, "the call has no stub")}
}

// Join implements engine.Engine.
func (r *rig) Join(_ context.Context, c engine.Component, h engine.Handler) (engine.Session, error) {
	r.types, r.handler, r.left = c.Types, h, make(chan struct{})
	return r, nil
}

// Close implements engine.Engine.
func (r *rig) Close() error { return nil }

// Number implements engine.Session.
func (r *rig) Number() uint64 { return 1 }

// NewID implements engine.Session.
func (r *rig) NewID() engine.ID { return engine.ID{Hi: 2, Lo: r.ids.Add(1)} }

// Send implements engine.Session: it records what was written, keeps tells, and
// answers calls.
func (r *rig) Send(_ engine.Attempt, e *engine.Effects) (engine.Position, error) {
	r.record(e.Writes)
	for _, req := range e.Requests {
		if req.Kind == engine.KindTell {
			r.mu.Lock()
			r.tells = append(r.tells, req)
			r.mu.Unlock()
			continue
		}
		go func() { r.handler.Respond(engine.Response{ID: req.ID, Outcome: r.answer(req)}) }()
	}
	return 0, nil
}

// Read implements engine.Session: read-only methods are stubs too.
func (r *rig) Read(_ context.Context, req *engine.Request) (*engine.Outcome, engine.Position, error) {
	return r.answer(req), 0, nil
}

// Finish implements engine.Session: nothing that runs here counts.
func (r *rig) Finish(engine.Attempt, *engine.Effects, *engine.Outcome) (engine.Position, error) {
	return 0, engine.ErrFenced
}

// Park implements engine.Session: the actor could not be made.
func (r *rig) Park(_ engine.Attempt, f *engine.Failure) (engine.Position, error) {
	r.t.Errorf("Context: %s", f.Message)
	close(r.begun)
	return 0, nil
}

// Committed implements engine.Session.
func (r *rig) Committed(engine.Position) bool { return true }

// Wait implements engine.Session.
func (r *rig) Wait(context.Context, engine.Position) error { return nil }

// Last implements engine.Session.
func (r *rig) Last() engine.Position { return 0 }

// Members implements engine.Session.
func (r *rig) Members() []engine.Member { return nil }

// Release implements engine.Session.
func (r *rig) Release(...engine.Actor) {}

// Detach implements engine.Session.
func (r *rig) Detach(engine.ID) {}

// Fenced implements engine.Session.
func (r *rig) Fenced() <-chan struct{} { return r.left }

// Leave implements engine.Session.
func (r *rig) Leave(context.Context) error {
	close(r.left)
	return nil
}

// record keeps writes as the recorded state of the one actor.
func (r *rig) record(writes []engine.Write) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, w := range writes {
		switch w.Op {
		case engine.Put:
			r.state[w.Key] = w.Value
		case engine.Delete:
			delete(r.state, w.Key)
		case engine.Clear:
			maps.DeleteFunc(r.state, func(k engine.Key, _ []byte) bool { return k.InMap && k.Cell == w.Cell })
		}
	}
}

// Load implements engine.Session.
func (r *rig) Load(context.Context, engine.Actor) ([]engine.Cell, error) {
	return r.cells(func(k engine.Key) bool { return !k.InMap }), nil
}

// Lookup implements engine.Session.
func (r *rig) Lookup(_ context.Context, _ engine.Actor, k engine.Key) ([]byte, bool, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	v, ok := r.state[k]
	return v, ok, nil
}

// Scan implements engine.Session.
func (r *rig) Scan(_ context.Context, _ engine.Actor, cell, from string, limit int) ([]engine.Cell, error) {
	cells := r.cells(func(k engine.Key) bool { return k.InMap && k.Cell == cell && k.Entry >= from })
	return cells[:min(limit, len(cells))], nil
}

// Reminders implements engine.Session.
func (r *rig) Reminders(context.Context, engine.Actor) ([]engine.Reminder, error) { return nil, nil }

// Operator implements engine.Session.
func (r *rig) Operator() engine.Operator {
	panic(fmt.Sprintf("pawltest: %s: an operator needs a world: use pawltest.Run", r.t.Name()))
}

func (r *rig) cells(in func(engine.Key) bool) []engine.Cell {
	r.mu.Lock()
	defer r.mu.Unlock()
	var list []engine.Cell
	for k, v := range r.state {
		if in(k) {
			list = append(list, engine.Cell{Key: k, Value: v})
		}
	}
	slices.SortFunc(list, func(a, b engine.Cell) int {
		return cmp.Or(cmp.Compare(a.Cell, b.Cell), cmp.Compare(a.Entry, b.Entry))
	})
	return list
}
