package replica

import (
	"errors"
	"log/slog"
	"reflect"
	"strings"
	"testing"

	"github.com/pawl-go/pawl/queue"
	"github.com/pawl-go/pawl/queue/memfs"
	"github.com/pawl-go/pawl/queue/replica/core"
)

// longQueue is a queue with six cycles, with its chain.
func longQueue(t *testing.T) (*queue.Queue, *chain) {
	t.Helper()
	fs := memfs.New()
	cfg := queue.Config{CycleBytes: queue.MinCycleBytes, FS: fs, Logger: slog.New(slog.DiscardHandler)}
	q, err := queue.Open("orders", cfg)
	if err != nil {
		t.Fatal(err)
	}
	for q.Last().Cycle() < 6 {
		note := core.Control{Kind: core.EpochBegins, Epoch: core.Epoch{Number: uint64(q.Last()) + 1, Host: 1}}
		if _, err := q.AppendNote(note.Encode()); err != nil {
			t.Fatal(err)
		}
		if _, err := q.Append([]byte(strings.Repeat("x", 3000))); err != nil {
			t.Fatal(err)
		}
	}
	if err := q.Close(); err != nil { // all cycles but the last are sealed then
		t.Fatal(err)
	}
	if q, err = queue.Open("orders", cfg); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { q.Close() })
	dir, err := fs.OpenDir("orders", false)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { dir.Close() })
	return q, &chain{dir: dir}
}

// releaseOnce lets retention delete the cycles before one, once cycles are listed.
func releaseOnce(t *testing.T, q *queue.Queue, c *chain, before uint32) {
	c.listed = func() {
		c.listed = nil
		err := q.ReleaseBefore(queue.NewIndex(before, 0))
		if first := q.First().Cycle(); err != nil || first != before {
			t.Errorf("released up to cycle %d: %v", first, err)
		}
	}
}

// TestReleasedWhileOpening: retention deletes cycles between their listing and
// their reading. What is left is described, behind what the file says of the rest.
func TestReleasedWhileOpening(t *testing.T) {
	for _, known := range []bool{true, false} {
		q, c := longQueue(t)
		full, err := c.open(q)
		if err != nil {
			t.Fatal(err)
		}
		third := c.mu.records[2]
		again := &chain{dir: c.dir}
		if known {
			if err := again.load(); err != nil {
				t.Fatal(err)
			}
		}
		releaseOnce(t, q, again, 4)
		got, err := again.open(q)
		if err != nil {
			t.Fatal(err)
		}
		want := core.Log{Base: third.base(), Runs: full.Runs[3:]}
		if !known {
			want.Base = again.base(4)
		}
		for _, row := range full.Controls {
			if row.Index.Cycle() > 3 {
				want.Controls = append(want.Controls, row)
			}
		}
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("file %t: %+v, want %+v", known, got, want)
		}
		sum, err := again.sumTo(q, q.Last())
		if wantSum, werr := c.sumTo(q, q.Last()); err != nil || werr != nil || known && sum != wantSum {
			t.Fatalf("file %t: %x %v, want %x %v", known, sum, err, wantSum, werr)
		}
	}
}

// TestReleasedWhileSummedUp: the same while records are made of a queue that runs.
func TestReleasedWhileSummedUp(t *testing.T) {
	q, c := longQueue(t)
	if _, err := c.open(q); err != nil {
		t.Fatal(err)
	}
	c.mu.records = c.mu.records[:1] // as if nothing held retention back
	if err := q.ReleaseBefore(queue.NewIndex(4, 0)); err != nil {
		t.Fatal(err)
	}
	if err := c.catchUp(q); err != nil {
		t.Fatal(err)
	}
	if n := len(c.mu.records); n != 2 || c.mu.records[0].Cycle != 4 {
		t.Fatalf("%d records, the first of cycle %d", n, c.mu.records[0].Cycle)
	}
	releaseOnce(t, q, c, 6)
	if _, err := c.sumTo(q, queue.NewIndex(5, 0)); !errors.Is(err, queue.ErrReleased) {
		t.Fatalf("sum of what is gone: %v", err)
	}
	if r, ok := c.gone(q); !ok || r.Cycle != 5 {
		t.Fatalf("%+v %t", r, ok)
	}
}

// TestReleasedUnderAStream: the core hears of the release before it hears of the
// entries that cannot be read, though the news of the file are late.
func TestReleasedUnderAStream(t *testing.T) {
	inner, c := longQueue(t)
	log, err := c.open(inner)
	if err != nil {
		t.Fatal(err)
	}
	q := &Queue{in: newInbox(), chain: chain{dir: c.dir}}
	q.chain.mu.q, q.chain.mu.records = inner, c.mu.records
	q.mu.q, q.mu.life = inner, 3
	third := log.Runs[2].Last
	if err := inner.ReleaseBefore(third + 1); err != nil {
		t.Fatal(err)
	}
	s := newStream(q, 2)
	s.seek(queue.NewIndex(2, 0))
	_, _, err = s.reader.TryNext(1)
	q.tellReleased(s.inner, err)
	s.leave()
	list := q.in.take(nil)
	if len(list) != 1 || list[0].life != 3 {
		t.Fatalf("%v: %+v", err, list)
	}
	if ev, ok := list[0].event.(core.Released); !ok || ev.Through != third {
		t.Fatalf("%+v, want %v", list[0].event, third)
	}
}
