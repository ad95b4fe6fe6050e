package queue

import (
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pawl-go/pawl/queue/memfs"
)

func mustNamed(t *testing.T, q *Queue, name string, o PositionOptions) *NamedTailer {
	t.Helper()
	n, err := q.NewNamedTailer(name, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = n.Close() })
	return n
}

func mustNext(t *testing.T, n *NamedTailer, want string) Index {
	t.Helper()
	i, p, ok, err := n.TryNext()
	if err != nil || !ok || string(p) != want {
		t.Fatalf("TryNext gives %s %q %t %v, want %q", i, p, ok, err, want)
	}
	return i
}

func fillCycles(t *testing.T, q *Queue, cycles uint32) {
	t.Helper()
	for q.Last().Cycle() < cycles {
		mustAppend(t, q, string(make([]byte, 1000)))
	}
}

// TestNamedTailerGoesOn behind what was committed, in the appending process and
// in a reading one, and nobody else may have the name meanwhile.
func TestNamedTailerGoesOn(t *testing.T) {
	dir := t.TempDir()
	q := mustOpen(t, dir, small())
	for _, p := range []string{"a", "b", "c", "d"} {
		mustAppend(t, q, p)
	}
	n := mustNamed(t, q, "worker-1", PositionOptions{})
	mustNext(t, n, "a")
	if err := n.Commit(); err != nil {
		t.Fatal(err)
	}
	mustNext(t, n, "b") // not committed: read again
	r, err := OpenReader(dir, Config{Logger: quiet()})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Close() }()
	if _, err := r.NewNamedTailer("worker-1", PositionOptions{}); !errors.As(err, new(*LockedError)) || !strings.Contains(err.Error(), "worker-1") {
		t.Fatalf("a second tailer of the name: %v", err)
	}
	if err := q.RemovePosition("worker-1"); !errors.As(err, new(*LockedError)) {
		t.Fatalf("removing a name in use: %v", err)
	}
	if err := errors.Join(n.Sync(), n.Close(), n.Close()); err != nil {
		t.Fatal(err)
	}
	m := mustNamed(t, r, "worker-1", PositionOptions{})
	mustNext(t, m, "b")
	mustNext(t, m, "c")
	if err := errors.Join(m.Commit(), m.Close()); err != nil {
		t.Fatal(err)
	}
	if err := m.Commit(); !errors.Is(err, ErrClosed) {
		t.Fatalf("Commit after Close: %v", err)
	}
	mustClose(t, q)
	q = mustOpen(t, dir, small())
	n = mustNamed(t, q, "worker-1", PositionOptions{Start: 1 << 40})
	mustNext(t, n, "d")
	late := mustNamed(t, q, "late", PositionOptions{Start: q.Last() + 1, HoldBack: true})
	if _, _, ok, err := late.TryNext(); ok || err != nil {
		t.Fatalf("a name that starts at the end reads: %t %v", ok, err)
	}
	infos, err := q.Positions()
	if err != nil || len(infos) != 2 || infos[0].Name != "late" || !infos[0].HoldBack || infos[1].Next != NewIndex(1, 3) ||
		!infos[1].InUse || infos[1].Holder.PID != os.Getpid() || infos[1].Moved.IsZero() {
		t.Fatalf("Positions: %+v %v", infos, err)
	}
	if err := errors.Join(n.Close(), q.RemovePosition("worker-1")); err != nil {
		t.Fatal(err)
	}
	if err := q.RemovePosition("worker-1"); !errors.Is(err, ErrNotFound) {
		t.Fatalf("removing it twice: %v", err)
	}
}

func TestNamesThatAreRefused(t *testing.T) {
	dir := t.TempDir()
	q := mustOpen(t, dir, small())
	for _, name := range []string{"", ".", "../x", "a/b", "-a", "ä", strings.Repeat("n", 65)} {
		if _, err := q.OpenPosition(name, PositionOptions{}); err == nil || !strings.Contains(err.Error(), "letters") {
			t.Errorf("name %q: %v", name, err)
		}
	}
	if _, err := mustOpenReadOnly(t, dir).NewNamedTailer("a", PositionOptions{}); !errors.Is(err, ErrReadOnly) || !strings.Contains(err.Error(), "OpenReader") {
		t.Errorf("in a queue that writes nothing: %v", err)
	}
}

