package queue

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"sync"
	"testing"
)

// quiet keeps the logger's output out of the tests'.
func quiet() *slog.Logger { return slog.New(slog.NewTextHandler(io.Discard, nil)) }

func small() Config { return Config{CycleBytes: 32 << 10, Logger: quiet()} }

func mustOpen(t testing.TB, dir string, cfg Config) *Queue {
	t.Helper()
	q, err := Open(dir, cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := q.Close(); err != nil && !errors.Is(err, ErrClosed) {
			t.Error(err)
		}
	})
	return q
}

func mustOpenReadOnly(t testing.TB, dir string) *Queue {
	t.Helper()
	q, err := OpenReadOnly(dir, Config{Logger: quiet()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = q.Close() })
	return q
}

func mustClose(t testing.TB, q *Queue) {
	t.Helper()
	if err := q.Close(); err != nil {
		t.Fatal(err)
	}
}

func mustAppend(t testing.TB, q *Queue, p string) Index {
	t.Helper()
	i, err := q.Append([]byte(p))
	if err != nil {
		t.Fatal(err)
	}
	return i
}

// content is entry n of the tests: its length varies from 0 to over a page.
func content(n int) string {
	return fmt.Sprintf("%d:%s", n, string(make([]byte, n*37%5000)))[:max(0, n*37%5000)]
}

// all reads everything from an index on without waiting.
func all(t testing.TB, q *Queue, from Index) (is []Index, ps []string) {
	t.Helper()
	tl := q.NewTailer(from)
	defer tl.Close()
	for {
		i, p, ok, err := tl.TryNext()
		if err != nil {
			t.Fatal(err)
		}
		if !ok {
			return is, ps
		}
		is, ps = append(is, i), append(ps, string(p))
	}
}

func TestAppendReadTailAcrossCycles(t *testing.T) {
	dir := t.TempDir()
	q := mustOpen(t, dir, small())
	const n = 200
	var want []Index
	for k := range n {
		want = append(want, mustAppend(t, q, content(k)))
	}
	check := func(q *Queue) {
		t.Helper()
		if q.Last() != want[n-1] || q.First() != want[0] {
			t.Fatalf("First %s Last %s, want %s and %s", q.First(), q.Last(), want[0], want[n-1])
		}
		is, ps := all(t, q, 0)
		if len(is) != n {
			t.Fatalf("tailed %d entries, want %d", len(is), n)
		}
		for k, i := range is {
			if i != want[k] || ps[k] != content(k) {
				t.Fatalf("entry %d: index %s want %s, %d bytes want %d", k, i, want[k], len(ps[k]), len(content(k)))
			}
			p, err := q.Read(i)
			if err != nil || string(p) != content(k) {
				t.Fatalf("Read(%s): %d bytes, %v", i, len(p), err)
			}
			if k > 0 && i != want[k-1]+1 && i != NewIndex(want[k-1].Cycle()+1, 0) {
				t.Fatalf("index %s does not follow %s", i, want[k-1])
			}
		}
		for k := range n {
			if is, _ := all(t, q, want[k]); len(is) != n-k || is[0] != want[k] {
				t.Fatalf("tailer from %s: %d entries, want %d", want[k], len(is), n-k)
			}
		}
		if is, _ := all(t, q, q.Last()+1); len(is) != 0 {
			t.Fatalf("tailer from the end read %v", is)
		}
		for _, i := range []Index{q.Last() + 1, NewIndex(1, 1<<31), NewIndex(1<<20, 0)} {
			if _, err := q.Read(i); !errors.Is(err, ErrNotFound) {
				t.Fatalf("Read(%s): %v, want ErrNotFound", i, err)
			}
		}
		total := 0
		for _, c := range q.Cycles() {
			total += int(c.Entries)
		}
		if total != n {
			t.Fatalf("Cycles counts %d entries, want %d: %+v", total, n, q.Cycles())
		}
	}
	check(q)
	check(mustOpenReadOnly(t, dir))
	mustClose(t, q)
	check(mustOpenReadOnly(t, dir))
	q = mustOpen(t, dir, small())
	check(q)
	if q.Recovered() != nil {
		t.Fatalf("recovered %+v from a clean queue", q.Recovered())
	}
	q.Unmap(q.Last())
	check(q)
	mid := want[n/2]
	if err := q.ReleaseBefore(mid); err != nil {
		t.Fatal(err)
	}
	if f := q.First(); f.Cycle() != mid.Cycle() {
		t.Fatalf("First is %s after ReleaseBefore(%s)", f, mid)
	}
	if _, err := q.Read(want[0]); !errors.Is(err, ErrReleased) {
		t.Fatalf("Read of a released entry: %v", err)
	}
	if _, _, _, err := q.NewTailer(want[0]).TryNext(); !errors.Is(err, ErrReleased) {
		t.Fatalf("tailer at a released entry: %v", err)
	}
	if _, err := os.Stat(dir + "/" + cycleName(1)); !os.IsNotExist(err) {
		t.Fatalf("file of a released cycle: %v", err)
	}
}

