package remote

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pawl-go/pawl/engine"
	"github.com/pawl-go/pawl/engine/remote/wire"
)

// session is a component's membership at a server. It lives over connections.
type session struct {
	c       *Client
	handler engine.Handler
	number  uint64
	server  uint64 // that it was joined at
	secret  []byte
	lost    atomic.Bool // it ended since the server went away
	stream  stream
	replies waits[*wire.Reply]
	parts   map[uint64][]engine.Info // of replies that come in parts; the reader's
	seq     atomic.Uint64            // of ids
	newest  atomic.Uint64            // record heard of
	fenced  chan struct{}            // closed when it has ended
	over    chan struct{}            // closed when run has returned
	ctx     context.Context          // ends with it
	once    sync.Once
	cancel  context.CancelFunc
}

var _ engine.Session = (*session)(nil)

func newSession(c *Client, h engine.Handler, w *wire.Welcome) *session {
	s := &session{
		c: c, handler: h, number: w.Session, server: w.Server, secret: w.Secret, parts: map[uint64][]engine.Info{},
		fenced: make(chan struct{}), over: make(chan struct{}),
	}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	s.stream = stream{silence: time.Duration(w.Heartbeat), wake: make(chan struct{}, 1), take: s.take}
	return s
}

// end ends the session here: nothing it does counts any more.
func (s *session) end() {
	s.once.Do(func() {
		s.stream.close() // before anyone hears of the end: the connection may outlive it by a little
		s.cancel()
		s.c.mu.Lock()
		delete(s.c.sessions, s.number)
		s.c.mu.Unlock()
		close(s.fenced)
		s.replies.end()
	})
}

// run serves the session over one connection after another, until the server
// has ended it or cannot be reached.
func (s *session) run(conn net.Conn, r *bufio.Reader) {
	defer close(s.over)
	defer s.end()
	var peer uint64
	for {
		stop := context.AfterFunc(s.ctx, func() { _ = conn.Close() })
		err := s.stream.serve(conn, r, peer)
		stop()
		var w *wire.Welcome
		if s.ctx.Err() == nil && !over(err) {
			conn, r, w, err = s.comeBack()
		}
		switch {
		case s.ctx.Err() != nil: // it was ended here
			if conn != nil {
				_ = conn.Close()
			}
			return
		case err != nil:
			s.lost.Store(s.away(err))
			s.c.log.Warn("remote engine: the session has ended", "session", s.number, "cause", err)
			return
		}
		peer = w.Received
	}
}

// away reports whether a session that ended with an error did because its server
// went away: it said so, or another one answers in its place, or nobody does.
func (s *session) away(err error) bool {
	if r, ok := errors.AsType[*refused](err); ok {
		return r.server != s.server || !errors.Is(err, engine.ErrFenced)
	}
	return !errors.Is(err, errFencedByPeer) && !errors.Is(err, wire.ErrMalformed)
}

// Rejoin says for how long the component may try to join again, now that the
// session has ended: the runtime asks for it (runtime.Rejoiner).
func (s *session) Rejoin() time.Duration {
	if s.lost.Load() {
		return s.c.rejoin
	}
	return 0
}

// comeBack connects anew. The server knows how long it may take; here it is
// tried for the time after which a silent server is given up.
func (s *session) comeBack() (net.Conn, *bufio.Reader, *wire.Welcome, error) {
	ctx, cancel := context.WithTimeout(s.ctx, s.stream.silence)
	defer cancel()
	pause := 5 * time.Millisecond
	for {
		conn, r, w, err := s.c.greet(ctx, wire.Hello{Resume: true, Session: s.number, Secret: s.secret, Received: s.stream.received()})
		if err == nil || errors.Is(err, engine.ErrFenced) {
			return conn, r, w, err
		}
		select {
		case <-time.After(pause):
			pause = min(2*pause, 100*time.Millisecond)
		case <-ctx.Done():
			return nil, nil, nil, err
		}
	}
}

