package sim

import (
	"cmp"
	"slices"
	"sync"
)

// Gates hold up every goroutine that comes to a point, so that whoever owns them
// chooses which goes on. Given the same choices a run is the same run: in a
// bubble, between two choices, wait for all others to be blocked
// (synctest.Wait). The zero Gates are shut and nobody waits. All methods are
// safe for concurrent use.
type Gates struct {
	mu struct {
		sync.Mutex
		held    []*Held
		closed  error
		arrived chan struct{} // closed when somebody comes; nil if nobody asked
	}
}

// Held is a goroutine that waits at a point.
type Held struct {
	Point
	open chan error // of size 1: who opens does not wait
}

// At waits at a point until the gate is opened, and returns the error that it
// is opened with. It is a function for Watch.
func (g *Gates) At(p Point) error {
	g.mu.Lock()
	if g.mu.closed != nil {
		g.mu.Unlock()
		return g.mu.closed
	}
	h := &Held{Point: p, open: make(chan error, 1)}
	g.mu.held = append(g.mu.held, h)
	if g.mu.arrived != nil {
		close(g.mu.arrived)
		g.mu.arrived = nil
	}
	g.mu.Unlock()
	return <-h.open
}

// Held lists who waits, in an order that does not depend on when they came.
func (g *Gates) Held() []*Held {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.mu.held) > 1 {
		slices.SortStableFunc(g.mu.held, func(x, y *Held) int { return x.compare(&y.Point) })
	}
	return slices.Clone(g.mu.held)
}

// Arrived is closed when the next goroutine comes to a gate.
func (g *Gates) Arrived() <-chan struct{} {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.mu.arrived == nil {
		g.mu.arrived = make(chan struct{})
	}
	return g.mu.arrived
}

// Open lets one go on, with an error or nil.
func (g *Gates) Open(h *Held, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if i := slices.Index(g.mu.held, h); i >= 0 {
		g.mu.held = slices.Delete(g.mu.held, i, i+1)
		h.open <- err
	}
}

// Close lets everybody go on with an error that is not nil, now and from now on.
func (g *Gates) Close(err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.mu.closed = err
	for _, h := range g.mu.held {
		h.open <- err
	}
	g.mu.held = nil
}

// compare orders points: by component, by attempt, by step.
func (p *Point) compare(o *Point) int {
	return cmp.Or(
		cmp.Compare(p.Component, o.Component),
		p.Attempt.ID.Compare(o.Attempt.ID),
		cmp.Compare(p.Attempt.Step, o.Attempt.Step),
		cmp.Compare(p.Attempt.N, o.Attempt.N),
		cmp.Compare(p.Client, o.Client),
		cmp.Compare(p.Kind, o.Kind),
		cmp.Compare(p.At, o.At),
		compareRequests(p, o),
	)
}

func compareRequests(p, o *Point) int {
	switch {
	case p.Request == nil || o.Request == nil:
		return 0
	case p.Request.ID != o.Request.ID:
		return p.Request.ID.Compare(o.Request.ID)
	}
	return cmp.Compare(p.Request.Step, o.Request.Step)
}
