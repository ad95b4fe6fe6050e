package local

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/pawl-go/pawl/engine"
	"github.com/pawl-go/pawl/internal/mutant"
)

// session is the membership of a component in this process.
type session struct {
	e   *Engine
	m   *member
	seq atomic.Uint64
}

func (s *session) Number() uint64 { return s.m.number }

func (s *session) NewID() engine.ID { return engine.ID{Hi: s.m.number, Lo: s.seq.Add(1)} }

func (s *session) Committed(p engine.Position) bool { return s.e.committed(p) }

func (s *session) Wait(ctx context.Context, p engine.Position) error { return s.e.wait(ctx, p) }

func (s *session) Last() engine.Position { return engine.Position(s.e.last.Load()) }

func (s *session) Fenced() <-chan struct{} { return s.m.fenced }

func (s *session) Operator() engine.Operator { return operator{s.e} }

func (s *session) Leave(ctx context.Context) error { return s.e.end(ctx, s.m, true) }

// alive says why the session records nothing any more. mu is held.
func (s *session) alive() error {
	if err := s.e.usable(); err != nil {
		return err
	}
	if s.m.gone && !mutant.Is(mutant.FencedWriteAccepted) {
		return &engine.Error{Code: engine.ErrFenced, Err: fmt.Errorf("session %d of component %q has ended", s.m.number, s.m.Name)}
	}
	return nil
}

// current finds the request of which by is the present attempt. mu is held.
// The contract's fencing: the actor is placed here, the step is the present
// one, and no later attempt was recorded.
func (s *session) current(by engine.Attempt) (*pending, error) {
	p := s.e.mu.f.reqs[by.ID]
	if p == nil || p.status != inFlow {
		return nil, late(engine.ErrEnded, by)
	}
	if (p.host != s.m || p.req.Step != by.Step || by.N < p.attempts) && !mutant.Is(mutant.FencedWriteAccepted) {
		return nil, late(engine.ErrFenced, by)
	}
	return p, nil
}

func late(code engine.Code, by engine.Attempt) error {
	return &engine.Error{Code: code, Invocation: by.ID.String(), Err: fmt.Errorf("attempt %d of step %d does not count any more", by.N, by.Step)}
}

// scheduleTime is the clock for what may be delayed; it is read only if there
// is something.
func (e *Engine) scheduleTime(ef *engine.Effects) (now time.Time) {
	for _, r := range ef.Requests {
		if !r.NotBefore.IsZero() {
			return e.set.Now()
		}
	}
	return now
}

// derived reports whether an id of e may be known already: then the record is
// made under the lock.
func derived(ef *engine.Effects) bool {
	for _, r := range ef.Requests {
		if r.ID.Derived() {
			return true
		}
	}
	return false
}

// Send implements engine.Session.
func (s *session) Send(by engine.Attempt, ef *engine.Effects) (engine.Position, error) {
	e := s.e
	now := e.scheduleTime(ef)
	if derived(ef) {
		return s.record(by, ef, nil, now)
	}
	w := s.encoder(by)
	defer w.free()
	w.effects(by.ID, ef, now, nil)
	e.mu.Lock()
	defer e.mu.Unlock()
	p, err := s.sender(by, ef)
	if err != nil {
		return 0, s.refused("send", by, err)
	}
	if w.empty() {
		return s.Last(), nil
	}
	at, err := e.append(w)
	if err != nil {
		return 0, err
	}
	s.apply(p, by, ef, now, nil, at)
	e.applied(at)
	s.searchDeadlocks(ef)
	return at, nil
}

// encoder gives an encoder for a record that an attempt has made.
func (s *session) encoder(by engine.Attempt) *encoder {
	w := newEncoder()
	w.maker.session, w.maker.by = s.m.number, by
	return w
}

