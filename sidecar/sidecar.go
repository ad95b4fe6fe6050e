package sidecar

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strconv"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/pawl-go/pawl/engine"
	"github.com/pawl-go/pawl/internal/ports"
	"github.com/pawl-go/pawl/internal/runtime"
	"github.com/pawl-go/pawl/internal/topics"
	"github.com/pawl-go/pawl/internal/v1"
	"github.com/pawl-go/pawl/sidecar/host"
	"github.com/pawl-go/pawl/sidecar/kar"
	"github.com/pawl-go/pawl/sidecar/pair"
)

// Config describes a pair. Zero fields take the default.
type Config struct {
	App     string   // the application's name; required
	Actors  []string // the actor types that the command hosts
	Service string   // the service that it is; empty: none
	Engine  string   // URL; default "local:./data"
	Command []string // program and arguments; required
	Watcher []string // see pair.Config

	// Grace bounds how long what runs may go on after the end was asked for; and,
	// after that, how long the command has to end. Default 10 s.
	Grace time.Duration
	// MissingTimeout is how long a request waits for a type that nobody hosts,
	// and for a command that does not listen. Default 2 min.
	MissingTimeout time.Duration
	// RequestTimeout is what KAR_REQUEST_TIMEOUT tells clients; 0: none.
	RequestTimeout time.Duration
	H2C            bool // speak HTTP/2 without TLS to the command
	// BusyTimeout is how long a call waits for its turn on an actor before it is
	// answered with a possible deadlock. Default 2 min; negative: for ever.
	BusyTimeout time.Duration
	// IdleAfter is how long an actor may be idle before the command is told to let it
	// go. Default 10 s.
	IdleAfter time.Duration

	AppPort, RuntimePort int // 0: a free one

	Stdin          io.Reader
	Stdout, Stderr io.Writer
	Logger         *slog.Logger

	timeouts timeouts // of clients; tests make them short
}

func (c *Config) validate() error {
	switch {
	case c.App == "":
		return errors.New("no application name (--app)")
	case len(c.Command) == 0:
		return errors.New("no command to run: it stands behind --")
	case c.Grace < 0 || c.MissingTimeout < 0 || c.RequestTimeout < 0 || c.IdleAfter < 0:
		return errors.New("a time-out is negative")
	case c.AppPort != 0 && c.AppPort == c.RuntimePort:
		return fmt.Errorf("the application and the runtime cannot both have port %d", c.AppPort)
	}
	for _, name := range append([]string{c.App, c.Service}, c.Actors...) {
		if len(name) > 128 {
			return fmt.Errorf("the name %.40q... has %d bytes, the limit is 128", name, len(name))
		}
	}
	seen := map[string]bool{}
	for _, name := range c.Actors {
		if name == "" || seen[name] {
			return fmt.Errorf("the actor type %q is empty or named twice (--actors)", name)
		}
		seen[name] = true
	}
	if c.Engine == "" {
		c.Engine = "local:./data"
	}
	if c.Grace == 0 {
		c.Grace = 10 * time.Second
	}
	if c.MissingTimeout == 0 {
		c.MissingTimeout = 2 * time.Minute
	}
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	if c.timeouts == (timeouts{}) {
		c.timeouts = standardTimeouts
	}
	return nil
}

// sidecar is a running pair.
type sidecar struct {
	cfg      Config
	name     string
	eng      engine.Engine
	comp     *runtime.Component
	host     *host.Host
	kar      *kar.Handler
	server   *http.Server
	listener net.Listener
	child    *pair.Process
	shutdown chan struct{} // asked for by the application, or by an operator,
	grace    atomic.Int64  // who said how long it may take; 0: has not
	control  func() error  // ends the socket in the data directory
}

// Run starts the pair and returns when both have ended, with the exit code of
// the command (128+n if signal n ended it). The end of ctx drains it.
func Run(ctx context.Context, cfg Config) (code int, err error) {
	if err := cfg.validate(); err != nil {
		return 0, fmt.Errorf("run: %w", err)
	}
	s := &sidecar{cfg: cfg, shutdown: make(chan struct{}, 1)}
	if err := s.start(ctx); err != nil {
		s.stop(false)
		return 0, fmt.Errorf("run %s: %w", cfg.App, err)
	}
	select {
	case <-s.child.Done():
		s.host.Died()
		// What ran in it is lost, unless nothing did.
		now, cancel := context.WithTimeout(ctx, idleNotice)
		defer cancel()
		s.stop(s.comp.Drain(now) == nil)
		return s.child.Wait(), nil
	case <-s.comp.Fenced():
		s.child.Kill()
		s.stop(false)
		return s.child.Wait(), fmt.Errorf("run %s: the engine has given this component up (it has heard nothing of it for too long, or its server has not come back in time); start it again: %w", cfg.App, engine.ErrFenced)
	case <-ctx.Done():
	case <-s.shutdown:
		if grace := s.grace.Load(); grace > 0 {
			s.cfg.Grace = time.Duration(grace)
		}
	}
	s.drain(context.WithoutCancel(ctx))
	return s.child.Wait(), nil
}

// idleNotice is more than a component needs to say that nothing runs.
const idleNotice = 10 * time.Millisecond

