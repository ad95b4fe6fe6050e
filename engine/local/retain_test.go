package local

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/pawl-go/pawl/engine"
	"github.com/pawl-go/pawl/queue"
)

// calls makes n calls that end, and returns their ids.
func (w *world) calls(s engine.Session, n int) (ids []engine.ID) {
	w.t.Helper()
	for i := range n {
		r := call(s, "A", "1")
		if i%3 == 0 {
			r.ID, r.Keyed = engine.Derive("key", r.ID.String()), true
		}
		w.send(s, engine.Attempt{}, r)
		w.finish(s, attempt(r, 1), &engine.Effects{Writes: []engine.Write{put("n", "1")}}, value(r.ID.String()))
		ids = append(ids, r.ID)
	}
	return ids
}

func (w *world) lookFor(ids []engine.ID, want bool) {
	w.t.Helper()
	for i, id := range ids {
		l, err := w.e.lookBack(id)
		if err != nil {
			w.t.Fatal(err)
		}
		if found := l.at != 0; found != want || found && string(l.o.Value) != id.String() {
			w.t.Fatalf("%d of %d, %v: found %v, want %v", i, len(ids), id, found, want)
		}
	}
}

// seal waits until all cycles but the last are sealed, and writes their indexes.
func (w *world) seal() {
	w.t.Helper()
	q := w.e.log.(*queue.Queue)
	cs := q.Cycles()
	if err := q.WaitDurable(bg, cs[len(cs)-1].First); err != nil {
		w.t.Fatal(err)
	}
	if err := w.e.done.seal(); err != nil {
		w.t.Fatal(err)
	}
}

func TestEndedInvocationsAreFoundOverRestarts(t *testing.T) {
	w := newWorld(t, "durability=process&cycle=64KiB&checkpoint=1GiB")
	s, _ := w.join("c", "A")
	ids := w.calls(s, 1500)
	w.lookFor(ids, true)
	w.seal()
	w.lookFor(ids, true)
	w.lookFor([]engine.ID{{Hi: 1, Lo: 1 << 40}, {Hi: 99, Lo: 1}, engine.Derive("key", "x")}, false)
	if err := w.e.checkpoint(); err != nil {
		t.Fatal(err)
	}
	ids = append(ids, w.calls(s, 100)...)
	w.crash()
	w.lookFor(ids, true)
	w.reopen()
	w.lookFor(ids, true)
	if err := w.h.Close(); err != nil { // indexes can be made again
		t.Fatal(err)
	}
	if err := os.RemoveAll(filepath.Join(w.dir, "journal-index")); err != nil {
		t.Fatal(err)
	}
	w.open()
	w.lookFor(ids, true)
	var listed []engine.ID
	for in, err := range (operator{w.e}).Invocations(bg, engine.Query{Type: "A"}) {
		if err != nil {
			t.Fatal(err)
		}
		if in.Status != engine.StatusDone || in.Request.Method != "M" || in.Ended.IsZero() {
			t.Fatalf("%+v", in)
		}
		listed = append(listed, in.Request.ID)
	}
	slices.Reverse(listed)
	if !slices.Equal(listed, ids) {
		t.Errorf("%d are listed, not %d, or in another order", len(listed), len(ids))
	}
}

func TestOldCyclesGo(t *testing.T) {
	for _, parameters := range []string{"retain=0s", "retain_bytes=100KiB"} {
		t.Run(parameters, func(t *testing.T) {
			w := newWorld(t, "durability=process&cycle=64KiB&checkpoint=1GiB&"+parameters)
			s, _ := w.join("c", "A", "B")
			stays := call(s, "B", "stays")
			w.send(s, engine.Attempt{}, stays)
			old := w.calls(s, 1500)
			recent := w.calls(s, 10)
			w.seal()
			if err := w.e.checkpoint(); err != nil {
				t.Fatal(err)
			}
			if cs := w.e.log.Cycles(); cs[0].Number < 3 {
				t.Errorf("kept: %+v", cs)
			}
			w.lookFor(old[:100], false)
			w.lookFor(recent, true)
			files, err := os.ReadDir(filepath.Join(w.dir, "journal-index"))
			if err != nil || len(files) > len(w.e.log.Cycles()) {
				t.Errorf("%d indexes, %d cycles, %v", len(files), len(w.e.log.Cycles()), err)
			}
			w.crash()
			s, p := w.join("c", "A", "B")
			p.delivery(t, stays.ID, 1) // pending work is never dropped
			if v, _, err := s.Lookup(bg, engine.Actor{Type: "A", ID: "1"}, put("n", "").Key); string(v) != "1" || err != nil {
				t.Errorf("%q %v", v, err)
			}
		})
	}
}

