package program

import (
	"errors"
	"fmt"
	"strings"

	"github.com/pawl-go/pawl/engine"
)

// What is checked while a program runs. Attempts of components that are gone, and
// those that an operator has ended by force, are not held to it: they are zombies.

// counts reports whether what the attempt does counts, as far as the world
// knows.
func (r *run) counts() bool { return !r.inst.c.gone.Load() && r.inv.Check() == nil }

func (r *run) text() string {
	return fmt.Sprintf("attempt %d of %s (script %d) on %v at %s", r.stamp.Attempt, r.stamp.Key, r.stamp.Script, r.inst.id, r.inst.c.name)
}

// begins is called when the code of an attempt begins.
func (w *world) begins(r *run) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !r.counts() {
		return
	}
	for o := range w.running {
		switch {
		case !o.counts():
		case o.inv.ID() == r.inv.ID():
			w.failLocked("%s begins, and %s has not ended", r.text(), o.text())
		case o.inv.Request().NestedIn(r.inv.ID()):
			w.failLocked("%s begins, and %s, which is nested in it, has not ended", r.text(), o.text())
		}
	}
	if strings.Contains(r.inst.get(cellLog), `{"key":"`+r.stamp.Key+`"`) && !w.p.loose(r.stamp.Script) {
		w.failLocked("%s begins after its outcome", r.text())
	}
	w.running[r] = struct{}{}
	w.enter(r)
}

// enters is called when the code of an attempt goes on.
func (w *world) enters(r *run) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.enter(r)
}

func (w *world) enter(r *run) {
	if !r.counts() {
		return
	}
	if o := w.busy[r.inst.id]; o != nil && o != r && o.counts() {
		w.failLocked("%s runs, and so does %s", r.text(), o.text())
	}
	w.busy[r.inst.id] = r
}

// leaves is called when the code of an attempt waits or has ended.
func (w *world) leaves(r *run) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.busy[r.inst.id] == r {
		delete(w.busy, r.inst.id)
	}
}

// over is called when the code of an attempt has ended.
func (w *world) over(r *run) {
	w.leaves(r)
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.running, r)
}

// brokenOff is called when an error of the runtime ends an attempt.
func (w *world) brokenOff(r *run, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if r.counts() && !w.canceled && !(w.filled && errors.Is(err, engine.ErrUnavailable)) {
		w.failLocked("%s: %w, although its component has not failed", r.text(), err)
	}
}

// someCanceled reports whether an operator has cancelled anything.
func (w *world) someCanceled() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.canceled
}

// expectFailure checks that a failure is one that the script makes.
func (w *world) expectFailure(script int, f *engine.Failure, who string) {
	switch {
	case f.Code == "" && (w.p.fails(script) || !w.p.Ordered || w.someCanceled()):
	case f.Code == string(engine.ErrCanceled) && w.someCanceled():
	case (f.Code == string(engine.ErrDeadlock) || f.Code == string(engine.ErrParked)) && !w.p.Ordered:
	default:
		w.fail("%s of script %d was answered %q", who, script, failureText(f))
	}
}
