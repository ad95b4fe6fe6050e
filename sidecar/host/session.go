package host

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/pawl-go/pawl/engine"
	"github.com/pawl-go/pawl/internal/runtime"
)

// ErrNoSession says that a request names a session that is unknown, or whose
// attempt has ended: nothing it asks for counts.
var ErrNoSession = errors.New("no such session")

// Session is a running attempt, by the name under which the application knows
// it: flow:request, where request names invocation, step and attempt.
type Session struct {
	host *Host
	name string
	inv  *runtime.Invocation

	mu struct {
		sync.Mutex
		ended   bool
		out     []*nested // calls without an answer yet
		waiting bool      // the goroutine wait is there
		nudge   context.CancelFunc
	}
	promised []engine.ID    // guarded by Host.mu
	wg       sync.WaitGroup // of wait
}

// nested is a nested call that is out.
type nested struct {
	s    *Session
	p    *runtime.Pending
	done chan struct{} // closed when o and err are there
	o    *engine.Outcome
	err  error
}

// open makes the session of an attempt.
func (h *Host) open(inv *runtime.Invocation) *Session {
	root := inv.Request().Root().ID
	s := &Session{host: h, inv: inv, name: fmt.Sprintf("%v:%v.%d.%d", root, inv.ID(), inv.Step(), inv.Attempt())}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.mu.sessions[s.name] = s
	h.mu.running[inv.Self()] = append(h.mu.running[inv.Self()], s)
	return s
}

// close ends the session: its calls still out are not answered any more. The
// turn is the attempt's again when it returns.
func (s *Session) close() {
	h, self := s.host, s.inv.Self()
	h.mu.Lock()
	delete(h.mu.sessions, s.name)
	rest := slices.DeleteFunc(h.mu.running[self], func(o *Session) bool { return o == s })
	if len(rest) == 0 {
		delete(h.mu.running, self)
	} else {
		h.mu.running[self] = rest
	}
	for _, id := range s.promised {
		delete(h.mu.promises, id)
	}
	h.mu.Unlock()

	s.mu.Lock()
	s.mu.ended = true
	if s.mu.nudge != nil {
		s.mu.nudge()
	}
	s.mu.Unlock()
	s.wg.Wait()
	for _, n := range s.mu.out { // nobody else is left
		n.settle(nil, fmt.Errorf("%w: %s: its method has returned without waiting for the call", ErrNoSession, s.name))
	}
}

// Session finds a running attempt by its name.
func (h *Host) Session(name string) (*Session, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if s := h.mu.sessions[name]; s != nil {
		return s, nil
	}
	return nil, fmt.Errorf("%w: %q: its invocation has ended, or runs elsewhere; to call independently of it, leave the session out",
		ErrNoSession, name)
}

// Running is the innermost attempt that runs on an actor here, nil for none.
func (h *Host) Running(a engine.Actor) *runtime.Invocation {
	h.mu.Lock()
	defer h.mu.Unlock()
	if ss := h.mu.running[a]; len(ss) > 0 {
		return ss[len(ss)-1].inv
	}
	return nil
}

// Call makes a nested call and waits for its outcome; the end of ctx ends the
// wait only. Any number may be out at once.
func (s *Session) Call(ctx context.Context, call runtime.Call) (*engine.Outcome, error) {
	n, err := s.start(call)
	if err != nil {
		return nil, err
	}
	return n.wait(ctx)
}

// Start makes a nested call to be waited for by Host.Await.
func (s *Session) Start(call runtime.Call) (engine.ID, error) {
	n, err := s.start(call)
	if err != nil {
		return engine.ID{}, err
	}
	s.host.mu.Lock()
	defer s.host.mu.Unlock()
	s.host.mu.promises[n.p.ID()] = n
	s.promised = append(s.promised, n.p.ID())
	return n.p.ID(), nil
}

// Tell makes an independent call that nobody waits for, ahead of the outcome.
func (s *Session) Tell(ctx context.Context, call runtime.Call) error {
	call.Immediately = true
	if _, err := s.inv.Tell(ctx, call); err != nil {
		return err
	}
	session := s.inv.Session()
	return session.Wait(ctx, session.Last())
}

func (s *Session) start(call runtime.Call) (*nested, error) {
	p, err := s.inv.Go(s.inv, call)
	if err != nil {
		return nil, err
	}
	return &nested{s: s, p: p, done: make(chan struct{})}, nil
}

// Await waits for a promise that a session here has made. Not ok: there is none
// of that id.
func (h *Host) Await(ctx context.Context, id engine.ID) (o *engine.Outcome, ok bool, err error) {
	h.mu.Lock()
	n := h.mu.promises[id]
	delete(h.mu.promises, id)
	h.mu.Unlock()
	if n == nil {
		return nil, false, nil
	}
	o, err = n.wait(ctx)
	return o, true, err
}

// wait gives the attempt's turn up until the outcome of n is there.
func (n *nested) wait(ctx context.Context) (*engine.Outcome, error) {
	s := n.s
	s.mu.Lock()
	if s.mu.ended {
		s.mu.Unlock()
		return nil, fmt.Errorf("%w: %s: its method has returned", ErrNoSession, s.name)
	}
	s.mu.out = append(s.mu.out, n)
	if !s.mu.waiting {
		s.mu.waiting = true
		s.wg.Go(s.wait)
	}
	s.mu.Unlock()
	select {
	case <-n.p.Settled():
		s.mu.Lock()
		if s.mu.nudge != nil {
			s.mu.nudge()
		}
		s.mu.Unlock()
	case <-n.done:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	<-n.done
	return n.o, n.err
}

// wait is the one goroutine of the attempt that waits in the runtime, for all
// calls that are out: for one of them, until any has ended.
func (s *Session) wait() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.mu.out) > 0 && !s.mu.ended {
		n := s.mu.out[max(0, slices.IndexFunc(s.mu.out, (*nested).settled))]
		ctx, nudge := context.WithCancel(s.inv)
		s.mu.nudge = nudge
		s.mu.Unlock()
		o, err := n.p.Wait(ctx)
		s.mu.Lock()
		s.mu.nudge = nil
		nudged := ctx.Err() != nil && s.inv.Err() == nil
		nudge()
		if err != nil && nudged {
			continue // another one has ended, or the method
		}
		s.mu.out = slices.DeleteFunc(s.mu.out, func(o *nested) bool { return o == n })
		n.settle(o, err)
	}
	s.mu.waiting = false
}

func (n *nested) settled() bool {
	select {
	case <-n.p.Settled():
		return true
	default:
		return false
	}
}

func (n *nested) settle(o *engine.Outcome, err error) {
	n.o, n.err = o, err
	close(n.done)
}
