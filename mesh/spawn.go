package mesh

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/pawl-go/pawl/mesh/internal/wire"
)

// Handler handles one message at a time. An error, or a panic, ends the actor's
// life; see [Restart]. c is valid until it returns.
type Handler[M any] func(c *Context, m M) error

// RestartWhen says which ends of life are followed by another life.
type RestartWhen uint8

// The cases. After a shutdown or an abort, and when its node stops, an actor is
// never restarted.
const (
	RestartNever   RestartWhen = iota
	RestartOnError             // after an error or a panic
	RestartAlways              // also after Context.Stop
)

// spawnOptions is what SpawnOptions set.
type spawnOptions struct {
	when   RestartWhen
	most   int
	within time.Duration
	onExit func(Exit)
	quick  bool
}

// SpawnOption is an option of [Spawn] and [SpawnNew].
type SpawnOption func(*spawnOptions)

// Restart has an actor restarted: its next life has a new handler (see
// [SpawnNew]) and the same mailbox, less the message it failed in. When it would
// be restarted more than most times within a time, it ends instead; 0 and 0 are 3
// times within 5 seconds.
func Restart(when RestartWhen, most int, within time.Duration) SpawnOption {
	return func(o *spawnOptions) {
		o.when = when
		if most > 0 {
			o.most = most
		}
		if within > 0 {
			o.within = within
		}
	}
}

// Quick promises that the handler takes microseconds and waits for nothing, no lock of
// a caller's either, as one does that computes on what it has. A call that finds the
// actor idle is then handled by who brings it, which saves two changes of goroutine: one
// of this node by its caller, one of another by the goroutine that reads the connection.
// A handler that breaks the promise holds its caller up whatever the call's timeout, or
// delays all that comes by the same lane, and a call of its own to that node may never be
// answered.
func Quick() SpawnOption {
	return func(o *spawnOptions) { o.quick = true }
}

// OnExit calls f when a life of the actor has ended, on the actor's goroutine,
// before its monitors are told.
func OnExit(f func(Exit)) SpawnOption {
	return func(o *spawnOptions) { o.onExit = f }
}

// Errors of Spawn.
var (
	// ErrNameTaken: an actor of this node has that name.
	ErrNameTaken = errors.New("mesh: the name is taken")
	// ErrBadName: a name has 1 to 255 bytes, and does not begin with "~".
	ErrBadName = errors.New("mesh: a name has 1 to 255 bytes and does not begin with ~")
)

// Spawn starts an actor on n: whoever sends to name on this node reaches handler,
// which may be called from the first message on. M is a registered type, an interface that some
// of them implement, or, if nobody on another node sends to it, any type. With an
// empty name the actor gets one that is never used again.
//
// It fails with [ErrNameTaken], [ErrBadName], or a [SendError] of
// [SendNotRunning].
func Spawn[M any](n *Node, name string, handler Handler[M], options ...SpawnOption) (*Ref[M], error) {
	return SpawnNew(n, name, func(*Context) (Handler[M], error) { return handler, nil }, options...)
}

// SpawnNew is [Spawn] for an actor with state: makeHandler makes the handler of
// each life, with what it keeps, on the actor's goroutine. While it runs, messages
// wait. An error of it is as an error of the handler.
func SpawnNew[M any](n *Node, name string, makeHandler func(*Context) (Handler[M], error), options ...SpawnOption) (*Ref[M], error) {
	if len(name) > wire.MaxName || strings.HasPrefix(name, "~") {
		return nil, fmt.Errorf("spawn %.20q: %w", name, ErrBadName)
	}
	if name == "" {
		name = "~" + strconv.FormatUint(n.incarnation, 36) + "." + strconv.FormatUint(n.unnamed.Add(1), 36)
	}
	c := &cell[M]{make: makeHandler, atMost: -1, in: chunks[M]{large: chunkPool[M](n)}}
	c.core = core{node: n, name: name, self: c, status: Initialising, opts: spawnOptions{most: 3, within: 5 * time.Second}}
	for _, o := range options {
		o(&c.opts)
	}
	if err := n.actors.add(c); err != nil {
		return nil, err
	}
	c.mu.Lock()
	c.wake()
	c.mu.Unlock()
	return At(n, Address[M]{n.id, name}), nil
}

// endOfLife ends a life, and reports whether another one begins.
func (c *cell[M]) endOfLife(err error) bool {
	exit := exitOf(err)
	exit.Restarting = c.restarting(err)
	if c.handler == nil && !errors.Is(err, errAborted) {
		c.node.log.Warn("actor could not be initialised", "actor", c.name, "err", exit.Detail, "restarting", exit.Restarting)
	} else if exit.Reason == ExitError || exit.Reason == ExitPanic {
		c.node.logFailure(c.name, exit, err)
	}
	if c.opts.onExit != nil {
		c.callOnExit(exit)
	}
	c.handler, c.ctx = nil, nil
	if exit.Restarting {
		c.notify(exit)
		return true
	}
	c.end(exit)
	return false
}

func exitOf(err error) Exit {
	switch {
	case errors.Is(err, errDrained), errors.Is(err, errStopped):
		return Exit{Reason: ExitNormal}
	case errors.Is(err, errAborted):
		return Exit{Reason: ExitAborted}
	}
	if p, ok := errors.AsType[*panicError](err); ok {
		return Exit{Reason: ExitPanic, Detail: fmt.Sprint(p.value)}
	}
	return Exit{Reason: ExitError, Detail: err.Error()}
}

// restarting decides whether err is followed by another life, and begins it.
func (c *cell[M]) restarting(err error) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.endLife()
	if errors.Is(err, errDrained) || errors.Is(err, errAborted) || c.closed {
		return false
	}
	if c.opts.when == RestartNever || c.opts.when == RestartOnError && errors.Is(err, errStopped) {
		return false
	}
	now := time.Now()
	recent := c.restarts[:0]
	for _, t := range c.restarts {
		if now.Sub(t) < c.opts.within {
			recent = append(recent, t)
		}
	}
	c.restarts = recent
	if len(recent) >= c.opts.most {
		return false
	}
	c.restarts = append(c.restarts, now)
	c.status = Initialising
	return true
}

func (c *cell[M]) callOnExit(exit Exit) {
	defer func() {
		if v := recover(); v != nil {
			c.node.log.Error("OnExit panicked", "actor", c.name, "panic", v)
		}
	}()
	c.opts.onExit(exit)
}

// end is the end of the actor: its name is free, what waits is dropped, monitors are told.
func (c *cell[M]) end(exit Exit) {
	c.mu.Lock()
	c.closed = true
	c.status = Exited
	c.giveRoom()
	c.mu.Unlock()
	for _, e := range c.drain() {
		c.node.drop(ReasonExited, c.letter(&e))
		if e.req != nil {
			e.req.refuse(RemoteClosed, "")
		}
	}
	c.node.actors.remove(c)
	c.notify(exit)
	c.node.actors.less() // after the notices: a node that leaves says goodbye behind them
}