func TestKeyedDuplicates(t *testing.T) {
	w := newWorld(t, "durability=process&cycle=64KiB&checkpoint=1GiB")
	s, p := w.join("c", "A")
	keyed := func(payload string) *engine.Request {
		r := call(s, "A", "1")
		r.ID, r.Keyed, r.Payload = engine.Derive("key", "k"), true, []byte(payload)
		return r
	}
	r := keyed("x")
	w.send(s, engine.Attempt{}, r)
	w.send(s, engine.Attempt{}, keyed("x")) // joins
	if _, err := s.Send(engine.Attempt{}, &engine.Effects{Requests: []*engine.Request{keyed("y")}}); engine.CodeOf(err) != engine.ErrKeyReused {
		t.Errorf("in flight: %v", err)
	}
	tail := r.Tail(r.Actor, "next", nil, true)
	w.finish(s, attempt(r, 1), nil, &engine.Outcome{Tail: tail})
	w.finish(s, attempt(tail, 1), nil, value("out"))
	p.response(t, r.ID)
	w.calls(s, 600)
	w.seal()
	for range 2 {
		p.note(func() { clear(p.responses) })
		last := s.Last()
		w.send(s, engine.Attempt{}, keyed("x"))
		if got := p.response(t, r.ID); string(got.Outcome.Value) != "out" || s.Last() != last {
			t.Errorf("%+v, recorded %v", got, s.Last() != last)
		}
		if _, err := s.Send(engine.Attempt{}, &engine.Effects{Requests: []*engine.Request{keyed("y")}}); engine.CodeOf(err) != engine.ErrKeyReused {
			t.Errorf("ended: %v", err)
		}
		w.reopen()
		s, p = w.join("c", "A")
	}
}

func BenchmarkManyKeys(b *testing.B) {
	w := newWorld(b, "durability=process")
	s := w.joinAs("c", quiet{}, "A")
	out, value := value("out"), []byte("12345")
	keys := make([]engine.Actor, 1000)
	for i := range keys {
		keys[i] = engine.Actor{Type: "A", ID: string(rune('a'+i%26)) + string(rune('0'+i/26))}
	}
	b.ReportAllocs()
	b.SetParallelism(32)
	b.RunParallel(func(pb *testing.PB) {
		i := 0
		for pb.Next() {
			i++
			r := call(s, "A", "")
			r.Actor = keys[i%len(keys)]
			if _, err := s.Send(engine.Attempt{}, &engine.Effects{Requests: []*engine.Request{r}}); err != nil {
				b.Error(err)
				return
			}
			if _, err := s.Finish(attempt(r, 1), &engine.Effects{Writes: []engine.Write{{Key: engine.Key{Cell: "n"}, Value: value}}}, out); err != nil {
				b.Error(err)
				return
			}
		}
	})
}

// BenchmarkOpen opens a directory whose journal holds 64 MiB behind the last
// checkpoint.
func BenchmarkOpen(b *testing.B) {
	w := newWorld(b, "durability=process&checkpoint=1GiB")
	s := w.joinAs("c", quiet{}, "A")
	n := 0
	for w.e.saver.bytes < 64<<20 {
		n += 1000
		w.calls(s, 1000)
	}
	for b.Loop() {
		b.StopTimer()
		w.e.stop()
		if err := w.e.letGo(); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
		w.recover("")
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(2*n), "ns/record")
}

// BenchmarkDisk is a call of which request and outcome are waited for.
func BenchmarkDisk(b *testing.B) {
	for _, clients := range []int{1, 8, 64} {
		b.Run(fmt.Sprintf("clients=%d", clients), func(b *testing.B) {
			w := newWorld(b, "durability=disk")
			s := w.joinAs("c", quiet{}, "A")
			var left atomic.Int64
			left.Store(int64(b.N))
			var wg sync.WaitGroup
			b.ResetTimer()
			for i := range clients {
				wg.Go(func() {
					for left.Add(-1) >= 0 {
						r := call(s, "A", fmt.Sprint(i))
						at, err := s.Send(engine.Attempt{}, &engine.Effects{Requests: []*engine.Request{r}})
						if err == nil {
							err = s.Wait(bg, at)
						}
						if err == nil {
							at, err = s.Finish(attempt(r, 1), &engine.Effects{Writes: []engine.Write{put("n", "1")}}, value("out"))
						}
						if err == nil {
							err = s.Wait(bg, at)
						}
						if err != nil {
							b.Error(err)
							return
						}
					}
				})
			}
			wg.Wait()
		})
	}
}
