package flights

import (
	"math/rand/v2"
	"testing"

	"github.com/pawl-go/pawl/examples/internal/crash"
	"github.com/pawl-go/pawl/examples/internal/hosts"
)

// On three hosts, whichever works is killed, and another goes on: each is the source
// once, the first one too that was killed comes back, and nothing is lost or doubled.
func TestNothingIsLostOrDoubledOnHosts(t *testing.T) {
	const flights, kills = 400, 2
	three, err := hosts.New(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := three.Close(); err != nil {
			t.Error(err)
		}
	}()
	run := crash.Run{Job: crash.Job{Rate: 800}, Kills: kills, Seed: rand.Uint64(), Next: three.Next, Fenced: hosts.Fenced}
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
}
