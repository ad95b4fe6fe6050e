package pawltest

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/pawl-go/pawl/engine"
	"github.com/pawl-go/pawl/internal/runtime"
)

// session is a component's membership: the engine's own, with a place to fail
// before and after what is recorded. A dead one records nothing; whoever uses it
// never goes on.
type session struct {
	engine.Session
	c       *Component
	handler engine.Handler
	dead    atomic.Bool
	died    chan struct{} // closed when it dies
	fenced  chan struct{} // closed when the component is told, at the end
	fences  sync.Once
}

var _ runtime.Gate = (*session)(nil)

func (s *session) fence() { s.fences.Do(func() { close(s.fenced) }) }

// live holds for good who belongs to a dead component.
func (s *session) live() {
	if s.dead.Load() {
		s.c.w.bury()
	}
}

// reach holds an attempt at a place until it is its turn.
func (s *session) reach(step Step, by engine.Attempt) {
	if run := s.c.w.attempt(by); run != nil {
		s.c.w.hold(s, place{step: step, run: run})
	}
}

// Send implements engine.Session.
func (s *session) Send(by engine.Attempt, e *engine.Effects) (engine.Position, error) {
	s.live()
	before, after := Step(""), AfterSend
	if len(e.Writes)+len(e.Reminders) > 0 {
		before, after = BeforeSync, AfterSync
	}
	if before != "" {
		s.reach(before, by)
	}
	at, err := s.Session.Send(by, e)
	if err != nil {
		return at, err
	}
	s.c.w.noteEffects(by, e)
	s.reach(after, by)
	return at, nil
}

// Starting implements runtime.Gate.
func (s *session) Starting(by engine.Attempt, r *engine.Request) error {
	if !s.c.w.held(s, place{step: BeforeBegin, run: &attempt{r, by.N}}) {
		return engine.ErrFenced
	}
	return nil
}

// Begin implements engine.Session.
func (s *session) Begin(by, under engine.Attempt, writes []engine.Write) (engine.Position, error) {
	s.live()
	at, err := s.Session.Begin(by, under, writes)
	if err == nil && len(writes) > 0 {
		s.c.w.noteEffects(under, &engine.Effects{Writes: writes})
	}
	return at, err
}

// Finish implements engine.Session.
func (s *session) Finish(by engine.Attempt, e *engine.Effects, o *engine.Outcome) (engine.Position, error) {
	s.live()
	s.reach(BeforeOutcome, by)
	run := s.c.w.attempt(by)
	at, err := s.Session.Finish(by, e, o)
	if err != nil || run == nil {
		return at, err
	}
	s.c.w.note(event{kind: ended, by: run, effects: *e, outcome: o})
	if !s.c.w.cfg.keep {
		s.handler.Forget(run.Actor)
	}
	s.hold(place{step: AfterOutcome, run: run})
	return at, nil
}

func (s *session) hold(p place) { s.c.w.hold(s, p) }

// Park implements engine.Session.
func (s *session) Park(by engine.Attempt, f *engine.Failure) (engine.Position, error) {
	s.live()
	at, err := s.Session.Park(by, f)
	if run := s.c.w.attempt(by); err == nil && run != nil {
		s.c.w.note(event{kind: parked, by: run, text: f.Message})
	}
	return at, err
}

// Postpone implements engine.Session.
func (s *session) Postpone(by engine.Attempt) (engine.Position, error) {
	s.live()
	return s.Session.Postpone(by)
}

// Committed implements engine.Session.
func (s *session) Committed(p engine.Position) bool {
	s.live()
	return s.Session.Committed(p)
}

// Lookup implements engine.Session.
func (s *session) Lookup(ctx context.Context, a engine.Actor, k engine.Key) ([]byte, bool, error) {
	s.live()
	return s.Session.Lookup(ctx, a, k)
}

// Scan implements engine.Session.
func (s *session) Scan(ctx context.Context, a engine.Actor, cell, from string, limit int) ([]engine.Cell, error) {
	s.live()
	return s.Session.Scan(ctx, a, cell, from, limit)
}

// Release implements engine.Session.
func (s *session) Release(as ...engine.Actor) {
	if !s.dead.Load() {
		s.Session.Release(as...)
	}
}

// Fenced implements engine.Session: a component that dies is not told.
func (s *session) Fenced() <-chan struct{} { return s.fenced }

// Leave implements engine.Session.
func (s *session) Leave(ctx context.Context) error {
	defer s.fence()
	if s.dead.Swap(true) {
		return engine.ErrFenced
	}
	close(s.died)
	return s.Session.Leave(ctx)
}

// hearer is a component's runtime as the world's engine sees it. Answers arrive
// one by one, when it is their turn.
type hearer struct {
	engine.Handler
	s *session
}

// Deliver implements engine.Handler.
func (h hearer) Deliver(d engine.Delivery) {
	if h.s.dead.Load() {
		return
	}
	h.s.c.w.know(d.Request)
	h.Handler.Deliver(d)
}

// Respond implements engine.Handler.
func (h hearer) Respond(r engine.Response) {
	if !h.s.dead.Load() {
		h.s.c.w.post(&answer{h.s, r})
	}
}

// Cancel implements engine.Handler.
func (h hearer) Cancel(r *engine.Request, o *engine.Outcome, begun bool) {
	if !h.s.dead.Load() {
		h.Handler.Cancel(r, o, begun)
	}
}

// Revoke implements engine.Handler.
func (h hearer) Revoke(r *engine.Request) {
	if !h.s.dead.Load() {
		h.Handler.Revoke(r)
	}
}

// CallerGone implements engine.Handler.
func (h hearer) CallerGone(r *engine.Request) {
	if !h.s.dead.Load() {
		h.Handler.CallerGone(r)
	}
}

// Read implements engine.Handler. The method runs on a goroutine of its own: it
// ends with its component, and who asked does not.
func (h hearer) Read(ctx context.Context, r *engine.Request) (*engine.Outcome, error) {
	type result struct {
		o   *engine.Outcome
		err error
	}
	got := make(chan result, 1)
	go func() {
		o, err := h.Handler.Read(ctx, r)
		got <- result{o, err}
	}()
	select {
	case res := <-got:
		return res.o, res.err
	case <-h.s.died:
		return nil, &engine.Error{Code: engine.ErrUnavailable, Err: errDied}
	}
}

// post queues an answer. It may be called with the engine's locks held.
func (w *World) post(a *answer) {
	w.mu.Lock()
	w.mu.answers = append(w.mu.answers, a)
	w.mu.Unlock()
	w.tell()
}

// know remembers the present step of an invocation.
func (w *World) know(r *engine.Request) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.mu.runs[r.ID] = r
}

// attempt gives what is known of an attempt, nil for none.
func (w *World) attempt(by engine.Attempt) *attempt {
	w.mu.Lock()
	defer w.mu.Unlock()
	r := w.mu.runs[by.ID]
	if r == nil || r.Step != by.Step {
		return nil
	}
	return &attempt{r, by.N}
}
