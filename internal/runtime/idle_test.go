package runtime

import (
	"fmt"
	"testing"

	"github.com/pawl-go/pawl/engine"
)

// released is a session that takes note of what is released.
type released struct {
	engine.Session
	calls, actors int
}

func (r *released) Release(as ...engine.Actor) {
	r.calls++
	r.actors += len(as)
}

// Many callers tell when the sweeper has fallen behind, and it catches up batch by
// batch.
func TestCrowdedByIdleActors(t *testing.T) {
	const maxLive, batches = 5, 3
	c, err := New(Config{Name: "c", Types: []*Type{{Name: "A", MaxLive: maxLive}}})
	if err != nil {
		t.Fatal(err)
	}
	s := &released{}
	c.session = s
	k := c.kinds["A"]
	for i := range maxLive + batches*sweptAtOnce {
		if crowded := i > maxLive+sweptAtOnce; c.crowded.Load() != crowded {
			t.Fatalf("with %d idle actors: crowded is %v", i, !crowded)
		}
		e := newEntry(uint64(i), nil)
		e.d.Request.Actor = engine.Actor{Type: "A", ID: fmt.Sprint(i)}
		e.actor = c.place(&e.d)
		e.actor.box.line.Add(e)
		c.leaveLine(e)
	}
	for c.sweepSome() {
	}
	if k.idle != maxLive || c.mu.actors.Len() != maxLive {
		t.Errorf("%d actors are left, %d of them idle", c.mu.actors.Len(), k.idle)
	}
	if s.actors != batches*sweptAtOnce || s.calls > batches+1 {
		t.Errorf("%d actors released in %d calls", s.actors, s.calls)
	}
}
