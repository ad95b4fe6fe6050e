package queue

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pawl-go/pawl/queue/memfs"
)

// steppedFS calls step before each change of the file system beneath.
type steppedFS struct {
	FS
	step func(what string)
}

func (f steppedFS) OpenDir(path string, create bool) (Dir, error) {
	d, err := f.FS.OpenDir(path, create)
	return steppedDir{d, f.step}, err
}

type steppedDir struct {
	Dir
	step func(string)
}

func (d steppedDir) file(f File, err error) (File, error) {
	if err != nil {
		return nil, err
	}
	return steppedFile{f, d.step}, nil
}

func (d steppedDir) Create(name string) (File, error) {
	d.step("create " + name)
	return d.file(d.Dir.Create(name))
}

func (d steppedDir) Open(name string, write bool) (File, error) {
	return d.file(d.Dir.Open(name, write))
}

func (d steppedDir) Rename(from, to string) error {
	d.step("rename to " + to)
	return d.Dir.Rename(from, to)
}

func (d steppedDir) Remove(name string) error { d.step("remove " + name); return d.Dir.Remove(name) }
func (d steppedDir) Sync() error              { d.step("sync directory"); return d.Dir.Sync() }

type steppedFile struct {
	File
	step func(string)
}

func (f steppedFile) Allocate(n int64) error { f.step("allocate"); return f.File.Allocate(n) }
func (f steppedFile) Truncate(n int64) error { f.step("truncate"); return f.File.Truncate(n) }
func (f steppedFile) Sync() error            { f.step("sync"); return f.File.Sync() }
func (f steppedFile) WriteAt(p []byte, off int64) (int, error) {
	f.step("write")
	return f.File.WriteAt(p, off)
}

func (f steppedFile) Flush(m []byte, off, n int64) error {
	f.step("flush")
	return f.File.Flush(m, off, n)
}

// TestCrashAtEachStep kills the process, and cuts the power, before each change
// that the file system sees while cycles are made, filled, sealed, deleted and the
// queue is closed: whatever was acknowledged is there, and the queue goes on.
func TestCrashAtEachStep(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 8))
	base := memfs.New()
	appended, durable := 0, 0
	var first Index
	type moment struct {
		what              string
		fsys              *memfs.FS
		appended, durable int // entries that were acknowledged
		kill              bool
	}
	var moments []moment
	step := func(what string) {
		moments = append(moments,
			moment{what, base.Kill(), appended, durable, true},
			moment{what, base.Crash(r), appended, durable, false})
	}
	cfg := Config{CycleBytes: 8 << 10, FS: steppedFS{base, step}, Logger: quiet(), FlushEvery: time.Hour}
	if err := cfg.validate(); err != nil {
		t.Fatal(err)
	}
	q := newQueue("q", cfg) // without its helper: every step is made here
	d, err := openDir(cfg.FS, "q", true, false)
	if err != nil {
		t.Fatal(err)
	}
	q.dir = d
	if err := q.openForAppend(); err != nil {
		t.Fatal(err)
	}
	var is []Index
	for k := range 30 {
		is = append(is, mustAppend(t, q, fmt.Sprintf("%03d%s", k, strings.Repeat("x", 700))))
		appended++
		if k%5 == 4 {
			if err := q.WaitDurable(t.Context(), is[k]); err != nil {
				t.Fatal(err)
			}
			durable = appended
		}
		q.sealReady()
		if k == 20 {
			first = NewIndex(is[k].Cycle()-1, 0)
			if err := q.ReleaseBefore(first); err != nil {
				t.Fatal(err)
			}
		}
	}
	mustClose(t, q)
	if len(moments) < 100 {
		t.Fatalf("only %d moments", len(moments))
	}
	for _, m := range moments {
		q, err := Open("q", Config{CycleBytes: MinCycleBytes, FS: m.fsys, Logger: quiet(), FlushEvery: time.Hour})
		if err != nil {
			t.Fatalf("crash before %s behind %d entries: %v", m.what, m.appended, err)
		}
		got, ps := all(t, q, 0)
		for k, i := range got {
			if n := 0; i != is[0] || k != 0 {
				if _, err := fmt.Sscanf(ps[k], "%03d", &n); err != nil || is[n] != i {
					t.Fatalf("crash before %s: entry %s is %.10q", m.what, i, ps[k])
				}
			}
		}
		must := m.durable
		if m.kill {
			must = m.appended
		}
		if must > 0 && q.Last() < is[must-1] {
			t.Fatalf("crash before %s: the queue ends at %s, %s was acknowledged", m.what, q.Last(), is[must-1])
		}
		mustAppend(t, q, "goes on")
		mustClose(t, q)
		if rep, err := Verify("q", CheckOptions{FS: m.fsys}); err != nil || rep.Damaged() {
			t.Fatalf("crash before %s: %+v %v", m.what, rep.Problems, err)
		}
	}
}

