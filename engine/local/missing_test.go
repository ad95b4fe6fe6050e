package local

import (
	"testing"
	"time"

	"github.com/pawl-go/pawl/engine"
)

// TestWaitsForAHostEndInTheirTime: one that waits anew, since its host is gone again, does
// not hold up those that have waited longer.
func TestWaitsForAHostEndInTheirTime(t *testing.T) {
	w := newTimed(t)
	begun, again, other := tell(w.s, "X", "1"), call(w.s, "X", "1"), call(w.s, "Y", "1")
	w.send(w.s, engine.Attempt{}, begun, again)
	w.at(0)
	w.at(30 * time.Second)
	w.send(w.s, engine.Attempt{}, other)
	w.at(30 * time.Second)
	x, p := w.join("x", "X")
	p.delivery(t, again.ID, 1)
	w.set(40 * time.Second)
	if err := x.Leave(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.at(40 * time.Second)
	for _, c := range []struct {
		r     *engine.Request
		after time.Duration
	}{{other, 90 * time.Second}, {again, 100 * time.Second}} {
		w.at(c.after - 1)
		w.p.mu.Lock()
		if len(w.p.responses[c.r.ID]) > 0 {
			t.Errorf("%v was answered early", c.r.Actor)
		}
		w.p.mu.Unlock()
		w.at(c.after)
		w.p.mu.Lock()
		if rs := w.p.responses[c.r.ID]; len(rs) != 1 || rs[0].Outcome.Failure.Code != string(engine.ErrNoHost) {
			t.Errorf("%v after %v: %+v", c.r.Actor, c.after, rs)
		}
		w.p.mu.Unlock()
	}
	in, err := w.s.Operator().Invocation(t.Context(), begun.ID)
	if err != nil || in.Status != engine.StatusRunning {
		t.Errorf("what had begun: %+v %v", in, err)
	}
}
