package soak

import (
	"math/rand/v2"
	"os"
	"testing"
)

func TestMain(m *testing.M) {
	if IsChild() {
		os.Exit(Child())
	}
	os.Exit(m.Run())
}

// TestADozenKills is make soak-queue, in short.
func TestADozenKills(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	kills := 12
	if testing.Short() {
		kills = 3
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	rep, err := Run(t.Context(), Options{Kills: kills, Seed: seed, Dir: dir, Program: exe, Trace: t.Output()})
	if err != nil {
		for _, name := range []string{"host1.log", "host2.log", "host3.log"} {
			b, _ := os.ReadFile(dir + "/" + name)
			t.Logf("%s:\n%s", name, b[max(0, len(b)-6000):])
		}
		t.Fatalf("%+v: %v", rep, err)
	}
	t.Logf("%+v", rep)
	if rep.Acked == 0 || rep.Kills != kills {
		t.Fatalf("nothing was tried: %+v", rep)
	}
}