// take handles a frame of the server.
func (s *session) take(f wire.Frame) error {
	switch f.Kind {
	case wire.KindReply:
		r := &wire.Reply{}
		if err := wire.Decode(f.Body, r); err != nil {
			return err
		}
		s.heard(r.At)
		if r.More {
			s.parts[r.N] = append(s.parts[r.N], r.Infos...)
			return nil
		}
		if parts := s.parts[r.N]; parts != nil {
			r.Infos = append(parts, r.Infos...)
			delete(s.parts, r.N)
		}
		s.replies.answer(r.N, r)
		return nil
	case wire.KindEvent:
		var e wire.Event
		if err := wire.Decode(f.Body, &e); err != nil {
			return err
		}
		return s.event(&e)
	}
	return wire.ErrMalformed
}

// event hands to the runtime what the engine says.
func (s *session) event(e *wire.Event) error {
	switch {
	case e.Op == wire.EventDeliver && e.Delivery != nil && e.Delivery.Request != nil:
		s.heard(e.Delivery.At)
		s.handler.Deliver(*e.Delivery)
	case e.Op == wire.EventRespond && e.Response != nil && e.Response.Outcome != nil:
		s.heard(e.Response.At)
		s.handler.Respond(*e.Response)
	case e.Op == wire.EventCancel && e.Request != nil && e.Outcome != nil:
		s.handler.Cancel(e.Request, e.Outcome, e.On)
	case e.Op == wire.EventRevoke && e.Request != nil:
		s.handler.Revoke(e.Request)
	case e.Op == wire.EventCallerGone && e.Request != nil:
		s.handler.CallerGone(e.Request)
	case e.Op == wire.EventPause:
		s.handler.Pause(e.Actor, e.On)
	case e.Op == wire.EventForget:
		s.handler.Forget(e.Actor)
	case e.Op == wire.EventRead && e.Request != nil:
		go func() {
			o, err := s.handler.Read(s.ctx, e.Request)
			s.post(&wire.Call{N: e.N, Op: wire.OpAnswered, Outcome: o, Error: wire.ErrorOf(err)})
		}()
	case e.Op == wire.EventSync:
		s.post(&wire.Call{N: e.N, Op: wire.OpSynced})
	default:
		return fmt.Errorf("%w: event %d", wire.ErrMalformed, e.Op)
	}
	return nil
}

func (s *session) heard(p engine.Position) {
	for {
		old := s.newest.Load()
		if uint64(p) <= old || s.newest.CompareAndSwap(old, uint64(p)) {
			return
		}
	}
}

// post sends a call that has no reply, or whose reply is waited for elsewhere.
// What it holds is the caller's again when post returns.
func (s *session) post(c *wire.Call) {
	body, err := wire.Encode(c)
	if err != nil {
		s.c.log.Error("remote engine: cannot send", "op", c.Op, "error", err)
		return
	}
	s.stream.post(wire.KindCall, nil, body, 0)
}

// ask sends a call and waits for its reply.
func (s *session) ask(ctx context.Context, c *wire.Call) (*wire.Reply, error) {
	n, ch := s.replies.add()
	c.N = n
	body, err := wire.Encode(c)
	if err != nil {
		s.replies.drop(n)
		return nil, err
	}
	s.stream.post(wire.KindCall, nil, body, 0)
	select {
	case r, ok := <-ch:
		if !ok {
			return nil, &engine.Error{Code: engine.ErrFenced, Err: fmt.Errorf("session %d has ended", s.number)}
		}
		return r, r.Error.Err()
	case <-ctx.Done():
		s.replies.drop(n)
		return nil, context.Cause(ctx)
	}
}

// record asks for what is recorded.
func (s *session) record(c *wire.Call) (engine.Position, error) {
	r, err := s.ask(context.Background(), c)
	if err != nil {
		return 0, err
	}
	return r.At, nil
}

func (s *session) Number() uint64 { return s.number }

func (s *session) NewID() engine.ID { return engine.ID{Hi: s.number, Lo: s.seq.Add(1)} }

// Send implements engine.Session.
func (s *session) Send(by engine.Attempt, e *engine.Effects) (engine.Position, error) {
	return s.record(&wire.Call{Op: wire.OpSend, By: by, Effects: e})
}

// Begin implements engine.Session.
func (s *session) Begin(by, under engine.Attempt, writes []engine.Write) (engine.Position, error) {
	return s.record(&wire.Call{Op: wire.OpBegin, By: by, Under: under, Writes: writes})
}

