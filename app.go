package pawl

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pawl-go/pawl/engine"
	"github.com/pawl-go/pawl/internal/probe"
	"github.com/pawl-go/pawl/internal/runtime"
	"github.com/pawl-go/pawl/internal/topics"
	"github.com/pawl-go/pawl/internal/v1"
)

// Config describes an application's component. Zero fields take the default.
type Config struct {
	// App is the application's name: components of one name share actors and
	// state. Required; at most 128 bytes.
	App string
	// Component names this process within the application, and must be unique
	// among those that live. Default: host name, process id and a random part.
	Component string
	// Logger gets what nobody waits for. Default slog.Default().
	Logger *slog.Logger
	// Codec encodes arguments and results, and state unless the type says
	// otherwise (WithCodec). All components must agree. Default JSON.
	Codec Codec
	// MissingTimeout is how long a call may wait for a type that nobody hosts before it
	// ends with ErrNoHost. Default 2 min. Only one that has never begun ends so. A call that
	// has begun, also if its component is gone now, a later step of tail calls, a tell
	// and a reminder wait until somebody hosts the type.
	MissingTimeout time.Duration
	// DrainTimeout bounds the time that Run gives what still runs. Default 30 s.
	DrainTimeout time.Duration
	// Limits bounds what the application may ask for.
	Limits Limits
}

// validate fills in the defaults.
func (c *Config) validate() error {
	if c.App == "" {
		return errors.New("no application name (Config.App)")
	}
	if err := checkName("application name", c.App, maxName); err != nil {
		return err
	}
	if c.MissingTimeout < 0 || c.DrainTimeout < 0 {
		return errors.New("a time-out is negative")
	}
	if c.Component == "" {
		c.Component = componentName()
	}
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	if c.Codec == nil {
		c.Codec = jsonCodec{}
	}
	if c.MissingTimeout == 0 {
		c.MissingTimeout = 2 * time.Minute
	}
	if c.DrainTimeout == 0 {
		c.DrainTimeout = 30 * time.Second
	}
	return c.Limits.validate()
}

func componentName() string {
	host, err := os.Hostname()
	if err != nil {
		host = "host"
	}
	var random [4]byte
	rand.Read(random[:]) // never fails
	return fmt.Sprintf("%s-%d-%s", host, os.Getpid(), hex.EncodeToString(random[:]))
}

// App is one component of an application: what this process hosts, and its way
// to call what others host. All methods but Register are safe for concurrent
// use.
type App struct {
	cfg Config
	eng engine.Engine
	reg registry
	// probe is told what methods do, in a test; nil otherwise.
	probe probe.Probe

	running atomic.Bool        // by Run
	drain   chan time.Duration // one slot: what an operator asks of Run

	// comp is there from Start on.
	comp atomic.Pointer[runtime.Component]
	// kinds caches what members elsewhere say of their types; see App.home.
	kinds memberKinds

	mu struct {
		sync.Mutex
		started, closed bool
		onClose         []func() error // in order; what Start has opened beside the component
	}
}

// Open opens an engine by its URL, as in "local:./data?durability=disk". Types
// are registered next; nothing runs, and nothing can be called, before Start.
// The engine must be linked in: the local one always is, others by importing
// their package. Close ends what Open has begun.
func Open(ctx context.Context, engineURL string, cfg Config) (*App, error) {
	if err := cfg.validate(); err != nil {
		return nil, fmt.Errorf("open app: %w", err)
	}
	eng, err := engine.Open(ctx, engineURL, engine.Options{
		App:            cfg.App,
		Logger:         cfg.Logger,
		MissingTimeout: cfg.MissingTimeout,
		Mailbox:        cfg.Limits.Mailbox,
		Pending:        cfg.Limits.Pending,
	})
	if err != nil {
		return nil, fmt.Errorf("open app %s: %w", cfg.App, err)
	}
	return &App{cfg: cfg, eng: eng, probe: probeOf(eng), drain: make(chan time.Duration, 1)}, nil
}

