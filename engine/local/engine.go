package local

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pawl-go/pawl/engine"
	"github.com/pawl-go/pawl/internal/mutant"
	"github.com/pawl-go/pawl/queue"
)

// journal is what the engine needs of its queue. With copies on other hosts a record is
// durable once as many of them have it as must.
type journal interface {
	Append(p []byte) (queue.Index, error)
	Last() queue.Index
	Durable() queue.Index
	WaitDurable(ctx context.Context, i queue.Index) error
	Read(i queue.Index) ([]byte, error)
	NewTailer(from queue.Index) *queue.Tailer
	First() queue.Index
	Cycles() []queue.CycleInfo
	ReleaseBefore(i queue.Index) error
	Unmap(before queue.Index)
	Err() error
	Close() error
}

// Engine is the embedded engine on one directory. All methods are safe for
// concurrent use.
type Engine struct {
	set    *settings
	log    journal
	copied *copied // the same; nil: the journal is on this host only
	st     *store
	done   *completions
	trace  *tracer // nil: off

	// last is the newest applied record. It is stored under mu and read without.
	last atomic.Uint64

	mu struct {
		sync.Mutex
		f       *flow
		members []*member // living
		failed  error     // final
		closing bool
	}

	alarm  chan struct{} // wakes the clock; one slot: it looks at everything then
	quit   chan struct{}
	owned  sync.WaitGroup
	reads  sync.WaitGroup // of the store; added to under mu while not closing
	opened time.Time
	saver  saver
}

// errClosed is the cause of what fails because the engine was closed.
var errClosed = errors.New("the engine is closed")

// unavailable is an error of the engine as a whole.
func unavailable(err error) error { return &engine.Error{Code: engine.ErrUnavailable, Err: err} }

// usable says why the engine takes no records. mu is held.
func (e *Engine) usable() error {
	switch {
	case e.mu.failed != nil:
		return unavailable(e.mu.failed)
	case e.mu.closing:
		return unavailable(errClosed)
	}
	return nil
}

// append puts the record in w into the journal. mu is held. On an error
// nothing was recorded: a full disk is over once there is space again, a
// failed flush never.
func (e *Engine) append(w *encoder) (engine.Position, error) {
	i, err := e.log.Append(w.b)
	if err == nil {
		if e.trace != nil {
			e.traceAppended(w, engine.Position(i))
		}
		if e.saver.bytes += int64(len(w.b)) + entryOverhead; e.saver.bytes >= e.set.checkpointBytes {
			e.saver.due()
		}
		// Now, not once it is applied: an answer that applying it sends may be
		// asked for its commit at once.
		e.applied(engine.Position(i))
		return engine.Position(i), nil
	}
	switch {
	case errors.Is(err, queue.ErrTooLarge):
		return 0, &engine.Error{Code: engine.ErrTooLarge, Err: err}
	case errors.Is(err, queue.ErrFull):
	default:
		e.fail(err)
	}
	return 0, unavailable(err)
}

// applied makes the record at p the newest. mu is held.
func (e *Engine) applied(p engine.Position) {
	e.mu.f.last = p
	e.last.Store(uint64(p))
}

// fail ends the engine for good: nothing is recorded and nothing commits any
// more. mu is held.
func (e *Engine) fail(err error) {
	if e.mu.failed != nil {
		return
	}
	e.mu.failed = err
	if !e.mu.closing {
		e.set.Logger.Error("local engine: failed, nothing is recorded any more", "dir", e.set.dir, "error", err)
	}
	for _, m := range e.mu.members {
		e.mu.f.expel(m)
		close(m.fenced)
	}
	e.mu.members = nil
}

func (e *Engine) failLater(err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.fail(err)
}

// processOnly: a record counts as soon as it is handed to the operating system.
func (e *Engine) processOnly() bool { return e.set.durability == queue.Process }

// committed reports whether the record at p counts.
func (e *Engine) committed(p engine.Position) bool {
	if e.processOnly() {
		return uint64(p) <= e.last.Load()
	}
	if queue.Index(p) > e.log.Durable() || e.copied != nil && !e.copied.tenure.Leased() {
		return false
	}
	if e.trace != nil {
		e.traceCommit()
	}
	return true
}

// wait returns when the record at p counts.
func (e *Engine) wait(ctx context.Context, p engine.Position) error {
	if e.processOnly() {
		if uint64(p) <= e.last.Load() {
			return nil
		}
		return unavailable(fmt.Errorf("wait for record %v: there is no such record", queue.Index(p)))
	}
	err := e.log.WaitDurable(ctx, queue.Index(p))
	switch {
	case err == nil:
		if e.trace != nil {
			e.traceCommit()
		}
		return nil
	case ctx.Err() != nil && errors.Is(err, ctx.Err()):
		return context.Cause(ctx)
	}
	if e.log.Err() != nil {
		e.failLater(err)
	}
	return unavailable(err)
}

// commit is wait for what is not up to a caller's context.
func (e *Engine) commit(p engine.Position) error {
	ctx := context.Background()
	if e.copied != nil {
		ctx = e.copied.patience
	}
	return e.wait(ctx, p)
}

// commitWithin is commit, for no longer than ctx.
func (e *Engine) commitWithin(ctx context.Context, p engine.Position) error {
	if e.copied != nil {
		var stop context.CancelFunc
		ctx, stop = context.WithCancel(ctx)
		defer stop()
		defer context.AfterFunc(e.copied.patience, stop)()
	}
	return e.wait(ctx, p)
}

