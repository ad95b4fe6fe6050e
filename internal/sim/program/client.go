package program

import (
	"context"
	"errors"
	"fmt"

	"github.com/pawl-go/pawl/engine"
	"github.com/pawl-go/pawl/internal/runtime"
	"github.com/pawl-go/pawl/internal/sim"
)

// acts is the point at which a client is about to do something.
const acts sim.Kind = "client"

// client makes the requests of a client, in order.
func (w *world) client(i int) {
	name := fmt.Sprintf("client%d", i+1)
	for n, r := range w.p.Clients[i] {
		a := &asking{w: w, slot: len(w.p.Components) + i, name: name, number: n, Request: r}
		if !a.ask() {
			break
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.clients--
}

// asking is one request of a client, over all the components that it is made
// from: a client outlives them.
type asking struct {
	Request
	w      *world
	slot   int
	name   string
	number int
	id     string // of the invocation, once it is known
	acked  bool   // it cannot be lost any more
}

// ask makes the request until it has an answer, or it is not known whether it
// ever left. It returns false when the world has ended.
func (a *asking) ask() bool {
	for {
		c := a.w.living(a.slot)
		if c == nil {
			return false
		}
		p := sim.Point{Kind: acts, Component: c.name, Session: c.Session().Number(), Client: a.name}
		if c.life.gates.At(p) == nil {
			o, err := a.try(sim.AsClient(context.Background(), a.name), c.Component)
			if a.ended(c, o, err) {
				return true
			}
			if a.refused(err) {
				if !a.w.room() {
					return false
				}
				continue
			}
		}
		if !a.w.lost(c) {
			return false
		}
	}
}

// try asks, or attaches to what was asked for.
func (a *asking) try(ctx context.Context, c *runtime.Component) (*engine.Outcome, error) {
	call := runtime.Call{To: a.w.actorOf(a.Script), Method: "run", Payload: payload(a.Script, ""), Key: a.Key}
	if a.id != "" {
		id, err := engine.ParseID(a.id)
		if err != nil {
			return nil, err
		}
		return c.Attach(id).Wait(ctx)
	}
	switch a.Verb {
	case Tell:
		id, err := c.Tell(ctx, call)
		if err == nil {
			a.id, a.acked = id.String(), true
		}
		return nil, err
	case Go:
		p, err := c.Go(ctx, call)
		if err != nil {
			return nil, err
		}
		a.id, a.acked = p.ID().String(), true
		return p.Wait(ctx)
	}
	return c.Call(ctx, call)
}

// ended notes the end of a try, and reports whether the request is over.
func (a *asking) ended(c *component, o *engine.Outcome, err error) bool {
	w := a.w
	switch {
	case err == nil && a.Verb == Tell:
		w.mu.Lock()
		defer w.mu.Unlock()
		w.told = append(w.told, told{a.id, a.Script})
		return true
	case err == nil:
		a.answer(o)
		return true
	case errors.Is(err, engine.ErrNotFound) && !a.acked:
		return true // it never left
	case errors.Is(err, engine.ErrNotFound):
		w.fail("%s, request %d: the invocation %s was acknowledged and is gone", a.name, a.number+1, a.id)
		return true
	case a.refused(err):
		return false
	case !c.gone.Load():
		w.fail("%s, request %d: %w, of a component that has not failed", a.name, a.number+1, err)
		return true
	}
	if e, ok := errors.AsType[*engine.Error](err); ok && e.Code == engine.ErrOutcomeUnknown && a.id == "" && a.Verb != Tell {
		a.id = e.Invocation
	}
	// Without an id it may have left or not; a key makes asking again safe.
	return a.id == "" && a.Key == ""
}

// refused reports whether an error says that nothing was recorded, for the disk is
// full.
func (a *asking) refused(err error) bool {
	a.w.mu.Lock()
	defer a.w.mu.Unlock()
	return a.w.filled && errors.Is(err, engine.ErrUnavailable)
}

func (a *asking) answer(o *engine.Outcome) {
	w := a.w
	ans := answer{script: a.Script, value: string(o.Value)}
	if o.Failure != nil {
		ans.failed = failureText(o.Failure)
		w.expectFailure(a.Script, o.Failure, a.name)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.answers[fmt.Sprintf("%s, request %d", a.name, a.number+1)] = ans
}

// living waits for a component of a slot; nil when the world has ended.
func (w *world) living(slot int) *component {
	for {
		w.mu.Lock()
		changed := w.changed
		if w.wrong != nil {
			w.mu.Unlock()
			return nil
		}
		for _, c := range w.life.comps {
			if c.slot == slot && !c.gone.Load() {
				w.mu.Unlock()
				return c
			}
		}
		w.mu.Unlock()
		<-changed
	}
}

// room waits until the disk is not full; false when the world has ended.
func (w *world) room() bool {
	for {
		w.mu.Lock()
		changed, wrong, full := w.changed, w.wrong, w.full
		w.mu.Unlock()
		switch {
		case wrong != nil:
			return false
		case !full:
			return true
		}
		<-changed
	}
}

// lost waits until a component is known to be gone; false when the world has
// ended.
func (w *world) lost(c *component) bool {
	for {
		w.mu.Lock()
		changed, wrong := w.changed, w.wrong
		w.mu.Unlock()
		switch {
		case wrong != nil:
			return false
		case c.gone.Load():
			return true
		}
		<-changed
	}
}

// isGone marks a component: what it does does not count any more.
func (w *world) isGone(c *component) {
	w.mu.Lock()
	defer w.mu.Unlock()
	c.gone.Store(true)
	w.change()
}
