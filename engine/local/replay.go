package local

import (
	"bytes"
	"errors"
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/pawl-go/pawl/engine"
	"github.com/pawl-go/pawl/internal/mutant"
	"github.com/pawl-go/pawl/queue"
)

// replayRecord applies a record of the journal.
func (f *flow) replayRecord(b []byte, at engine.Position) error {
	d := decoder{b: b}
	for d.next() {
		if err := f.replayOp(d.n, d.p, at); err != nil {
			return fmt.Errorf("replay record %v: op %d: %w", queue.Index(at), d.n, err)
		}
	}
	if d.err != nil {
		return fmt.Errorf("replay record %v: %w", queue.Index(at), d.err)
	}
	f.last = at
	return nil
}

var errNewer = errors.New("written by a newer version")

func (f *flow) replayOp(op protowire.Number, b []byte, at engine.Position) error {
	switch op {
	case opRequest:
		x := requestOp{r: f.spare.request()}
		if err := x.decode(b, &f.names); err != nil {
			return err
		}
		f.replayRequest(&x, at)
		return nil
	case opOutcome:
		return f.replayOutcome(b, at)
	case opWrites:
		x := &f.spare.writes
		if err := x.decode(b, &f.names); err != nil {
			return err
		}
		f.replayWrites(x)
		return nil
	case opReminder:
		c, err := decodeReminder(b)
		if err == nil {
			f.remind(&c, at)
		}
		return err
	case opLost:
		var l losses
		if err := l.decode(b); err != nil {
			return err
		}
		f.lost(&l, at)
		return nil
	case opOpened, opJoined:
		var x joinedOp
		if err := x.decode(b); err != nil {
			return err
		}
		if op == opJoined {
			f.join(x)
			return nil
		}
		f.epoch, f.app = x.number, x.name
		clear(f.sessions)
		return nil
	case opAdvanced, opPaused, opPurged:
		x, err := decodeActorOp(b)
		if err == nil {
			f.replayActorOp(op, &x)
		}
		return err
	case opBegin, opEnding, opParked, opResumed, opSettled, opDue, opPostponed:
		return f.replayIDOp(op, b, at)
	}
	return fmt.Errorf("unknown kind: %w", errNewer)
}

func (f *flow) replayRequest(x *requestOp, at engine.Position) {
	if !x.caller.IsZero() {
		x.r.Caller = f.frameOf(x.caller)
	}
	f.request(x.r, x.sender, x.scheduled, at)
}

// frameOf is the frame of an invocation that calls. It is in the flow, since
// what it sends is recorded only while it is.
func (f *flow) frameOf(id engine.ID) *engine.Frame {
	if p := f.reqs[id]; p != nil {
		return &p.req.Frame
	}
	return &engine.Frame{ID: id}
}

func (f *flow) replayOutcome(b []byte, at engine.Position) error {
	x := &f.spare.outcome
	*x = outcomeOp{}
	if err := x.peek(b); err != nil {
		return err
	}
	p := f.reqs[x.id]
	if p == nil || x.tail == nil && mutant.Is(mutant.CompletionForgotten) {
		return nil
	}
	if p.req.Once || x.flags&flagKept != 0 { // it stays
		out := x.out
		out.Value = bytes.Clone(out.Value)
		x.o = &out
	}
	if x.tail != nil && p.status == inFlow {
		var t requestOp
		if err := t.decode(x.tail, &f.names); err != nil {
			return err
		}
		x.o.Tail = p.req.Tail(t.r.Actor, t.r.Method, t.r.Payload, t.r.InPlace)
		x.o.Tail.Step = t.r.Step
	}
	f.conclude(p, &x.ending, at)
	return nil
}

func (f *flow) replayWrites(x *writesOp) {
	a := x.actor
	if !x.by.IsZero() {
		p := f.reqs[x.by]
		if p == nil {
			return
		}
		a = p.req.Actor
	}
	f.write(f.entry(a), x.ws)
}

func (f *flow) replayActorOp(op protowire.Number, x *smallOp) {
	switch op {
	case opAdvanced:
		f.advance(x.actor, x.name, x.time)
	case opPaused:
		f.pause(x.actor, x.n[3] != 0)
	case opPurged:
		f.purge(x.actor)
	}
}

func (f *flow) replayIDOp(op protowire.Number, b []byte, at engine.Position) error {
	if op == opEnding {
		x := &outcomeOp{}
		if err := x.decode(b); err != nil {
			return err
		}
		if p := f.reqs[x.id]; p != nil {
			f.overrule(p, &x.out)
		}
		return nil
	}
	x, err := decodeIDOp(b)
	p := f.reqs[x.id]
	if err != nil || p == nil {
		return err
	}
	// What does not fit the status was overtaken by a checkpoint, or is not ours.
	switch {
	case op == opBegin:
		f.begin(x.id, uint32(x.n[4]))
	case op == opParked && p.status == inFlow:
		f.park(p, x.fail, x.time, at)
	case op == opResumed && (p.status == parked || p.status == failed):
		f.resume(p, at)
	case op == opSettled && p.status != inFlow:
		f.settle(p)
	case op == opDue && p.status == scheduled:
		f.arrive(p, at)
	case op == opPostponed && p.status == inFlow:
		f.postpone(p, uint32(x.n[4]), at)
	}
	return nil
}

// spares are what a replay uses again and again: most requests end a few
// records after they were made.
type spares struct {
	requests []*engine.Request
	pendings []*pending
	writes   writesOp
	outcome  outcomeOp
}

func (s *spares) request() *engine.Request {
	if n := len(s.requests); n > 0 {
		r := s.requests[n-1]
		s.requests = s.requests[:n-1]
		return r
	}
	return &engine.Request{}
}

func (s *spares) pending() *pending {
	if n := len(s.pendings); n > 0 {
		p := s.pendings[n-1]
		s.pendings = s.pendings[:n-1]
		return p
	}
	return &pending{}
}

// give takes an ended request back during a replay: nobody was told of it, and
// nothing points to it if it never called.
func (s *spares) give(p *pending) {
	if p.called || p.row.saved || len(s.pendings) > 1000 {
		return
	}
	*p.req = engine.Request{}
	s.requests = append(s.requests, p.req)
	*p = pending{}
	s.pendings = append(s.pendings, p)
}
