package runtime

import (
	goruntime "runtime"
	"slices"
	"time"

	"github.com/pawl-go/pawl/engine"
)

// sweeper drops instances that have been idle for their type's IdleAfter, and
// the oldest idle ones of a type that has more than MaxLive.
func (c *Component) sweeper() {
	tick := time.Minute
	for _, k := range c.kinds {
		tick = min(tick, max(k.IdleAfter/4, 10*time.Millisecond))
		if k.BusyTimeout > 0 {
			tick = min(tick, max(k.BusyTimeout/8, 10*time.Millisecond))
		}
	}
	t := time.NewTicker(tick)
	defer t.Stop()
	for {
		select {
		case <-c.ended:
			return
		case <-c.sweep:
		case <-t.C:
		}
		c.coarse.Store(time.Now().UnixNano())
		c.sweepBusy()
		c.sweepLeft()
		for c.sweepSome() {
		}
		c.crowded.Store(false)
	}
}

func (c *Component) wakeSweeper() {
	select {
	case c.sweep <- struct{}{}:
	default:
	}
}

// yieldToSweeper lets the sweeper go on if it has fallen behind. Goroutines that
// run one call after the other on themselves block nowhere: with many of them the
// sweeper would have a turn every few hundred milliseconds, and MaxLive be no limit.
func (c *Component) yieldToSweeper() {
	if c.crowded.Load() {
		goruntime.Gosched()
	}
}

// sweptAtOnce is how many instances go in one hold of the lock.
const sweptAtOnce = 256

// sweepSome deactivates a batch, so that the lock is held for short. It
// reports whether there is more to do.
func (c *Component) sweepSome() bool {
	gone := c.takeIdle(sweptAtOnce, func(k *kind, a *actor) bool {
		return k.MaxLive > 0 && k.idle > k.MaxLive || c.coarse.Load()-a.used > int64(k.IdleAfter)
	})
	for _, a := range gone {
		c.deactivate(a.Actor(), a.inst)
	}
	c.session.Release(c.absent(gone)...)
	return len(gone) == sweptAtOnce
}

// absent lists those of some actors that are not here again: a request may come
// while the instance before is deactivated.
func (c *Component) absent(gone []*actor) (ids []engine.Actor) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, a := range gone {
		if id := a.Actor(); c.mu.actors.Get(id) == nil {
			ids = append(ids, id)
		}
	}
	return ids
}

// outOfUse is an instance that letGo has taken from its actor.
type outOfUse struct {
	id   engine.Actor
	inst Instance
}

// letGo takes an actor's instance out of use. mu is held.
func (c *Component) letGo(a *actor) {
	if l, ok := a.inst.(Leaver); ok {
		l.Leave()
		c.mu.left = append(c.mu.left, outOfUse{a.Actor(), a.inst})
		c.wakeSweeper()
	}
	a.inst = nil
}

// sweepLeft deactivates what letGo took out of use.
func (c *Component) sweepLeft() {
	c.mu.Lock()
	left := c.mu.left
	c.mu.left = nil
	c.mu.Unlock()
	for _, l := range left {
		c.deactivate(l.id, l.inst)
	}
}

// takeIdle takes up to n idle actors out of the table, oldest first.
func (c *Component) takeIdle(n int, ripe func(*kind, *actor) bool) []*actor {
	c.mu.Lock()
	defer c.mu.Unlock()
	var gone []*actor
	for _, k := range c.kinds {
		for a := k.oldest; a != nil && len(gone) < n && ripe(k, a); a = k.oldest {
			k.removeIdle(a)
			c.mu.actors.Remove(a)
			if l, ok := a.inst.(Leaver); ok {
				l.Leave()
			}
			gone = append(gone, a)
		}
	}
	return gone
}

func (c *Component) deactivate(id engine.Actor, inst Instance) {
	if inst == nil {
		return
	}
	defer func() {
		if v := recover(); v != nil {
			c.log.Error("Deactivate panicked", "actor", id, "panic", v)
		}
	}()
	inst.Deactivate()
}

// Live lists the ids of a type's actors that are in memory here, in byte order.
func (c *Component) Live(kind string) (ids []string) {
	c = c.newest.Load()
	c.mu.Lock()
	for a := range c.mu.actors.All {
		if a.kind.Name == kind && a.inst != nil {
			ids = append(ids, a.id)
		}
	}
	c.mu.Unlock()
	slices.Sort(ids)
	return ids
}

// Deactivate drops every idle instance. It is for who ends a component whose hooks
// need it still: Close does the same when nothing counts any more.
func (c *Component) Deactivate() {
	c = c.newest.Load()
	c.sweepLeft()
	for _, a := range c.takeIdle(1<<62, func(*kind, *actor) bool { return true }) {
		c.deactivate(a.Actor(), a.inst)
	}
}
