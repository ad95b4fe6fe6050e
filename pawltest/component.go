package pawltest

import (
	"context"
	"errors"
	"strconv"

	"github.com/pawl-go/pawl"
	"github.com/pawl-go/pawl/engine"
	"github.com/pawl-go/pawl/engine/trace"
	"github.com/pawl-go/pawl/internal/probe"
)

// Component is one component of the world's application. All of them are in one
// process, which dies and starts again as a whole in [World.Crash]; each can die
// alone.
type Component struct {
	w     *World
	name  string
	rank  int
	start func(ctx context.Context, engine string) (*pawl.App, error)

	paused  bool // guarded by w.mu, as what follows
	stopped bool // it is not started again by itself
	on      *session
	lives   []*life
}

// life is one start of a component, to its death.
type life struct {
	app    *pawl.App // nil until it has started
	on     *session
	cancel context.CancelFunc // of the context of its start
}

// close ends what is left of a life when the world does.
func (l *life) close() {
	l.cancel()
	switch {
	case l.app != nil:
		_ = l.app.Close()
	case l.on != nil:
		l.on.fence()
	}
}

// Start starts a component by a function that opens an app on an engine, given
// by its URL, and starts it. It is called again whenever the component starts
// again. Its context ends with the component, for goroutines that belong to it.
// It must not wait for actors, and what it keeps in memory must not outlive it.
// MissingTimeout and the limits of waiting requests are the engine's: those of
// the option [Config].
//
//	w.Start(bank.Open)
func (w *World) Start(open func(ctx context.Context, engine string) (*pawl.App, error)) *Component {
	w.Helper()
	c := &Component{w: w, start: open}
	w.mu.Lock()
	c.rank = len(w.mu.components)
	c.name = "component " + strconv.Itoa(c.rank+1)
	w.mu.components = append(w.mu.components, c)
	w.mu.Unlock()
	if err := c.launch(); err != nil {
		w.Fatalf("start %s: %v", c.name, err)
	}
	return c
}

// Host starts a component that hosts what register registers:
//
//	w.Host(func(app *pawl.App) { pawl.Register[Account](app) })
func (w *World) Host(register func(app *pawl.App)) *Component {
	w.Helper()
	return w.Start(func(ctx context.Context, engine string) (*pawl.App, error) {
		app, err := pawl.Open(ctx, engine, w.cfg.app)
		if err != nil {
			return nil, err
		}
		register(app)
		if err := app.Start(ctx); err != nil {
			return nil, errors.Join(err, app.Close())
		}
		return app, nil
	})
}

// launch begins a life.
func (c *Component) launch() error {
	ctx, cancel := context.WithCancel(background)
	l := &life{cancel: cancel}
	c.w.mu.Lock()
	c.lives = append(c.lives, l)
	c.stopped = false
	c.w.mu.Unlock()
	app, err := c.start(ctx, "pawltest:"+c.w.id+"/"+strconv.Itoa(c.rank))
	c.w.mu.Lock()
	defer c.w.mu.Unlock()
	l.app = app
	switch {
	case err != nil:
		l.app = nil
		return err
	case l.on == nil:
		return errors.New("the function that starts it has not started an app on the engine that it was given")
	}
	return nil
}

// begins notes the session of the life that is beginning.
func (c *Component) begins(s *session) {
	c.w.mu.Lock()
	defer c.w.mu.Unlock()
	c.on = s
	c.lives[len(c.lives)-1].on = s
}

// alive reports whether the component runs. w.mu is held.
func (c *Component) alive() bool { return c.on != nil && !c.on.dead.Load() }

// Kill lets the component die, abruptly: what runs on it is lost. It stays dead
// until Restart.
func (c *Component) Kill() {
	c.w.ask(false, func() {
		c.w.killComponent(c, nil)
		c.stopped = true
	})
}

// Restart starts the component again. One that lives is killed first.
func (c *Component) Restart() {
	c.w.Helper()
	c.w.ask(false, func() { c.w.killComponent(c, nil) })
	if err := c.launch(); err != nil {
		c.w.Fatalf("start %s again: %v", c.name, err)
	}
	c.w.note(event{kind: started, text: c.title() + " starts again"})
}

// Pause stops the component where it stands, as a long collection of garbage or
// a lost connection would, until Unpause. It does not die of it.
func (c *Component) Pause() { c.w.ask(false, func() { c.paused = true }) }

// Unpause lets the component go on.
func (c *Component) Unpause() { c.w.ask(false, func() { c.paused = false }) }

