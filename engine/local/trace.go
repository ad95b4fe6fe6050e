package local

import (
	"fmt"
	"sync"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/pawl-go/pawl/engine"
	"github.com/pawl-go/pawl/engine/trace"
	"github.com/pawl-go/pawl/queue"
)

// tracer records what the engine does, if a trace is asked for. The events of
// a record come from its bytes, in one place, so that none is forgotten.
type tracer struct {
	trace.Recorder
	file *trace.Writer // if the engine has opened it

	mu        sync.Mutex
	committed engine.Position // the newest commit event
}

// openTrace gives the tracer that the settings ask for; nil for none.
func openTrace(s *settings) (*tracer, error) {
	switch {
	case s.Trace != nil:
		return &tracer{Recorder: s.Trace}, nil
	case s.traceFile == "":
		return nil, nil
	case s.copies.on: // until it takes over
		return &tracer{Recorder: &standbyTrace{}}, nil
	}
	w, err := trace.Create(s.traceFile)
	if err != nil {
		return nil, err
	}
	return &tracer{Recorder: w, file: w}, nil
}

// close ends a trace that the engine has opened.
func (t *tracer) close() error {
	if t.file == nil {
		return nil
	}
	return t.file.Close()
}

// maker is who makes a record, for the trace: the journal does not say it.
type maker struct {
	session   uint64
	by, under engine.Attempt
	replayed  bool
}

// Trace implements trace.Source.
func (e *Engine) Trace() trace.Recorder {
	if e.trace == nil {
		return nil
	}
	return e.trace.Recorder
}

// traced is what a record becomes in a trace, before it is applied.
type traced struct {
	f      *flow
	at     engine.Position
	maker  maker
	events []trace.Event
}

// record traces the record in b, which stands at p and is not applied yet. The
// engine's mu is held, or it is being opened.
func (t *tracer) record(f *flow, b []byte, at engine.Position, m maker) error {
	x := traced{f: f, at: at, maker: m}
	d := decoder{b: b}
	for d.next() {
		if err := x.op(d.n, d.p); err != nil {
			return fmt.Errorf("trace record %v: op %d: %w", queue.Index(at), d.n, err)
		}
	}
	if d.err != nil {
		return fmt.Errorf("trace record %v: %w", queue.Index(at), d.err)
	}
	if n := len(x.events); n > 0 {
		for i := range x.events[:n-1] {
			x.events[i].More = true
		}
		t.Record(x.events...)
	}
	return nil
}

func (x *traced) add(e trace.Event) {
	e.At, e.Replayed = uint64(x.at), x.maker.replayed
	if e.Session == 0 {
		e.Session = x.maker.session
	}
	x.events = append(x.events, e)
}

func (x *traced) op(op protowire.Number, b []byte) error {
	switch op {
	case opRequest:
		var r requestOp
		if err := r.decode(b, &x.f.names); err != nil {
			return err
		}
		if !r.caller.IsZero() {
			r.r.Caller = &engine.Frame{ID: r.caller}
		}
		x.add(engine.TraceSend(r.r, x.maker.by, r.scheduled))
		return nil
	case opOutcome, opEnding:
		return x.outcome(op, b)
	case opWrites:
		return x.writes(b)
	case opLost:
		return x.lost(b)
	case opOpened, opJoined:
		var j joinedOp
		if err := j.decode(b); err != nil {
			return err
		}
		if op == opOpened {
			x.add(trace.Event{Kind: trace.Epoch, Epoch: j.number, Name: trace.Text(j.name)})
			return nil
		}
		e := trace.Event{Kind: trace.Join, Session: j.number, Name: trace.Text(j.name)}
		for _, t := range j.types {
			e.Types = append(e.Types, trace.Text(t))
		}
		x.add(e)
		return nil
	case opReminder:
		c, err := decodeReminder(b)
		if err == nil {
			x.add(trace.Event{Kind: trace.Remind, Actor: c.Actor.Traced(), Name: trace.Text(c.Name), Removed: c.Remove, By: x.maker.by.Traced()})
		}
		return err
	case opAdvanced, opPaused, opPurged:
		a, err := decodeActorOp(b)
		if err == nil {
			x.add(actorEvent(op, &a))
		}
		return err
	case opBegin, opParked, opResumed, opSettled, opDue, opPostponed:
		i, err := decodeIDOp(b)
		if err == nil {
			x.idOp(op, &i)
		}
		return err
	}
	return fmt.Errorf("unknown kind: %w", errNewer)
}

func actorEvent(op protowire.Number, x *smallOp) trace.Event {
	e := trace.Event{Actor: x.actor.Traced()}
	switch op {
	case opAdvanced:
		e.Kind, e.Name = trace.Fire, trace.Text(x.name)
	case opPurged:
		e.Kind = trace.Purge
	case opPaused:
		if e.Kind = trace.Unpause; x.n[3] != 0 {
			e.Kind = trace.Pause
		}
	}
	return e
}

// about gives an event about an invocation, at its present step.
func (x *traced) about(kind trace.Kind, id engine.ID) trace.Event {
	e := trace.Event{Kind: kind, Attempt: trace.Attempt{ID: id.String()}}
	if p := x.f.reqs[id]; p != nil {
		e.Step, e.Actor, e.Method = p.req.Step, p.req.Actor.Traced(), trace.Text(p.req.Method)
	}
	if x.maker.by.ID == id {
		e.N = x.maker.by.N
	}
	return e
}