// TestHoldBack: neither ReleaseBefore nor the retention passes a position that
// asks for it, in use or not; others do not count.
func TestHoldBack(t *testing.T) {
	dir := t.TempDir()
	cfg := small()
	sealed := make(chan CycleInfo, 16)
	cfg.OnRoll = func(c CycleInfo) { sealed <- c }
	cfg.Retain = Retention{Entries: 1}
	q := mustOpen(t, dir, cfg)
	n := mustNamed(t, q, "slow", PositionOptions{HoldBack: true})
	mustNamed(t, q, "other", PositionOptions{})
	fillCycles(t, q, 5)
	for range 4 {
		<-sealed
	}
	first := func(want uint32) {
		t.Helper()
		q.tendAt(someday)
		if err := q.ReleaseBefore(q.Last()); err != nil {
			t.Fatal(err)
		}
		if got := q.First().Cycle(); got != want {
			t.Fatalf("the first cycle is %d, want %d", got, want)
		}
	}
	first(1)
	for {
		i, _, ok, err := n.TryNext()
		if err != nil || !ok {
			t.Fatal(ok, err)
		}
		if i == NewIndex(3, 0) {
			break
		}
	}
	first(1) // read, not committed
	if err := n.Commit(); err != nil {
		t.Fatal(err)
	}
	first(3)
	if err := n.Close(); err != nil {
		t.Fatal(err)
	}
	first(3) // nobody has it open
	path := filepath.Join(dir, "slow"+positionSuffix)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, whole[:100], 0o600); err != nil {
		t.Fatal(err)
	}
	if err := q.ReleaseBefore(q.Last()); !errors.As(err, new(*PositionError)) {
		t.Fatalf("a position that cannot be read holds nothing back: %v", err)
	}
	if err := q.RemovePosition("slow"); err != nil {
		t.Fatal(err)
	}
	first(5)
}

// TestPositionFileDamage flips each byte of the file of a position: the position
// is the last one, the one before, or an error that says what to do; and Verify
// has found it.
func TestPositionFileDamage(t *testing.T) {
	dir := t.TempDir()
	q := mustOpen(t, dir, small())
	p, err := q.OpenPosition("p", PositionOptions{HoldBack: true})
	if err != nil {
		t.Fatal(err)
	}
	for i := range Index(3) {
		mustAppend(t, q, "x")
		if err := p.Set(NewIndex(1, 0) + i); err != nil {
			t.Fatal(err)
		}
	}
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "p"+positionSuffix)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	older, refused := 0, 0
	for off := range slotOffset(1) + slotBytes {
		b := append([]byte(nil), whole...)
		b[off] ^= 1 << (off % 8)
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		p, err := q.OpenPosition("p", PositionOptions{HoldBack: true})
		found := false
		switch {
		case err != nil:
			if !errors.As(err, new(*PositionError)) || !strings.Contains(err.Error(), "--remove") {
				t.Fatalf("flip at %d: %v", off, err)
			}
			refused++
			found = true
		case p.Index() == NewIndex(1, 1):
			older++
			found = true
		case p.Index() != NewIndex(1, 2):
			t.Fatalf("flip at %d: position %s", off, p.Index())
		}
		if p != nil {
			if err := p.Close(); err != nil {
				t.Fatal(err)
			}
		}
		rep, err := Verify(dir, CheckOptions{})
		if err != nil || found && len(rep.Problems) == 0 {
			t.Fatalf("flip at %d: verify finds nothing: %v", off, err)
		}
	}
	if older != slotBytes || refused != 64 {
		t.Fatalf("%d times the older position, %d refused", older, refused)
	}
}

// TestFailedSyncOfAPositionIsFinal, and concerns nothing else.
func TestFailedSyncOfAPositionIsFinal(t *testing.T) {
	fsys := memfs.New()
	q, err := Open("q", Config{CycleBytes: 8 << 10, FS: fsys, Logger: quiet(), FlushEvery: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	p, err := q.OpenPosition("p", PositionOptions{})
	if err != nil {
		t.Fatal(err)
	}
	fsys.FailSync(func(name string) error {
		if strings.HasPrefix(name, "p"+positionSuffix) {
			return errDisk
		}
		return nil
	})
	if err := p.Sync(); !errors.Is(err, errDisk) {
		t.Fatalf("Sync: %v", err)
	}
	fsys.FailSync(nil)
	if err := p.Sync(); !errors.Is(err, errDisk) {
		t.Fatalf("Sync after a failed one: %v", err)
	}
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	mustAppend(t, q, "x")
	mustClose(t, q)
}

// TestPositionIsSetBack: a power cut costs entries that a named tailer had read
// and committed; the ones that get their indexes then are not passed over.
func TestPositionIsSetBack(t *testing.T) {
	fsys := memfs.New()
	cfg := Config{CycleBytes: 8 << 10, FS: fsys, Logger: quiet(), FlushEvery: time.Hour}
	q, err := Open("q", cfg)
	if err != nil {
		t.Fatal(err)
	}
	if err := q.WaitDurable(t.Context(), mustAppend(t, q, "kept")); err != nil {
		t.Fatal(err)
	}
	mustAppend(t, q, "lost")
	n := mustNamed(t, q, "n", PositionOptions{})
	mustNext(t, n, "kept")
	mustNext(t, n, "lost")
	if err := errors.Join(n.Commit(), n.Sync()); err != nil {
		t.Fatal(err)
	}
	var after *memfs.FS
	for seed := uint64(0); ; seed++ { // a cut that loses the entry
		after = fsys.Crash(rand.New(rand.NewPCG(seed, 0)))
		b := after.Bytes("q", cycleName(1))
		if b != nil && after.Bytes("q", "n"+positionSuffix) != nil && loadWord(b, dataStart+entrySize(4)) == 0 {
			break
		}
	}
	_ = q.Close()
	cfg.FS = after
	q, err = Open("q", cfg)
	if err != nil {
		t.Fatal(err)
	}
	mustAppend(t, q, "new")
	mustNext(t, mustNamed(t, q, "n", PositionOptions{}), "new")
	mustClose(t, q)
}
