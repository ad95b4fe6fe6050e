package pawltest

import (
	"context"
	"fmt"
	"time"

	"github.com/pawl-go/pawl/internal/runtime"
)

// observer is told by the actors of a world what their methods do in memory.
type observer struct{ w *World }

// Begins implements probe.Probe.
func (o observer) Begins(inv *runtime.Invocation, actor any) {
	run, s := runOf(inv)
	if s == nil || inv.ReadOnly() {
		return
	}
	o.w.note(event{kind: begins, by: run})
	now := fieldsOf(actor)
	o.w.mu.Lock()
	defer o.w.mu.Unlock()
	o.w.mu.seen[inv] = now
	o.w.mu.memory.begins(actor, now)
}

// Ended implements probe.Probe.
func (o observer) Ended(inv *runtime.Invocation, actor any) {
	now := fieldsOf(actor)
	o.w.mu.Lock()
	defer o.w.mu.Unlock()
	if before, ok := o.w.mu.seen[inv]; ok {
		o.w.mu.memory.ended(inv.Self().Type+"."+inv.Method(), before, now)
		delete(o.w.mu.seen, inv)
	}
}

// Touched implements probe.Probe.
func (o observer) Touched(inv *runtime.Invocation, cell string) {
	o.w.said.keep(fmt.Sprintf(
		"%s.%s changed the value of the cell %s in place, without Set: the change is not recorded, and is gone in the next run. "+
			"Change it in Edit, or Set a copy.", inv.Self().Type, inv.Method(), cell), true)
}

// Jitter implements probe.Probe: what may go on at the same time goes on in an
// order of the world's choosing.
func (o observer) Jitter(n time.Duration) time.Duration { return n / 2 }

// runOf finds the attempt of an invocation, and the session on which it runs.
func runOf(inv *runtime.Invocation) (*attempt, *session) {
	s, _ := inv.Component().Session().(*session)
	return &attempt{inv.Request(), uint32(inv.Attempt())}, s
}

// MayFail is a moment at which a failure is tried in a world, for the fakes of a
// test: a service outside that does two things names the moment between them.
// The context is that of a method; with any other, and outside of worlds, it does
// nothing.
func MayFail(ctx context.Context, what string) {
	inv := runtime.From(ctx)
	if inv == nil || inv.ReadOnly() {
		return
	}
	if run, s := runOf(inv); s != nil {
		s.hold(place{step: AtMark, what: what, run: run})
		s.c.w.note(event{kind: marked, by: run, text: what})
	}
}
