package runtime

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pawl-go/pawl/engine"
)

// Invocation is one attempt of one step, and the context that its method gets.
// It is never used for another. It ends, as a context, when nothing its code
// does can count any more: when the attempt has ended or was fenced.
//
// The calls are for the goroutine of the method and those it starts and waits
// for; of these one waits for an outcome at a time.
type Invocation struct {
	c    *Component
	e    *entry
	req  *engine.Request
	n    uint32
	m    *Method
	inst Instance
	read bool // read-only: bound to a copy

	mu struct {
		sync.Mutex
		err   error
		done  chan struct{} // made by who asks
		after map[*afterFunc]struct{}
		gone  chan struct{}           // of CallerGone; made by who asks
		isGo  bool                    // the caller has gone
		held  []*engine.Request       // tells that leave with the next request
		last  []*engine.Request       // tells that leave with the outcome
		rems  []engine.ReminderChange // recorded with the outcome, or at Sync
	}
	over atomic.Bool         // mu.err is set
	host atomic.Pointer[any] // of SetHost

	// Guarded by Component.mu.
	out     atomic.Int32  // nested calls without an outcome yet; changed under the lock
	joining chan struct{} // closed when out is 0
	waiting bool          // one goroutine waits

	eff engine.Effects // of the outcome; kept here to save an allocation
}

type invocationKey struct{}

// From returns the invocation that ctx belongs to, nil outside of methods.
func From(ctx context.Context) *Invocation {
	if inv, ok := ctx.(*Invocation); ok {
		return inv
	}
	inv, _ := ctx.Value(invocationKey{}).(*Invocation)
	return inv
}

// Deadline implements context.Context: an attempt has none.
func (inv *Invocation) Deadline() (time.Time, bool) { return time.Time{}, false }

// Value implements context.Context.
func (inv *Invocation) Value(key any) any {
	if key == (invocationKey{}) {
		return inv
	}
	return nil
}

// Done implements context.Context.
func (inv *Invocation) Done() <-chan struct{} {
	inv.mu.Lock()
	defer inv.mu.Unlock()
	if inv.mu.done == nil {
		inv.mu.done = make(chan struct{})
		if inv.mu.err != nil {
			close(inv.mu.done)
		}
	}
	return inv.mu.done
}

// Err implements context.Context: context.Canceled once the attempt is over.
func (inv *Invocation) Err() error {
	inv.mu.Lock()
	defer inv.mu.Unlock()
	if inv.mu.err != nil {
		return context.Canceled
	}
	return nil
}

type afterFunc struct{ f func() }

// AfterFunc makes contexts derived from an invocation cost no goroutine
// (package context looks for it).
func (inv *Invocation) AfterFunc(f func()) (stop func() bool) {
	inv.mu.Lock()
	defer inv.mu.Unlock()
	if inv.mu.err != nil {
		go f()
		return func() bool { return false }
	}
	a := &afterFunc{f}
	if inv.mu.after == nil {
		inv.mu.after = map[*afterFunc]struct{}{}
	}
	inv.mu.after[a] = struct{}{}
	return func() bool {
		inv.mu.Lock()
		defer inv.mu.Unlock()
		_, ok := inv.mu.after[a]
		delete(inv.mu.after, a)
		return ok
	}
}

// Why an attempt is over: errors made once, since every attempt ends with one.
var (
	errEnded    error = engine.ErrEnded
	errFenced   error = engine.ErrFenced
	errCanceled error = engine.ErrCanceled
)

// close ends the attempt as a context.
func (inv *Invocation) close(why error) {
	inv.mu.Lock()
	defer inv.mu.Unlock()
	if inv.mu.err != nil {
		return
	}
	inv.mu.err = why
	inv.over.Store(true)
	if inv.mu.done != nil {
		close(inv.mu.done)
	}
	for a := range inv.mu.after {
		go a.f()
	}
	inv.mu.after = nil
}

// Check returns nil while the code of the attempt may act, else ErrEnded.
func (inv *Invocation) Check() error {
	if !inv.over.Load() {
		return nil
	}
	inv.mu.Lock()
	err := inv.mu.err
	inv.mu.Unlock()
	return inv.errorf(engine.ErrEnded, "the attempt is over (%w): its context was kept, or one of its goroutines outlives it", err)
}

func (inv *Invocation) errorf(code engine.Code, format string, args ...any) error {
	return &engine.Error{
		Code: code, Invocation: inv.req.ID.String(), Actor: inv.req.Actor.String(), Method: inv.req.Method,
		Err: fmt.Errorf(format, args...),
	}
}

// writable refuses what a read-only method must not do.
func (inv *Invocation) writable(what string) error {
	if err := inv.Check(); err != nil {
		return err
	}
	if inv.read {
		return inv.errorf(engine.ErrReadOnly, "a read-only method cannot %s", what)
	}
	return nil
}

// ID is the invocation's id, the same over its steps and attempts.
func (inv *Invocation) ID() engine.ID { return inv.req.ID }

// Step counts the tail calls that led here, from 1.
func (inv *Invocation) Step() uint32 { return inv.req.Step }

// Attempt counts the attempts of the step, from 1.
func (inv *Invocation) Attempt() int { return int(inv.n) }

// Self is the actor on which it runs.
func (inv *Invocation) Self() engine.Actor { return inv.req.Actor }

// Method is the method's name, as it was called.
func (inv *Invocation) Method() string { return inv.req.Method }

// Request is what is being run. It must not be changed.
func (inv *Invocation) Request() *engine.Request { return inv.req }

// Token is the actor's fence token: it rises with every placement and epoch.
func (inv *Invocation) Token() uint64 { return inv.e.d.Token }

// Component is where it runs.
func (inv *Invocation) Component() *Component { return inv.c }

// Session is the membership under which it was begun, which is the one that its
// records are of: not that of Component, once the component has joined again.
func (inv *Invocation) Session() engine.Session { return inv.c.session }

// Instance is the instance on which it runs.
func (inv *Invocation) Instance() Instance { return inv.inst }

// ReadOnly reports whether it runs on a copy, and must not write or send.
func (inv *Invocation) ReadOnly() bool { return inv.read }

// Host is what SetHost has kept for the host.
func (inv *Invocation) Host() any {
	if v := inv.host.Load(); v != nil {
		return *v
	}
	return nil
}

// SetHost keeps something for the host.
func (inv *Invocation) SetHost(v any) { inv.host.Store(&v) }

// CallerGone is closed when the caller has failed: the outcome will only
// serve its retry.
func (inv *Invocation) CallerGone() <-chan struct{} {
	inv.mu.Lock()
	defer inv.mu.Unlock()
	if inv.mu.gone == nil {
		inv.mu.gone = make(chan struct{})
		if inv.mu.isGo {
			close(inv.mu.gone)
		}
	}
	return inv.mu.gone
}

// callerGone is called with Component.mu held.
func (inv *Invocation) callerGone() {
	inv.mu.Lock()
	defer inv.mu.Unlock()
	if inv.mu.isGo {
		return
	}
	inv.mu.isGo = true
	if inv.mu.gone != nil {
		close(inv.mu.gone)
	}
}

func (inv *Invocation) attempt() engine.Attempt {
	return engine.Attempt{ID: inv.req.ID, Step: inv.req.Step, N: inv.n}
}