// Drain lets what runs end, begins nothing else, and ends the component, as a
// deployment does. It stays away until Restart.
func (c *Component) Drain() {
	c.w.Helper()
	app := c.App()
	if app == nil {
		return
	}
	ctx, cancel := context.WithTimeout(background, settleLimit)
	defer cancel()
	if err := app.Drain(ctx); err != nil {
		c.w.Fatalf("drain %s: after %v of virtual time something still runs: %v", c.name, settleLimit, err)
	}
	c.w.mu.Lock()
	c.stopped = true
	c.lives[len(c.lives)-1].cancel()
	c.w.mu.Unlock()
	if err := app.Close(); err != nil {
		c.w.Fatalf("close %s: %v", c.name, err)
	}
	c.w.note(event{kind: started, text: c.title() + " was drained"})
}

// App is the component's app in its present life; nil if it is dead. What it is
// asked outside of methods dies with it: calls that are to survive are made with
// [World.Context].
func (c *Component) App() *pawl.App {
	c.w.mu.Lock()
	defer c.w.mu.Unlock()
	if !c.alive() {
		return nil
	}
	return c.lives[len(c.lives)-1].app
}

// title is how a timeline names it.
func (c *Component) title() string {
	c.w.mu.Lock()
	defer c.w.mu.Unlock()
	if len(c.w.mu.components) == 1 {
		return "the process"
	}
	return c.name
}

// Crash lets the process die, with every component in it, and start again at
// once. What waits for an answer outside gets it from the new one.
func (w *World) Crash() {
	w.ask(false, func() { w.crash(nil) })
	<-w.up
}

// crash is made while nothing runs. At is where it happens, nil if the scenario
// asked for it.
func (w *World) crash(at *place) {
	w.mu.Lock()
	var again []*Component
	for _, c := range w.mu.components {
		if c.on != nil && !c.stopped {
			again = append(again, c)
		}
	}
	w.mu.Unlock()
	w.note(event{kind: died, at: at, text: "the process dies"})
	for _, c := range again {
		w.bereave(c)
	}
	w.dropAnswers(nil) // the client asks again
	old := w.eng
	w.disk = w.disk.Kill()
	_ = old.Close() // it is dead: nothing it does counts
	var err error
	if w.eng, err = w.openEngine(); err != nil {
		w.giveUp("the engine does not open again: %v", err)
		return
	}
	w.client.join()
	w.restart(again...)
}

// killComponent lets one component die alone, while nothing runs.
func (w *World) killComponent(c *Component, at *place) {
	on := c.on
	if !c.alive() {
		return
	}
	w.note(event{kind: died, at: at, text: c.title() + " dies"})
	w.bereave(c)
	if f, ok := w.eng.(interface{ Fail(engine.Session) error }); ok {
		if err := f.Fail(on.Session); err != nil {
			w.Errorf("%s does not fail: %v", c.name, err)
		}
	}
}

// bereave ends a component's session as the death of its process does: what it
// holds never goes on, and is told nothing.
func (w *World) bereave(c *Component) {
	w.mu.Lock()
	defer w.mu.Unlock()
	s := c.on
	if s.dead.Swap(true) {
		return
	}
	close(s.died)
	c.paused = false
	w.mu.ready = without(w.mu.ready, func(r *ready) bool { return r.on == s })
	w.mu.answers = without(w.mu.answers, func(a *answer) bool { return a.to == s })
	c.lives[len(c.lives)-1].cancel()
}

// dropAnswers forgets the answers on their way to a session; nil is the client.
func (w *World) dropAnswers(to *session) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.mu.answers = without(w.mu.answers, func(a *answer) bool { return a.to == to })
}

func without[E any](list []E, gone func(E) bool) []E {
	var rest []E
	for _, e := range list {
		if !gone(e) {
			rest = append(rest, e)
		}
	}
	return rest
}

// restart starts components again, beside the world, which goes on.
func (w *World) restart(cs ...*Component) {
	up := make(chan struct{})
	w.up = up
	w.note(event{kind: started, text: "and starts again"})
	go func() {
		defer close(up)
		for _, c := range cs {
			if w.up != up { // it has died again meanwhile
				return
			}
			if err := c.launch(); err != nil {
				w.giveUp("%s does not start again after it has died: %v", c.name, err)
				return
			}
		}
	}()
}

// door is the world's engine as a component sees it.
type door struct{ c *Component }

var _ probe.Source = (*door)(nil)

// Join implements engine.Engine.
func (d *door) Join(ctx context.Context, c engine.Component, h engine.Handler) (engine.Session, error) {
	s := &session{c: d.c, handler: h, fenced: make(chan struct{}), died: make(chan struct{})}
	var err error
	s.Session, err = d.c.w.eng.Join(ctx, engine.Component{Name: d.c.name, Types: c.Types}, hearer{h, s})
	if err != nil {
		return nil, err
	}
	d.c.begins(s)
	return s, nil
}

// Close implements engine.Engine. The engine is the world's.
func (d *door) Close() error { return nil }

// Trace implements trace.Source: what the component's runtime does is traced too.
func (d *door) Trace() trace.Recorder { return trace.Of(d.c.w.eng) }

// Probe implements probe.Source.
func (d *door) Probe() probe.Probe { return observer{d.c.w} }