// TestEmptyAndPreparedCycles: cycles that nothing was written to are no obstacle,
// wherever they come from.
func TestEmptyAndPreparedCycles(t *testing.T) {
	dir := t.TempDir()
	make1 := func(c uint32, over bool) {
		t.Helper()
		h := newCycleHeader(c, 32<<10, someday)
		b := make([]byte, 32<<10)
		copy(b, h.encode())
		if over {
			copy(b[dataStart:], endEntry(h.salt, dataStart))
		}
		if err := os.WriteFile(filepath.Join(dir, cycleName(c)), b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	make1(1, true) // over without an entry
	make1(2, true)
	make1(3, false) // prepared by somebody, never used
	make1(4, false)
	q := mustOpen(t, dir, small())
	if q.First() != 0 || q.Last() != 0 || q.Recovered() != nil {
		t.Fatalf("First %s, Last %s, %+v", q.First(), q.Last(), q.Recovered())
	}
	if i := mustAppend(t, q, "x"); i != NewIndex(3, 0) {
		t.Fatalf("appended as %s", i)
	}
	if q.First() != NewIndex(3, 0) {
		t.Fatalf("First %s", q.First())
	}
	for _, r := range []*Queue{q, mustOpenReadOnly(t, dir)} {
		if is, _ := all(t, r, 0); len(is) != 1 {
			t.Fatalf("%d entries", len(is))
		}
		tl := r.NewTailer(r.Last() + 1)
		defer tl.Close()
		for _, want := range []bool{true, false} {
			if _, _, ok, err := tl.TryPrev(); ok != want || err != nil {
				t.Fatalf("backwards: %t %v", ok, err)
			}
		}
	}
	if rep, err := Verify(dir, CheckOptions{}); err != nil || rep.Damaged() {
		t.Fatalf("verify: %+v %v", rep.Problems, err)
	}
}

// TestManyRolls: handles, mappings and disk space come back to where they were.
func TestManyRolls(t *testing.T) {
	dir := t.TempDir()
	sealed := make(chan uint32, 1024) // more than there are
	q := mustOpen(t, dir, Config{CycleBytes: 16 << 10, Logger: quiet(), OnRoll: func(c CycleInfo) { sealed <- c.Number }})
	tl := q.NewTailer(0)
	defer tl.Close()
	roll := func(n uint32) {
		t.Helper()
		for to := q.Last().Cycle() + n; q.Last().Cycle() < to; {
			mustAppend(t, q, string(make([]byte, 1500)))
			if _, _, ok, err := tl.TryNext(); !ok || err != nil {
				t.Fatal(ok, err)
			}
		}
		for over := q.Last().Cycle() - 1; <-sealed < over; {
		}
		if err := q.ReleaseBefore(q.Last()); err != nil {
			t.Fatal(err)
		}
	}
	roll(10)
	files, maps, disk := usage(t, dir)
	roll(500)
	files2, maps2, disk2 := usage(t, dir)
	if files2 > files+2 || maps2 > maps+2 || disk2 > disk+(32<<10) {
		t.Fatalf("%d files, %d mappings, %d bytes at first; %d, %d, %d after 500 rolls", files, maps, disk, files2, maps2, disk2)
	}
}

// usage counts the open files and the mappings of this process that are in a
// directory, and the space it takes.
func usage(t *testing.T, dir string) (files, maps int, disk int64) {
	t.Helper()
	fds, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	for _, fd := range fds {
		if to, err := os.Readlink("/proc/self/fd/" + fd.Name()); err == nil && strings.HasPrefix(to, dir) {
			files++
		}
	}
	b, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		t.Fatal(err)
	}
	maps = strings.Count(string(b), dir)
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		info, err := e.Info()
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		disk += info.Size()
	}
	return files, maps, disk
}

// manyCycles makes a queue of n sealed cycles with an entry each.
func manyCycles(t testing.TB, dir string, n int) {
	t.Helper()
	for c := uint32(1); c <= uint32(n); c++ {
		h := newCycleHeader(c, MinCycleBytes, someday)
		h.stamp = stamp{state: stampSealed, count: 1, used: dataStart + entrySize(8) + entryHeader, at: someday.UnixNano()}
		b := make([]byte, h.stamp.used)
		copy(b, h.encode())
		copy(b[dataStart+entryHeader:], "12345678")
		encodeEntry(b[dataStart:], h.salt, dataStart, wordPresent|8, checksum([]byte("12345678")))
		copy(b[dataStart+entrySize(8):], endEntry(h.salt, dataStart+entrySize(8)))
		if err := os.WriteFile(filepath.Join(dir, cycleName(c)), b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// TestTenThousandCycles open in less than a second of processor time, to append and to
// read. The time on the clock is logged: other programs of a machine may take their part.
func TestTenThousandCycles(t *testing.T) {
	dir := t.TempDir()
	const n = 10_000
	manyCycles(t, dir, n)
	for name, open := range map[string]func(string, Config) (*Queue, error){
		"to append": Open, "to read": OpenReader, "read-only": OpenReadOnly,
	} {
		began := time.Now() //nolint:forbidigo // it is what is measured
		before, _ := cpuTime()
		q, err := open(dir, small())
		if err != nil {
			t.Fatal(err)
		}
		after, err := cpuTime()
		took, cost := time.Since(began), after-before //nolint:forbidigo // it is what is measured
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%s: opened in %s, %s of the processor", name, took, cost)
		if cost > 5*time.Second { // a tenth of that under the race detector
			t.Errorf("%s: opening took %s of the processor", name, cost)
		}
		if q.Last() != NewIndex(n, 0) || q.First() != NewIndex(1, 0) {
			t.Errorf("%s: First %s, Last %s", name, q.First(), q.Last())
		}
		if files, _, _ := usage(t, dir); files > 10 {
			t.Errorf("%s: %d files are open", name, files)
		}
		if i, found, err := q.Search(func(i Index, _ []byte) int { return compareInt(int(i.Cycle()), 7777) }); i.Cycle() != 7777 || !found || err != nil {
			t.Errorf("%s: search: %s %t %v", name, i, found, err)
		}
		mustClose(t, q)
	}
}

// BenchmarkOpenTenThousandCycles has the goal of a second.
func BenchmarkOpenTenThousandCycles(b *testing.B) {
	dir := b.TempDir()
	manyCycles(b, dir, 10_000)
	for b.Loop() {
		q, err := Open(dir, small())
		if err != nil {
			b.Fatal(err)
		}
		b.StopTimer()
		mustClose(b, q)
		b.StartTimer()
	}
}
