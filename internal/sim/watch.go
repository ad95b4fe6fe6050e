package sim

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/pawl-go/pawl/engine"
	"github.com/pawl-go/pawl/engine/trace"
)

// Watch wraps an engine so that at is called before and after every step that
// can fail, in the goroutine concerned, with no lock held: it may block. When it
// returns an error the component is dead from there on: the step returns the
// error (a step after which it was returned has been done), and every later one
// of the session returns ErrFenced. The engine does not know of it: declare it
// failed with [Fail], when the failure is to be noticed.
//
// A component learns that it was fenced when at has returned for a point of kind
// Fenced; until then it goes on as a zombie. What the code of one that is dead,
// or was told, still does is not in the trace: it ends all at once.
func Watch(inner engine.Engine, at func(Point) error) engine.Engine {
	return &watched{Engine: inner, at: at, trace: trace.Of(inner)}
}

type watched struct {
	engine.Engine
	at     func(Point) error
	trace  trace.Recorder // nil: off
	silent sync.Map       // numbers of the sessions of which nothing is traced any more
}

// Join implements engine.Engine.
func (w *watched) Join(ctx context.Context, c engine.Component, h engine.Handler) (engine.Session, error) {
	s := &session{w: w, component: c.Name, died: make(chan struct{}), fenced: make(chan struct{})}
	s.mu.requests = map[engine.ID]*engine.Request{}
	inner, err := w.Engine.Join(ctx, c, &handler{Handler: h, s: s})
	if err != nil {
		return nil, err
	}
	s.Session = inner
	go s.follow()
	return s, nil
}

// Fail declares the component of a session failed.
func (w *watched) Fail(s engine.Session) error {
	if own, ok := s.(*session); ok && own.w == w {
		s = own.Session
	}
	return Fail(w.Engine, s)
}

// Trace implements trace.Source.
func (w *watched) Trace() trace.Recorder {
	if w.trace == nil {
		return nil
	}
	return survivors{w.trace, w}
}

// survivors records what the runtimes say, but for those that have ended.
type survivors struct {
	trace.Recorder
	w *watched
}

func (s survivors) Record(events ...trace.Event) {
	for i := range events {
		if _, silent := s.w.silent.Load(events[i].Session); silent && !events[i].Kind.Record() {
			return
		}
	}
	s.Recorder.Record(events...)
}

// session stands between a runtime and its session. What it does not name goes
// through.
type session struct {
	engine.Session
	w         *watched
	component string
	dead      atomic.Bool
	once      sync.Once
	died      chan struct{} // closed when dead is set
	fenced    chan struct{}

	mu struct {
		sync.Mutex
		requests map[engine.ID]*engine.Request // delivered here, their present step
	}
}

// handler notes what is delivered, so that points can name it.
type handler struct {
	engine.Handler
	s *session
}

func (h *handler) Deliver(d engine.Delivery) {
	h.s.mu.Lock()
	h.s.mu.requests[d.Request.ID] = d.Request
	h.s.mu.Unlock()
	h.Handler.Deliver(d)
}

// follow tells the component that it was fenced. It ends with the session.
func (s *session) follow() {
	select {
	case <-s.Session.Fenced():
	case <-s.died:
	}
	_ = s.w.at(s.point(Fenced)) // dead or not, it is told
	s.w.silent.Store(s.Number(), true)
	close(s.fenced)
}

// Fenced implements engine.Session.
func (s *session) Fenced() <-chan struct{} { return s.fenced }

func (s *session) point(k Kind) Point {
	return Point{Kind: k, Component: s.component, Session: s.Number()}
}

// by is a point of an attempt.
func (s *session) by(k Kind, by engine.Attempt) Point {
	p := s.point(k)
	p.Attempt = by
	s.mu.Lock()
	r := s.mu.requests[by.ID]
	s.mu.Unlock()
	if r != nil {
		p.Actor, p.Method = r.Actor, r.Method
	}
	return p
}

func (s *session) alive() error {
	if !s.dead.Load() {
		return nil
	}
	return &engine.Error{Code: engine.ErrFenced, Err: fmt.Errorf("component %q is dead", s.component)}
}

// pass is at a point: on an error the component is dead.
func (s *session) pass(p Point) error {
	if err := s.alive(); err != nil {
		return err
	}
	err := s.w.at(p)
	if err != nil {
		s.dead.Store(true)
		s.w.silent.Store(p.Session, true)
		s.once.Do(func() { close(s.died) })
		return err
	}
	return s.alive() // it may have died meanwhile
}

