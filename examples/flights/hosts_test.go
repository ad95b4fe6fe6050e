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
	run := crash.Run{Job: crash.Job{Rate: 800, Trace: filepath.Join(dir, "trace.jsonl")}, Kills: kills, Seed: rand.Uint64(), Next: three.Next}
	t.Logf("seed %d", run.Seed)
	result, err := Run(t.Context(), run, flights)
	if err != nil {
		t.Fatal(err)
	}
	if len(result.Kills) != kills {
		t.Fatalf("%d kills landed, want %d", len(result.Kills), kills)
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
	v, err := Audit(t.Context(), three.Job(run.Job).Engine(), flights)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range v.Differences {
		t.Error(d)
	}
	found, err := run.Job.CheckTrace()
	if err != nil {
		t.Error(err)
	}
	if lives := kills + 2; found.Lives != lives { // the audit is one
		t.Errorf("the trace is of %d lives, want %d", found.Lives, lives)
	}
}
