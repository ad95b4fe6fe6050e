package runtime_test

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/pawl-go/pawl/engine"
	"github.com/pawl-go/pawl/engine/enginetest"
	"github.com/pawl-go/pawl/engine/local/localtest"
	"github.com/pawl-go/pawl/internal/runtime"
)

// TestResumedWhileParked: an operator resumes a step that keeps its actor before the
// runtime has heard that it is parked. It goes on in its place all the same.
func TestResumedWhileParked(t *testing.T) {
	w := enginetest.NewWorld(t, &resuming{Harness: localtest.Harness{Params: "durability=process"}})
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

// resuming is an engine on which an operator resumes what is parked at once.
type resuming struct{ localtest.Harness }

func (h *resuming) Open(t *testing.T, o engine.Options) engine.Engine {
	return resumingEngine{h.Harness.Open(t, o)}
}

func (h *resuming) Fail(t *testing.T, s engine.Session) {
	h.Harness.Fail(t, s.(resumingSession).Session)
}

type resumingEngine struct{ engine.Engine }

func (e resumingEngine) Join(ctx context.Context, c engine.Component, h engine.Handler) (engine.Session, error) {
	s, err := e.Engine.Join(ctx, c, h)
	return resumingSession{s}, err
}

type resumingSession struct{ engine.Session }

func (s resumingSession) Park(by engine.Attempt, f *engine.Failure) (engine.Position, error) {
	p, err := s.Session.Park(by, f)
	if err == nil {
		err = s.Operator().Resume(context.Background(), by.ID)
	}
	return p, err
}
