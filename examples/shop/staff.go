package shop

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"syscall"

	"github.com/pawl-go/pawl/internal/stage"
)

const appName = "shop"

// worker is a command of the shop. It is started anew whenever it has ended.
type worker struct {
	name  string
	start func() (*stage.Process, error)
	ready func(context.Context, *stage.Process) (stage.App, error)
	after *worker // that has to be up before it is started; or nil

	mu  sync.Mutex
	p   *stage.Process // nil: it is not up
	app stage.App
	up  chan struct{} // closed when it is up
}

// maxFailures is how often a worker may fail to come up, one time after the other.
// It may a few times: the server can be killed just when it starts.
const maxFailures = 10

// keep keeps the worker up until ctx ends.
func (w *worker) keep(ctx context.Context) error {
	for failures := 0; ctx.Err() == nil; {
		if w.after != nil {
			if _, _, err := w.after.wait(ctx); err != nil {
				return nil //nolint:nilerr // the shop closes
			}
		}
		p, err := w.start()
		if err != nil {
			return err
		}
		app, err := w.ready(ctx, p)
		switch {
		case err == nil:
			failures = 0
			w.set(p, app)
			select {
			case <-p.Done():
			case <-ctx.Done():
			}
			w.set(nil, app)
		case ctx.Err() == nil:
			if failures++; failures == maxFailures {
				return fmt.Errorf("%s does not come up: %w", w.name, err)
			}
		}
		p.Stop()
		<-p.Silent() // the other one of a pair ends by itself
	}
	return nil
}

func (w *worker) set(p *stage.Process, app stage.App) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.p, w.app = p, app; p != nil {
		close(w.up)
	} else {
		w.up = make(chan struct{})
	}
}

// wait waits until the worker is up.
func (w *worker) wait(ctx context.Context) (*stage.Process, stage.App, error) {
	for {
		w.mu.Lock()
		p, app, up := w.p, w.app, w.up
		w.mu.Unlock()
		if p != nil {
			return p, app, nil
		}
		select {
		case <-up:
		case <-ctx.Done():
			return nil, app, context.Cause(ctx)
		}
	}
}

// staff is who runs the shop.
type staff struct {
	server, front, order, payment *worker
}

// newStaff describes the commands; nothing is started.
func (d *Day) newStaff(root, python string) *staff {
	data := filepath.Join(d.Dir, "data")
	engine := "pawl:" + data
	files := filepath.Join(root, "examples", "shop")
	ready := func(ctx context.Context, p *stage.Process) (stage.App, error) { return p.Ready(ctx) }
	add := func(name string, env []string, command string, args ...string) *worker {
		return &worker{name: name, up: make(chan struct{}), ready: ready, start: func() (*stage.Process, error) {
			return stage.Start(name, env, command, args...)
		}}
	}
	s := &staff{
		server: add("pawl serve", nil, d.Pawl, "serve", "--app", appName, "--data", data, "--listen", "", "--durability", "process"),
		front: add("the front", nil, d.Pawl, "run", "--app", appName, "--service", "front", "--engine", engine,
			"--", "node", filepath.Join(files, "front.js")),
		order: add("the orders", nil, d.Order, engine),
		payment: add("the payments", []string{"PYTHONPATH=" + filepath.Join(root, "examples", "python")},
			d.Pawl, "run", "--app", appName, "--actors", "Payment", "--engine", engine,
			"--", python, "-B", filepath.Join(files, "payment.py")),
	}
	s.server.ready = func(ctx context.Context, p *stage.Process) (stage.App, error) {
		_, err := p.Line(ctx, "msg=serving")
		return stage.App{}, err
	}
	for _, w := range []*worker{s.front, s.order, s.payment} {
		w.after = s.server
	}
	return s
}

// workers are all of them.
func (s *staff) workers() []*worker { return []*worker{s.server, s.front, s.order, s.payment} }

// victims are the processes that can be killed: of a pair, either.
var victims = []struct {
	name string
	of   func(*staff) *worker
	app  bool // the application, not the command
}{
	{"pawl serve", func(s *staff) *worker { return s.server }, false},
	{"node, the front", func(s *staff) *worker { return s.front }, true},
	{"the runtime of the front", func(s *staff) *worker { return s.front }, false},
	{"the orders", func(s *staff) *worker { return s.order }, false},
	{"python, the payments", func(s *staff) *worker { return s.payment }, true},
	{"the runtime of the payments", func(s *staff) *worker { return s.payment }, false},
}

// kill kills a victim, which is up.
func (s *staff) kill(ctx context.Context, victim int) error {
	v := victims[victim]
	p, app, err := v.of(s).wait(ctx)
	if err != nil {
		return err
	}
	pid := p.PID()
	if v.app {
		pid = app.PID
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
		return fmt.Errorf("kill %s: %w\n%s", v.name, err, p.Output())
	}
	return nil
}
