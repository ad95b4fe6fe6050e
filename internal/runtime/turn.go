package runtime

import (
	"context"

	"github.com/pawl-go/pawl/engine"
	"github.com/pawl-go/pawl/engine/trace"
	"github.com/pawl-go/pawl/internal/mutant"
)

// await waits in a method: it gives the turn up, runs the callee on this
// goroutine if it may, and takes the turn back before it returns, also when
// ctx ended the wait.
func (inv *Invocation) await(ctx context.Context, p *Pending) (*engine.Outcome, error) {
	c := inv.c
	c.mu.Lock()
	if err := inv.Check(); err != nil {
		p.leaveToOthers()
		c.mu.Unlock()
		return nil, err
	}
	if p.settled.Load() {
		p.leaveToOthers()
		c.mu.Unlock()
		return inv.took(p)
	}
	if inv.waiting {
		p.leaveToOthers()
		c.mu.Unlock()
		return nil, inv.errorf(engine.ErrNotInMethod, "a second wait while another goroutine of the invocation waits")
	}
	inv.waiting = true
	if c.trace != nil {
		inv.traceWait(p)
	}
	inv.giveUp()
	claimed := p.claimed.Load()
	p.inline = false
	c.mu.Unlock()

	if claimed != nil {
		c.runInline(claimed)
	}
	err := p.block(ctx)
	switch back := inv.takeBack(); {
	case back != nil && err == nil:
		err = p.unknown(back)
	case back == nil && err != nil && c.trace != nil:
		inv.traceKind(trace.GoOn)
	}
	c.mu.Lock()
	inv.waiting = false
	c.mu.Unlock()
	if err != nil {
		return nil, err
	}
	return inv.took(p)
}

// leaveToOthers says that nobody will run the callee on his own goroutine: if it was
// handed over already, it gets one. Component.mu is held.
func (p *Pending) leaveToOthers() {
	p.inline = false
	if e := p.claimed.Swap(nil); e != nil {
		p.c.runOn(e)
	}
}

// took returns a settled outcome; a strict type sees only committed ones.
func (inv *Invocation) took(p *Pending) (*engine.Outcome, error) {
	if inv.e.actor.kind.Strict {
		if err := inv.c.commit(inv, p.resp.At); err != nil {
			return nil, p.unknown(err)
		}
	}
	if inv.c.trace != nil {
		inv.traceReturn(p)
	}
	return p.resp.Outcome, nil
}

// join holds the method at its end until every nested call has ended: the
// predicate joined. It fails when the component has ended. It returns the
// outcome that an operator, or the engine, has given the invocation meanwhile.
func (inv *Invocation) join() (cancel *engine.Outcome, err error) {
	if inv.out.Load() == 0 || mutant.Is(mutant.EndWithoutJoin) {
		return inv.e.cancel.Load(), nil
	}
	c := inv.c
	c.mu.Lock()
	if inv.out.Load() == 0 {
		c.mu.Unlock()
		return inv.e.cancel.Load(), nil
	}
	ready := make(chan struct{})
	inv.joining = ready
	if c.trace != nil {
		inv.traceWait(nil)
	}
	inv.giveUp()
	c.mu.Unlock()
	select {
	case <-ready:
	case <-c.ended:
		return nil, engine.ErrFenced
	}
	if err := inv.takeBack(); err != nil {
		return nil, err
	}
	if c.trace != nil {
		inv.traceKind(trace.GoOn)
	}
	return inv.join()
}

// returned counts a nested call that has ended. Component.mu is held.
func (inv *Invocation) returned() {
	if inv.out.Add(-1) == 0 && inv.joining != nil {
		close(inv.joining)
		inv.joining = nil
	}
}

// giveUp gives the turn to who may have it now. Component.mu is held.
func (inv *Invocation) giveUp() {
	c, e := inv.c, inv.e
	e.actor.box.yield(e)
	c.schedule(e.actor)
	c.rest()
}

// takeBack waits for the turn.
func (inv *Invocation) takeBack() error {
	c, e := inv.c, inv.e
	c.mu.Lock()
	if !e.actor.box.retake(e) {
		e.wants, e.wake = true, make(chan struct{}, 1)
		wake := e.wake
		c.mu.Unlock()
		select {
		case <-wake:
		case <-c.ended:
			return engine.ErrFenced
		}
		c.mu.Lock()
	}
	c.mu.running++
	c.mu.Unlock()
	return nil
}