func TestConcurrentAppendersWaitDurable(t *testing.T) {
	cfg := small()
	cfg.CycleBytes, cfg.Durability = 256<<10, Disk
	q := mustOpen(t, t.TempDir(), cfg)
	const workers, each = 16, 60
	var wg sync.WaitGroup
	seen := make([]map[Index]string, workers)
	for w := range workers {
		seen[w] = map[Index]string{}
		wg.Go(func() {
			for k := range each {
				p := fmt.Sprintf("%d/%d/%s", w, k, content(k))
				i, err := q.Append([]byte(p))
				if err == nil {
					err = q.WaitDurable(context.Background(), i)
				}
				if err != nil {
					t.Error(err)
					return
				}
				if q.Durable() < i {
					t.Errorf("Durable %s after WaitDurable(%s)", q.Durable(), i)
				}
				seen[w][i] = p
			}
		})
	}
	tl := q.NewTailer(0)
	defer tl.Close()
	got := map[Index]string{}
	for len(got) < workers*each {
		i, p, err := tl.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		got[i] = string(p)
	}
	wg.Wait()
	for _, m := range seen {
		for i, p := range m {
			if got[i] != p {
				t.Fatalf("entry %s differs", i)
			}
		}
	}
}

func TestBatchAndSlots(t *testing.T) {
	dir := t.TempDir()
	q := mustOpen(t, dir, small())
	first, err := q.AppendBatch([]byte("a"), nil, []byte("ccc"))
	if err != nil || first != NewIndex(1, 0) {
		t.Fatal(first, err)
	}
	s1, err := q.Reserve(5)
	if err != nil {
		t.Fatal(err)
	}
	s2, err := q.Reserve(3)
	if err != nil {
		t.Fatal(err)
	}
	copy(s1.Bytes(), "slot1")
	copy(s2.Bytes(), "two")
	type result struct {
		i   Index
		err error
	}
	late := make(chan result, 3)
	go func() { i, err := s2.Commit(); late <- result{i, err} }()
	go func() { i, err := q.Append([]byte("late")); late <- result{i, err} }()
	go func() { i, err := q.AppendBatch([]byte("x"), []byte("y")); late <- result{i, err} }()
	if got := q.Last(); got != NewIndex(1, 2) {
		t.Fatalf("Last %s while a slot is open", got)
	}
	if i, err := s1.Commit(); err != nil || i != NewIndex(1, 3) {
		t.Fatal(i, err)
	}
	for range 3 {
		if r := <-late; r.err != nil {
			t.Fatal(r.err)
		}
	}
	s3, err := q.Reserve(100)
	if err != nil {
		t.Fatal(err)
	}
	copy(s3.Bytes(), "never")
	s3.Abandon()
	mustAppend(t, q, "end")
	check := func(q *Queue) {
		t.Helper()
		is, ps := all(t, q, 0)
		if len(ps) != 9 || ps[3] != "slot1" || ps[8] != "end" || is[8] != NewIndex(1, 8) {
			t.Fatalf("got %q at %v", ps, is)
		}
	}
	check(q)
	mustClose(t, q)
	check(mustOpen(t, dir, small()))
}

func TestSlotOpenAcrossRolls(t *testing.T) {
	dir := t.TempDir()
	q := mustOpen(t, dir, small())
	s, err := q.Reserve(10)
	if err != nil {
		t.Fatal(err)
	}
	const n = 50
	var slots []*Slot
	for range n {
		x, err := q.Reserve(3000)
		if err != nil {
			t.Fatal(err)
		}
		copy(x.Bytes(), "x")
		slots = append(slots, x)
	}
	var wg sync.WaitGroup
	for _, x := range slots {
		wg.Go(func() {
			if _, err := x.Commit(); err != nil {
				t.Error(err)
			}
		})
	}
	if is, _ := all(t, q, 0); len(is) != 0 || q.Last() != 0 {
		t.Fatalf("%d entries seen behind an open slot", len(is))
	}
	s.Abandon()
	wg.Wait()
	if is, _ := all(t, q, 0); len(is) != n {
		t.Fatalf("%d entries, want %d", len(is), n)
	}
	mustClose(t, q)
	if is, _ := all(t, mustOpen(t, dir, small()), 0); len(is) != n {
		t.Fatalf("%d entries after reopening, want %d", len(is), n)
	}
}

func TestEntryThatEndsExactlyAtTheEndOfACycle(t *testing.T) {
	for _, over := range []int{-8, 0, 8} {
		dir := t.TempDir()
		q := mustOpen(t, dir, small())
		mustAppend(t, q, "first")
		room := int(q.cfg.CycleBytes - dataStart - entrySize(5) - 2*entryHeader)
		i := mustAppend(t, q, string(make([]byte, room+over)))
		j := mustAppend(t, q, "after")
		if over <= 0 && i.Cycle() != 1 || over > 0 && i.Cycle() != 2 {
			t.Fatalf("over %d: index %s", over, i)
		}
		mustClose(t, q)
		q = mustOpen(t, dir, small())
		is, ps := all(t, q, 0)
		if len(is) != 3 || is[1] != i || is[2] != j || ps[2] != "after" {
			t.Fatalf("over %d: %v", over, is)
		}
		big, err := q.Append(make([]byte, MaxEntry(q.cfg.CycleBytes)))
		if err != nil || big.Seq() != 0 {
			t.Fatalf("largest entry: %s %v", big, err)
		}
		if _, err := q.Append(make([]byte, MaxEntry(q.cfg.CycleBytes)+1)); !errors.Is(err, ErrTooLarge) {
			t.Fatalf("too large: %v", err)
		}
		mustClose(t, q)
	}
}