// Join implements engine.Engine. The joining is committed before anything is
// delivered: a session's number is never used again, whatever is cut.
func (e *Engine) Join(ctx context.Context, c engine.Component, h engine.Handler) (engine.Session, error) {
	m := &member{Component: c, handler: h, joined: e.set.Now(), fenced: make(chan struct{})}
	p, err := e.recordJoin(m)
	if err != nil {
		return nil, err
	}
	if err := e.wait(ctx, p); err != nil {
		return nil, errors.Join(err, e.end(ctx, m, true))
	}
	s := &session{e: e, m: m}
	e.mu.Lock()
	defer e.mu.Unlock()
	if err := e.usable(); err != nil {
		return nil, err
	}
	e.mu.f.admit(m)
	return s, nil
}

func (e *Engine) recordJoin(m *member) (engine.Position, error) {
	w := newEncoder()
	defer w.free()
	e.mu.Lock()
	defer e.mu.Unlock()
	if err := e.usable(); err != nil {
		return 0, err
	}
	for _, x := range e.mu.members {
		if x.Name == m.Name {
			return 0, &engine.Error{Code: engine.ErrUnavailable, Err: fmt.Errorf("join component %q: one of that name is living (session %d)", m.Name, x.number)}
		}
	}
	if err := e.impostor(&m.Component); err != nil {
		return 0, err
	}
	f := e.mu.f
	m.number = f.lastSession + 1
	w.joined(m.number, &m.Component)
	at, err := e.append(w)
	if err != nil {
		return 0, err
	}
	op := joinedOp{number: m.number, name: m.Name}
	for i := range m.Types {
		op.types = append(op.types, m.Types[i].Name)
	}
	f.join(op)
	e.mu.members = append(e.mu.members, m)
	e.applied(at)
	return at, nil
}

// impostor refuses a component that hosts another type under the name of one
// that a living member hosts. mu is held.
func (e *Engine) impostor(c *engine.Component) error {
	for i := range c.Types {
		t := &c.Types[i]
		for _, m := range e.mu.f.hosts[t.Name] {
			for j := range m.Types {
				if x := &m.Types[j]; x.Name == t.Name && x.Identity != t.Identity && x.Identity != "" && t.Identity != "" {
					return &engine.Error{Code: engine.ErrBadMethod, Actor: t.Name, Err: fmt.Errorf(
						"join component %q: it hosts %s under the name %s, and component %q hosts %s under it; give one of them another ActorType",
						c.Name, t.Identity, t.Name, m.Name, x.Identity)}
				}
			}
		}
	}
	return nil
}

// join applies the op joined.
func (f *flow) join(op joinedOp) {
	f.lastSession = max(f.lastSession, op.number)
	f.sessions[op.number] = op
}

// Fail declares a component failed, as if its process had died: what it does
// from then on does not count, and its actors are placed anew once that is
// committed. It is for tests of what stands on an engine.
func (e *Engine) Fail(s engine.Session) error {
	ls, ok := s.(*session)
	if !ok || ls.e != e {
		return fmt.Errorf("fail session %d: not one of this engine", s.Number())
	}
	return e.end(context.Background(), ls.m, false)
}

// end takes a component out: its failure, or its leaving, is recorded and
// committed before anything acts on it. When ctx ends before that, as it may at a
// source that is cut off, the component is out all the same, and what follows from
// that goes on beside.
func (e *Engine) end(ctx context.Context, m *member, left bool) error {
	gone, at, err := e.recordEnd(m, left)
	if err != nil || at == 0 {
		return err
	}
	if mutant.Is(mutant.FailureBeforeRecord) {
		return e.replace(gone)
	}
	err = e.commitWithin(ctx, at)
	if err == nil {
		return e.replace(gone)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if ctx.Err() != nil && e.usable() == nil {
		e.owned.Go(func() {
			if e.commit(at) == nil {
				_ = e.replace(gone) // of an engine that has failed meanwhile
			}
		})
	}
	return err
}

// replace places the actors of components that are gone anew, once that is committed.
func (e *Engine) replace(gone []*pending) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.mu.failed != nil {
		return unavailable(e.mu.failed)
	}
	e.mu.f.replace()
	for _, p := range gone {
		if p.status == inFlow && p.host != nil && !p.host.gone {
			p.host.handler.CallerGone(p.req)
		}
	}
	return nil
}

func (e *Engine) recordEnd(m *member, left bool) (abandoned []*pending, at engine.Position, err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if m.gone {
		return nil, 0, nil
	}
	if err := e.usable(); err != nil {
		return nil, 0, err
	}
	f := e.mu.f
	mine := func(p *pending) bool { return p.host == m }
	abandoned = f.abandoned(mine)
	l := f.lose(mine, left)
	l.sessions, l.when = []uint64{m.number}, e.set.Now()
	if at, err = e.recordLosses(l); err != nil {
		return nil, 0, err
	}
	f.expel(m)
	e.drop(m)
	return abandoned, at, nil
}

// drop takes m out of the living. mu is held.
func (e *Engine) drop(m *member) {
	for i, x := range e.mu.members {
		if x == m {
			e.mu.members = append(e.mu.members[:i], e.mu.members[i+1:]...)
			close(m.fenced)
			return
		}
	}
}

// recordLosses appends and applies the records of l. mu is held.
func (e *Engine) recordLosses(l *losses) (at engine.Position, err error) {
	w := newEncoder()
	defer w.free()
	for _, part := range l.split() {
		w.reset()
		w.lost(part)
		if at, err = e.append(w); err != nil {
			return 0, err
		}
		e.mu.f.lost(part, at)
		e.applied(at)
	}
	return at, nil
}
