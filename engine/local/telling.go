package local

import (
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/pawl-go/pawl/engine"
	"github.com/pawl-go/pawl/queue"
)

// telling makes events of the records of the journal. A record names an
// invocation by its id alone where the flow knows the rest; a telling that
// begins in the middle asks the engine for what it has not read itself.
type telling struct {
	e        *Engine
	filter   *engine.EventFilter
	names    names
	sessions map[uint64]string   // names of components
	places   map[engine.ID]place // present steps, of what was read

	at  engine.Position
	n   int
	out []engine.Event
}

// record appends the events of the record in b, at a position, to out.
func (t *telling) record(out []engine.Event, b []byte, at engine.Position) ([]engine.Event, error) {
	t.at, t.n, t.out = at, 0, out
	d := decoder{b: b}
	for d.next() {
		if err := t.op(d.n, d.p); err != nil {
			return out, fmt.Errorf("tell record %v: op %d: %w", queue.Index(at), d.n, err)
		}
	}
	if d.err != nil {
		return out, fmt.Errorf("tell record %v: %w", queue.Index(at), d.err)
	}
	return t.out, nil
}

func (t *telling) add(e engine.Event) {
	e.At, e.N = t.at, t.n
	t.n++
	if t.filter.Selects(&e) {
		t.out = append(t.out, e)
	}
}

func (t *telling) op(op protowire.Number, b []byte) error {
	switch op {
	case opRequest:
		return t.send(b)
	case opOutcome, opEnding:
		return t.outcome(op, b)
	case opWrites:
		return t.writes(b)
	case opLost:
		return t.lost(b)
	case opOpened, opJoined:
		return t.joined(op, b)
	case opReminder:
		c, err := decodeReminder(b)
		if err != nil {
			return err
		}
		e := engine.Event{Kind: engine.EventRemind, Actor: c.Actor, Name: c.Name, Method: c.Method, Due: c.Due}
		if c.Remove {
			e.Kind = engine.EventUnremind
		}
		t.add(e)
		return nil
	case opAdvanced, opPaused, opPurged:
		x, err := decodeActorOp(b)
		if err == nil {
			t.actorOp(op, &x)
		}
		return err
	case opBegin, opParked, opResumed, opSettled, opDue, opPostponed:
		x, err := decodeIDOp(b)
		if err == nil {
			t.idOp(op, &x)
		}
		return err
	}
	return fmt.Errorf("unknown kind: %w", errNewer)
}

// remember notes at which step an invocation is. The oldest need not go first:
// what is forgotten can be asked for.
func (t *telling) remember(id engine.ID, p place) {
	if len(t.places) >= maxPlaces {
		for old := range t.places {
			delete(t.places, old)
			break
		}
	}
	t.places[id] = p
}

// about gives an event of an invocation at a step; 0: its present one.
func (t *telling) about(kind engine.EventKind, id engine.ID, step uint32) engine.Event {
	e := engine.Event{Kind: kind, ID: id, Step: step}
	p, ok := t.places[id]
	if !ok {
		if p, ok = t.e.placeAt(id, t.at); ok {
			t.remember(id, p)
		}
	}
	if ok && (step == 0 || step == p.step) {
		e.Actor, e.Method, e.Step = p.actor, p.method, p.step
	}
	return e
}

func (t *telling) send(b []byte) error {
	var x requestOp
	if err := x.decode(b, &t.names); err != nil {
		return err
	}
	r := x.r
	t.remember(r.ID, place{r.Actor, r.Method, r.Step})
	e := engine.Event{
		Kind: engine.EventSend, Time: r.Created, ID: r.ID, Step: r.Step, Actor: r.Actor, Method: r.Method, Caller: x.caller, Form: r.Kind,
	}
	if x.scheduled {
		e.Due = r.NotBefore
	}
	t.add(e)
	return nil
}

