package local

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/pawl-go/pawl/engine"
	"github.com/pawl-go/pawl/queue"
)

// tail implements engine.Tail on the journal: a tailer of its own, so that
// nothing is buffered for who is slow, and nothing is done while nobody reads.
type tail struct {
	e      *Engine
	log    *queue.Tailer
	filter engine.EventFilter
	life   context.Context // ends with the tail, and with the engine
	end    context.CancelCauseFunc
	told   telling

	read   engine.Position // the newest record in events
	at     engine.Position // the newest record that counts of those
	events []engine.Event  // read, not given out yet
}

// How much is read ahead, so that commits are waited for together.
const (
	tailEvents  = 256
	tailRecords = 1024
)

// Tail implements engine.Operator.
func (o operator) Tail(_ context.Context, from engine.Position, f engine.EventFilter) (engine.Tail, error) {
	e := o.e
	e.mu.Lock()
	defer e.mu.Unlock()
	if err := e.usable(); err != nil {
		return nil, err
	}
	first, last := engine.Position(e.log.First()), engine.Position(e.log.Last())
	switch {
	case from == 0:
		from = first
	case from < first:
		return nil, &engine.Error{Code: engine.ErrNotFound, Err: fmt.Errorf("record %d is no longer kept: the oldest is %d", from, first)}
	case from > last+1:
		return nil, &engine.Error{Code: engine.ErrNotFound, Err: fmt.Errorf("there is no record %d: the newest is %d", from, last)}
	}
	t := &tail{e: e, log: e.log.NewTailer(queue.Index(from)), filter: f, at: max(from, 1) - 1}
	t.read = t.at
	t.told = telling{e: e, filter: &t.filter, sessions: map[uint64]string{}, places: map[engine.ID]place{}}
	for n, s := range e.mu.f.sessions {
		t.told.sessions[n] = s.name
	}
	t.life, t.end = context.WithCancelCause(context.Background())
	e.owned.Go(func() {
		select {
		case <-e.quit:
			t.end(unavailable(errClosed))
		case <-t.life.Done():
		}
	})
	return t, nil
}

// At implements engine.Tail.
func (t *tail) At() engine.Position { return t.at }

// Close implements engine.Tail.
func (t *tail) Close() {
	t.end(errClosed)
	t.log.Close()
}

// Next implements engine.Tail.
func (t *tail) Next(ctx context.Context) ([]engine.Event, error) {
	if err := t.e.enterRead(); err != nil {
		return nil, err
	}
	defer t.e.reads.Done()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stop := context.AfterFunc(t.life, func() { cancel(context.Cause(t.life)) })
	defer stop()
	for {
		if err := t.settle(ctx); err != nil {
			return nil, err
		}
		if events := t.events; len(events) > 0 {
			t.events = nil
			return events, nil
		}
		if u := t.filter.Until; u != 0 && t.at >= u {
			return nil, io.EOF
		}
		if err := t.more(ctx); err != nil {
			return nil, err
		}
	}
}

// enterRead keeps what is read open, until reads.Done.
func (e *Engine) enterRead() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.mu.closing {
		return unavailable(errClosed)
	}
	e.reads.Add(1)
	return nil
}

// settle waits until what was read counts.
func (t *tail) settle(ctx context.Context) error {
	if t.read == t.at {
		return nil
	}
	// A record that can be read was handed to the operating system.
	if !t.e.processOnly() {
		if err := t.e.wait(ctx, t.read); err != nil {
			return err
		}
	}
	t.at = t.read
	return nil
}

// more reads records until there are none, or enough. It waits for one.
func (t *tail) more(ctx context.Context) error {
	i, b, err := t.log.Next(ctx)
	if err = t.take(ctx, i, b, err); err != nil {
		return err
	}
	for range tailRecords {
		if len(t.events) >= tailEvents || t.filter.Until != 0 && t.read >= t.filter.Until {
			break
		}
		i, b, ok, err := t.log.TryNext()
		if !ok && err == nil {
			break
		}
		if err := t.take(ctx, i, b, err); err != nil {
			return err
		}
	}
	return nil
}

// take adds the events of a record to those that were read.
func (t *tail) take(ctx context.Context, i queue.Index, b []byte, err error) error {
	if lost, ok := errors.AsType[*queue.LostError](err); ok {
		t.read = engine.Position(lost.Index) // a repair has given it up
		return nil
	}
	switch {
	case err == nil:
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.Is(err, queue.ErrReleased):
		return &engine.Error{Code: engine.ErrNotFound, Err: fmt.Errorf("the records behind %d are no longer kept: this tail was too slow", t.at)}
	default:
		return unavailable(err)
	}
	if u := t.filter.Until; u != 0 && engine.Position(i) > u {
		t.read = u
		return nil
	}
	if t.events, err = t.told.record(t.events, b, engine.Position(i)); err != nil {
		return unavailable(err)
	}
	t.read = engine.Position(i)
	return nil
}

// place is where the step of an invocation runs.
type place struct {
	actor  engine.Actor
	method string
	step   uint32
}

// maxPlaces bounds what a tail remembers of what it has read.
const maxPlaces = 1 << 16

// placeAt finds the step at which an invocation was when the record at a
// position was made; false if that is not known any more.
func (e *Engine) placeAt(id engine.ID, at engine.Position) (place, bool) {
	r, entered := e.presentStep(id)
	if r == nil {
		end, err := e.done.find(id)
		if err != nil || end == 0 {
			return place{}, false
		}
		f, err := e.readOutcome(id, end)
		if err != nil || f.asked == 0 {
			return place{}, false
		}
		if r, err = e.readRequest(id, f.asked); err != nil || r == nil {
			return place{}, false
		}
		entered = f.asked
	}
	// It may have gone on meanwhile, by a tail call.
	return place{r.Actor, r.Method, r.Step}, r.Step == 1 || entered <= at
}

// presentStep is the step of an invocation that the flow knows, and the record
// by which it stands there.
func (e *Engine) presentStep(id engine.ID) (*engine.Request, engine.Position) {
	e.mu.Lock()
	defer e.mu.Unlock()
	p := e.mu.f.reqs[id]
	if p == nil {
		return nil, 0
	}
	return p.req, p.at
}
