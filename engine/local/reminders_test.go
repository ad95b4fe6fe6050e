package local

import (
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pawl-go/pawl/engine"
)

// timed is a world whose clock the test sets. The engine's own clock looks
// too, but sees the same time.
type timed struct {
	*world
	now   atomic.Int64
	s     engine.Session
	p     *probe
	start time.Time
}

func newTimed(t *testing.T) *timed {
	w := &timed{world: prepareWorld(t, "durability=process&cycle=64KiB"), start: time.Unix(10_000_000, 0)}
	w.set(0)
	w.opts.Now = func() time.Time { return time.Unix(0, w.now.Load()) }
	w.opts.MissingTimeout = time.Minute
	w.open()
	t.Cleanup(func() { w.h.Close() })
	w.s, w.p = w.join("c", "A")
	return w
}

func (w *timed) set(d time.Duration) { w.now.Store(w.start.Add(d).UnixNano()) }

// at moves the clock and lets the engine look.
func (w *timed) at(d time.Duration) {
	w.set(d)
	w.e.tick()
}

func (w *timed) remind(name string, due, every time.Duration, m engine.Misfire) {
	w.t.Helper()
	if _, err := w.s.Send(engine.Attempt{}, &engine.Effects{Reminders: []engine.ReminderChange{{Reminder: engine.Reminder{
		Actor: engine.Actor{Type: "A", ID: "1"}, Name: name, Method: name, Due: w.start.Add(due), Every: every, Misfire: m,
	}}}}); err != nil {
		w.t.Fatal(err)
	}
}

// fired says how often each reminder has fired since it was asked last.
func (w *timed) fired() string {
	w.p.mu.Lock()
	defer w.p.mu.Unlock()
	n := map[string]int{}
	ids := map[engine.ID]bool{}
	for _, d := range w.p.deliveries {
		n[d.Request.Method]++
		if ids[d.Request.ID] {
			w.t.Errorf("%v fired twice", d.Request.ID)
		}
		ids[d.Request.ID] = true
	}
	w.p.deliveries = nil
	return fmt.Sprint(n)
}

func (w *timed) expect(want string) {
	w.t.Helper()
	if got := w.fired(); got != want {
		w.t.Errorf("fired %s, want %s", got, want)
	}
}

func TestRemindersFireOnSchedule(t *testing.T) {
	w := newTimed(t)
	w.remind("one", time.Minute, 0, engine.FireOnce)
	w.remind("each", time.Minute, time.Minute, engine.FireOnce)
	w.at(59 * time.Second)
	w.expect("map[]")
	w.at(time.Minute)
	w.expect("map[each:1 one:1]")
	w.at(time.Minute) // nothing twice
	w.expect("map[]")
	w.at(2*time.Minute + 30*time.Second) // late, but the schedule does not drift
	w.expect("map[each:1]")
	w.at(3*time.Minute - time.Nanosecond)
	w.expect("map[]")
	w.at(3 * time.Minute)
	w.expect("map[each:1]")
}

func TestClockMayJump(t *testing.T) {
	w := newTimed(t)
	w.remind("each", time.Minute, time.Minute, engine.FireOnce)
	w.at(time.Minute)
	w.expect("map[each:1]")
	w.at(-time.Hour) // back: nothing fires again, nothing is early
	w.expect("map[]")
	w.at(2*time.Minute - 1)
	w.expect("map[]")
	w.at(2 * time.Minute)
	w.expect("map[each:1]")
	w.at(10 * time.Minute) // ahead: one for all that was missed
	w.expect("map[each:1]")
	w.at(11 * time.Minute)
	w.expect("map[each:1]")
}

