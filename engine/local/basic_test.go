package local

import (
	"errors"
	"testing"

	"github.com/pawl-go/pawl/engine"
)

func TestCallIsDeliveredAnsweredAndRecorded(t *testing.T) {
	for _, durability := range []string{"process", "disk"} {
		t.Run(durability, func(t *testing.T) {
			w := newWorld(t, "durability="+durability)
			s, p := w.join("c", "A")
			r := call(s, "A", "1")
			at := w.send(s, engine.Attempt{}, r)
			d := p.delivery(t, r.ID, 1)
			if d.Request != r || d.At != at || d.Attempts != 0 || d.Token == 0 || d.StartsAtOnce() {
				t.Errorf("delivery %+v", d)
			}
			if err := s.Wait(t.Context(), at); err != nil || !s.Committed(at) {
				t.Fatal(err, s.Committed(at))
			}
			end := w.finish(s, attempt(r, 1), &engine.Effects{Writes: []engine.Write{put("n", "1"), entry("m", "a", "x")}}, value("out"))
			if end <= at || s.Last() != end {
				t.Errorf("positions %v, %v, last %v", at, end, s.Last())
			}
			if got := p.response(t, r.ID); string(got.Outcome.Value) != "out" || got.At != end {
				t.Errorf("response %+v", got)
			}
			if _, err := s.Finish(attempt(r, 1), &engine.Effects{}, value("again")); !errors.Is(err, engine.ErrFenced) {
				t.Errorf("second finish: %v", err)
			}
			w.reopen()
			s, p = w.join("c", "A")
			cells, err := s.Load(t.Context(), r.Actor)
			if err != nil || len(cells) != 1 || cells[0].Cell != "n" || string(cells[0].Value) != "1" {
				t.Fatalf("load: %v %v", cells, err)
			}
			cells, err = s.Scan(t.Context(), r.Actor, "m", "", 10)
			if err != nil || len(cells) != 1 || cells[0].Entry != "a" || string(cells[0].Value) != "x" {
				t.Fatalf("scan: %v %v", cells, err)
			}
			if err := s.Attach(r.ID); err != nil {
				t.Fatal(err)
			}
			if got := p.response(t, r.ID); string(got.Outcome.Value) != "out" || got.At != end {
				t.Errorf("response after restart %+v", got)
			}
		})
	}
}

func TestPendingRequestIsDeliveredAfterRestart(t *testing.T) {
	w := newWorld(t, "durability=process")
	s, p := w.join("c", "A")
	r, behind := call(s, "A", "1"), tell(s, "A", "1")
	w.send(s, engine.Attempt{}, r)
	w.send(s, engine.Attempt{}, behind)
	d := p.delivery(t, r.ID, 1)
	w.reopen()
	s, p = w.join("c", "A")
	again := p.delivery(t, r.ID, 1)
	if again.Attempts != 1 || again.Lost != 1 || again.Token <= d.Token {
		t.Errorf("delivery after restart %+v, before %+v", again, d)
	}
	if got := p.delivery(t, behind.ID, 1); got.Attempts != 0 {
		t.Errorf("the one behind counts as begun: %+v", got)
	}
	if s.NewID().Hi <= r.ID.Hi {
		t.Error("a session number is used again")
	}
}

func BenchmarkCall(b *testing.B) {
	w := newWorld(b, "durability=process&cycle=64MiB")
	s := w.joinAs("c", quiet{}, "A")
	r := call(s, "A", "1")
	out := value("out")
	ef := &engine.Effects{Requests: []*engine.Request{r}}
	end := &engine.Effects{Writes: []engine.Write{put("n", "1")}}
	b.ReportAllocs()
	for b.Loop() {
		x := *r
		x.ID = s.NewID()
		ef.Requests[0] = &x
		if _, err := s.Send(engine.Attempt{}, ef); err != nil {
			b.Fatal(err)
		}
		if _, err := s.Finish(engine.Attempt{ID: x.ID, Step: 1, N: 1}, end, out); err != nil {
			b.Fatal(err)
		}
	}
}

type quiet struct{ engine.Handler }

func (quiet) Deliver(engine.Delivery) {}
func (quiet) Respond(engine.Response) {}
