package pawltest

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"

	"github.com/pawl-go/pawl"
	"github.com/pawl-go/pawl/engine"
)

// client is the scenario as one that calls from outside. It outlives the process
// that it calls: a call that was under way is asked for again, by its id, when
// that has started again, as by a client with a connection that comes back. It
// is an engine for its own app, and the session of it.
type client struct {
	w      *World
	app    *pawl.App
	ctx    context.Context
	cancel context.CancelFunc

	handler engine.Handler
	fenced  chan struct{}
	fences  sync.Once

	mu struct {
		sync.Mutex
		inner engine.Session                // of the present life
		first uint64                        // its number in the first
		seq   uint64                        // of the ids drawn
		calls map[engine.ID]*engine.Request // without an answer yet
	}
}

var errDied = errors.New("the process has died")

// open opens the client's app.
func (c *client) open() (err error) {
	c.fenced = make(chan struct{})
	c.mu.calls = map[engine.ID]*engine.Request{}
	cfg := c.w.cfg.app
	cfg.Component = "client"
	if c.app, err = pawl.Open(background, "pawltest:"+c.w.id+"/client", cfg); err != nil {
		return err
	}
	c.ctx, c.cancel = context.WithCancel(background)
	c.ctx = c.app.Context(c.ctx)
	return c.app.Start(background)
}

func (c *client) context() context.Context { return c.ctx }

// close ends the client's app, when the world does.
func (c *client) close() {
	c.cancel()
	_ = c.app.Close()
}

// Join implements engine.Engine. It is called once, by the app.
func (c *client) Join(_ context.Context, _ engine.Component, h engine.Handler) (engine.Session, error) {
	c.handler = h
	s, err := c.enter()
	if err != nil {
		return nil, err
	}
	c.mu.inner, c.mu.first = s, s.Number()
	return c, nil
}

// enter joins the engine of the present life.
func (c *client) enter() (engine.Session, error) {
	return c.w.eng.Join(background, engine.Component{Name: "client"}, clientHearer{c.handler, c.w})
}

// join joins the engine of the next life, while nothing runs, and asks for what
// has not been answered.
func (c *client) join() {
	s, err := c.enter()
	if err != nil {
		c.w.giveUp("the client does not come back: %v", err)
		return
	}
	c.mu.Lock()
	c.mu.inner = s
	calls := maps.Clone(c.mu.calls)
	c.mu.Unlock()
	for _, id := range slices.SortedFunc(maps.Keys(calls), engine.ID.Compare) {
		err := s.Attach(id)
		if errors.Is(err, engine.ErrNotFound) {
			_, err = s.Send(engine.Attempt{}, &engine.Effects{Requests: []*engine.Request{calls[id]}})
		}
		if err != nil {
			c.w.giveUp("the client cannot ask for %v again: %v", calls[id].Actor, err)
		}
	}
}

// now is the session of the present life.
func (c *client) now() engine.Session {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.mu.inner
}

// waits reports whether the client waits for an answer.
func (c *client) waits() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.mu.calls) > 0
}

func (c *client) operator() engine.Operator { return c.now().Operator() }

// respond brings an answer.
func (c *client) respond(r engine.Response) {
	c.mu.Lock()
	req := c.mu.calls[r.ID]
	delete(c.mu.calls, r.ID)
	c.mu.Unlock()
	if req != nil {
		c.w.note(event{kind: answered, by: &attempt{Request: req}, outcome: r.Outcome})
	}
	c.handler.Respond(r)
}

// clientHearer is the client as the engine sees it: it hosts nothing.
type clientHearer struct {
	engine.Handler
	w *World
}

// Respond implements engine.Handler.
func (h clientHearer) Respond(r engine.Response) { h.w.post(&answer{nil, r}) }

// Send implements engine.Session.
func (c *client) Send(by engine.Attempt, e *engine.Effects) (engine.Position, error) {
	c.mu.Lock()
	for _, r := range e.Requests {
		if r.Kind == engine.KindCall {
			c.mu.calls[r.ID] = r
		}
	}
	s := c.mu.inner
	c.mu.Unlock()
	c.w.noteEffects(by, e)
	at, err := s.Send(by, e)
	if err != nil {
		c.forget(e)
	}
	return at, err
}