// sender checks who sends: an attempt that counts, or a client outside, whose
// requests are refused when too many wait. mu is held.
func (s *session) sender(by engine.Attempt, ef *engine.Effects) (*pending, error) {
	if err := s.alive(); err != nil {
		return nil, err
	}
	if !by.ID.IsZero() {
		return s.current(by)
	}
	if len(ef.Writes) > 0 {
		return nil, fmt.Errorf("send: writes without an attempt")
	}
	if c := s.e.copied; c != nil && !c.tenure.Leased() {
		return nil, unavailable(c.tenure.LeaseError())
	}
	f := s.e.mu.f
	for _, r := range ef.Requests {
		if f.count[inFlow] >= s.e.set.Pending {
			return nil, overloaded(r, f.count[inFlow], s.e.set.Pending, "in the application")
		}
		if f.count[inFlow] < s.e.set.Mailbox {
			continue // no line is that long
		}
		if a := f.actors.Get(r.Actor); a != nil && a.line.Len() >= s.e.set.Mailbox {
			return nil, overloaded(r, a.line.Len(), s.e.set.Mailbox, "for the actor")
		}
	}
	return nil, nil
}

func overloaded(r *engine.Request, n, limit int, where string) error {
	return &engine.Error{
		Code: engine.ErrOverloaded, Actor: r.Actor.String(), Method: r.Method,
		Err: fmt.Errorf("%d requests wait %s, the limit is %d", n, where, limit),
	}
}

// apply applies effects that were recorded at p. mu is held.
func (s *session) apply(p *pending, by engine.Attempt, ef *engine.Effects, now time.Time, skip []bool, at engine.Position) {
	f := s.e.mu.f
	if p != nil {
		f.write(p.actor, ef.Writes)
	}
	for i := range ef.Reminders {
		f.remind(&ef.Reminders[i], at)
	}
	for i, r := range ef.Requests {
		if skip != nil && skip[i] {
			continue
		}
		if p := f.request(r, by.ID, isScheduled(r, now), at); p != nil && r.Kind == engine.KindCall {
			p.wait(s.m)
		}
	}
}

// Begin implements engine.Session.
func (s *session) Begin(by, under engine.Attempt, writes []engine.Write) (engine.Position, error) {
	e := s.e
	w := s.encoder(by)
	defer w.free()
	w.maker.under = under
	w.writes(under.ID, engine.Actor{}, writes)
	w.begin(by)
	e.mu.Lock()
	defer e.mu.Unlock()
	p, err := s.beginner(by, under, len(writes) > 0)
	if err != nil {
		return 0, s.refused("begin", by, err)
	}
	at, err := e.append(w)
	if err != nil {
		return 0, err
	}
	e.mu.f.write(p.actor, writes)
	e.mu.f.begin(by.ID, by.N)
	e.applied(at)
	return at, nil
}

// beginner checks who begins, and whose writes are recorded with that: it
// returns the request whose actor is written to. mu is held.
func (s *session) beginner(by, under engine.Attempt, writes bool) (*pending, error) {
	if err := s.alive(); err != nil {
		return nil, err
	}
	p, err := s.current(by)
	if err == nil && writes {
		p, err = s.current(under)
	}
	return p, err
}

// Finish implements engine.Session.
func (s *session) Finish(by engine.Attempt, ef *engine.Effects, o *engine.Outcome) (engine.Position, error) {
	e := s.e
	now := e.scheduleTime(ef)
	if derived(ef) {
		return s.record(by, ef, o, now)
	}
	x := &ending{id: by.ID, step: by.Step, o: o, ended: e.set.Now()}
	w := s.encoder(by)
	defer w.free()
	w.effects(by.ID, ef, now, nil)
	w.outcome(opOutcome, x)
	e.mu.Lock()
	defer e.mu.Unlock()
	p, err := s.finisher(by, o)
	if err != nil {
		return 0, s.refused("finish", by, err)
	}
	if p.ending != nil {
		return s.overruled(p, x, w)
	}
	return s.finish(p, by, ef, x, w, now, nil)
}

