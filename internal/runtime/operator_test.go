package runtime_test

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/pawl-go/pawl/engine"
	"github.com/pawl-go/pawl/engine/enginetest"
	"github.com/pawl-go/pawl/engine/local/localtest"
	"github.com/pawl-go/pawl/internal/runtime"
)

var process = localtest.Harness{Params: "durability=process"}

// canceling is an engine on which an operator cancels the invocation just before an
// op of it is recorded, once.
func canceling(t *testing.T, op string) *operated {
	var once sync.Once
	return &operated{Harness: process, before: func(now string, s engine.Session, by engine.Attempt) {
		if now == op {
			once.Do(func() {
				if err := s.Operator().Cancel(context.Background(), by.ID, "enough", false); err != nil {
					t.Error(err)
				}
			})
		}
	}}
}

// TestCanceledWhileItFinishes: an operator cancels an invocation whose code has
// returned, and whose outcome is about to be recorded. Nothing of it counts: what it
// wrote is not in the memory of the actor either.
func TestCanceledWhileItFinishes(t *testing.T) {
	w := enginetest.NewWorld(t, canceling(t, "finish"))
	w.On("A.add", func(s *scene) result {
		s.Set("x", s.Get("x")+s.Arg())
		return enginetest.Value(s.Get("x"))
	})
	client := w.Node("None")
	w.Node("A")
	if got := client.Ask("A/a", "add", "1"); !strings.Contains(got, "canceled") {
		t.Errorf("the call that was cancelled is answered %q", got)
	}
	if got := client.Ask("A/a", "add", "2"); got != "2" {
		t.Errorf("after it the actor has %q, want what the second call wrote alone", got)
	}
}

// canceledAgain has a component die in a call, whose second attempt, elsewhere, is to end
// cancelled.
func canceledAgain(w *enginetest.World) {
	w.Helper()
	w.On("A.go", func(s *scene) result { s.Pass("go"); return enginetest.Value("") })
	client, a := w.Node("None"), w.Node("A")
	p := client.Start("A/a", "go", "")
	w.Hear("at go")
	a.Kill()
	w.Node("A")
	if got := w.Wait(p); !strings.Contains(got, "canceled") {
		w.Errorf("it is answered %q", got)
	}
}

// TestCanceledWhileItBegins: an operator cancels an invocation whose second attempt
// is about to begin. Its code does not run.
func TestCanceledWhileItBegins(t *testing.T) {
	w := enginetest.NewWorld(t, canceling(t, "begin"))
	canceledAgain(w)
	w.Times("at go", 1)
	w.Open("go")
}

// TestCanceledWhileItIsParked: an operator cancels an invocation that is about to be
// parked. It ends.
func TestCanceledWhileItIsParked(t *testing.T) {
	w := enginetest.NewWorld(t, canceling(t, "park"))
	w.Type("A", runtime.Type{MaxAttempts: 1})
	canceledAgain(w)
	w.Open("go")
}

// TestResumedWhileParked: an operator resumes a step that keeps its actor before the
// runtime has heard that it is parked. It goes on in its place all the same.
func TestResumedWhileParked(t *testing.T) {
	w := enginetest.NewWorld(t, &operated{Harness: process, after: func(op string, s engine.Session, by engine.Attempt) {
		if op == "park" {
			if err := s.Operator().Resume(context.Background(), by.ID); err != nil {
				t.Error(err)
			}
		}
	}})
	w.Type("A", runtime.Type{MaxAttempts: 1})
	w.On("A.first", func(*scene) result {
		return result{Tail: &runtime.Tail{To: engine.Actor{Type: "A", ID: "a"}, Method: "second"}}
	})
	var begun atomic.Int32
	w.On("A.second", func(s *scene) result {
		if begun.Add(1) == 1 {
			s.Pass("second")
		} else {
			s.Say("second again")
		}
		return enginetest.Value("")
	})
	w.On("A.next", func(s *scene) result { s.Say("next"); return enginetest.Value("") })
	client, a := w.Node("None"), w.Node("A")
	client.Tell("A/a", "first", "")
	w.Hear("at second")
	next := client.Start("A/a", "next", "")
	a.Kill()
	w.Node("A")
	w.Wait(next)
	w.Expect("at second", "second again", "next")
	w.Open("second")
}

// operated is an engine on which an operator acts around what sessions record.
type operated struct {
	localtest.Harness
	before, after func(op string, s engine.Session, by engine.Attempt) // nil: nothing
}

func (h *operated) Open(t *testing.T, o engine.Options) engine.Engine {
	return operatedEngine{h.Harness.Open(t, o), h}
}

func (h *operated) Fail(t *testing.T, s engine.Session) {
	h.Harness.Fail(t, s.(operatedSession).Session)
}

type operatedEngine struct {
	engine.Engine
	h *operated
}

func (e operatedEngine) Join(ctx context.Context, c engine.Component, h engine.Handler) (engine.Session, error) {
	s, err := e.Engine.Join(ctx, c, h)
	return operatedSession{s, e.h}, err
}

type operatedSession struct {
	engine.Session
	h *operated
}

func (s operatedSession) around(op string, by engine.Attempt, do func() (engine.Position, error)) (engine.Position, error) {
	if s.h.before != nil {
		s.h.before(op, s.Session, by)
	}
	p, err := do()
	if err == nil && s.h.after != nil {
		s.h.after(op, s.Session, by)
	}
	return p, err
}

func (s operatedSession) Begin(by, under engine.Attempt, writes []engine.Write) (engine.Position, error) {
	return s.around("begin", by, func() (engine.Position, error) { return s.Session.Begin(by, under, writes) })
}

func (s operatedSession) Finish(by engine.Attempt, e *engine.Effects, o *engine.Outcome) (engine.Position, error) {
	return s.around("finish", by, func() (engine.Position, error) { return s.Session.Finish(by, e, o) })
}

func (s operatedSession) Park(by engine.Attempt, f *engine.Failure) (engine.Position, error) {
	return s.around("park", by, func() (engine.Position, error) { return s.Session.Park(by, f) })
}