func TestMissedFirings(t *testing.T) {
	w := newTimed(t)
	for _, every := range []time.Duration{0, time.Minute} {
		for _, m := range []engine.Misfire{engine.FireOnce, engine.FireAll, engine.FireNone} {
			w.remind(fmt.Sprintf("%v-%d", every, m), time.Minute, every, m)
		}
	}
	if err := w.h.Close(); err != nil {
		t.Fatal(err)
	}
	w.set(3*time.Minute + 30*time.Second)
	w.open()
	w.s, w.p = w.join("c", "A")
	for range 3 {
		w.e.tick()
	}
	w.expect("map[0s-0:1 0s-1:1 1m0s-0:1 1m0s-1:3]")
	w.at(4 * time.Minute)
	w.expect("map[1m0s-0:1 1m0s-1:1 1m0s-2:1]")
	rs, err := w.s.Reminders(t.Context(), engine.Actor{Type: "A", ID: "1"})
	if err != nil || len(rs) != 3 || !rs[0].Due.Equal(w.start.Add(5*time.Minute)) {
		t.Errorf("%+v %v", rs, err)
	}
}

func TestAReminderSetAnewIsAnother(t *testing.T) {
	w := newTimed(t)
	w.remind("r", time.Minute, 0, engine.FireOnce)
	w.remind("r", 2*time.Minute, 0, engine.FireOnce)
	w.at(time.Minute)
	w.expect("map[]")
	w.at(2 * time.Minute)
	w.expect("map[r:1]")
	w.remind("r", 2*time.Minute, 0, engine.FireOnce) // the same due time, another generation
	w.at(2 * time.Minute)
	w.expect("map[r:1]")
}

func TestManyMissedFiringsAreSpread(t *testing.T) {
	w := newTimed(t)
	for i := range firesPerTick + 10 {
		w.remind(fmt.Sprint(i), time.Minute, 0, engine.FireOnce)
	}
	if err := w.h.Close(); err != nil {
		t.Fatal(err)
	}
	w.set(time.Hour)
	w.open()
	w.s, w.p = w.join("c", "A")
	w.p.until(t, "all firings", func() bool { return len(w.p.deliveries) == firesPerTick+10 })
	w.fired()
}

func TestFiringsDoNotPileUpWhileNobodyHosts(t *testing.T) {
	w := newTimed(t)
	if err := w.s.Leave(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.s, _ = w.join("x", "X")
	w.remind("each", time.Minute, time.Minute, engine.FireOnce)
	w.remind("all", time.Minute, time.Minute, engine.FireAll)
	for i := range 5 {
		w.at(time.Duration(i+1) * time.Minute)
	}
	w.s, w.p = w.join("d", "A")
	w.expect("map[all:5 each:1]")
	w.at(6 * time.Minute)
	w.expect("map[all:1 each:1]")
}

func TestDelayedTell(t *testing.T) {
	w := newTimed(t)
	r := tell(w.s, "A", "1")
	r.NotBefore = w.start.Add(time.Minute)
	w.send(w.s, engine.Attempt{}, r)
	w.at(time.Minute - 1)
	w.expect("map[]")
	if in, err := w.s.Operator().Invocation(t.Context(), r.ID); err != nil || in.Status != engine.StatusScheduled {
		t.Errorf("%+v %v", in, err)
	}
	w.at(time.Minute)
	w.expect("map[M:1]")
}

func TestNobodyHostsTheType(t *testing.T) {
	w := newTimed(t)
	running := call(w.s, "A", "1")
	w.send(w.s, engine.Attempt{}, running)
	w.p.delivery(t, running.ID, 1)
	outside, inside, told := call(w.s, "X", "1"), nested(w.s, running, "X", "1"), tell(w.s, "X", "1")
	w.send(w.s, engine.Attempt{}, outside, told)
	w.send(w.s, attempt(running, 1), inside)
	w.at(0)
	w.at(time.Minute - 1)
	w.p.mu.Lock()
	if len(w.p.responses) > 0 {
		t.Errorf("answered early: %v", w.p.responses)
	}
	w.p.mu.Unlock()
	w.at(time.Minute)
	for _, r := range []*engine.Request{outside, inside} {
		if o := w.p.response(t, r.ID).Outcome; o.Failure == nil || o.Failure.Code != string(engine.ErrNoHost) {
			t.Errorf("%+v", o)
		}
	}
	w.at(time.Hour)
	_, p := w.join("x", "X")
	p.delivery(t, told.ID, 1)
	if got := p.delivered(); !slices.Equal(got, []engine.ID{told.ID}) {
		t.Errorf("delivered %v", got)
	}
}
