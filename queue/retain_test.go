package queue

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

func TestReleasable(t *testing.T) {
	now := someday
	cycle := func(age time.Duration, bytes int64, entries uint32) CycleInfo {
		return CycleInfo{Sealed: true, Ended: now.Add(-age), Bytes: bytes, Entries: entries}
	}
	cycles := []CycleInfo{cycle(3*time.Hour, 100, 10), cycle(2*time.Hour, 100, 10), cycle(time.Hour, 100, 0), {Bytes: 50, Entries: 5}}
	for _, c := range []struct {
		r    Retention
		want int
	}{
		{Retention{}, 0},
		{Retention{Age: 4 * time.Hour}, 0},
		{Retention{Age: 2 * time.Hour}, 1}, // the second one is just as old
		{Retention{Age: time.Minute}, 3},   // never the one being written
		{Retention{Bytes: 350}, 0},
		{Retention{Bytes: 349}, 1},
		{Retention{Bytes: 1}, 3},
		{Retention{Entries: 16}, 0},
		{Retention{Entries: 15}, 1},
		{Retention{Entries: 6}, 1}, // the newest 6 reach into the second one
		{Retention{Entries: 5}, 3},
		{Retention{Entries: 15, Age: 90 * time.Minute}, 2}, // whichever lets go more
	} {
		if got := c.r.releasable(cycles, now); got != c.want {
			t.Errorf("%+v: %d, want %d", c.r, got, c.want)
		}
	}
	cycles[0].Sealed = false
	if got := (Retention{Bytes: 1}).releasable(cycles, now); got != 0 {
		t.Errorf("a cycle that is not sealed: %d", got)
	}
}

