package local

import (
	"slices"
	"strings"
	"testing"

	"github.com/pawl-go/pawl/engine"
)

// scene makes requests that are running, for deadlocks: nothing moves by
// itself.
type scene struct {
	*world
	s engine.Session
	p *probe
}

func newScene(t *testing.T) *scene {
	w := newWorld(t, "durability=process&cycle=64KiB")
	s, p := w.join("c", "A")
	return &scene{w, s, p}
}

// runs sends a request from outside and lets it begin.
func (c *scene) runs(id string) *engine.Request {
	r := call(c.s, "A", id)
	c.send(c.s, engine.Attempt{}, r)
	c.begins(r)
	return r
}

func (c *scene) begins(r *engine.Request) { c.p.note(func() { c.p.begun[r.ID] = true }) }

// calls sends a nested request.
func (c *scene) calls(by *engine.Request, id string) *engine.Request {
	r := nested(c.s, by, "A", id)
	c.send(c.s, attempt(by, 1), r)
	return r
}

func (c *scene) refused(r *engine.Request, actors ...string) {
	c.t.Helper()
	c.p.until(c.t, "a deadlock", func() bool { return slices.Contains(c.p.cancels, r.ID) })
	o := c.p.outcomes[r.ID]
	if o.Failure == nil || o.Failure.Code != string(engine.ErrDeadlock) {
		c.t.Fatalf("outcome %+v", o)
	}
	for _, a := range actors {
		if !strings.Contains(o.Failure.Message, "A/"+a+".M") {
			c.t.Errorf("%q does not name A/%s", o.Failure.Message, a)
		}
	}
}

func (c *scene) fine() {
	c.t.Helper()
	c.p.mu.Lock()
	defer c.p.mu.Unlock()
	if len(c.p.cancels) > 0 {
		c.t.Errorf("cancelled: %v", c.p.cancels)
	}
}

func TestDeadlockOfTwo(t *testing.T) {
	c := newScene(t)
	x, y := c.runs("x"), c.runs("y")
	c.calls(x, "y")
	c.fine()
	c.refused(c.calls(y, "x"), "x", "y")
}

func TestDeadlockOfThree(t *testing.T) {
	c := newScene(t)
	x, y, z := c.runs("x"), c.runs("y"), c.runs("z")
	c.calls(x, "y")
	c.calls(y, "z")
	c.fine()
	c.refused(c.calls(z, "x"), "x", "y", "z")
}

// x is held by a request behind which x's own callee's caller waits.
func TestDeadlockThroughACallee(t *testing.T) {
	c := newScene(t)
	x, y := c.runs("x"), c.runs("y")
	down := c.calls(y, "z")
	c.begins(down)
	c.calls(x, "y")
	c.fine()
	c.refused(c.calls(down, "x"), "x", "y", "z")
}

// Two callees of x call back: one waits for the other, and that one ends.
func TestCallbacksOfSiblingsAreNoDeadlock(t *testing.T) {
	c := newScene(t)
	x := c.runs("x")
	y, z := c.calls(x, "y"), c.calls(x, "z")
	c.begins(y)
	c.begins(z)
	c.begins(c.calls(y, "x"))
	c.calls(z, "x")
	c.fine()
}

func TestReentrancyIsNoDeadlock(t *testing.T) {
	c := newScene(t)
	x := c.runs("x")
	y := c.calls(x, "y")
	c.begins(y)
	c.calls(y, "x")
	c.calls(x, "x")
	c.fine()
}

// A detached call is not nested, but its caller waits.
func TestDetachedCallToOneselfIsADeadlock(t *testing.T) {
	c := newScene(t)
	x := c.runs("x")
	r := call(c.s, "A", "x")
	r.Waiter = x.ID
	c.send(c.s, attempt(x, 1), r)
	c.refused(r, "x")
}

// The wait was given up: nothing is a deadlock any more.
func TestDetachedCallGivenUpIsNoDeadlock(t *testing.T) {
	c := newScene(t)
	x, y := c.runs("x"), c.runs("y")
	r := call(c.s, "A", "y")
	r.Waiter = x.ID
	c.send(c.s, attempt(x, 1), r)
	c.s.Detach(r.ID)
	c.calls(y, "x")
	c.fine()
}

// Another than who made the call has attached to it, and goes: its caller waits on.
func TestDetachedCallWatchedByOthersIsADeadlock(t *testing.T) {
	c := newScene(t)
	x, y := c.runs("x"), c.runs("y")
	r := call(c.s, "A", "y")
	r.Waiter = x.ID
	c.send(c.s, attempt(x, 1), r)
	watcher, _ := c.join("watcher")
	if err := watcher.Attach(r.ID); err != nil {
		t.Fatal(err)
	}
	watcher.Detach(r.ID)
	c.refused(c.calls(y, "x"), "x", "y")
}

// By a tail call a later step waits, and there is nobody to refuse: it is parked.
func TestDeadlockOfALaterStepParksIt(t *testing.T) {
	c := newScene(t)
	x, y := c.runs("x"), c.runs("y")
	down := c.calls(y, "z") // y waits for down
	c.begins(down)
	c.begins(x)
	c.finish(c.s, attempt(down, 1), nil, &engine.Outcome{Tail: down.Tail(x.Actor, "M", nil, false)}) // behind x
	c.fine()
	last := c.calls(x, "y") // x waits for y
	c.refused(last, "x", "y")
	c.p.mu.Lock()
	c.p.cancels = nil
	c.p.mu.Unlock()
	// The other way round: the tail call closes the cycle.
	d := newScene(t)
	x, y = d.runs("x"), d.runs("y")
	down = d.calls(y, "z")
	d.begins(down)
	wait := d.calls(x, "y")
	d.begins(wait) // so that it cannot be refused: it is not so, but says so
	d.p.note(func() { d.p.begun[down.ID] = false })
	d.finish(d.s, attempt(down, 1), nil, &engine.Outcome{Tail: down.Tail(x.Actor, "M", nil, false)})
	d.p.until(t, "parked", func() bool { return len(d.p.responses[down.ID]) > 0 })
	if f := d.p.responses[down.ID][0].Outcome.Failure; f == nil || f.Code != string(engine.ErrParked) || len(f.Causes) != 1 || f.Causes[0].Code != string(engine.ErrDeadlock) {
		t.Errorf("outcome %+v", f)
	}
}
