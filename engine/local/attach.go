package local

import (
	"errors"
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"

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
		case opLost, opPurged: // it was cancelled with others
			return e.readCanceled(id, at, d.n, d.p)
		}
	}
	return &found{}, d.err
}

// readCanceled makes the outcome of an invocation that was ended by a record
// about something else: as an orphan, or with its actor.
func (e *Engine) readCanceled(id engine.ID, at engine.Position, op protowire.Number, b []byte) (*found, error) {
	why := "its actor was purged by an operator"
	f := &found{at: at, ending: ending{id: id, flags: flagOperator}}
	if op == opLost {
		var l losses
		if err := l.decode(b); err != nil {
			return nil, fmt.Errorf("read outcome of %s: %w", id, err)
		}
		why, f.ended = "its caller has failed", l.when
	} else {
		x, err := decodeActorOp(b)
		if err != nil {
			return nil, fmt.Errorf("read outcome of %s: %w", id, err)
		}
		f.ended = x.time
	}
	f.o = &engine.Outcome{Failure: engine.Fail(engine.ErrCanceled, why)}
	f.o.Failure.Invocation = id.String()
	return f, nil
}
