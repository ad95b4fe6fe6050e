package service

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pawl-go/pawl/queue"
)

func files(t *testing.T, d *desk) []string {
	t.Helper()
	entries, err := os.ReadDir(filepath.Join(d.root, "snaps"))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func TestASnapshotShortensTheReplay(t *testing.T) {
	d := newDesk(t)
	d.cfg.Snapshots = Snapshots{Dir: filepath.Join(d.root, "snaps"), Every: 4}
	for range 5 {
		d.feed("in", 1, 2, 4, 0) // the last two send nothing
		d.mustRun(&mixer{})
	}
	if got := files(t, d); len(got) != 2 || got[1] != "mix-000000000005.snapshot" {
		t.Fatal(got)
	}
	d.feed("in", 3)
	s := d.mustRun(&mixer{})
	if s.Stats().Replayed != 0 || s.Stats().Handled != 1 {
		t.Fatalf("%+v", s.Stats())
	}
	if got := d.sums("out"); !strings.HasSuffix(got, " 3.0/21") {
		t.Fatal(got)
	}
	if _, err := judge(d.queue("out"), map[uint32]*queue.Queue{1: d.queue("in")}, false); err != nil {
		t.Fatal(err)
	}
	// The same as without.
	d.cfg.Snapshots = Snapshots{}
	before := d.dump("out")
	if s := d.mustRun(&mixer{}); s.Stats().Replayed != 21 {
		t.Fatalf("%+v", s.Stats())
	}
	if diff := cmp.Diff(before, d.dump("out")); diff != "" {
		t.Fatal(diff)
	}
}

func TestACorruptSnapshotIsSetAside(t *testing.T) {
	for _, how := range []string{"flip", "cut", "empty", "both"} {
		d := newDesk(t)
		d.cfg.Snapshots = Snapshots{Dir: filepath.Join(d.root, "snaps"), Every: 2}
		for range 3 {
			d.feed("in", 1, 3)
			d.mustRun(&mixer{})
		}
		spoil := func(name string, change func([]byte) []byte) {
			path := filepath.Join(d.root, "snaps", name)
			b, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, change(b), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		flip := func(b []byte) []byte { b[len(b)/2] ^= 4; return b }
		names, replayed := files(t, d), int64(2)
		switch how {
		case "flip":
			spoil(names[1], flip)
		case "cut":
			spoil(names[1], func(b []byte) []byte { return b[:len(b)-1] })
		case "empty":
			spoil(names[1], func([]byte) []byte { return nil })
		case "both":
			spoil(names[0], flip)
			spoil(names[1], flip)
			replayed = 6
		}
		if s := d.mustRun(&mixer{}); s.Stats().Replayed != replayed {
			t.Fatalf("%s: %+v", how, s.Stats())
		}
		if got := files(t, d); !slices.Contains(got, names[1]+".bad") || slices.Contains(got, names[1]) {
			t.Fatalf("%s: %q", how, got)
		}
	}
}

// TestASnapshotOfAnotherHistory: the output that it covers is not there any more,
// or is another one.
func TestASnapshotOfAnotherHistory(t *testing.T) {
	for _, another := range []bool{false, true} {
		d := newDesk(t)
		snaps := Snapshots{Dir: filepath.Join(d.root, "snaps"), Every: 2}
		d.cfg.Snapshots = snaps
		d.feed("in", 1, 3)
		d.mustRun(&mixer{})
		d.cfg.Output.Queue = d.cut("out", queue.NewIndex(1, 2))
		want := "1.0/1 3.0/2"
		if another {
			d.cfg.Snapshots, d.cfg.TrustReplay = Snapshots{}, true
			d.mustRun(&changed{do: func(n int, out []Sum) ([]Sum, error) { out[0].Seen = 77; return out, nil }})
			d.cfg.Snapshots, want = snaps, "1.0/1 3.0/77"
		}
		d.mustRun(&mixer{})
		if got := d.sums("out"); got != want {
			t.Fatalf("%s, want %s", got, want)
		}
		if got := files(t, d); !slices.Contains(got, "mix-000000000001.snapshot.stale") {
			t.Fatalf("another %v: %q", another, got)
		}
	}
}

func TestASnapshotThatIsNotRestored(t *testing.T) {
	d := newDesk(t)
	d.cfg.Snapshots = Snapshots{Dir: filepath.Join(d.root, "snaps"), Every: 2}
	d.feed("in", 1, 3)
	d.mustRun(&mixer{})
	_, err := d.run(&forgetful{})
	if _, ok := errors.AsType[*SnapshotError](err); !ok || !errorContains(err, "remove it") {
		t.Fatal(err)
	}
}

type forgetful struct{ mixer }

func (*forgetful) Restore([]byte) error { return errTrap }

func errorContains(err error, text string) bool {
	return err != nil && strings.Contains(err.Error(), text)
}

// TestASnapshotCoversWhatIsCommitted: its output is flushed before it is there.
func TestASnapshotCoversWhatIsCommitted(t *testing.T) {
	d := newDesk(t)
	d.cfg.Snapshots = Snapshots{Dir: filepath.Join(d.root, "snaps"), Every: 2}
	d.feed("in", 1, 3)
	s, snapshots := d.service(&mixer{}), 0
	s.trap = func(at string) error {
		if out := d.queue("out"); at == stepSnapshot {
			if snapshots++; out.Durable() != out.Last() {
				t.Errorf("flushed to %s of %s", out.Durable(), out.Last())
			}
		}
		return nil
	}
	if err := drain(s); err != nil || snapshots != 1 {
		t.Fatal(err, snapshots)
	}
}

// TestASnapshotBreaksOff: a crash before it has its name, and in the next one.
func TestASnapshotBreaksOff(t *testing.T) {
	d := newDesk(t)
	d.cfg.Snapshots = Snapshots{Dir: filepath.Join(d.root, "snaps"), Every: 2}
	for range 2 {
		d.feed("in", 1, 3)
		s := d.service(&mixer{})
		s.trap = func(at string) error {
			if at == stepSnapshot {
				return errTrap
			}
			return nil
		}
		if err := drain(s); !errors.Is(err, errTrap) {
			t.Fatal(err)
		}
		if got := files(t, d); len(got) != 1 || !strings.HasSuffix(got[0], ".new") {
			t.Fatal(got)
		}
	}
	d.feed("in", 1, 3)
	if s := d.mustRun(&mixer{}); s.Stats().Replayed != 4 {
		t.Fatalf("%+v", s.Stats())
	}
	if got := files(t, d); len(got) != 1 || strings.HasSuffix(got[0], ".new") {
		t.Fatal(got)
	}
}
