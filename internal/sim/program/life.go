package program

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pawl-go/pawl/engine"
	"github.com/pawl-go/pawl/internal/runtime"
	"github.com/pawl-go/pawl/internal/sim"
)

// life is one life of the process: an engine, and components that have joined.
type life struct {
	w       *world
	inner   engine.Engine
	eng     engine.Engine // watched
	gates   *sim.Gates
	checker engine.Session // looks, and hosts nothing
	comps   []*component
}

// component is one that has joined, for its slot: a row of Program.Components,
// or behind those a client.
type component struct {
	*runtime.Component
	life *life
	name string
	slot int
	gone atomic.Bool // it has died or was declared failed: what it does does not count
}

// join has a component join for a slot. Who starts it makes room first.
func (l *life) join(slot int) error {
	w := l.w
	w.setFull(false)
	w.names++
	c := &component{life: l, slot: slot, name: fmt.Sprintf("c%d-%d", slot+1, w.names)}
	var types []*runtime.Type
	if slot < len(w.p.Components) {
		for _, t := range w.p.Components[slot] {
			types = append(types, c.host(w.p.Types[t]))
		}
	} else {
		c.name = fmt.Sprintf("client%d-%d", slot-len(w.p.Components)+1, w.names)
	}
	rc, err := runtime.New(runtime.Config{Name: c.name, Types: types, Logger: quiet, Jitter: jitter(w.p.Seed, w.names)})
	if err != nil {
		return err
	}
	if err := rc.Join(context.Background(), l.eng); err != nil {
		return fmt.Errorf("join of %s: %w", c.name, err)
	}
	c.Component = rc
	w.mu.Lock()
	defer w.mu.Unlock()
	l.comps = append(l.comps, c)
	w.change()
	return nil
}

func (c *component) host(t Type) *runtime.Type {
	return &runtime.Type{
		Name:              t.Name,
		Methods:           map[string]*runtime.Method{"run": {Name: "run"}},
		New:               func(id string) runtime.Instance { return newInstance(c, engine.Actor{Type: t.Name, ID: id}) },
		IdleAfter:         5 * time.Second,
		PassWhileRetrying: t.Pass,
		Strict:            t.Strict,
	}
}

// jitter draws the backoffs of a component.
func jitter(seed uint64, name int) func(time.Duration) time.Duration {
	var mu sync.Mutex
	r := rand.New(rand.NewPCG(seed, uint64(name)<<8|2))
	return func(n time.Duration) time.Duration {
		mu.Lock()
		defer mu.Unlock()
		return time.Duration(r.Int64N(int64(n)))
	}
}

// find gives the component of a session.
func (l *life) find(session uint64) *component {
	for _, c := range l.comps {
		if c.Session().Number() == session {
			return c
		}
	}
	return nil
}

// fail declares a component failed. That is a record: it waits for room, which here
// it makes.
func (l *life) fail(c *component) error {
	l.w.setFull(false)
	if err := sim.Fail(l.eng, c.Session()); err != nil {
		return fmt.Errorf("declare %s failed: %w", c.name, err)
	}
	return nil
}

var errEnded = errors.New("the life has ended")

// end ends all that still runs of a life.
func (l *life) end() error {
	l.gates.Close(errEnded)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for _, c := range l.comps {
		if err := c.Close(ctx); err != nil && !c.gone.Load() {
			return fmt.Errorf("close %s: %w", c.name, err)
		}
	}
	_ = l.inner.Close() // of a disk that has crashed, mostly
	return nil
}

// pending says what is left in the flow.
func (l *life) pending() string {
	var b strings.Builder
	for i, err := range l.checker.Operator().Invocations(context.Background(), engine.Query{}) {
		if err != nil {
			return err.Error()
		}
		switch i.Status {
		case engine.StatusPending, engine.StatusRunning, engine.StatusScheduled, engine.StatusParked:
			fmt.Fprintf(&b, "\n  %v %v.%s step %d: %s at %q, attempts %d, callees %v, waits for %v",
				i.Request.ID, i.Request.Actor, i.Request.Method, i.Request.Step, i.Status, i.Host, i.Attempts, i.Callees, i.WaitsFor)
		}
	}
	return b.String()
}
