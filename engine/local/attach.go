package local

import (
	"errors"
	"fmt"
	"slices"

	"github.com/pawl-go/pawl/engine"
	"github.com/pawl-go/pawl/queue"
)

// Attach implements engine.Session.
func (s *session) Attach(id engine.ID) error {
	if done, err := s.attachPending(id); done || err != nil {
		return err
	}
	l, err := s.e.lookBack(id)
	if err != nil {
		return err
	}
	s.e.mu.Lock()
	defer s.e.mu.Unlock()
	if l.at == 0 {
		return notFound(id)
	}
	s.m.respond(engine.Response{ID: id, Outcome: l.o, At: l.at})
	return nil
}

func notFound(id engine.ID) error {
	return &engine.Error{Code: engine.ErrNotFound, Invocation: id.String(), Err: errors.New("no such invocation, or it ended too long ago")}
}

// attachPending attaches to what the flow knows.
func (s *session) attachPending(id engine.ID) (done bool, err error) {
	s.e.mu.Lock()
	defer s.e.mu.Unlock()
	if err := s.alive(); err != nil {
		return false, err
	}
	p := s.e.mu.f.reqs[id]
	switch {
	case p == nil:
		return false, nil
	case p.status == parked:
		s.m.respond(engine.Response{ID: id, Outcome: &engine.Outcome{Failure: parkedFailure(p, p.end.o.Failure)}, At: p.at})
	case p.status == failed:
		s.m.respond(engine.Response{ID: id, Outcome: p.end.o, At: p.at})
	default:
		p.wait(s.m)
	}
	return true, nil
}

// readOutcome reads the outcome of an invocation from its record.
func (e *Engine) readOutcome(id engine.ID, at engine.Position) (*found, error) {
	b, err := e.log.Read(queue.Index(at))
	if errors.Is(err, queue.ErrReleased) {
		return &found{}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read outcome of %s: %w", id, err)
	}
	d := decoder{b: b}
	for d.next() {
		switch d.n {
		case opOutcome:
			x := &outcomeOp{}
			if err := x.decode(d.p); err != nil {
				return nil, fmt.Errorf("read outcome of %s: %w", id, err)
			}
			if x.id == id && x.tail == nil {
				return &found{at: at, asked: x.asked, ending: x.ending}, nil
			}
		case opLost: // it was cancelled as an orphan
			var l losses
			if err := l.decode(d.p); err != nil {
				return nil, fmt.Errorf("read outcome of %s: %w", id, err)
			}
			if slices.Contains(l.orphans, id) {
				x := canceled(&pending{req: &engine.Request{Frame: engine.Frame{ID: id}}}, "its caller has failed", l.when)
				return &found{at: at, ending: *x}, nil
			}
		}
	}
	return &found{}, d.err
}
