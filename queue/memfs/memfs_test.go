package memfs

import (
	"bytes"
	"errors"
	"io/fs"
	"math/rand/v2"
	"slices"
	"syscall"
	"testing"

	"github.com/pawl-go/pawl/queue/disk"
)

func open(t *testing.T, m *FS) disk.Dir {
	t.Helper()
	d, err := m.OpenDir("q", true)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func create(t *testing.T, d disk.Dir, name string, pages int) disk.File {
	t.Helper()
	f, err := d.Create(name)
	if err == nil {
		err = f.Allocate(int64(pages) * 4096)
	}
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func fill(t *testing.T, f disk.File, with byte, pages int) {
	t.Helper()
	if _, err := f.WriteAt(bytes.Repeat([]byte{with}, pages*4096), 0); err != nil {
		t.Fatal(err)
	}
}

// flushed makes a file system with one flushed file of ones, overwritten with
// twos that are not flushed, and a file whose name is not.
func flushed(t *testing.T) *FS {
	m := New()
	d := open(t, m)
	f := create(t, d, "old", 8)
	fill(t, f, 1, 8)
	if err := errors.Join(f.Sync(), d.Sync()); err != nil {
		t.Fatal(err)
	}
	fill(t, f, 2, 8)
	create(t, d, "new", 1)
	return m
}

func TestKillKeepsWhatWasHandedOver(t *testing.T) {
	m := flushed(t)
	for range 2 { // also what a dead process had not flushed
		m = m.Kill()
	}
	if b := m.Bytes("q", "old"); b == nil || b[0] != 2 || b[8*4096-1] != 2 || m.Bytes("q", "new") == nil {
		t.Errorf("old is % x..., new is there: %v", b[:min(len(b), 4)], m.Bytes("q", "new") != nil)
	}
}

// TestCrashLosesWhatWasNotFlushed: over some crashes each outcome is seen, also
// after the death of the process in between; nothing that was flushed is lost.
func TestCrashLosesWhatWasNotFlushed(t *testing.T) {
	m := flushed(t)
	killed := m.Kill()
	lost, kept, named, mixed := 0, 0, 0, 0
	for seed := range uint64(200) {
		from := m
		if seed%2 == 0 {
			from = killed
		}
		after := from.Crash(rand.New(rand.NewPCG(seed, 0)))
		b := after.Bytes("q", "old")[:8*4096]
		ones, twos := bytes.Count(b, []byte{1}), bytes.Count(b, []byte{2})
		if ones+twos != len(b) {
			t.Fatalf("seed %d: %d bytes are neither", seed, len(b)-ones-twos)
		}
		if again := from.Crash(rand.New(rand.NewPCG(seed, 0))); !bytes.Equal(again.Bytes("q", "old"), after.Bytes("q", "old")) {
			t.Fatalf("seed %d leaves something else the second time", seed)
		}
		lost += ones
		kept += twos
		if ones > 0 && twos > 0 {
			mixed++
		}
		if after.Bytes("q", "new") != nil {
			named++
		}
	}
	if lost == 0 || kept == 0 || mixed == 0 || named == 0 || named == 200 {
		t.Errorf("lost %d, kept %d, mixed %d, named %d", lost, kept, mixed, named)
	}
}

func TestOldFileSystemGoesOn(t *testing.T) {
	m := flushed(t)
	after := m.Kill()
	f, err := open(t, m).Open("old", true)
	if err != nil {
		t.Fatal(err)
	}
	fill(t, f, 3, 8)
	if b := after.Bytes("q", "old"); b[0] != 2 {
		t.Errorf("a zombie wrote %d", b[0])
	}
}

func TestLimits(t *testing.T) {
	m := New()
	d := open(t, m)
	m.SetRoom(2 * 4096)
	create(t, d, "a", 2)
	f, err := d.Create("b")
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Allocate(1); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("beyond the room: %v", err)
	}
	if err := errors.Join(d.Remove("a"), f.Allocate(1)); err != nil {
		t.Errorf("room given back: %v", err)
	}
	no := errors.New("no")
	m.FailSync(func(name string) error {
		if name == "b" {
			return no
		}
		return nil
	})
	if err := f.Sync(); !errors.Is(err, no) {
		t.Errorf("sync: %v", err)
	}
	if err := d.Sync(); err != nil || m.Syncs() != 2 {
		t.Errorf("sync of the directory: %v after %d", err, m.Syncs())
	}
}

func TestNamesAndLocks(t *testing.T) {
	m := New()
	d := open(t, m)
	create(t, d, "b", 1)
	create(t, d, "a", 1)
	if _, err := d.Create("a"); !errors.Is(err, fs.ErrExist) {
		t.Errorf("create again: %v", err)
	}
	if err := d.Rename("b", "c"); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Open("b", false); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("open what is gone: %v", err)
	}
	if names, err := d.List(); !slices.Equal(names, []string{"a", "c"}) || err != nil {
		t.Errorf("list: %v %v", names, err)
	}
	lock, _, err := d.Lock("lock", []byte("me"))
	if err != nil || lock == nil {
		t.Fatalf("lock: %v", err)
	}
	if again, by, err := d.Lock("lock", []byte("you")); again != nil || string(by) != "me" || err != nil {
		t.Errorf("lock again: %v, held by %q, %v", again, by, err)
	}
	if other, _, err := d.Lock("other", []byte("you")); other == nil || err != nil {
		t.Errorf("another lock: %v", err)
	}
	if held, _, err := open(t, m.Kill()).Locked("lock"); held || err != nil {
		t.Errorf("the lock outlives its holder: %v, %v", held, err)
	}
	if _, err := New().OpenDir("none", false); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("open a missing directory: %v", err)
	}
}
