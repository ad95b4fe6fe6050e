package runtime

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pawl-go/pawl/engine"
)

// Rejoiner is what a session may be besides, if its engine can go away without
// this process and come back.
type Rejoiner interface {
	// Rejoin says, once the session has ended, for how long the component may try
	// to join the engine again. 0: not at all; it was declared failed, or has left.
	Rejoin() time.Duration
}

// life is what the incarnations of a component share. An incarnation is one
// membership, with all that was delivered under it: a Component. When its
// session has ended because the engine went away, another one follows:
//
//   - What ran counts no more, as after the death of the process, and is
//     delivered anew to whoever hosts its types: to the next incarnation, too.
//   - On an actor on which code of an incarnation before still runs, and until its
//     instance was deactivated, the next one begins nothing (Component.occupies).
//   - Waits from outside of methods go on: the next incarnation attaches to their
//     ids. A request of which it is not known whether it was recorded is looked
//     up, and sent again only if it was not.
type life struct {
	wg     sync.WaitGroup // runners, sweepers and watches
	newest atomic.Pointer[Component]
	over   chan struct{}   // closed when the last incarnation has ended
	ctx    context.Context // ends when no other one may follow
	last   context.CancelFunc
	once   sync.Once
	mu     sync.Mutex // orders last and the change of newest
}

func newLife() *life {
	l := &life{over: make(chan struct{})}
	l.ctx, l.last = context.WithCancel(context.Background())
	return l
}

// extinct says that the last incarnation has ended.
func (l *life) extinct() { l.once.Do(func() { close(l.over) }) }

// close lets no other incarnation follow, and gives the one there is.
func (l *life) close() *Component {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.last()
	return l.newest.Load()
}

// follow puts n, which has joined, in the place of the incarnation before it.
func (l *life) follow(before, n *Component) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ctx.Err() != nil {
		return false
	}
	l.newest.Store(n)
	close(before.followed)
	return true
}

// present gives the incarnation that lives. While the component joins again it
// waits for that, or for the end of ctx: nothing has left then.
func (l *life) present(ctx context.Context) (*Component, error) {
	for {
		n := l.newest.Load()
		select {
		case <-n.ended:
		default:
			return n, nil
		}
		select {
		case <-n.followed:
		case <-l.over:
			return nil, n.open()
		case <-ctx.Done():
			return nil, &engine.Error{Code: engine.ErrUnavailable, Err: fmt.Errorf("the component joins its engine again: %w", context.Cause(ctx))}
		}
	}
}

// after gives the incarnation that lives when c, whose session has ended, has.
func (c *Component) after(ctx context.Context) (*Component, error) {
	select {
	case <-c.ended:
		return c.present(ctx)
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// returns says for how long the component may try to join again.
func (c *Component) returns() time.Duration {
	s, ok := c.session.(Rejoiner)
	if !ok || c.leaving.Load() || c.life.ctx.Err() != nil {
		return 0
	}
	return s.Rejoin()
}

// The pauses between two attempts to join again.
const (
	firstPause   = 20 * time.Millisecond
	longestPause = time.Second
)

// rejoin lets another incarnation follow c, and reports whether one does.
func (c *Component) rejoin(limit time.Duration) bool {
	log := c.log.With("component", c.cfg.Name, "session", c.session.Number())
	log.Warn("the engine went away: what ran here will be run again; joining it again", "trying_for", limit)
	c.wg.Go(c.vacateAll)
	began := time.Now()
	ctx, cancel := context.WithTimeout(c.life.ctx, limit)
	defer cancel()
	for pause := firstPause; ; pause = min(2*pause, longestPause) {
		n := newIncarnation(c.cfg, c.life)
		n.mu.before = c
		c.heir.Store(n)
		err := n.Join(ctx, c.eng)
		switch {
		case err == nil && c.follow(c, n):
			log.Info("joined again", "new_session", n.session.Number(), "after", time.Since(began))
			return true
		case err == nil: // the component is being closed
			n.leaving.Store(true)
			err = n.session.Leave(ctx)
			fallthrough
		default:
			n.stop()
		}
		if ctx.Err() == nil && errors.Is(err, engine.ErrUnavailable) {
			log.Debug("cannot join yet", "error", err)
			select {
			case <-time.After(pause/2 + c.cfg.Jitter(pause)):
				continue
			case <-ctx.Done():
			}
		}
		if c.life.ctx.Err() == nil {
			log.Error("could not join again: the component has ended", "after", time.Since(began), "error", err)
		}
		return false
	}
}

// occupies reports whether an actor is still with c or an incarnation before it:
// code of theirs runs there, or its instance is there yet.
func (c *Component) occupies(id engine.Actor) bool {
	if c == nil {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.mu.actors.Get(id) != nil || c.mu.before.occupies(id)
}

// vacateAll lets go of all actors on which no code runs.
func (c *Component) vacateAll() {
	c.mu.Lock()
	all := make(chan *actor, c.mu.actors.Len())
	for a := range c.mu.actors.All {
		all <- a
	}
	c.mu.Unlock()
	close(all)
	const atOnce = 16 // a hook may ask another process
	for range min(atOnce, len(all)) {
		c.wg.Go(func() {
			for a := range all {
				c.vacate(a)
			}
		})
	}
}

// vacate lets go of an actor if no code runs on it any more: its instance is
// deactivated, and the incarnation that follows c may begin there.
func (c *Component) vacate(a *actor) {
	c.mu.Lock()
	held := a.leaving || c.mu.actors.Get(a.Actor()) != a || a.box != nil && !a.box.quiet()
	if !held {
		a.leaving = true
		a.kind.removeIdle(a)
		if l, ok := a.inst.(Leaver); ok {
			l.Leave()
		}
	}
	c.mu.Unlock()
	if held {
		return
	}
	c.deactivate(a.Actor(), a.inst)
	c.mu.Lock()
	c.mu.actors.Remove(a)
	c.mu.Unlock()
	for n := c.heir.Load(); n != nil; n = n.heir.Load() {
		n.vacated(a.Actor())
	}
}

// vacated begins what waited for an actor to be let go.
func (c *Component) vacated(id engine.Actor) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.mu.before.empty() {
		c.mu.before = nil
	}
	if a := c.mu.actors.Get(id); a != nil {
		c.schedule(a)
	}
}

// empty reports whether c and those before it hold nothing any more.
func (c *Component) empty() bool {
	if c == nil {
		return true
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.mu.actors.Len() == 0 && c.mu.before.empty()
}
