package runtime

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/pawl-go/pawl/engine"
)

// Pending is the wait for the outcome of one invocation. It is made by the
// calls of Component and Invocation. Outside of methods any number of
// goroutines may Wait, any number of times.
type Pending struct {
	c      *Component
	id     engine.ID
	inv    *Invocation // who waits, if a method does
	nested bool        // counted in inv.out
	retry  *entry      // not a wait of code: a retry held back until the outcome
	also   *Pending    // the next one that waits for the same id
	err    error       // the request did not leave

	claimed atomic.Pointer[entry] // the entry that the caller is to run itself
	settled atomic.Bool           // resp is there

	// Guarded by Component.mu; resp until it is settled.
	inline bool          // the caller would run it itself
	ready  chan struct{} // closed when it is settled; made by who blocks
	resp   engine.Response

	// The request lives in the same allocation.
	req  engine.Request
	reqs [1]*engine.Request
	eff  engine.Effects
}

// ID names the invocation that is waited for.
func (p *Pending) ID() engine.ID { return p.id }

// Wait returns the outcome, once it may leave (outside of methods) or at once
// (inside). The end of ctx ends the wait, not the invocation: ErrOutcomeUnknown
// with the id to attach to. In a method one goroutine waits at a time.
func (p *Pending) Wait(ctx context.Context) (*engine.Outcome, error) {
	switch {
	case p.err != nil:
		return nil, p.err
	case p.inv != nil:
		return p.inv.await(ctx, p)
	}
	return p.await(ctx)
}

// Settled is closed when the outcome is there, or none is to come (the request did
// not leave), so that Wait returns without blocking for it. It is for who has several waits.
func (p *Pending) Settled() <-chan struct{} {
	p.c.mu.Lock()
	defer p.c.mu.Unlock()
	if p.ready == nil {
		p.ready = make(chan struct{})
		if p.settled.Load() || p.err != nil {
			close(p.ready)
		}
	}
	return p.ready
}

// await waits outside of methods.
func (p *Pending) await(ctx context.Context) (*engine.Outcome, error) {
	c := p.c
	claimed := p.claimed.Load()
	if claimed == nil {
		c.mu.Lock()
		p.inline, claimed = false, p.claimed.Load()
		c.mu.Unlock()
	}
	if claimed != nil {
		c.runInline(claimed)
	}
	if err := p.block(ctx); err != nil {
		return p.follow(ctx, err)
	}
	if err := c.commit(ctx, p.resp.At); err != nil {
		return nil, p.unknown(err)
	}
	if c.trace != nil {
		c.traceRelease("answer", p.id, p.resp.At, p.resp.Outcome)
	}
	return p.resp.Outcome, nil
}

// follow waits on, outside of methods, when a wait has ended with the incarnation
// that it was made in: in the one after it.
func (p *Pending) follow(ctx context.Context, ended error) (*engine.Outcome, error) {
	if !errors.Is(ended, engine.ErrFenced) {
		return nil, ended
	}
	n, err := p.c.present(ctx)
	switch {
	case errors.Is(err, engine.ErrFenced):
		return nil, ended
	case err != nil:
		return nil, p.unknown(context.Cause(ctx))
	}
	q := n.attach(p.id)
	q.req = p.req
	o, err := q.Wait(ctx)
	if err != nil {
		q.giveUp()
	}
	return o, err
}

// giveUp ends the wait.
func (p *Pending) giveUp() {
	p.c.dropWait(p)
	p.c.session.Detach(p.id)
}

// block waits until the outcome is there.
func (p *Pending) block(ctx context.Context) error {
	if p.settled.Load() {
		return nil
	}
	c := p.c
	c.mu.Lock()
	if p.settled.Load() {
		c.mu.Unlock()
		return nil
	}
	if p.ready == nil {
		p.ready = make(chan struct{})
	}
	ready := p.ready
	c.mu.Unlock()
	select {
	case <-ready:
		return nil
	case <-ctx.Done():
		return p.unknown(context.Cause(ctx))
	case <-c.ended:
		return p.unknown(engine.ErrFenced)
	}
}

// unknown says that the wait ended and the invocation may go on.
func (p *Pending) unknown(cause error) error {
	return &engine.Error{
		Code:       engine.ErrOutcomeUnknown,
		Invocation: p.id.String(),
		Actor:      p.actorName(),
		Method:     p.req.Method,
		Err:        fmt.Errorf("wait for the outcome: %w", cause),
	}
}

func (p *Pending) actorName() string {
	if p.req.Actor == (engine.Actor{}) {
		return ""
	}
	return p.req.Actor.String()
}

// addWait registers a wait. mu is held.
func (c *Component) addWait(id engine.ID, p *Pending) {
	p.also = c.mu.waits[id]
	c.mu.waits[id] = p
}

// dropWait takes a wait out again.
func (c *Component) dropWait(p *Pending) {
	c.mu.Lock()
	defer c.mu.Unlock()
	head := c.mu.waits[p.id]
	if head == p {
		if p.also == nil {
			delete(c.mu.waits, p.id)
		} else {
			c.mu.waits[p.id] = p.also
		}
		return
	}
	for ; head != nil; head = head.also {
		if head.also == p {
			head.also = p.also
			return
		}
	}
}