// finisher checks who finishes. mu is held.
func (s *session) finisher(by engine.Attempt, o *engine.Outcome) (*pending, error) {
	if err := s.alive(); err != nil {
		return nil, err
	}
	p, err := s.current(by)
	if err != nil {
		if t := s.e.mu.f.tombs[by.ID]; t != nil && t.host == s.m {
			s.e.mu.f.bury(t)
		}
		return nil, late(engine.ErrFenced, by)
	}
	if t := o.Tail; t != nil && (t.ID != by.ID || t.Step != by.Step+1 || t.InPlace && t.Actor != p.req.Actor) {
		return nil, fmt.Errorf("finish %s: the tail call is not one of step %d", by.ID, by.Step)
	}
	return p, nil
}

// finish records and applies effects and outcome. mu is held.
func (s *session) finish(p *pending, by engine.Attempt, ef *engine.Effects, x *ending, w *encoder, now time.Time, skip []bool) (engine.Position, error) {
	e := s.e
	if x.o.Failure != nil && p.req.Kind == engine.KindTell {
		x.flags |= flagKept
	}
	if p.finger != 0 { // a keyed one: its later duplicates are compared with it
		x.finger = p.finger
		w.reset()
		w.effects(by.ID, ef, now, skip)
		w.outcome(opOutcome, x)
	}
	w.patch(p.asked, x.flags)
	at, err := e.append(w)
	if err != nil {
		return 0, err
	}
	s.apply(p, by, ef, now, skip, at)
	if x.flags&flagKept != 0 {
		e.logFailed(p, x)
	}
	e.mu.f.outcome(p, x, at)
	e.applied(at)
	s.searchDeadlocks(ef)
	if x.o.Tail != nil && !x.o.Tail.InPlace {
		e.searchDeadlock(p)
	}
	return at, nil
}

// overruled finishes a request that an operator has ended meanwhile: what its
// code did is discarded. mu is held.
func (s *session) overruled(p *pending, x *ending, w *encoder) (engine.Position, error) {
	x.o, x.flags, x.finger = p.ending, flagOperator, p.finger
	w.reset()
	w.outcome(opOutcome, x)
	w.patch(p.asked, x.flags)
	at, err := s.e.append(w)
	if err != nil {
		return 0, err
	}
	s.e.mu.f.outcome(p, x, at)
	s.e.applied(at)
	return at, nil
}

func (e *Engine) logFailed(p *pending, x *ending) {
	e.set.Logger.Warn("an invocation failed for which nobody waits; it is kept as failed",
		"invocation", p.req.ID.String(), "actor", p.req.Actor.String(), "method", p.req.Method, "error", x.o.Failure.Message)
}

// Park implements engine.Session.
func (s *session) Park(by engine.Attempt, fail *engine.Failure) (engine.Position, error) {
	when := s.e.set.Now()
	var x *ending // an operator was first
	return s.change("park", by, func(w *encoder, p *pending) error {
		if p.ending == nil {
			w.parked(by.ID, fail, when)
			return nil
		}
		x = &ending{id: by.ID, step: by.Step, o: p.ending, ended: when, flags: flagOperator, finger: p.finger}
		w.outcome(opOutcome, x)
		w.patch(p.asked, x.flags)
		return nil
	}, func(p *pending, at engine.Position) {
		if x != nil {
			s.e.mu.f.outcome(p, x, at)
			return
		}
		s.e.mu.f.park(p, fail, when, at)
	})
}

// Postpone implements engine.Session.
func (s *session) Postpone(by engine.Attempt) (engine.Position, error) {
	return s.change("postpone", by, func(w *encoder, p *pending) error {
		if p.req.InPlace {
			return fmt.Errorf("postpone %s: step %d was entered in place and keeps its actor", by.ID, by.Step)
		}
		w.postponed(by)
		return nil
	}, func(p *pending, at engine.Position) { s.e.mu.f.postpone(p, by.N, at) })
}

// change records and applies one op, which name names, on the request of an
// attempt.
func (s *session) change(name string, by engine.Attempt, encode func(*encoder, *pending) error, apply func(*pending, engine.Position)) (engine.Position, error) {
	w := s.encoder(by)
	defer w.free()
	s.e.mu.Lock()
	defer s.e.mu.Unlock()
	if err := s.alive(); err != nil {
		return 0, s.refused(name, by, err)
	}
	p, err := s.current(by)
	if err != nil {
		return 0, s.refused(name, by, late(engine.ErrFenced, by))
	}
	if err := encode(w, p); err != nil {
		return 0, err
	}
	at, err := s.e.append(w)
	if err != nil {
		return 0, err
	}
	apply(p, at)
	s.e.applied(at)
	return at, nil
}