// start does it all, in order: the runtime listens and is a member before the
// command runs.
func (s *sidecar) start(ctx context.Context) (err error) {
	c := &s.cfg
	appPort := c.AppPort
	if appPort == 0 {
		if appPort, err = ports.Free(1); err != nil {
			return err
		}
	}
	var lc net.ListenConfig
	if s.listener, err = lc.Listen(ctx, "tcp", "127.0.0.1:"+strconv.Itoa(c.RuntimePort)); err != nil {
		return fmt.Errorf("listen for the application (--runtime-port): %w", err)
	}
	s.host = host.New(host.Config{
		Address: "127.0.0.1:" + strconv.Itoa(appPort), H2C: c.H2C, Patience: c.MissingTimeout, Logger: c.Logger,
		BusyTimeout: c.BusyTimeout, IdleAfter: c.IdleAfter,
	})
	s.eng, err = engine.Open(ctx, c.Engine, engine.Options{App: c.App, Logger: c.Logger, MissingTimeout: c.MissingTimeout})
	if err != nil {
		return err
	}
	if err := s.join(ctx); err != nil {
		return err
	}
	if err := s.serve(ctx); err != nil {
		return err
	}
	s.child, err = pair.Start(pair.Config{
		Command: c.Command, Watcher: c.Watcher,
		Stdin: c.Stdin, Stdout: c.Stdout, Stderr: c.Stderr,
		Env: []string{
			"KAR_RUNTIME_PORT=" + strconv.Itoa(s.listener.Addr().(*net.TCPAddr).Port),
			"KAR_APP_PORT=" + strconv.Itoa(appPort),
			"KAR_REQUEST_TIMEOUT=" + requestTimeout(c.RequestTimeout),
		},
	})
	return err
}

// requestTimeout is in ms; KAR's clients take a negative one for none.
func requestTimeout(d time.Duration) string {
	if d == 0 {
		return "-1"
	}
	return strconv.FormatInt(d.Milliseconds(), 10)
}

func (s *sidecar) join(ctx context.Context) error {
	machine, err := os.Hostname()
	if err != nil {
		machine = "host"
	}
	s.name = fmt.Sprintf("%s-%d-%x", machine, os.Getpid(), time.Now().UnixNano())
	rc := runtime.Config{Name: s.name, Logger: s.cfg.Logger}
	for _, name := range s.cfg.Actors {
		rc.Types = append(rc.Types, s.host.Type(name))
	}
	if s.cfg.Service != "" {
		rc.Types = append(rc.Types, s.host.Service(s.cfg.Service))
	}
	if len(rc.Types) > 0 {
		rc.Types = append(rc.Types, topics.Types(rc.OutcomeLimit)...)
	}
	rc.Types = append(rc.Types, host.Listing(s.name, s.cfg.Actors), v1.Drainer(s.name, s.askDrain))
	comp, err := runtime.New(rc)
	if err != nil {
		return err
	}
	if err := comp.Join(ctx, s.eng); err != nil {
		return err
	}
	s.comp = comp
	return nil
}

// askDrain is called when an operator wants the pair drained; grace 0 stands for
// the pair's own.
func (s *sidecar) askDrain(grace time.Duration) {
	s.grace.Store(int64(grace))
	select {
	case s.shutdown <- struct{}{}:
	default: // asked for before
	}
}

// drain lets what runs end, gives the rest back, and then ends the command.
func (s *sidecar) drain(ctx context.Context) {
	running, cancel := context.WithTimeout(ctx, s.cfg.Grace)
	defer cancel()
	s.kar.Drain()
	if err := s.comp.Drain(running); err != nil {
		s.cfg.Logger.Warn("not everything ended in time; the rest will be retried", "app", s.cfg.App, "error", err)
	}
	late := time.AfterFunc(closeTimeout, s.host.End)
	s.comp.Deactivate() // while state can be written
	late.Stop()
	s.host.End()
	s.stop(true)
	s.child.Signal(syscall.SIGTERM)
	select {
	case <-s.child.Done():
	case <-time.After(s.cfg.Grace):
		s.cfg.Logger.Warn("the command did not end in time: it is killed", "pid", s.child.Pid())
		s.child.Kill()
	}
}

// closeTimeout bounds what the runtime itself does at its end.
const closeTimeout = 2 * time.Second

// stop ends the runtime. Without leave the component does not say goodbye: what
// ran in it counts as failed.
func (s *sidecar) stop(leave bool) {
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	var errs []error
	if s.control != nil {
		errs = append(errs, s.control())
	}
	if s.comp != nil && leave {
		errs = append(errs, s.comp.Close(ctx))
	}
	if s.eng != nil {
		errs = append(errs, s.eng.Close())
	}
	switch {
	case s.server != nil:
		errs = append(errs, s.server.Close())
	case s.listener != nil:
		errs = append(errs, s.listener.Close())
	}
	if err := errors.Join(errs...); err != nil {
		s.cfg.Logger.Warn("end of the runtime", "app", s.cfg.App, "error", err)
	}
}

// controlSocket lets the command line find the pair by its data directory.
func (s *sidecar) controlSocket(ctx context.Context, cfg v1.Config) {
	dir, ok := s.eng.(interface{ DataDir() string })
	if !ok || dir.DataDir() == "" {
		return
	}
	stop, err := v1.ServeShared(ctx, dir.DataDir(), cfg)
	if err != nil {
		s.cfg.Logger.Warn("no control socket: the command line will not find this pair", "error", err)
		return
	}
	s.control = stop
}
