package remote

import (
	"bufio"
	"context"
	"errors"
	"net"
	"sync"
	"time"

	"github.com/pawl-go/pawl/engine"
	"github.com/pawl-go/pawl/engine/remote/wire"
)

// agent stands in the server for a component elsewhere: the engine's handler,
// and the caller of its session. The engine calls it with its locks held, so
// the agent's lock is never held while the engine is called.
type agent struct {
	s       *Server
	name    string
	secret  []byte
	stream  stream
	session engine.Session // set when joined is closed
	joined  chan struct{}
	told    chan struct{}   // closed when the component was told that its session has ended
	ctx     context.Context // ends with the session
	cancel  context.CancelFunc
	reads   waits[*wire.Call]

	serving sync.Mutex // held by the one connection that is served

	mu    sync.Mutex
	begun map[engine.ID]uint32 // the step of which code runs there
	conn  net.Conn             // served, or about to be
	turn  uint64               // counts the connections
	left  bool
	syncs waits[*wire.Call]
}

var _ engine.Handler = (*agent)(nil)

func newAgent(s *Server, name string) *agent {
	a := &agent{s: s, name: name, secret: newSecret(), joined: make(chan struct{}), told: make(chan struct{}), begun: map[engine.ID]uint32{}}
	a.ctx, a.cancel = context.WithCancel(s.ctx)
	a.stream = stream{silence: s.cfg.Heartbeat, wake: make(chan struct{}, 1), take: a.take}
	a.stream.ready = func(p engine.Position) error { return a.session.Wait(a.s.ctx, p) }
	return a
}

// attach serves the component over c until c ends, in the place of the
// connection before. When c was its last, and none comes within the grace, the
// component has failed; when c was silent, it has failed at once.
func (a *agent) attach(c net.Conn, r *bufio.Reader, w wire.Welcome, peer uint64) {
	a.mu.Lock()
	if a.conn != nil {
		_ = a.conn.Close()
	}
	a.turn++
	a.conn = c
	turn := a.turn
	a.mu.Unlock()
	a.serving.Lock()
	defer a.serving.Unlock()
	w.Received = a.stream.received()
	err := a.s.welcome(c, w)
	if err == nil {
		err = c.SetDeadline(time.Time{})
	}
	if err == nil && a.ctx.Err() == nil {
		err = a.stream.serve(c, r, peer)
	}
	a.mu.Lock()
	last, left := a.turn == turn, a.left
	a.mu.Unlock()
	switch {
	case !last || left || a.ctx.Err() != nil:
	case isTimeout(err), errors.Is(err, wire.ErrMalformed):
		a.fail(err)
	default:
		a.s.owned.Go(func() { a.await(turn, err) })
	}
}

// await gives the component the grace to come back.
func (a *agent) await(turn uint64, cause error) {
	grace := time.NewTimer(a.s.cfg.Grace)
	defer grace.Stop()
	select {
	case <-grace.C:
	case <-a.ctx.Done():
		return
	}
	a.mu.Lock()
	back := a.turn != turn
	a.mu.Unlock()
	if !back {
		a.fail(cause)
	}
}

// fail declares the component failed.
func (a *agent) fail(cause error) {
	a.s.cfg.Logger.Warn("engine server: a component has failed", "component", a.name, "session", a.session.Number(), "cause", cause)
	if err := a.s.eng.Fail(a.session); err != nil {
		a.s.cfg.Logger.Error("engine server: cannot record a failure", "component", a.name, "error", err)
	}
}

// watch ends what serves the component when its session has ended.
func (a *agent) watch() {
	defer close(a.told)
	var why wire.Fenced
	select {
	case <-a.session.Fenced():
	case <-a.s.ctx.Done():
		why.Away = true
		if err := a.s.eng.Fail(a.session); err != nil && !errors.Is(err, engine.ErrUnavailable) {
			a.s.cfg.Logger.Error("engine server: cannot record a failure", "component", a.name, "error", err)
		}
	}
	a.s.mu.Lock()
	delete(a.s.mu.agents, a.session.Number())
	a.s.mu.Unlock()
	a.cancel()
	a.mu.Lock()
	c, left := a.conn, a.left
	a.mu.Unlock()
	a.reads.end()
	a.syncs.end()
	if c == nil || left { // the answer to Leave is on its way: the component ends the connection
		return
	}
	_ = c.SetWriteDeadline(time.Now().Add(time.Second))
	_ = send(c, wire.KindFenced, why)
	_ = c.Close()
}

// event queues what the engine tells the component, to leave when the record
// at p counts.
func (a *agent) event(e wire.Event, p engine.Position) {
	a.stream.post(wire.KindEvent, e, nil, p)
}

// last is the newest record: what an event without a record of its own rests on.
func (a *agent) last() engine.Position {
	select {
	case <-a.joined:
		return a.session.Last()
	default:
		return 0
	}
}

// Deliver implements engine.Handler.
func (a *agent) Deliver(d engine.Delivery) {
	a.event(wire.Event{Op: wire.EventDeliver, Delivery: &d}, max(d.At, a.last()))
}

// Respond implements engine.Handler.
func (a *agent) Respond(r engine.Response) {
	a.event(wire.Event{Op: wire.EventRespond, Response: &r}, max(r.At, a.last()))
}

// Cancel implements engine.Handler.
func (a *agent) Cancel(r *engine.Request, o *engine.Outcome, begun bool) {
	a.event(wire.Event{Op: wire.EventCancel, Request: r, Outcome: o, On: begun}, a.last())
}

// Revoke implements engine.Handler.
func (a *agent) Revoke(r *engine.Request) {
	a.event(wire.Event{Op: wire.EventRevoke, Request: r}, a.last())
}

// CallerGone implements engine.Handler.
func (a *agent) CallerGone(r *engine.Request) {
	a.event(wire.Event{Op: wire.EventCallerGone, Request: r}, a.last())
}

// Pause implements engine.Handler.
func (a *agent) Pause(id engine.Actor, on bool) {
	a.event(wire.Event{Op: wire.EventPause, Actor: id, On: on}, a.last())
}

// Forget implements engine.Handler.
func (a *agent) Forget(id engine.Actor) {
	a.event(wire.Event{Op: wire.EventForget, Actor: id}, a.last())
}

// Begun implements engine.Handler from what the component has reported: an
// attempt that begins at this moment may be missed, which its runtime, who
// decides, allows for. See [Server.settle].
func (a *agent) Begun(r *engine.Request) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.begun[r.ID] == r.Step
}

// Read implements engine.Handler.
func (a *agent) Read(ctx context.Context, r *engine.Request) (*engine.Outcome, error) {
	n, ch := a.reads.add()
	a.event(wire.Event{Op: wire.EventRead, N: n, Request: r}, a.last())
	select {
	case c, ok := <-ch:
		if !ok {
			return nil, unavailable("the component that was to read has failed")
		}
		return c.Outcome, c.Error.Err()
	case <-ctx.Done():
		a.reads.drop(n)
		return nil, context.Cause(ctx)
	}
}

// sync gives a channel that ends when the component has taken and answered all
// that was queued before.
func (a *agent) sync() <-chan struct{} {
	done := make(chan struct{})
	n, ch := a.syncs.add()
	a.event(wire.Event{Op: wire.EventSync, N: n}, 0)
	go func() {
		<-ch
		close(done)
	}()
	return done
}

// starts notes that code of an attempt runs, ends that it does not any more.
func (a *agent) starts(by engine.Attempt) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.begun[by.ID] = by.Step
}

func (a *agent) ends(by engine.Attempt) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.begun[by.ID] == by.Step {
		delete(a.begun, by.ID)
	}
}