func (t *telling) outcome(op protowire.Number, b []byte) error {
	var x outcomeOp
	if err := x.peek(b); err != nil {
		return err
	}
	if p, known := t.places[x.id]; x.asked != 0 && (!known || p.step != x.step) {
		if r, err := t.e.readRequest(x.id, x.asked); err == nil && r != nil {
			t.remember(x.id, place{r.Actor, r.Method, r.Step})
		}
	}
	e := t.about(engine.EventOutcome, x.id, x.step)
	e.Time, e.Operator, e.Kept = x.ended, x.flags&flagOperator != 0, x.flags&flagKept != 0
	if f := x.out.Failure; f != nil {
		e.Kind, e.Failure = engine.EventFailure, brief(f)
		if e.Operator && f.Code == string(engine.ErrCanceled) {
			e.Kind = engine.EventCancel
		}
	}
	switch {
	case op == opEnding:
		e.Kind, e.Operator = engine.EventOverrule, true
	case x.tail != nil:
		var next requestOp
		if err := next.decode(x.tail, &t.names); err != nil {
			return err
		}
		r := next.r
		t.remember(x.id, place{r.Actor, r.Method, r.Step})
		e.Kind, e.To, e.ToMethod = engine.EventTail, r.Actor, r.Method
	case !e.Kept:
		delete(t.places, x.id)
	}
	t.add(e)
	return nil
}

// brief is what an event says of a failure: no stack, and no detail, which is
// the application's.
func brief(f *engine.Failure) *engine.Failure {
	return &engine.Failure{Kind: f.Kind, Code: f.Code, Message: f.Message}
}

func (t *telling) writes(b []byte) error {
	var by engine.ID
	var e engine.Event
	d := decoder{b: b}
	for d.next() {
		switch d.n {
		case 1, 2:
			d.id(&by, d.n-1)
		case 3:
			e.Actor.Type = t.names.of(d.p)
		case 4:
			e.Actor.ID = string(d.p)
		case 5:
			e.Writes++
		}
	}
	if !by.IsZero() {
		n := e.Writes
		e = t.about("", by, 0)
		e.Writes = n
	}
	e.Kind = engine.EventWrite
	t.add(e)
	return d.err
}

func (t *telling) lost(b []byte) error {
	var l losses
	if err := l.decode(b); err != nil {
		return err
	}
	kind := engine.EventLost
	if l.left {
		kind = engine.EventLeave
	}
	for _, s := range l.sessions {
		t.add(engine.Event{Kind: kind, Time: l.when, Session: s, Component: t.sessions[s]})
		delete(t.sessions, s)
	}
	for _, c := range l.counted {
		e := t.about(engine.EventRetry, c.id, 0)
		e.Time, e.Attempt = l.when, c.attempts
		t.add(e)
	}
	for _, id := range l.orphans {
		e := t.about(engine.EventCancel, id, 0)
		e.Time, e.Failure = l.when, engine.Fail(engine.ErrCanceled, "its caller has failed")
		delete(t.places, id)
		t.add(e)
	}
	return nil
}

func (t *telling) joined(op protowire.Number, b []byte) error {
	var j joinedOp
	if err := j.decode(b); err != nil {
		return err
	}
	if op == opOpened {
		t.add(engine.Event{Kind: engine.EventEpoch, Epoch: j.number})
		return nil
	}
	t.sessions[j.number] = j.name
	t.add(engine.Event{Kind: engine.EventJoin, Session: j.number, Component: j.name, Types: j.types})
	return nil
}

func (t *telling) actorOp(op protowire.Number, x *smallOp) {
	e := engine.Event{Actor: x.actor}
	switch op {
	case opAdvanced:
		e.Kind, e.Name, e.Due = engine.EventFire, x.name, x.time
	case opPurged:
		e.Kind = engine.EventPurge
	case opPaused:
		if e.Kind = engine.EventUnpause; x.n[3] != 0 {
			e.Kind = engine.EventPause
		}
	}
	t.add(e)
}

func (t *telling) idOp(op protowire.Number, x *smallOp) {
	kind, step := engine.EventKind(""), uint32(0)
	switch op {
	case opBegin:
		kind, step = engine.EventBegin, uint32(x.n[3])
	case opParked:
		kind = engine.EventPark
	case opResumed:
		kind = engine.EventResume
	case opSettled:
		kind = engine.EventDrop
	case opDue:
		kind = engine.EventDue
	case opPostponed:
		kind = engine.EventPostpone
	}
	e := t.about(kind, x.id, step)
	switch op {
	case opBegin, opPostponed:
		e.Attempt = uint32(x.n[4])
	case opParked:
		e.Time = x.time
		if x.fail != nil {
			e.Failure = brief(x.fail)
		}
	case opSettled:
		delete(t.places, x.id)
	}
	t.add(e)
}
