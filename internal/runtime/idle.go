package runtime

import (
	"time"
)

// sweeper drops instances that have been idle for their type's IdleAfter, and
// the oldest idle ones of a type that has more than MaxLive.
func (c *Component) sweeper() {
	tick := time.Minute
	for _, k := range c.kinds {
		tick = min(tick, max(k.IdleAfter/4, 10*time.Millisecond))
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
		for c.sweepSome() {
		}
	}
}

func (c *Component) wakeSweeper() {
	select {
	case c.sweep <- struct{}{}:
	default:
	}
}

// sweepSome deactivates a batch, so that the lock is held for short. It
// reports whether there is more to do.
func (c *Component) sweepSome() bool {
	const batch = 256
	gone := c.takeIdle(batch, func(k *kind, a *actor) bool {
		return k.MaxLive > 0 && k.idle > k.MaxLive || c.coarse.Load()-a.used > int64(k.IdleAfter)
	})
	for _, a := range gone {
		c.deactivate(a)
		c.session.Release(a.id)
	}
	return len(gone) == batch
}

// takeIdle takes up to n idle actors out of the table, oldest first.
func (c *Component) takeIdle(n int, ripe func(*kind, *actor) bool) []*actor {
	c.mu.Lock()
	defer c.mu.Unlock()
	var gone []*actor
	for _, k := range c.kinds {
		for a := k.oldest; a != nil && len(gone) < n && ripe(k, a); a = k.oldest {
			k.removeIdle(a)
			delete(c.mu.actors, a.id)
			gone = append(gone, a)
		}
	}
	return gone
}

func (c *Component) deactivate(a *actor) {
	if a.inst == nil {
		return
	}
	defer func() {
		if v := recover(); v != nil {
			c.log.Error("Deactivate panicked", "actor", a.id, "panic", v)
		}
	}()
	a.inst.Deactivate()
}

// deactivateAll runs the hook of every idle instance, at the end.
func (c *Component) deactivateAll() {
	for _, a := range c.takeIdle(1<<62, func(*kind, *actor) bool { return true }) {
		c.deactivate(a)
	}
}