// step does one step between its two points.
func (s *session) step(p Point, do func() (engine.Position, error)) (engine.Position, error) {
	if err := s.pass(p); err != nil {
		return 0, err
	}
	at, err := do()
	p.After, p.At = true, at
	if died := s.pass(p); died != nil {
		return 0, died
	}
	return at, err
}

// Starting implements runtime.Gate.
func (s *session) Starting(by engine.Attempt, r *engine.Request) error {
	p := s.by(Start, by)
	p.Actor, p.Method, p.Request = r.Actor, r.Method, r
	return s.pass(p)
}

// Send implements engine.Session.
func (s *session) Send(by engine.Attempt, e *engine.Effects) (engine.Position, error) {
	p := s.by(Send, by)
	if len(e.Requests) > 0 {
		p.Request = e.Requests[0]
		if by.ID.IsZero() {
			p.Actor, p.Method = p.Request.Actor, p.Request.Method
		}
	}
	return s.step(p, func() (engine.Position, error) { return s.Session.Send(by, e) })
}

// Begin implements engine.Session.
func (s *session) Begin(by, under engine.Attempt, writes []engine.Write) (engine.Position, error) {
	return s.step(s.by(Begin, by), func() (engine.Position, error) { return s.Session.Begin(by, under, writes) })
}

// Finish implements engine.Session.
func (s *session) Finish(by engine.Attempt, e *engine.Effects, o *engine.Outcome) (engine.Position, error) {
	p := s.by(Finish, by)
	p.Outcome = o
	if len(e.Requests) > 0 {
		p.Request = e.Requests[0]
	}
	return s.step(p, func() (engine.Position, error) {
		at, err := s.Session.Finish(by, e, o)
		s.over(by)
		return at, err
	})
}

// Park implements engine.Session.
func (s *session) Park(by engine.Attempt, f *engine.Failure) (engine.Position, error) {
	return s.step(s.by(Park, by), func() (engine.Position, error) {
		at, err := s.Session.Park(by, f)
		s.over(by)
		return at, err
	})
}

// Postpone implements engine.Session.
func (s *session) Postpone(by engine.Attempt) (engine.Position, error) {
	return s.step(s.by(Postpone, by), func() (engine.Position, error) { return s.Session.Postpone(by) })
}

// over forgets the request of a step that has ended.
func (s *session) over(by engine.Attempt) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r := s.mu.requests[by.ID]; r != nil && r.Step == by.Step {
		delete(s.mu.requests, by.ID)
	}
}

// Committed implements engine.Session. It never says so: a flush in the
// background may make a record count at any moment, and who has to Wait comes to
// a point, at which there is no doubt.
func (s *session) Committed(engine.Position) bool { return false }

// Wait implements engine.Session.
func (s *session) Wait(ctx context.Context, at engine.Position) error {
	p := s.point(Commit)
	p.At = at
	p.whose(ctx)
	_, err := s.step(p, func() (engine.Position, error) { return at, s.Session.Wait(ctx, at) })
	return err
}

// Attach implements engine.Session.
func (s *session) Attach(id engine.ID) error {
	if err := s.alive(); err != nil {
		return err
	}
	return s.Session.Attach(id)
}

// Read implements engine.Session.
func (s *session) Read(ctx context.Context, r *engine.Request) (*engine.Outcome, engine.Position, error) {
	if err := s.alive(); err != nil {
		return nil, 0, err
	}
	return s.Session.Read(ctx, r)
}

// Load implements engine.Session.
func (s *session) Load(ctx context.Context, a engine.Actor) ([]engine.Cell, error) {
	if err := s.alive(); err != nil {
		return nil, err
	}
	return s.Session.Load(ctx, a)
}

// Lookup implements engine.Session.
func (s *session) Lookup(ctx context.Context, a engine.Actor, k engine.Key) ([]byte, bool, error) {
	if err := s.alive(); err != nil {
		return nil, false, err
	}
	return s.Session.Lookup(ctx, a, k)
}

// Scan implements engine.Session.
func (s *session) Scan(ctx context.Context, a engine.Actor, cell, from string, limit int) ([]engine.Cell, error) {
	if err := s.alive(); err != nil {
		return nil, err
	}
	return s.Session.Scan(ctx, a, cell, from, limit)
}

// Reminders implements engine.Session.
func (s *session) Reminders(ctx context.Context, a engine.Actor) ([]engine.Reminder, error) {
	if err := s.alive(); err != nil {
		return nil, err
	}
	return s.Session.Reminders(ctx, a)
}

// Leave implements engine.Session. One that is dead does not leave: it is
// declared failed.
func (s *session) Leave(ctx context.Context) error {
	if err := s.alive(); err != nil {
		return err
	}
	return s.Session.Leave(ctx)
}
