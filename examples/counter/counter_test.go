package counter

import (
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/pawl-go/pawl/examples/internal/crash"
)

func TestMain(m *testing.M) {
	crash.Main(map[string]crash.App{"counter": Child})
	os.Exit(m.Run())
}

// What the store says when the program was killed at a moment, and its next life
// has ended the work.
func TestKilledAtTheBadMoment(t *testing.T) {
	for _, c := range []struct {
		variant Variant
		point   string
		want    int64
	}{
		{Tail, "got 0", 1},
		{Tail, "before set 1", 1},
		{Tail, "after set 1", 1},
		{InOne, "before set 1", 1},
		{InOne, "after set 1", 2},   // twice: read, written, read again
		{Nested, "before set 1", 2}, // Set is repeated, then the caller is, and reads 1
		{Nested, "after set 1", 2},  // the same
		{Nested, "called for 1", 2}, // the caller is repeated, and reads 1
	} {
		for _, durability := range []string{"process", "disk"} {
			t.Run(string(c.variant)+"/"+c.point+"/"+durability, func(t *testing.T) {
				got, err := KillAt(t.Context(), t.TempDir(), durability, c.variant, c.point)
				if err != nil {
					t.Fatal(err)
				}
				if got != c.want {
					t.Errorf("one increment; the store says %d, want %d", got, c.want)
				}
			})
		}
	}
}

// The first attempt's write hangs in the network when its process dies. It
// arrives after the retry's and one more increment, and must not count.
func TestALingeringWriteIsRefused(t *testing.T) {
	job := crash.Job{
		App: "counter", Dir: filepath.Join(t.TempDir(), "counter"), Durability: "process",
		Units: 1, Window: 1, Variant: string(Tail),
	}
	store := OpenStore(job)
	name := nameOf(0)

	job.Units, job.StopAt = 1+counters, "before set 2" // the second of counter 0
	if err := killAt(t.Context(), job); err != nil {
		t.Fatal(err)
	}
	before, err := store.Get(name)
	if err != nil || before.Value != 1 {
		t.Fatalf("the store says %+v, %v before the second write; want 1", before, err)
	}

	job.Units, job.StopAt = 1+2*counters, ""
	if err := finish(t.Context(), job); err != nil {
		t.Fatal(err)
	}
	after, err := store.Get(name)
	if err != nil || after.Value != 3 {
		t.Fatalf("the store says %+v, %v after three increments", after, err)
	}
	if after.Token <= before.Token {
		t.Fatalf("token %d after %d: it must rise with a new placement", after.Token, before.Token)
	}

	if err := store.Set(name, 2, before.Token); !errors.Is(err, ErrStale) {
		t.Errorf("the lingering write: %v, want ErrStale", err)
	}
	if e, err := store.Get(name); e.Value != 3 || err != nil {
		t.Errorf("the store says %d, %v after the lingering write; want 3", e.Value, err)
	}
	// A store that takes any write would have lost an increment by now.
	if err := store.Set(name, 2, after.Token); err != nil {
		t.Errorf("a write with the newest token: %v", err)
	}
}

func TestEachIncrementCountsOnce(t *testing.T) {
	const increments, kills = 800, 5
	for _, durability := range []string{"process", "disk"} {
		t.Run(durability, func(t *testing.T) {
			run := crash.Run{
				Job:   crash.Job{Dir: filepath.Join(t.TempDir(), "counter"), Durability: durability, Rate: 2000},
				Kills: kills, Seed: rand.Uint64(), Early: 0.2,
			}
			t.Logf("seed %d", run.Seed)
			result, err := Run(t.Context(), run, increments)
			if err != nil {
				t.Fatal(err)
			}
			if len(result.Kills) == 0 {
				t.Error("no kill landed")
			}
			differences, err := Audit(run.Job, increments)
			if err != nil {
				t.Fatal(err)
			}
			for _, d := range differences {
				t.Error(d)
			}
		})
	}
}

func TestAuditRefusesADoctoredStore(t *testing.T) {
	job := crash.Job{Dir: filepath.Join(t.TempDir(), "counter")}
	store := OpenStore(job)
	for unit := range counters {
		if err := store.Set(nameOf(unit), 2, 1); err != nil {
			t.Fatal(err)
		}
	}
	if d, err := Audit(job, 2*counters); len(d) != 0 || err != nil {
		t.Errorf("audit of a right store: %q, %v", d, err)
	}
	for _, wrong := range []int64{1, 3} {
		if err := store.Set(nameOf(3), wrong, 1); err != nil {
			t.Fatal(err)
		}
		if d, err := Audit(job, 2*counters); len(d) != 1 || err != nil {
			t.Errorf("audit of a store with %d for 2: %q, %v", wrong, d, err)
		}
	}
}

func TestStoreReportsADamagedFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store")
	if err := os.WriteFile(path, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := NewStore(path).Get("a"); err == nil {
		t.Error("a damaged store reads as empty")
	}
}
