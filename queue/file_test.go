package queue

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/pawl-go/pawl/queue/memfs"
)

// image copies the cycles of a live queue elsewhere, as kill -9 would leave them.
func image(t *testing.T, dir string) string {
	t.Helper()
	to := t.TempDir()
	files, err := filepath.Glob(dir + "/*" + cycleSuffix)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(to, filepath.Base(f)), b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return to
}

// TestFileCutUnderAReaderIsAnError and no crash, whether the page is gone or
// reads as zero.
func TestFileCutUnderAReaderIsAnError(t *testing.T) {
	live := t.TempDir()
	q := mustOpen(t, live, small())
	for range 10 {
		mustAppend(t, q, string(make([]byte, 1000)))
	}
	for _, size := range []int64{0, dataStart, dataStart + 3000} {
		dir := image(t, live)
		r := mustOpenReadOnly(t, dir)
		tl := r.NewTailer(0)
		defer tl.Close()
		for range 5 {
			if _, _, err := tl.Next(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.Truncate(filepath.Join(dir, cycleName(1)), size); err != nil {
			t.Fatal(err)
		}
		if _, _, err := tl.Next(t.Context()); !errors.Is(err, ErrTruncated) {
			t.Fatalf("cut to %d: %v", size, err)
		}
		if _, err := r.Read(NewIndex(1, 8)); err == nil {
			t.Fatalf("cut to %d: Read of what is gone succeeds", size)
		}
	}
}

// TestReadOnlyWritesNothing: opening for reading works on a directory and files
// that may not be written, and leaves every byte and name.
func TestReadOnlyWritesNothing(t *testing.T) {
	live := t.TempDir()
	q := mustOpen(t, live, small())
	for k := range 40 {
		mustAppend(t, q, content(k))
	}
	dir := image(t, live)
	before := snapshotDir(t, dir)
	r := mustOpenReadOnly(t, dir)
	if is, _ := all(t, r, 0); len(is) != 40 {
		t.Fatalf("%d entries", len(is))
	}
	if _, err := r.Append(nil); !errors.Is(err, ErrReadOnly) {
		t.Fatalf("Append: %v", err)
	}
	if err := r.ReleaseBefore(r.Last()); !errors.Is(err, ErrReadOnly) {
		t.Fatalf("ReleaseBefore: %v", err)
	}
	if err := r.WaitDurable(t.Context(), r.Last()); !errors.Is(err, ErrReadOnly) {
		t.Fatalf("WaitDurable: %v", err)
	}
	if s := r.Stats(); s.Entries != 40 || s.Last != q.Last() {
		t.Fatalf("Stats %+v", s)
	}
	mustClose(t, r)
	after := snapshotDir(t, dir)
	if len(before) != len(after) {
		t.Fatalf("%d files before, %d after", len(before), len(after))
	}
	for name, was := range before {
		if after[name] != was {
			t.Fatalf("file %s has changed", name)
		}
	}
}

func snapshotDir(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		b, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		info, err := e.Info()
		if err != nil {
			t.Fatal(err)
		}
		files[e.Name()] = info.ModTime().String() + string(b)
	}
	return files
}

// TestSealedCyclesAreTrimmedAndReported: OnRoll is called in order, the file is
// as long as its content and its index, and losing the stamp loses nothing.
func TestSealedCyclesAreTrimmedAndReported(t *testing.T) {
	dir := t.TempDir()
	sealed := make(chan CycleInfo, 1)
	cfg := small()
	cfg.OnRoll = func(c CycleInfo) { sealed <- c }
	q := mustOpen(t, dir, cfg)
	want := 0
	for cycle := uint32(1); cycle <= 3; cycle++ {
		n := 0
		for q.Last().Cycle() <= cycle {
			mustAppend(t, q, string(make([]byte, 700)))
			n++
		}
		want += n
		c := <-sealed
		info, err := os.Stat(c.Path)
		if err != nil {
			t.Fatal(err)
		}
		if c.Number != cycle || !c.Sealed || c.Entries == 0 || c.Last != NewIndex(cycle, c.Entries-1) ||
			info.Size() < c.Bytes || info.Size() > c.Bytes+8*(small().CycleBytes/pageSize+1) {
			t.Fatalf("%+v, file of %d bytes", c, info.Size())
		}
	}
	mustClose(t, q)
	f, err := os.OpenFile(filepath.Join(dir, cycleName(2)), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteAt(make([]byte, 64), stampOffset); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	cfg.OnRoll = nil
	q = mustOpen(t, dir, cfg)
	if is, _ := all(t, q, 0); len(is) != want || q.Recovered() != nil {
		t.Fatalf("%d entries, want %d; %+v", len(is), want, q.Recovered())
	}
}

// TestFullDisk on a real, small file system.
func TestFullDisk(t *testing.T) {
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=512k"); err != nil {
		t.Skipf("cannot mount a tmpfs: %v", err)
	}
	defer func() {
		if err := unix.Unmount(dir, 0); err != nil {
			t.Error(err)
		}
	}()
	filler := filepath.Join(dir, "filler")
	if err := os.WriteFile(filler, make([]byte, 128<<10), 0o600); err != nil {
		t.Fatal(err)
	}
	sub := filepath.Join(dir, "q")
	cfg := Config{CycleBytes: 64 << 10, Logger: quiet(), Durability: EveryAppend}
	q, err := Open(sub, cfg)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for ; err == nil; n++ {
		_, err = q.Append(make([]byte, 900))
	}
	n--
	if !errors.Is(err, ErrFull) {
		t.Fatalf("after %d entries: %v", n, err)
	}
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	for range 60 {
		mustAppend(t, q, string(make([]byte, 900)))
		n++
	}
	for err = nil; err == nil; n++ {
		_, err = q.Append(make([]byte, 900))
	}
	n--
	if !errors.Is(err, ErrFull) {
		t.Fatal(err)
	}
	if is, _ := all(t, q, 0); len(is) != n {
		t.Fatalf("%d entries, want %d", len(is), n)
	}
	mustClose(t, q)
	q, err = Open(sub, cfg)
	if err != nil {
		t.Fatalf("open on a full disk: %v", err)
	}
	if is, _ := all(t, q, 0); len(is) != n {
		t.Fatalf("%d entries after reopening, want %d", len(is), n)
	}
	if err := q.ReleaseBefore(q.Last()); err != nil {
		t.Fatal(err)
	}
	mustAppend(t, q, string(make([]byte, 30<<10)))
	mustAppend(t, q, string(make([]byte, 40<<10)))
	mustClose(t, q)
}

// TestNextWakes: a sleeping tailer is woken by an append, by its context and by
// Close.
func TestNextWakes(t *testing.T) {
	q := mustOpen(t, t.TempDir(), small())
	got := make(chan error, 1)
	tail := func(ctx context.Context, tl *Tailer) {
		_, p, err := tl.Next(ctx)
		if err == nil && string(p) != "hello" {
			err = io.ErrUnexpectedEOF
		}
		got <- err
	}
	asleep := func() {
		for q.waiting.n.Load() == 0 { // spins until the tailer has registered
			runtime.Gosched()
		}
	}
	tl := q.NewTailer(0)
	defer tl.Close()
	go tail(t.Context(), tl)
	asleep()
	mustAppend(t, q, "hello")
	if err := <-got; err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	go tail(ctx, tl)
	asleep()
	cancel()
	if err := <-got; !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	go tail(t.Context(), tl)
	asleep()
	mustClose(t, q)
	if err := <-got; !errors.Is(err, ErrClosed) {
		t.Fatal(err)
	}
}

// TestWaitDurableGivesUpWithItsContext while somebody else's flush is running,
// and hands the lead on if it gets it in the same moment.
func TestWaitDurableGivesUpWithItsContext(t *testing.T) {
	fsys := memfs.New()
	q, err := Open("q", Config{CycleBytes: 8 << 10, FS: fsys, Logger: quiet(), FlushEvery: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	for range 50 {
		q.flush.seize()
		i := mustAppend(t, q, "x")
		ctx, cancel := context.WithCancel(t.Context())
		canceled, patient := make(chan error, 1), make(chan error, 1)
		go func() { canceled <- q.WaitDurable(ctx, i) }()
		go func() { patient <- q.WaitDurable(context.Background(), i) }()
		go cancel()
		q.flush.mu.Lock()
		q.flush.handOver()
		q.flush.mu.Unlock()
		if err := <-canceled; err != nil && !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		if err := <-patient; err != nil {
			t.Fatal(err)
		}
	}
	if err := q.WaitDurable(t.Context(), q.Last()+1); !errors.Is(err, ErrNotFound) {
		t.Fatalf("waiting for what was never appended: %v", err)
	}
	mustClose(t, q)
	if err := q.WaitDurable(t.Context(), q.Last()+1); err == nil {
		t.Fatal("waiting on a closed queue succeeds")
	}
}

// TestAHoleInASealedCycleIsDamage for whoever reads it, not a reason to wait.
func TestAHoleInASealedCycleIsDamage(t *testing.T) {
	dir := t.TempDir()
	sealed := make(chan CycleInfo, 1)
	cfg := small()
	cfg.OnRoll = func(c CycleInfo) { sealed <- c }
	q := mustOpen(t, dir, cfg)
	for q.Last().Cycle() < 2 {
		mustAppend(t, q, string(make([]byte, 700)))
	}
	c := <-sealed
	at := dataStart + 3*entrySize(700)
	f, err := os.OpenFile(c.Path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteAt(make([]byte, 8), at); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	for _, r := range []*Queue{q, mustOpenReadOnly(t, dir)} {
		tl := r.NewTailer(0)
		defer tl.Close()
		for range 3 {
			if _, _, err := tl.Next(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		_, _, err := tl.Next(t.Context())
		if corrupt, ok := errors.AsType[*CorruptError](err); !ok || corrupt.Offset != at || corrupt.Index != NewIndex(1, 3) {
			t.Fatalf("tailer: %v", err)
		}
		if _, err := r.Read(NewIndex(1, 5)); err == nil {
			t.Fatal("Read steps over the hole")
		}
	}
	if p, err := q.Read(NewIndex(2, 0)); err != nil || len(p) != 700 {
		t.Fatal(err)
	}
	rep, err := Verify(dir, CheckOptions{})
	if err != nil || !rep.Damaged() {
		t.Fatalf("verify: %+v %v", rep, err)
	}
}

// TestReadersKeepFewFilesOpen, however many cycles they have been through.
func TestReadersKeepFewFilesOpen(t *testing.T) {
	dir := t.TempDir()
	q := mustOpen(t, dir, Config{CycleBytes: 8 << 10, Logger: quiet()})
	for range 200 {
		mustAppend(t, q, string(make([]byte, 900)))
	}
	mustClose(t, q)
	q = mustOpen(t, dir, Config{CycleBytes: 8 << 10, Logger: quiet()})
	for _, q := range []*Queue{q, mustOpenReadOnly(t, dir)} {
		for range 2 {
			is, _ := all(t, q, 0)
			for _, i := range is {
				if _, err := q.Read(i); err != nil {
					t.Fatal(err)
				}
			}
		}
		open := 0
		for _, s := range q.snapshot() {
			s.mu.Lock()
			if s.mu.file != nil {
				open++
			}
			s.mu.Unlock()
		}
		if open > maxOpen+maxHeld+1 {
			t.Fatalf("%d of %d cycles are open", open, len(q.snapshot()))
		}
	}
}