// Start makes the component a member of the application; requests for the
// registered types, waiting ones first, begin to run. It returns every mistake
// in the registered types at once, each with its place, and starts nothing then.
// Ctx bounds the joining only.
func (a *App) Start(ctx context.Context) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.mu.started || a.mu.closed {
		return errors.New("start app: it was started or closed before")
	}
	types, err := a.reg.types()
	if err != nil {
		return fmt.Errorf("start app %s:\n%w", a.cfg.App, err)
	}
	if len(types) > 0 {
		types = append(types, topics.Types(a.cfg.Limits.Outcome)...)
		types = append(types, v1.Drainer(a.cfg.Component, a.askDrain))
	}
	rc := runtime.Config{
		Name:         a.cfg.Component,
		Types:        types,
		Logger:       a.cfg.Logger,
		Depth:        a.cfg.Limits.Depth,
		PayloadLimit: a.cfg.Limits.Payload,
		OutcomeLimit: a.cfg.Limits.Outcome,
		Host:         a,
	}
	if a.probe != nil {
		rc.Jitter = a.probe.Jitter
	}
	comp, err := runtime.New(rc)
	if err != nil {
		return fmt.Errorf("start app %s: %w", a.cfg.App, err)
	}
	a.reg.closed = true
	// Requests may arrive before Join returns, and their methods may call.
	a.comp.Store(comp)
	if err := comp.Join(ctx, a.eng); err != nil {
		a.comp.Store(nil)
		return fmt.Errorf("start app %s: %w", a.cfg.App, err)
	}
	a.mu.started = true
	a.openControl(ctx, comp)
	return nil
}

// Run starts the app, waits until ctx ends, an operator drains the component
// (pawl drain) or it is fenced, drains it for at most Config.DrainTimeout or as
// long as the operator said, and closes it. Signals are the caller's
// (signal.NotifyContext). It returns nil after ctx has ended or an operator has
// drained it, and ErrFenced when others have declared the component failed.
func (a *App) Run(ctx context.Context) error {
	a.running.Store(true)
	if err := a.Start(ctx); err != nil {
		return errors.Join(err, a.Close())
	}
	grace := a.cfg.DrainTimeout
	select {
	case <-ctx.Done():
	case asked := <-a.drain:
		if asked > 0 {
			grace = asked
		}
	case <-a.Fenced():
		return errors.Join(fmt.Errorf("run app %s: %w", a.cfg.App, ErrFenced), a.Close())
	}
	return a.drainAndClose(context.WithoutCancel(ctx), grace)
}

func (a *App) drainAndClose(ctx context.Context, grace time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, grace)
	defer cancel()
	if err := a.Drain(ctx); err != nil {
		a.cfg.Logger.Warn("not everything ended in time; the rest will be retried", "app", a.cfg.App, "error", err)
	}
	return a.Close()
}

// askDrain is called when an operator wants the component drained, for grace; 0
// stands for Config.DrainTimeout. Without Run nobody else would do it.
func (a *App) askDrain(grace time.Duration) {
	if a.running.Load() {
		select {
		case a.drain <- grace:
		default: // asked for before
		}
		return
	}
	if grace == 0 {
		grace = a.cfg.DrainTimeout
	}
	go func() { // Close ends it, at the latest
		if err := a.drainAndClose(context.Background(), grace); err != nil {
			a.cfg.Logger.Error("drained by an operator", "app", a.cfg.App, "error", err)
		}
	}()
}

// Drain begins nothing any more and returns when what runs has ended, or with
// the cause of ctx. What waits stays in the flow for others.
func (a *App) Drain(ctx context.Context) error {
	comp := a.comp.Load()
	if comp == nil {
		return nil
	}
	if err := comp.Drain(ctx); err != nil {
		return fmt.Errorf("drain app %s: %w", a.cfg.App, err)
	}
	return nil
}

// closeTimeout bounds how long Close waits for code that does not heed the end
// of its context.
const closeTimeout = 10 * time.Second

// Close leaves the application. What still runs is cut off: its context ends,
// nothing it does counts, and it will be retried elsewhere or later. Close a
// second time does nothing.
func (a *App) Close() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.mu.closed {
		return nil
	}
	a.mu.closed = true
	var errs []error
	for _, f := range a.mu.onClose {
		errs = append(errs, f())
	}
	if comp := a.comp.Load(); comp != nil {
		ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
		defer cancel()
		errs = append(errs, comp.Close(ctx))
	}
	errs = append(errs, a.eng.Close())
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("close app %s: %w", a.cfg.App, err)
	}
	return nil
}

// Fenced is closed when nothing this component does counts any more: others
// have declared it failed, or it was closed. Before Start it is nil.
func (a *App) Fenced() <-chan struct{} {
	if comp := a.comp.Load(); comp != nil {
		return comp.Fenced()
	}
	return nil
}
