package remote_test

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/pawl-go/pawl"
	"github.com/pawl-go/pawl/engine"
	"github.com/pawl-go/pawl/engine/local/localtest"
	"github.com/pawl-go/pawl/engine/remote"
)

// Gate is an actor whose code can be held up.
type Gate struct{ passed pawl.Value[int] }

var (
	entered = make(chan string, 100) // who has begun to pass
	gates   = make(chan chan struct{}, 100)
)

// Pass says that it runs and waits until it is let through, whatever becomes of
// its attempt.
func (g *Gate) Pass(ctx context.Context, who string) (int, error) {
	open := make(chan struct{})
	gates <- open
	entered <- who
	<-open
	if ctx.Err() != nil {
		return 0, ctx.Err()
	}
	return g.passed.Update(ctx, func(n int) int { return n + 1 }), nil
}

// Count counts those that have passed.
func (g *Gate) Count(ctx context.Context, _ pawl.None) (int, error) { return g.passed.Get(ctx), nil }

// Through passes another gate, once.
func (g *Gate) Through(ctx context.Context, other string) (int, error) {
	return pawl.Call(ctx, pawl.Actor[*Gate](other), (*Gate).Pass, "nested", pawl.Once("pass"))
}

// restarts is a server that goes away and comes back, on what its engine has
// recorded, and what reaches it.
type restarts struct {
	t       *testing.T
	harness *localtest.Harness
	cfg     remote.ServerConfig
	server  *remote.Server
	params  string
	cut     *cutter
}

func newRestarts(t *testing.T) *restarts {
	t.Helper()
	r := &restarts{t: t, harness: localtest.New("process"), cfg: remote.ServerConfig{App: "gates", Heartbeat: 10 * time.Second}}
	server, url := serve(t, r.harness.Open(t, engine.Options{App: "gates"}), "tcp", r.cfg)
	r.server = server
	addr, params, _ := strings.Cut(strings.TrimPrefix(url, "pawl://"), "?")
	r.params, r.cut = params, newCutter(t, addr)
	return r
}

// app joins through the cutter.
func (r *restarts) app(params string, hosts bool) *pawl.App {
	r.t.Helper()
	app, err := pawl.Open(r.t.Context(), "pawl://"+r.cut.Addr().String()+"?"+r.params+params,
		pawl.Config{App: "gates", Logger: slog.New(slog.NewTextHandler(r.t.Output(), nil))})
	if err != nil {
		r.t.Fatal(err)
	}
	if hosts {
		pawl.Register[Gate](app)
	}
	if err := app.Start(r.t.Context()); err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { _ = app.Close() })
	return app
}

// kill takes the server away as kill -9 does: nobody is told.
func (r *restarts) kill() { r.cut.cut() }

// end ends the server as SIGTERM does.
func (r *restarts) end() {
	r.cut.dark.Store(true)
	if err := r.server.Close(); err != nil {
		r.t.Error(err)
	}
}

// start starts the next server.
func (r *restarts) start() {
	r.t.Helper()
	server, url := serve(r.t, r.harness.Crash(r.t), "tcp", r.cfg)
	r.server = server
	r.cut.redirect(url)
}

// TestRejoin: a server goes away with calls in flight and comes back. The
// component joins again; what ran is run again once its code has returned, not
// before; the waits of clients go on, and each call counts once.
func TestRejoin(t *testing.T) {
	for name, away := range map[string]func(*restarts){"killed": (*restarts).kill, "ended": (*restarts).end} {
		t.Run(name, func(t *testing.T) {
			r := newRestarts(t)
			host, client := r.app("", true), r.app("", false)
			ctx := client.Context(t.Context())
			type result struct {
				n   int
				err error
			}
			results := make(chan result, 2)
			for _, id := range []string{"a", "b"} {
				go func() {
					n, err := pawl.Call(ctx, pawl.Actor[*Gate](id), (*Gate).Through, "inner-"+id)
					results <- result{n, err}
				}()
				<-entered
			}
			away(r)
			r.start()
			// It has joined again, and hosts what is new to it.
			open, during := make(chan struct{}), make(chan error, 1)
			go func() {
				_, err := pawl.Call(ctx, pawl.Actor[*Gate]("new"), (*Gate).Count, pawl.None{})
				during <- err
				close(open)
			}()
			<-open
			if err := <-during; err != nil {
				t.Fatal(err)
			}
			select {
			case who := <-entered:
				t.Fatalf("%s began anew beside its former code", who)
			default:
			}
			close(<-gates) // the zombies end,
			close(<-gates)
			<-entered // and only then it begins again
			<-entered
			close(<-gates)
			close(<-gates)
			for range 2 {
				if got := <-results; got.err != nil || got.n != 1 {
					t.Errorf("the call gave %d, %v", got.n, got.err)
				}
			}
			select {
			case <-host.Fenced():
				t.Error("the component has ended")
			default:
			}
		})
	}
}