func TestRollDue(t *testing.T) {
	at := func(s string) time.Time {
		v, err := time.Parse(time.DateTime, s)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	zone := time.FixedZone("far", 5*3600+1800)
	for _, c := range []struct {
		begun, now string
		every      time.Duration
		want       bool
	}{
		{"2026-11-29 23:59:59", "2026-11-30 00:00:00", 24 * time.Hour, true},
		{"2026-11-30 00:00:00", "2026-11-30 23:59:59", 24 * time.Hour, false},
		{"2026-11-30 00:00:00", "2026-11-29 23:00:00", 24 * time.Hour, false}, // the clock went back
		{"2026-11-29 23:59:59", "2026-11-30 00:00:00", 7 * 24 * time.Hour, true},
		{"2026-11-23 00:00:00", "2026-11-29 23:59:59", 7 * 24 * time.Hour, false}, // Monday to Sunday
		{"2026-11-30 10:59:59", "2026-11-30 11:00:00", time.Hour, true},
	} {
		if got := rollDue(at(c.begun).In(zone), at(c.now).In(zone), c.every); got != c.want {
			t.Errorf("begun %s, at %s, every %s: %t", c.begun, c.now, c.every, got)
		}
	}
	if d := nextTend(at("2026-11-30 23:59:57"), 24*time.Hour); d != 3*time.Second {
		t.Errorf("just before midnight: %s", d)
	}
	if d := nextTend(at("2026-11-30 00:00:00"), 24*time.Hour); d != tendEvery {
		t.Errorf("just after midnight: %s", d)
	}
}

// someday is the time where a test needs one.
var someday = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

// clock is a time that a test sets.
type clock struct{ ns atomic.Int64 }

func newClock(t time.Time) *clock    { c := &clock{}; c.ns.Store(t.UnixNano()); return c }
func (c *clock) Now() time.Time      { return time.Unix(0, c.ns.Load()) }
func (c *clock) add(d time.Duration) { c.ns.Add(int64(d)) }

// TestRollByTime: a cycle ends with its period, an empty one does not, and a queue
// that was closed meanwhile rolls when it is opened, by when the cycle was begun
// and not by when its file was prepared.
func TestRollByTime(t *testing.T) {
	dir := t.TempDir()
	c := newClock(time.Date(2026, 11, 30, 23, 0, 0, 0, time.UTC))
	cfg := small()
	cfg.Now, cfg.RollEvery = c.Now, 24*time.Hour
	q := mustOpen(t, dir, cfg)
	tend := func(want Index) {
		t.Helper()
		q.tendAt(c.Now())
		if i := mustAppend(t, q, "x"); i != want {
			t.Fatalf("appended as %s, want %s", i, want)
		}
	}
	tend(NewIndex(1, 0))
	c.add(30 * time.Minute)
	tend(NewIndex(1, 1))
	mustAppend(t, q, string(make([]byte, 20<<10))) // the next cycle is prepared now
	for {
		q.w.Lock()
		ready := q.w.next != nil
		q.w.Unlock()
		if ready {
			break
		}
		q.kickHelper()
	}
	c.add(time.Hour) // 00:30
	tend(NewIndex(2, 0))
	c.add(23 * time.Hour) // 23:30
	tend(NewIndex(2, 1))
	mustClose(t, q)
	q = mustOpen(t, dir, cfg)
	tend(NewIndex(2, 2)) // the file was made the day before, the cycle begun today
	c.add(time.Hour)
	mustClose(t, q)
	q = mustOpen(t, dir, cfg)
	tend(NewIndex(3, 0))
	c.add(24 * time.Hour)
	q.tendAt(c.Now())
	if q.w.seg.cycle != 4 {
		t.Fatalf("in cycle %d, want 4", q.w.seg.cycle)
	}
	c.add(72 * time.Hour)
	tend(NewIndex(4, 0)) // empty cycles do not roll
	if err := q.OpenCyclesWith([]byte("note")); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(q.Roll(), q.Roll()); err != nil {
		t.Fatal(err)
	}
	c.add(48 * time.Hour)
	tend(NewIndex(5, 1)) // nor do those that have a note only
	if rep, err := Verify(dir, CheckOptions{}); err != nil || len(rep.Problems) > 0 {
		t.Fatalf("verify: %+v %v", rep.Problems, err)
	}
}

// TestRollBehindAnOpenSlot: the cycle ends once the slot does.
func TestRollBehindAnOpenSlot(t *testing.T) {
	q := mustOpen(t, t.TempDir(), small())
	s, err := q.Reserve(3)
	if err != nil {
		t.Fatal(err)
	}
	if err := q.Roll(); err != nil {
		t.Fatal(err)
	}
	copy(s.Bytes(), "abc")
	if i, err := s.Commit(); err != nil || i != NewIndex(1, 0) {
		t.Fatal(i, err)
	}
	if i := mustAppend(t, q, "x"); i != NewIndex(2, 0) {
		t.Fatalf("appended as %s", i)
	}
}

func TestConfigOfTime(t *testing.T) {
	for _, cfg := range []Config{
		{RollEvery: time.Millisecond},
		{RollEvery: -time.Hour},
		{Retain: Retention{Age: -1}},
		{Retain: Retention{Bytes: -1}},
		{Retain: Retention{Entries: -1}},
	} {
		if _, err := Open(t.TempDir(), cfg); err == nil {
			t.Errorf("%+v is taken", cfg)
		}
	}
}

// TestFileListener hears of every file in order, and of none twice.
func TestFileListener(t *testing.T) {
	dir := t.TempDir()
	var mu sync.Mutex
	heard := map[uint32][]FileEventKind{}
	cfg := small()
	cfg.Retain = Retention{Entries: 1}
	cfg.OnFile = func(e FileEvent) {
		mu.Lock()
		defer mu.Unlock()
		if e.Path != filepath.Join(dir, cycleName(e.Cycle)) {
			t.Errorf("path %s of cycle %d", e.Path, e.Cycle)
		}
		if ks := heard[e.Cycle]; len(ks) == 0 || ks[len(ks)-1] != e.Kind || e.Kind == FileReleased {
			heard[e.Cycle] = append(ks, e.Kind)
		} else {
			t.Errorf("cycle %d: %s twice", e.Cycle, e.Kind)
		}
	}
	q := mustOpen(t, dir, cfg)
	fillCycles(t, q, 6)
	mustClose(t, q)
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var left []string
	for _, e := range entries {
		left = append(left, e.Name())
	}
	for c := uint32(1); c <= 6; c++ {
		want := []FileEventKind{FileCreated}
		got := heard[c]
		gone := !slices.Contains(left, cycleName(c))
		if len(got) == 0 || got[0] != want[0] || gone != (got[len(got)-1] == FileDeleted) {
			t.Errorf("cycle %d, gone %t: %v", c, gone, got)
		}
		if c < 6 && !slices.Contains(got, FileReleased) {
			t.Errorf("cycle %d was never released: %v", c, got)
		}
	}
}
