package main

import (
	"math/rand/v2"
	"os"
	"testing"

	"github.com/pawl-go/pawl/examples/internal/crash"
)

func TestMain(m *testing.M) {
	crash.Main(children)
	os.Exit(m.Run())
}

// The soak's short form: make soak is the long one.
func TestSoak(t *testing.T) {
	s := soak{kills: 48, round: 3, seed: rand.Uint64(), trace: true, tell: func(line string) { t.Log(line) }}
	t.Logf("seed %d", s.seed)
	sum, err := s.run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Log(sum)
	if sum.events == 0 {
		t.Error("no trace was checked")
	}
	if sum.kills < 48 || sum.inFlight == 0 || sum.resumed == 0 {
		t.Errorf("%d kills hit %d units in flight, and %d flights were flown again: too little to say anything",
			sum.kills, sum.inFlight, sum.resumed)
	}
}

func TestSoakRefusesWhatIsNotThere(t *testing.T) {
	if _, err := (soak{kills: 1, round: 1, app: "circus"}).run(t.Context()); err == nil {
		t.Error("a soak of nothing passed")
	}
}