// TestRejoinGivesUp: when no server comes for as long as it may try, a component
// ends; at once if it must not try.
func TestRejoinGivesUp(t *testing.T) {
	for name, params := range map[string]string{"after a while": "&rejoin=300ms", "at once": "&rejoin=0s"} {
		t.Run(name, func(t *testing.T) {
			r := newRestarts(t)
			app := r.app(params, true)
			ended := make(chan error, 1)
			go func() {
				_, err := pawl.Call(app.Context(t.Context()), pawl.Actor[*Gate]("a"), (*Gate).Pass, "it")
				ended <- err
			}()
			<-entered
			r.end()
			close(<-gates)
			<-app.Fenced()
			if err := <-ended; !errors.Is(err, pawl.ErrOutcomeUnknown) {
				t.Errorf("the call ended with %v", err)
			}
			if _, err := pawl.Call(app.Context(t.Context()), pawl.Actor[*Gate]("a"), (*Gate).Count, pawl.None{}); !errors.Is(err, pawl.ErrFenced) {
				t.Errorf("a call afterwards: %v", err)
			}
		})
	}
}

// TestFailedDoesNotRejoin: a component that a living server has declared failed
// ends.
func TestFailedDoesNotRejoin(t *testing.T) {
	r := newRestarts(t)
	app := r.app("", true)
	eng, err := engine.Open(t.Context(), "pawl://"+r.cut.Addr().String()+"?"+r.params, engine.Options{App: "gates"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = eng.Close() })
	observer, err := eng.Join(t.Context(), engine.Component{Name: "observer"}, newSink())
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range observer.Members() {
		if len(m.Types) == 0 {
			continue
		}
		if err := r.server.Fail(m.Session); err != nil {
			t.Fatal(err)
		}
	}
	<-app.Fenced()
}

// TestCallsWhileAway: a call made while there is no server waits for it, and for
// no longer than its context.
func TestCallsWhileAway(t *testing.T) {
	r := newRestarts(t)
	app := r.app("", true)
	ctx := app.Context(t.Context())
	count := func(ctx context.Context) error {
		_, err := pawl.Call(ctx, pawl.Actor[*Gate]("a"), (*Gate).Count, pawl.None{}, pawl.Key(t.Name()))
		return err
	}
	r.end()
	short, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
	defer cancel()
	if err := count(short); !errors.Is(err, pawl.ErrUnavailable) && !errors.Is(err, pawl.ErrOutcomeUnknown) {
		t.Errorf("with a deadline: %v", err)
	}
	counted := make(chan error, 1)
	go func() { counted <- count(ctx) }()
	r.start()
	if err := <-counted; err != nil {
		t.Errorf("without: %v", err)
	}
}

// TestRemindersWhileAway: a reminder that is set or removed while the server goes away is
// there, or gone, once the next one is; of one for once that was due meanwhile it is said
// that nobody knows.
func TestRemindersWhileAway(t *testing.T) {
	r := newRestarts(t)
	app := r.app("", false)
	ctx := app.Context(t.Context())
	gate := pawl.Actor[*Gate]("a")
	set := func(name string, when pawl.When) error {
		return pawl.Remind(ctx, gate, name, (*Gate).Pass, "reminded", when)
	}
	for _, name := range []string{"old", "kept"} {
		if err := set(name, pawl.After(time.Hour)); err != nil {
			t.Fatal(err)
		}
	}
	r.kill()
	acts := map[string]func() error{
		"once":   func() error { return set("once", pawl.After(time.Hour)) },
		"every":  func() error { return set("every", pawl.Every(time.Hour)) },
		"kept":   func() error { return set("kept", pawl.After(2*time.Hour)) },
		"remove": func() error { return pawl.Unremind(ctx, gate, "old") },
		"now":    func() error { return set("now", pawl.After(0)) },
	}
	done := map[string]chan error{}
	for name, act := range acts {
		done[name] = make(chan error, 1)
		go func() { done[name] <- act() }()
	}
	r.start()
	for name := range acts {
		switch err := <-done[name]; {
		case name == "now" && errors.Is(err, pawl.ErrOutcomeUnknown) || err == nil:
		default:
			t.Errorf("%s: %v", name, err)
		}
	}
	list, err := pawl.Reminders(ctx, gate)
	if err != nil {
		t.Fatal(err)
	}
	due := map[string]time.Duration{}
	for _, x := range list {
		due[x.Name] = time.Until(x.Next).Round(time.Hour) //nolint:forbidigo // to the hour
	}
	want := map[string]time.Duration{"once": time.Hour, "every": time.Hour, "kept": 2 * time.Hour}
	if delete(due, "now"); !maps.Equal(due, want) {
		t.Errorf("there are %v, not %v", due, want)
	}
}
