package local

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/pawl-go/pawl/engine"
	"github.com/pawl-go/pawl/queue"
)

func (w *world) tail(from engine.Position, f engine.EventFilter) engine.Tail {
	w.t.Helper()
	t, err := operator{w.e}.Tail(bg, from, f)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(t.Close)
	return t
}

// events reads n events.
func (w *world) events(t engine.Tail, n int) (events []engine.Event) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(bg, time.Minute)
	defer cancel()
	for len(events) < n {
		more, err := t.Next(ctx)
		if err != nil {
			w.t.Fatal(err)
		}
		events = append(events, more...)
	}
	return events
}

// TestTailThatIsTooSlow: what a tail has yet to read goes by the retention all
// the same; it is told, and nobody waits for it.
func TestTailThatIsTooSlow(t *testing.T) {
	w := newWorld(t, "durability=process&cycle=64KiB&checkpoint=1GiB&retain=0s")
	s, _ := w.join("c", "A")
	slow := w.tail(0, engine.EventFilter{})
	w.events(slow, 1)
	at := slow.At()
	gone := func() bool { // also of what follows the cycle that it has at hand
		return w.e.log.First().Cycle() > queue.Index(at).Cycle()+1
	}
	for round := 0; !gone(); round++ {
		if round == 10 {
			t.Fatalf("the journal is kept from %v on: nothing has gone", w.e.log.First())
		}
		w.calls(s, 1500)
		w.seal()
		if err := w.e.checkpoint(); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := (operator{w.e}).Tail(bg, at+1, engine.EventFilter{}); !errors.Is(err, engine.ErrNotFound) {
		t.Errorf("a tail from there: %v", err)
	}
	var err error
	for err == nil { // what it has at hand it may still tell
		_, err = slow.Next(bg)
	}
	if !errors.Is(err, engine.ErrNotFound) {
		t.Errorf("the slow one: %v", err)
	}
	w.events(w.tail(0, engine.EventFilter{}), 1) // the oldest that is kept
}

// TestTailEndsWithTheEngine: one that waits is let go, and Close waits for it.
func TestTailEndsWithTheEngine(t *testing.T) {
	w := newWorld(t, "durability=disk")
	tail := w.tail(engine.Position(w.e.log.Last())+1, engine.EventFilter{})
	ended := make(chan error, 1)
	go func() {
		_, err := tail.Next(bg)
		ended <- err
	}()
	if err := w.h.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; !errors.Is(err, engine.ErrUnavailable) {
		t.Errorf("it ended with %v", err)
	}
	w.open()
}

// TestTailFromTheMiddle: a tail that begins behind a request knows its actor
// and method from the engine: pending, ended, and gone on by a tail call.
func TestTailFromTheMiddle(t *testing.T) {
	w := newWorld(t, "durability=process")
	s, _ := w.join("c", "A", "B")
	r := call(s, "A", "1")
	w.send(s, engine.Attempt{}, r)
	from := s.Last() + 1
	next := r.Tail(engine.Actor{Type: "B", ID: "2"}, "Next", nil, false)
	if _, err := s.Begin(engine.Attempt{ID: r.ID, Step: 1, N: 2}, engine.Attempt{}, nil); err != nil {
		t.Fatal(err)
	}
	w.finish(s, engine.Attempt{ID: r.ID, Step: 1, N: 2}, nil, &engine.Outcome{Tail: next})
	check := func() {
		t.Helper()
		got := w.events(w.tail(from, engine.EventFilter{}), 2)
		begin, tail := got[0], got[1]
		// Where it was when it began is not known once it has gone on; never is a
		// wrong actor named.
		if begin.Kind != engine.EventBegin || begin.Actor.Type == "B" || tail.Kind != engine.EventTail || tail.Actor != r.Actor || tail.To != next.Actor {
			t.Errorf("told %+v and %+v", begin, tail)
		}
	}
	check()
	w.finish(s, attempt(next, 1), nil, value("out"))
	check()
	got := w.events(w.tail(from+2, engine.EventFilter{}), 1)
	if got[0].Kind != engine.EventOutcome || got[0].Actor != next.Actor || got[0].Method != "Next" || got[0].Step != 2 {
		t.Errorf("told %+v", got[0])
	}
}

// TestTailWaitsForCommit: what does not count yet is not told.
func TestTailWaitsForCommit(t *testing.T) {
	w := newWorld(t, "durability=disk")
	s, _ := w.join("c", "A")
	tail := w.tail(s.Last()+1, engine.EventFilter{})
	for range 100 {
		w.calls(s, 10)
		for _, e := range w.events(tail, 1) {
			if !w.e.committed(e.At) {
				t.Fatalf("record %d is told and does not count", e.At)
			}
		}
	}
}

// TestEveryOpIsTold: each kind of record is told, and each kind of event is
// told by a record.
func TestEveryOpIsTold(t *testing.T) {
	w := newWorld(t, "durability=process")
	var f engine.EventFilter
	told := telling{e: w.e, filter: &f, sessions: map[uint64]string{}, places: map[engine.ID]place{}}
	records := goldenRecords()
	for name, write := range map[string]func(*encoder){
		"lost by failure": func(w *encoder) { w.lost(&losses{sessions: []uint64{9}}) },
		"unpaused":        func(w *encoder) { w.paused(engine.Actor{Type: "A"}, false) },
	} {
		w := &encoder{}
		write(w)
		records[name] = w.b
	}
	var kinds []engine.EventKind
	for name, record := range records {
		events, err := told.record(nil, record, 1)
		if err != nil || len(events) == 0 {
			t.Errorf("%s: told %v, %v", name, events, err)
		}
		for _, e := range events {
			kinds = append(kinds, e.Kind)
		}
	}
	for _, k := range engine.EventKinds {
		if !slices.Contains(kinds, k) {
			t.Errorf("no record tells %s", k)
		}
	}
}

// BenchmarkTail reads the events of calls with two records each.
func BenchmarkTail(b *testing.B) {
	w := newWorld(b, "durability=process&checkpoint=1GiB")
	s := w.joinAs("c", quiet{}, "A")
	from := s.Last() + 1
	w.calls(s, b.N)
	tail := w.tail(from, engine.EventFilter{})
	b.ReportAllocs()
	b.ResetTimer()
	for n := 0; n < 3*b.N; {
		events, err := tail.Next(bg)
		if err != nil {
			b.Fatal(err)
		}
		n += len(events)
	}
}
