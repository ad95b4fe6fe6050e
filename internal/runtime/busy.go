package runtime

import (
	"fmt"
	"slices"
	"time"

	"github.com/pawl-go/pawl/engine"
)

// A call of an actor of a type with a BusyTimeout waits for its turn no longer
// than that: it is answered ErrDeadlock. A cycle of calls is found by the engine at once;
// this is for the rest, such as a method that waits in its own code for what stands
// behind it. It ends only what is at step 1 and has never begun, and has somebody
// who waits: work that was left (a tell, a reminder) has no expiry. The time is that
// since the request came to this component; a pause by an operator does not count.

// queue notes an entry that has to wait for its turn. Component.mu is held.
func (k *kind) queue(e *entry) {
	r := e.d.Request
	if k.BusyTimeout <= 0 || e.begun || e.d.Attempts > 0 || r.Step > 1 || r.Kind == engine.KindTell {
		return
	}
	e.since = time.Now().UnixNano()
	k.waiting = append(k.waiting, e)
}

// sweepBusy answers those that have waited for too long, and forgets those that wait
// no more.
func (c *Component) sweepBusy() {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.coarse.Load()
	for _, k := range c.kinds {
		k.waiting = slices.DeleteFunc(k.waiting, func(e *entry) bool { return !c.waitsOn(e, now) })
	}
}

// waitsOn reports whether an entry goes on waiting, and ends it if it has waited
// for too long. mu is held.
func (c *Component) waitsOn(e *entry, now int64) bool {
	a := e.actor
	switch {
	case e.begun || e.left || e.d.Attempts > 0 || e.cancel.Load() != nil:
		return false
	case a.paused || c.mu.draining:
		e.since = now
		return true
	case now-e.since < int64(a.kind.BusyTimeout):
		return true
	}
	f := engine.Fail(engine.ErrDeadlock, fmt.Sprintf("timed out after %v waiting for a turn on %v", a.kind.BusyTimeout, a.Actor()))
	f.Invocation, f.Actor, f.Method = e.d.Request.ID.String(), a.Actor().String(), e.d.Request.Method
	e.cancel.Store(&engine.Outcome{Failure: f})
	c.refuseIfCancelled(e)
	return false
}