func (c *client) forget(e *engine.Effects) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, r := range e.Requests {
		delete(c.mu.calls, r.ID)
	}
}

// Attach implements engine.Session.
func (c *client) Attach(id engine.ID) error {
	s := c.now()
	info, err := s.Operator().Invocation(c.ctx, id)
	if err != nil {
		return err
	}
	c.mu.Lock()
	c.mu.calls[id] = info.Request
	c.mu.Unlock()
	return s.Attach(id)
}

// Detach implements engine.Session.
func (c *client) Detach(id engine.ID) {
	c.mu.Lock()
	delete(c.mu.calls, id)
	s := c.mu.inner
	c.mu.Unlock()
	s.Detach(id)
}

// Read implements engine.Session. A read-only method whose process dies is asked
// again.
func (c *client) Read(ctx context.Context, r *engine.Request) (*engine.Outcome, engine.Position, error) {
	for {
		up := c.w.up
		o, at, err := c.now().Read(ctx, r)
		again := errors.Is(err, engine.ErrUnavailable) || errors.Is(err, engine.ErrFenced) || errors.Is(err, engine.ErrNoHost) && up != c.w.up
		if !again {
			return o, at, err
		}
		select {
		case <-c.w.up:
		case <-ctx.Done():
			return nil, 0, context.Cause(ctx)
		}
	}
}

// Number implements engine.Session.
func (c *client) Number() uint64 { return c.mu.first }

// NewID implements engine.Session: ids of the first life, which no later one
// draws.
func (c *client) NewID() engine.ID {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.mu.seq++
	return engine.ID{Hi: c.mu.first, Lo: c.mu.seq}
}

// Begin implements engine.Session: a client runs nothing.
func (c *client) Begin(engine.Attempt, engine.Attempt, []engine.Write) (engine.Position, error) {
	return 0, engine.ErrFenced
}

// Finish implements engine.Session.
func (c *client) Finish(engine.Attempt, *engine.Effects, *engine.Outcome) (engine.Position, error) {
	return 0, engine.ErrFenced
}

// Park implements engine.Session.
func (c *client) Park(engine.Attempt, *engine.Failure) (engine.Position, error) {
	return 0, engine.ErrFenced
}

// Postpone implements engine.Session.
func (c *client) Postpone(engine.Attempt) (engine.Position, error) { return 0, engine.ErrFenced }

// Committed implements engine.Session.
func (c *client) Committed(p engine.Position) bool { return c.now().Committed(p) }

// Wait implements engine.Session.
func (c *client) Wait(ctx context.Context, p engine.Position) error { return c.now().Wait(ctx, p) }

// Last implements engine.Session.
func (c *client) Last() engine.Position { return c.now().Last() }

// Load implements engine.Session.
func (c *client) Load(ctx context.Context, a engine.Actor) ([]engine.Cell, error) {
	return c.now().Load(ctx, a)
}

// Lookup implements engine.Session.
func (c *client) Lookup(ctx context.Context, a engine.Actor, k engine.Key) ([]byte, bool, error) {
	return c.now().Lookup(ctx, a, k)
}

// Scan implements engine.Session.
func (c *client) Scan(ctx context.Context, a engine.Actor, cell, from string, limit int) ([]engine.Cell, error) {
	return c.now().Scan(ctx, a, cell, from, limit)
}

// Reminders implements engine.Session.
func (c *client) Reminders(ctx context.Context, a engine.Actor) ([]engine.Reminder, error) {
	return c.now().Reminders(ctx, a)
}

// Release implements engine.Session.
func (c *client) Release(...engine.Actor) {}

// Members implements engine.Session.
func (c *client) Members() []engine.Member { return c.now().Members() }

// Operator implements engine.Session.
func (c *client) Operator() engine.Operator { return c.operator() }

// Fenced implements engine.Session.
func (c *client) Fenced() <-chan struct{} { return c.fenced }

// Leave implements engine.Session.
func (c *client) Leave(ctx context.Context) error {
	c.fences.Do(func() { close(c.fenced) })
	return c.now().Leave(ctx)
}

// Close implements engine.Engine.
func (c *client) Close() error { return nil }
