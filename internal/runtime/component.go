package runtime

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pawl-go/pawl/engine"
	"github.com/pawl-go/pawl/engine/actors"
	"github.com/pawl-go/pawl/engine/trace"
)

// maxRunning bounds the invocations that run code at once without waiting in
// the runtime. Beyond it a ready actor waits, without a goroutine.
const maxRunning = 10_000

// Component hosts actors of some types for one engine. It is safe for
// concurrent use.
//
// It is one incarnation of a life: what is asked from outside of methods goes to
// the one that lives, whichever is asked.
type Component struct {
	*life
	cfg     Config
	log     *slog.Logger
	kinds   map[string]*kind
	eng     engine.Engine
	session engine.Session
	gate    Gate           // nil: none
	trace   trace.Recorder // the engine's; nil: off
	joined  chan struct{}  // closed when session is set
	ended   chan struct{}  // closed when the component leaves or is fenced
	end     sync.Once
	leaving atomic.Bool
	// returning: another incarnation is to follow; followed is closed when it does.
	// Heir is the one that tries to.
	returning atomic.Bool
	followed  chan struct{}
	heir      atomic.Pointer[Component]
	coarse    atomic.Int64 // the time, Unix ns, as of the last sweep
	sweep     chan struct{}
	crowded   atomic.Bool // the sweeper has fallen behind; see makeRoom

	mu struct {
		sync.Mutex
		actors   *actors.Table[*actor]
		waits    map[engine.ID]*Pending // who waits for an outcome; linked by also
		boxes    []*mailbox             // free
		running  int                    // runners not waiting in the runtime
		backlog  []*entry               // claimed, no runner yet
		idle     []*runner              // without work
		left     []outOfUse             // not deactivated yet
		draining bool
		stopped  bool          // nothing begins any more
		drained  chan struct{} // closed when draining and nothing runs
		before   *Component    // the incarnation before, until it holds nothing any more
	}
}

// New makes a component. It hosts nothing before Join.
func New(cfg Config) (*Component, error) {
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	c := newIncarnation(cfg, newLife())
	c.newest.Store(c)
	return c, nil
}

func newIncarnation(cfg Config, l *life) *Component {
	c := &Component{
		life:     l,
		cfg:      cfg,
		log:      cfg.Logger,
		kinds:    map[string]*kind{},
		joined:   make(chan struct{}),
		ended:    make(chan struct{}),
		followed: make(chan struct{}),
		sweep:    make(chan struct{}, 1),
	}
	c.mu.actors = actors.NewTable[*actor]()
	c.mu.waits = map[engine.ID]*Pending{}
	for _, t := range cfg.Types {
		c.kinds[t.Name] = &kind{Type: t}
	}
	return c
}

// Join makes the component a member of eng's application: from here on it is
// given requests for its types.
func (c *Component) Join(ctx context.Context, eng engine.Engine) error {
	c.coarse.Store(time.Now().UnixNano())
	c.eng, c.trace = eng, trace.Of(eng)
	s, err := eng.Join(ctx, engine.Component{Name: c.cfg.Name, Types: c.describe()}, handler{c})
	if err != nil {
		return err
	}
	c.session = s
	c.gate, _ = s.(Gate)
	close(c.joined)
	c.wg.Go(c.watch)
	c.wg.Go(c.sweeper)
	return nil
}

func (c *Component) describe() []engine.Type {
	var types []engine.Type
	for _, t := range c.cfg.Types {
		d := engine.Type{Name: t.Name, Identity: t.Identity}
		for name, m := range t.Methods {
			d.Methods = append(d.Methods, engine.Method{Name: name, ReadOnly: m.ReadOnly})
		}
		slices.SortFunc(d.Methods, func(a, b engine.Method) int { return strings.Compare(a.Name, b.Name) })
		types = append(types, d)
	}
	return types
}

// watch ends the incarnation when its session is fenced, and the component if no
// other one follows.
func (c *Component) watch() {
	var limit time.Duration
	select {
	case <-c.session.Fenced():
		limit = c.returns()
		if limit == 0 && !c.leaving.Load() {
			c.log.Warn("component was fenced: nothing it does counts any more", "component", c.cfg.Name)
		}
	case <-c.ended:
	}
	c.returning.Store(limit > 0)
	c.stop()
	if limit == 0 || !c.rejoin(limit) {
		c.extinct()
	}
}

// stop makes every wait return and cancels the contexts of what runs.
func (c *Component) stop() {
	c.end.Do(func() {
		close(c.ended)
		var live []*Invocation
		c.mu.Lock()
		c.mu.stopped = true
		for _, r := range c.mu.idle {
			close(r.work)
		}
		c.mu.idle = nil
		for a := range c.mu.actors.All {
			if a.box == nil {
				continue
			}
			for e := range a.box.line.All {
				if inv := e.inv.Load(); inv != nil {
					live = append(live, inv)
				}
			}
		}
		c.mu.Unlock()
		for _, inv := range live {
			inv.close(errFenced)
		}
	})
}

// Session gives the membership, for what passes the runtime by (the operator,
// the state of other actors). Only after Join.
func (c *Component) Session() engine.Session {
	n := c.newest.Load()
	<-n.joined
	return n.session
}

// Host gives back Config.Host.
func (c *Component) Host() any { return c.cfg.Host }

// Hosts returns a type by name, nil if the component does not host it.
func (c *Component) Hosts(name string) *Type {
	if k := c.kinds[name]; k != nil {
		return k.Type
	}
	return nil
}

// Fenced is closed when nothing the component does counts any more, and it does
// not join again.
func (c *Component) Fenced() <-chan struct{} { return c.over }

// Drain lets what runs end, with all nested in it, and begins nothing else. It
// returns when nothing runs any more, or with the cause of ctx.
func (c *Component) Drain(ctx context.Context) error {
	c = c.life.close()
	c.mu.Lock()
	c.mu.draining = true
	if c.mu.drained == nil {
		c.mu.drained = make(chan struct{})
		c.checkDrained()
	}
	drained := c.mu.drained
	c.mu.Unlock()
	select {
	case <-drained:
		return nil
	case <-c.ended:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// checkDrained is called with mu held.
func (c *Component) checkDrained() {
	if !c.mu.draining || c.mu.drained == nil {
		return
	}
	for a := range c.mu.actors.All {
		if a.box != nil && !a.box.quiet() {
			return
		}
	}
	select {
	case <-c.mu.drained:
	default:
		close(c.mu.drained)
	}
}

// Close leaves the engine. What still runs is cut off: its context is
// cancelled, nothing it does counts, and it will be retried. Close waits for
// the runners until ctx is done.
func (c *Component) Close(ctx context.Context) error {
	var err error
	c = c.life.close()
	select {
	case <-c.joined:
		c.leaving.Store(true)
		err = c.session.Leave(ctx)
		if errors.Is(err, engine.ErrFenced) {
			err = nil
		}
	default:
	}
	c.stop()
	c.extinct()
	done := make(chan struct{})
	go func() { c.wg.Wait(); close(done) }()
	select {
	case <-done:
	case <-ctx.Done():
		return errors.Join(err, context.Cause(ctx))
	}
	c.Deactivate()
	return err
}

// commit waits until the record at p counts, or the component has ended.
func (c *Component) commit(ctx context.Context, p engine.Position) error {
	if c.session.Committed(p) {
		return nil
	}
	return c.session.Wait(ctx, p)
}