func (x *traced) idOp(op protowire.Number, i *smallOp) {
	e := x.about("", i.id)
	switch op {
	case opBegin:
		e.Kind, e.Step, e.N = trace.Begun, uint32(i.n[3]), uint32(i.n[4])
	case opParked:
		e.Kind = trace.Park
		if p := x.f.reqs[i.id]; p != nil {
			(&engine.Outcome{Failure: parkedFailure(p, i.fail)}).Trace(&e)
			e.End = ""
		}
	case opResumed:
		e.Kind = trace.Resume
	case opSettled:
		e.Kind = trace.Drop
	case opDue:
		e.Kind = trace.Due
	case opPostponed:
		e.Kind, e.N = trace.Postpone, uint32(i.n[4])
	}
	x.add(e)
}

func (x *traced) outcome(op protowire.Number, b []byte) error {
	var o outcomeOp
	if err := o.peek(b); err != nil {
		return err
	}
	if o.tail != nil {
		var t requestOp
		if err := t.decode(o.tail, &x.f.names); err != nil {
			return err
		}
		o.out.Tail = t.r
	}
	e := x.about(trace.Outcome, o.id)
	if op == opEnding {
		e.Kind = trace.Overrule
	}
	e.Step = o.step
	o.out.Trace(&e)
	e.Forced, e.Operator, e.Kept = o.flags&flagForced != 0, o.flags&flagOperator != 0, o.flags&flagKept != 0
	x.add(e)
	return nil
}

func (x *traced) writes(b []byte) error {
	var w writesOp
	if err := w.decode(b, &x.f.names); err != nil {
		return err
	}
	e := trace.Event{Kind: trace.Write, Actor: w.actor.Traced(), Cells: engine.TraceWrites(w.ws)}
	if !w.by.IsZero() {
		by := x.about("", w.by)
		e.Actor, e.By = by.Actor, by.Attempt
		if x.maker.under.ID == w.by {
			e.By = x.maker.under.Traced()
		}
	}
	x.add(e)
	return nil
}

func (x *traced) lost(b []byte) error {
	var l losses
	if err := l.decode(b); err != nil {
		return err
	}
	kind := trace.Fail
	if l.left {
		kind = trace.Leave
	}
	for _, s := range l.sessions {
		x.add(trace.Event{Kind: kind, Session: s})
	}
	for _, c := range l.counted {
		e := x.about(trace.Counted, c.id)
		e.N, e.Lost = c.attempts, c.lost
		x.add(e)
	}
	for _, id := range l.orphans {
		e := x.about(trace.Cancel, id)
		if p := x.f.reqs[id]; p != nil {
			canceled(p, "its caller has failed", l.when).o.Trace(&e)
			e.End = ""
		}
		x.add(e)
	}
	return nil
}

// traceAppended traces the record in w, which was just appended at p. mu is
// held.
func (e *Engine) traceAppended(w *encoder, p engine.Position) {
	if err := e.trace.record(e.mu.f, w.b, p, w.maker); err != nil {
		panic(err) // it is what was just encoded
	}
}

// traceOpen traces that the engine has replayed its journal.
func (e *Engine) traceOpen() {
	e.trace.Record(trace.Event{Kind: trace.Open, At: uint64(e.mu.f.last), AtOnce: e.processOnly(), Name: trace.Text(e.set.App)})
}

// traceReplayed traces a record whose process has died before it did.
func (e *Engine) traceReplayed(b []byte, at engine.Position) error {
	if uint64(at) <= e.trace.Seen() {
		return nil
	}
	return e.trace.record(e.mu.f, b, at, maker{replayed: true})
}

// traceable refuses a trace that lacks records which are not replayed: those up to
// marker, of a checkpoint or applied as a standby.
func (t *tracer) traceable(marker engine.Position) error {
	if seen := t.Seen(); uint64(marker) > seen {
		return fmt.Errorf("the trace ends at record %v, and what the data were at %v is all that is left of the records up to there: "+
			"begin a trace with fresh data, or continue the one that the data have; hosts with copies share one file",
			queue.Index(seen), queue.Index(marker))
	}
	return nil
}

// traceCommit traces how far the commit index is. The events stand in its
// order; none is before the records it covers.
func (e *Engine) traceCommit() {
	t := e.trace
	t.mu.Lock()
	defer t.mu.Unlock()
	if p := e.commitIndex(); p > t.committed && !e.processOnly() {
		t.committed = p
		t.Record(trace.Event{Kind: trace.Commit, At: uint64(p)})
	}
}

// refused traces that op of an attempt, or of a client, was refused since it
// does not count any more. mu is held.
func (s *session) refused(op string, by engine.Attempt, err error) error {
	if s.e.trace == nil {
		return err
	}
	if code := engine.CodeOf(err); code == engine.ErrFenced || code == engine.ErrEnded {
		s.e.trace.Record(trace.Event{Kind: trace.Refuse, Session: s.m.number, Attempt: by.Traced(), Op: op, Code: string(code)})
	}
	return err
}