// Finish implements engine.Session.
func (s *session) Finish(by engine.Attempt, e *engine.Effects, o *engine.Outcome) (engine.Position, error) {
	return s.record(&wire.Call{Op: wire.OpFinish, By: by, Effects: e, Outcome: o})
}

// Park implements engine.Session.
func (s *session) Park(by engine.Attempt, f *engine.Failure) (engine.Position, error) {
	return s.record(&wire.Call{Op: wire.OpPark, By: by, Failure: f})
}

// Postpone implements engine.Session.
func (s *session) Postpone(by engine.Attempt) (engine.Position, error) {
	return s.record(&wire.Call{Op: wire.OpPostpone, By: by})
}

// Starting tells the server that an attempt begins, so that it can answer an
// operator's questions. The runtime calls it (runtime.Gate).
func (s *session) Starting(by engine.Attempt, _ *engine.Request) error {
	s.post(&wire.Call{Op: wire.OpStarting, By: by})
	return nil
}

// Committed implements engine.Session: nothing is heard of before it counts.
func (s *session) Committed(engine.Position) bool { return true }

// Wait implements engine.Session.
func (s *session) Wait(context.Context, engine.Position) error { return nil }

// Last implements engine.Session: the newest record heard of.
func (s *session) Last() engine.Position { return engine.Position(s.newest.Load()) }

// Attach implements engine.Session.
func (s *session) Attach(id engine.ID) error {
	_, err := s.ask(context.Background(), &wire.Call{Op: wire.OpAttach, ID: id})
	return err
}

// Detach implements engine.Session.
func (s *session) Detach(id engine.ID) { s.post(&wire.Call{Op: wire.OpDetach, ID: id}) }

// Read implements engine.Session.
func (s *session) Read(ctx context.Context, r *engine.Request) (*engine.Outcome, engine.Position, error) {
	x, err := s.ask(ctx, &wire.Call{Op: wire.OpRead, Request: r})
	if err != nil {
		return nil, 0, err
	}
	return x.Outcome, x.At, nil
}

// Load implements engine.Session.
func (s *session) Load(ctx context.Context, a engine.Actor) ([]engine.Cell, error) {
	r, err := s.ask(ctx, &wire.Call{Op: wire.OpLoad, Actor: a})
	if err != nil {
		return nil, err
	}
	return r.Cells, nil
}

// Lookup implements engine.Session.
func (s *session) Lookup(ctx context.Context, a engine.Actor, k engine.Key) ([]byte, bool, error) {
	r, err := s.ask(ctx, &wire.Call{Op: wire.OpLookup, Actor: a, Key: k})
	if err != nil {
		return nil, false, err
	}
	return r.Value, r.OK, nil
}

// Scan implements engine.Session.
func (s *session) Scan(ctx context.Context, a engine.Actor, cell, from string, limit int) ([]engine.Cell, error) {
	r, err := s.ask(ctx, &wire.Call{Op: wire.OpScan, Actor: a, Key: engine.Key{Cell: cell}, From: from, Limit: limit})
	if err != nil {
		return nil, err
	}
	return r.Cells, nil
}

// Reminders implements engine.Session.
func (s *session) Reminders(ctx context.Context, a engine.Actor) ([]engine.Reminder, error) {
	r, err := s.ask(ctx, &wire.Call{Op: wire.OpReminders, Actor: a})
	if err != nil {
		return nil, err
	}
	return r.Reminders, nil
}

// Release implements engine.Session.
func (s *session) Release(as ...engine.Actor) {
	for _, a := range as {
		s.post(&wire.Call{Op: wire.OpRelease, Actor: a})
	}
}

// Members implements engine.Session. It is empty once the session has ended.
func (s *session) Members() []engine.Member {
	r, err := s.ask(context.Background(), &wire.Call{Op: wire.OpMembers})
	if err != nil {
		return nil
	}
	return r.Members
}

// Operator implements engine.Session.
func (s *session) Operator() engine.Operator { return operator{s} }

// Fenced implements engine.Session.
func (s *session) Fenced() <-chan struct{} { return s.fenced }

// Leave implements engine.Session.
func (s *session) Leave(ctx context.Context) error {
	_, err := s.ask(ctx, &wire.Call{Op: wire.OpLeave})
	s.end()
	return err
}
