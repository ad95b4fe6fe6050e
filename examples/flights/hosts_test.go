package flights

import (
	"math/rand/v2"
	"path/filepath"
	"testing"

	"github.com/pawl-go/pawl/examples/internal/crash"
	"github.com/pawl-go/pawl/examples/internal/hosts"
)

// On three hosts, whichever works is killed, and another goes on: each is the source
// once, the first one too that was killed comes back, nothing is lost or doubled, and the
// semantics allow all that the three have done.
func TestNothingIsLostOrDoubledOnHosts(t *testing.T) {
	const flights, kills = 400, 2
	dir := t.TempDir()
	three, err := hosts.New(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := three.Close(); err != nil {
			t.Error(err)
		}
	}()
	run := crash.Run{Job: crash.Job{Rate: 800, Trace: filepath.Join(dir, "trace.jsonl")}, Kills: kills, Seed: rand.Uint64(), Next: three.Next, Fenced: hosts.Fenced}
	t.Logf("seed %d", run.Seed)
	result, err := Run(t.Context(), run, flights)
	if err != nil {
		t.Fatal(err)
	}
	if len(result.Kills) != kills {
		t.Fatalf("%d kills landed, want %d", len(result.Kills), kills)
	}
	if result.Fenced > 0 {
		t.Errorf("%d hosts were fenced: somebody has overtaken a source that lived", result.Fenced)
	}
	resumed := 0
	for i, want := range [kills][2]string{{"one", "two"}, {"two", "three"}} {
		k := result.Kills[i]
		resumed += k.Resumed
		if got := [2]string{k.Host, k.NextHost}; got != want {
			t.Errorf("kill %d: the host that was killed, and the one that went on: %q, want %q", i+1, got, want)
		}
	}
	if resumed == 0 {
		t.Error("no flight was resumed: the kills hit nothing")
	}
	read := 0
	err = three.Each(t.Context(), func(name, engine string) error {
		v, err := Audit(t.Context(), engine, flights)
		if err != nil {
			return err
		}
		read++
		for _, d := range v.Differences {
			t.Errorf("host %s: %s", name, d)
		}
		return nil
	})
	if err != nil || read != 3 {
		t.Errorf("the books of %d hosts were read: %v", read, err)
	}
	found, err := run.Job.CheckTrace()
	if err != nil {
		t.Error(err)
	}
	if lives := kills + 1 + read; found.Lives != lives { // the audits are lives too
		t.Errorf("the trace is of %d lives, want %d", found.Lives, lives)
	}
}
