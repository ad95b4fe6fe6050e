package philosophers

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/pawl-go/pawl/internal/rig"
)

func TestMain(m *testing.M) {
	code := m.Run()
	rig.Clean()
	os.Exit(code)
}

// TestEvening is a short evening, in which each of the two hosts may be killed.
func TestEvening(t *testing.T) {
	rig.NPM(t, filepath.Join(rig.Root(t), "examples", "philosophers"))
	dir, err := os.MkdirTemp("", "pawl") //nolint:usetesting // a socket's path is short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	e := Evening{Dir: dir, Pawl: rig.Pawl(t), Meals: 8, Kills: 3, Hosts: 2, Seed: rand.Uint64(), Out: t.Output()}
	t.Logf("seed %d", e.Seed)
	r, err := e.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if r.Meals != 40 || r.Kills != 3 {
		t.Errorf("%+v", r)
	}
}

func TestEveningRefusesWhatItCannotDo(t *testing.T) {
	for _, e := range []Evening{
		{Meals: 0, Hosts: 1},
		{Meals: 1, Hosts: 0},
		{Meals: 1, Hosts: 1, Kills: 5},
		{Meals: 1, Hosts: 1, Kills: -1},
	} {
		if _, err := e.Run(t.Context()); err == nil {
			t.Errorf("%+v: no error", e)
		}
	}
}
