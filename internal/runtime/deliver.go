package runtime

import (
	"time"

	"github.com/pawl-go/pawl/engine"
	"github.com/pawl-go/pawl/internal/mutant"
)

// Deliver puts a request into its actor's mailbox: at its end, past the others
// if it is nested in what holds the actor, or in the place of the step that
// called it. If it may begin, it is handed to the caller who waits for it
// here, or to a runner.
func (c *Component) Deliver(d engine.Delivery) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.mu.stopped { // it does not count here
		return
	}
	a := c.place(&d)
	e := &entry{actor: a, d: d, await: len(d.Await)}
	for _, id := range d.Await {
		c.addWait(id, &Pending{c: c, id: id, retry: e})
	}
	if c.takesPlace(e) {
		return
	}
	if a.box.comesBack(e) {
		a.box.line.AddFirst(e)
	} else {
		a.box.line.Add(e)
	}
	if d.Lost > 1 && d.Attempts > 0 {
		c.backoff(e, c.lostBackoff(d.Lost))
	}
	c.schedule(a)
	a.kind.queue(e)
}

// place finds or makes the actor, with a mailbox. mu is held.
func (c *Component) place(d *engine.Delivery) *actor {
	id := d.Request.Actor
	a := c.mu.actors.Get(id)
	if a == nil {
		a = &actor{id: id.ID, kind: c.kinds[id.Type], token: d.Token}
		c.mu.actors.Put(a)
	}
	if a.token != d.Token {
		// Placed anew since: what is in memory may be older than what is recorded.
		a.token = d.Token
		a.stale.Store(true)
	}
	if d.Paused {
		a.paused = true
	}
	a.kind.removeIdle(a)
	if a.box == nil {
		a.box = c.newBox()
	}
	return a
}

// takesPlace handles the deliveries that take the place of an entry that is
// already in the line. mu is held.
func (c *Component) takesPlace(e *entry) bool {
	r := e.d.Request
	for old := range e.actor.box.line.Held {
		if old.d.Request.ID != r.ID {
			continue
		}
		if r.InPlace && old.d.Request.Step+1 == r.Step && !mutant.Is(mutant.ReleaseOnTailSelf) {
			old.next, e.behind = e, true
			return true
		}
		if r.InPlace && old.parking { // parked, and resumed already: it keeps the actor
			old.next, e.behind = e, true
			return true
		}
		if old.postponing {
			e.paused, e.retries = old.paused, old.retries
			e.d.Attempts = max(e.d.Attempts, old.d.Attempts)
			old.next = e // its timer goes on for e
			e.actor.box.line.Remove(old)
			return false
		}
	}
	return false
}

// schedule gives the turn to who may have it. mu is held.
func (c *Component) schedule(a *actor) {
	e, resumed := c.next(a)
	switch {
	case e == nil:
	case resumed:
		e.wake <- struct{}{}
	default:
		c.start(e)
	}
}

// next gives the turn to who may have it (see mailbox.next). mu is held.
func (c *Component) next(a *actor) (e *entry, resumed bool) {
	if a.box == nil {
		return nil, false
	}
	return a.box.next(c.mayBegin)
}

// mayBegin: what holds back a begin besides the rules of the semantics.
func (c *Component) mayBegin(e *entry) bool {
	return !e.actor.paused && !c.mu.stopped && (!c.mu.draining || e.d.Request.Nested()) && !c.mu.before.occupies(e.actor.Actor())
}

// start hands a claimed entry to the caller who waits for it on this
// component, or to a runner of its own. mu is held.
func (c *Component) start(e *entry) {
	switch {
	case c.handOver(e):
	case c.mu.running >= maxRunning:
		c.mu.backlog = append(c.mu.backlog, e)
	default:
		c.mu.running++
		c.runOn(e)
	}
}

// handOver gives a claimed entry to the caller who waits for it and would run
// it on its own goroutine, if there is one. mu is held.
func (c *Component) handOver(e *entry) bool {
	if e.d.Attempts > 0 {
		return false
	}
	p := c.mu.waits[e.d.Request.ID]
	if p == nil || !p.inline {
		return false
	}
	p.inline = false
	p.claimed.Store(e)
	c.mu.running++
	return true
}

// rest is called when a runner waits or ends: another may run. mu is held.
func (c *Component) rest() {
	c.mu.running--
	if n := len(c.mu.backlog); n > 0 && c.mu.running < maxRunning {
		e := c.mu.backlog[0]
		c.mu.backlog = c.mu.backlog[1:]
		c.mu.running++
		c.runOn(e)
	}
}

// Respond brings an outcome to all who wait for it here.
func (c *Component) Respond(r engine.Response) {
	c.mu.Lock()
	defer c.mu.Unlock()
	p := c.mu.waits[r.ID]
	if p == nil {
		return
	}
	delete(c.mu.waits, r.ID)
	for ; p != nil; p = p.also {
		c.settle(p, r)
	}
}

