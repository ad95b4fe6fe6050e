package soak

import (
	"math/rand/v2"
	"os"
	"testing"
	"time"
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
	dir := t.TempDir()
	rep, err := Run(t.Context(), Options{Kills: kills, Seed: seed, Dir: dir, Program: program(t), Trace: t.Output()})
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

// TestSourceThatWakes: a source that was stopped while another host took over can
// append nothing that counts when it goes on.
func TestSourceThatWakes(t *testing.T) {
	s := newSoak(Options{Seed: 1, Dir: t.TempDir(), Program: program(t)})
	defer s.cleanUp()
	if err := s.begin(); err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	for round := range 3 {
		if err := s.progress(ctx); err != nil {
			t.Fatal(err)
		}
		old := s.sourceHost()
		next := s.hosts[int(old.id())%hosts]
		old.freeze()
		next.tell("takeover")
		if !s.until(ctx, time.Minute, func() bool { return s.sourceHost() == next }) {
			t.Fatalf("round %d: host %d does not take over:%s", round, next.id(), s.states(ctx))
		}
		before, from := s.ackedBy(old), s.ackedBy(next)
		old.thaw()
		if !s.until(ctx, time.Minute, func() bool { return s.ackedBy(next) >= from+20 }) {
			t.Fatalf("round %d: nothing goes on:%s", round, s.states(ctx))
		}
		// What had come to count before it was stopped it may say now: one append of
		// each writer.
		if n := s.ackedBy(old) - before; n > old.orders.Writers {
			t.Fatalf("round %d: host %d acknowledges %d appends in an epoch that is over", round, old.id(), n)
		}
	}
	if err := s.settle(ctx); err != nil {
		t.Fatal(err)
	}
	if err := s.check(); err != nil {
		t.Fatal(err)
	}
}

func program(t *testing.T) string {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return exe
}