// Detach implements engine.Session. That an invocation waits for one that is not nested in
// it ends only where that invocation runs: others have but watched.
func (s *session) Detach(id engine.ID) {
	s.e.mu.Lock()
	defer s.e.mu.Unlock()
	p := s.e.mu.f.reqs[id]
	if p == nil || s.m.gone {
		return
	}
	p.unwait(s.m)
	if by := p.parent; by != nil && !p.nested() && by.host == s.m {
		p.disown()
	}
}

// Read implements engine.Session.
func (s *session) Read(ctx context.Context, r *engine.Request) (*engine.Outcome, engine.Position, error) {
	m, err := s.reader(r)
	if err != nil {
		return nil, 0, err
	}
	o, err := m.handler.Read(ctx, r)
	if err != nil {
		return nil, 0, err
	}
	return o, s.Last(), nil
}

// reader finds a component that hosts r's type.
func (s *session) reader(r *engine.Request) (*member, error) {
	s.e.mu.Lock()
	defer s.e.mu.Unlock()
	if err := s.alive(); err != nil {
		return nil, err
	}
	f := s.e.mu.f
	if a := f.actors.Get(r.Actor); a != nil && a.host != nil && !a.host.gone {
		return a.host, nil
	}
	if ms := f.hosts[r.Actor.Type]; len(ms) > 0 {
		return ms[0], nil
	}
	return nil, &engine.Error{Code: engine.ErrNoHost, Actor: r.Actor.String(), Method: r.Method, Err: errors.New("no component hosts the type now")}
}

// Load implements engine.Session.
func (s *session) Load(_ context.Context, a engine.Actor) ([]engine.Cell, error) {
	return s.e.load(a)
}

// Lookup implements engine.Session.
func (s *session) Lookup(_ context.Context, a engine.Actor, k engine.Key) ([]byte, bool, error) {
	return s.e.lookup(a, k)
}

// Scan implements engine.Session.
func (s *session) Scan(_ context.Context, a engine.Actor, cell, from string, limit int) ([]engine.Cell, error) {
	return s.e.scan(a, cell, from, limit)
}

// Reminders implements engine.Session.
func (s *session) Reminders(_ context.Context, a engine.Actor) ([]engine.Reminder, error) {
	s.e.mu.Lock()
	defer s.e.mu.Unlock()
	of := s.e.mu.f.reminders[a]
	list := make([]engine.Reminder, 0, len(of))
	for _, r := range of {
		list = append(list, r.Reminder)
	}
	slices.SortFunc(list, func(x, y engine.Reminder) int { return cmp.Compare(x.Name, y.Name) })
	return list, nil
}

// Release implements engine.Session. It is ignored while requests are there, and from a
// component that has failed: until that is committed its actors stay where they are.
func (s *session) Release(ids ...engine.Actor) {
	s.e.mu.Lock()
	defer s.e.mu.Unlock()
	if s.m.gone {
		return
	}
	f := s.e.mu.f
	for _, id := range ids {
		if a := f.actors.Get(id); a != nil && a.host == s.m && a.line.Len() == 0 {
			f.unplace(a)
			f.tidy(a)
		}
	}
}

// Members implements engine.Session.
func (s *session) Members() []engine.Member {
	s.e.mu.Lock()
	defer s.e.mu.Unlock()
	list := make([]engine.Member, 0, len(s.e.mu.members))
	for _, m := range s.e.mu.members {
		list = append(list, engine.Member{Component: m.Component, Session: m.number, Joined: m.joined, Live: m.live})
	}
	slices.SortFunc(list, func(x, y engine.Member) int { return cmp.Compare(x.Name, y.Name) })
	return list
}
