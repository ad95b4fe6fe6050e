package flights

import (
	"math/rand/v2"
	"os"
	"testing"

	"github.com/pawl-go/pawl/examples/internal/crash"
)

func TestMain(m *testing.M) {
	crash.Main(map[string]crash.App{"airline": Child})
	os.Exit(m.Run())
}

func TestNothingIsLostOrDoubled(t *testing.T) {
	const flights, kills = 500, 5
	for _, durability := range []string{"process", "disk"} {
		t.Run(durability, func(t *testing.T) {
			run := crash.Run{
				Job:   crash.Job{Dir: t.TempDir(), Durability: durability, Rate: 800},
				Kills: kills, Seed: rand.Uint64(),
			}
			t.Logf("seed %d", run.Seed)
			result, err := Run(t.Context(), run, flights)
			if err != nil {
				t.Fatal(err)
			}
			if len(result.Kills) != kills {
				t.Errorf("%d kills landed, want %d", len(result.Kills), kills)
			}
			resumed := 0
			for _, k := range result.Kills {
				resumed += k.Resumed
				if k.InFlight == 0 {
					t.Errorf("the kill of life %d landed with nothing in flight", k.Life)
				}
			}
			if resumed == 0 {
				t.Error("no flight was resumed: the kills hit nothing")
			}
			v, err := Audit(t.Context(), run.Job.Engine(), flights)
			if err != nil {
				t.Fatal(err)
			}
			for _, d := range v.Differences {
				t.Error(d)
			}
		})
	}
}

// The same run with a mistake in the application: an audit that accepts it would
// accept anything.
func TestAMistakeIsFound(t *testing.T) {
	run := crash.Run{
		Job:   crash.Job{Dir: t.TempDir(), Durability: "process", Rate: 800, Variant: withoutKeys},
		Kills: 2, Seed: rand.Uint64(),
	}
	t.Logf("seed %d", run.Seed)
	if _, err := Run(t.Context(), run, 200); err != nil {
		t.Fatal(err)
	}
	v, err := Audit(t.Context(), run.Job.Engine(), 200)
	if err != nil {
		t.Fatal(err)
	}
	if v.OK() {
		t.Error("flights were submitted twice without keys, and the audit found nothing")
	}
}