// settle ends one wait. mu is held.
func (c *Component) settle(p *Pending, r engine.Response) {
	if e := p.retry; e != nil {
		e.await--
		if e.await == 0 {
			c.schedule(e.actor)
			c.refuseIfCancelled(e)
		}
		return
	}
	p.resp = r
	p.settled.Store(true)
	if p.ready != nil {
		close(p.ready)
	}
	if p.inv != nil && p.nested {
		p.inv.returned()
	}
}

// Cancel implements engine.Handler.
func (c *Component) Cancel(r *engine.Request, o *engine.Outcome, begun bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.find(r)
	if e == nil || !begun && (e.begun || e.d.Attempts > 0) {
		return
	}
	e.cancel.Store(o)
	c.refuseIfCancelled(e)
}

// Revoke implements engine.Handler.
func (c *Component) Revoke(r *engine.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e := c.find(r); e != nil && e.inv.Load() != nil {
		e.inv.Load().close(errCanceled)
	}
}

// CallerGone implements engine.Handler.
func (c *Component) CallerGone(r *engine.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.find(r)
	switch {
	case e == nil:
	case e.inv.Load() != nil:
		e.inv.Load().callerGone()
	case !e.begun && e.d.Attempts == 0 && r.Step == 1 && !r.Once:
		e.cancel.Store(&engine.Outcome{Failure: engine.Fail(engine.ErrCanceled, "its caller has failed")})
		c.refuseIfCancelled(e)
	}
}

// refuseIfCancelled ends a cancelled entry of which no code runs, no callee is
// awaited, and that is neither about to be delivered anew nor still behind the step
// before it. mu is held.
func (c *Component) refuseIfCancelled(e *entry) {
	if e.cancel.Load() == nil || e.begun || e.behind || e.await > 0 || e.postponing || c.mu.stopped {
		return
	}
	e.begun, e.refused = true, true // nobody else claims it
	c.mu.running++
	c.runOn(e)
}

func (c *Component) find(r *engine.Request) *entry {
	a := c.mu.actors.Get(r.Actor)
	if a == nil || a.box == nil {
		return nil
	}
	return a.box.find(r)
}

// Pause implements engine.Handler.
func (c *Component) Pause(id engine.Actor, on bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if a := c.mu.actors.Get(id); a != nil {
		a.paused = on
		c.schedule(a)
	}
}

// Forget implements engine.Handler.
func (c *Component) Forget(id engine.Actor) {
	c.mu.Lock()
	defer c.mu.Unlock()
	a := c.mu.actors.Get(id)
	switch {
	case a == nil:
	case a.box == nil:
		c.letGo(a)
	default:
		a.stale.Store(true)
	}
}

// Begun implements engine.Handler.
func (c *Component) Begun(r *engine.Request) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.find(r)
	return e != nil && e.begun
}

// backoff holds a retry back for a while. mu is held.
func (c *Component) backoff(e *entry, d time.Duration) {
	if d <= 0 {
		return
	}
	e.paused = true
	time.AfterFunc(d, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if e.next != nil { // postponed, and delivered anew since
			e = e.next
		}
		e.paused = false
		c.schedule(e.actor)
	})
}

// lostBackoff spreads those that were lost more than once, so that what merely
// ran beside a poisonous invocation ends in between.
func (c *Component) lostBackoff(lost uint32) time.Duration {
	d := 10 * time.Millisecond << min(lost-2, 11) // up to 20 s
	return d/2 + c.cfg.Jitter(d)
}

func (c *Component) newBox() *mailbox {
	if n := len(c.mu.boxes); n > 0 {
		b := c.mu.boxes[n-1]
		c.mu.boxes = c.mu.boxes[:n-1]
		return b
	}
	return &mailbox{}
}

// leaveLine takes an entry out of its actor's line when its step has ended,
// and puts the actor among the idle if it was the last. mu is held.
func (c *Component) leaveLine(e *entry) {
	a := e.actor
	if a.box == nil {
		return
	}
	a.box.yield(e)
	a.box.line.Remove(e)
	e.left = true
	c.drop(a)
	if a.box.line.Len() == 0 {
		if len(c.mu.boxes) < 1024 {
			c.mu.boxes = append(c.mu.boxes, a.box)
		}
		a.box = nil
		a.used = c.coarse.Load()
		a.kind.addIdle(a)
		if k := a.kind; k.MaxLive > 0 && k.idle > k.MaxLive {
			c.wakeSweeper()
			if k.idle > k.MaxLive+sweptAtOnce {
				c.crowded.Store(true)
			}
		}
	}
	c.checkDrained()
}

// drop lets a stale instance go when nothing is left on it. mu is held.
func (c *Component) drop(a *actor) {
	if a.stale.Load() && a.box.quiet() {
		c.letGo(a)
		a.stale.Store(false)
	}
}
