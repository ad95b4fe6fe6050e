package walk

import (
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pawl-go/pawl/spec"
	"github.com/pawl-go/pawl/spec/program"
)

// bounded gives a program with one failure less than it stands, so that the
// test is quick; "make spec" takes all.
func bounded(p *program.Program) Config {
	return Config{Program: p, Failures: min(p.Failures, max(1, p.Failures-1)), MaxStates: 100_000, Timeout: time.Minute}
}

func TestPrograms(t *testing.T) {
	for _, p := range program.All() {
		t.Run(p.Name, func(t *testing.T) {
			r := Walk(bounded(p))
			if !r.Expected() {
				t.Fatalf("%s: %s\n%s", r.Verdict, r.Detail, Format(r.Timeline))
			}
			if r.States < 4 || r.Verdict == Holds && (r.Paths == "" || r.Paths == "0") {
				t.Errorf("the walk has seen %d states and %q paths", r.States, r.Paths)
			}
		})
	}
}

// TestMutants: each mutant is found out by a property; which one is part of
// what it means.
func TestMutants(t *testing.T) {
	want := map[spec.Mutants]string{
		spec.PapersCancel:          "property 11 (no half chain)",
		spec.ReachableWithoutChain: "property 5 (one at a time)",
		spec.EndWithoutJoin:        "property 4 (happen-before)",
		spec.NoFlushAtReentry:      "property 10 (isolation)",
		spec.WaitForOneCallee:      "property 4 (happen-before)",
		spec.ReleaseOnTailSelf:     "property 1 (retry)",
		spec.CompletionForgotten:   "property 2 (no retry after success)",
		spec.FencedWriteAccepted:   "property 7 (fencing)",
	}
	for _, m := range spec.AllMutants() {
		t.Run(m.String(), func(t *testing.T) {
			r := Refute(m, Config{MaxStates: 50_000})
			if r.Verdict != Refuted || !strings.HasPrefix(r.Detail, want[m]) {
				t.Fatalf("%s by %s: %s, want %s", r.Verdict, r.Program, r.Detail, want[m])
			}
			if r.Mutant != m.String() || len(r.Timeline) == 0 {
				t.Errorf("the report names the mutant %q, and has %d lines", r.Mutant, len(r.Timeline))
			}
		})
	}
}

// TestReductionLosesNothing: with and without it, a program comes to the same
// final states. Zombies that still wait do not count: nothing becomes of them.
func TestReductionLosesNothing(t *testing.T) {
	for _, name := range []string{
		"latch", "counter-state", "nested-chain", "reentered", "tells-last", "failed", "once", "retry", "park-in-place", "order",
	} {
		reduced, full := finals(t, name, false), finals(t, name, true)
		if len(reduced) == 0 || !maps.Equal(reduced, full) {
			t.Errorf("%s: %d final states with the reduction, %d without", name, len(reduced), len(full))
		}
	}
}

// finals walks a program with one failure, and gives its final states.
func finals(t *testing.T, name string, noReduction bool) map[string]bool {
	t.Helper()
	p, _ := program.Find(name)
	seen := map[string]bool{}
	p.Check = func(f program.Final) string {
		w := f.World.Clone()
		w.State.E = nil
		seen[string(w.AppendKey(nil))] = true
		return ""
	}
	if r := Walk(Config{Program: p, Failures: 1, NoReduction: noReduction}); r.Verdict != Holds {
		t.Fatalf("%s: %s", name, r.Verdict)
	}
	return seen
}

func TestBounds(t *testing.T) {
	p, _ := program.Find("siblings")
	r := Walk(Config{Program: p, Failures: 2, MaxStates: 500})
	if r.Verdict != TooLarge || r.States < 500 || r.States > 600 || r.Waiting == 0 || r.Depth == 0 {
		t.Errorf("a bound of 500 states: %+v", r)
	}
	now := time.Unix(0, 0)
	clock := func() time.Time { now = now.Add(4 * time.Second); return now }
	reports := 0
	r = Walk(Config{Program: p, Failures: 2, Timeout: 30 * time.Second, Clock: clock, Progress: func(r Report) {
		reports++
		if r.Verdict != Running || r.Seconds == 0 || r.States == 0 {
			t.Errorf("progress: %+v", r)
		}
	}})
	if r.Verdict != TimedOut || r.Seconds < 30 || reports == 0 {
		t.Errorf("a bound of 30 seconds: %+v, %d reports of progress", r, reports)
	}
}

// TestEndless: a program that never ends is told, in a finite time, whether
// its states repeat or not.
func TestEndless(t *testing.T) {
	p, _ := program.Find("endless")
	if r := Walk(Config{Program: p}); r.Verdict != Endless || len(r.Timeline) == 0 {
		t.Errorf("a loop: %s", r.Verdict)
	}
	r := Walk(Config{Program: growing(), MaxStates: 500})
	if r.Verdict != TooLarge || r.Depth < 50 {
		t.Errorf("a chain without end: %s at depth %d", r.Verdict, r.Depth)
	}
}

// growing is a program that never ends, and never comes back to where it was:
// it makes tail calls to itself.
func growing() *program.Program {
	self := program.Instr{Next: func(v program.View) []spec.Event {
		return []spec.Event{{Rule: spec.RuleTailSelf, Msg: spec.Message{Method: "m"}}}
	}}
	return &program.Program{
		Name:    "growing",
		Clients: []program.Client{{Name: "A", Calls: []program.Request{{Actor: "a", Method: "m"}}}},
		Methods: map[string]program.Method{"m": {self}},
	}
}

// TestTimeline is what a newcomer sees of the paper's second wrong counter.
func TestTimeline(t *testing.T) {
	p, _ := program.Find("counter-wrong-call")
	r := Walk(Config{Program: p, Failures: 1})
	want := `
      outside              a
   1  A1 → a.incr()
   2                       A1 begins incr
   3                       A1 calls A1/1 a.set(1)
   4                       A1 waits
   5                       A1/1 begins set
   6                       A1/1 writes "1"
   7                       A1/1 ends "ok"
   8                       A1 gets A1/1 = "ok"
   9                       ✗ FAILS
  10                       zombie A1 ends "ok" (refused: it is a zombie)
  11                       A1 begins incr, attempt 2
  12                       A1 calls A1/1' a.set(2)
  13                       A1 waits
  14                       A1/1' begins set
  15                       A1/1' writes "2"
  16                       A1/1' ends "ok"
  17                       A1 gets A1/1' = "ok"
  18                       A1 ends "ok"
  19  A1 is answered "ok"
`
	if diff := cmp.Diff(want, "\n"+Format(r.Timeline)); diff != "" {
		t.Errorf("the timeline (-want +got):\n%s", diff)
	}
	if want := "the program's own check: 1 increments are acknowledged, and the counter is at 2"; r.Detail != want {
		t.Errorf("the detail is %q, want %q", r.Detail, want)
	}
}

// TestCounts holds the counts of a program small enough to count by hand: one
// request that begins, and ends. Without failures there is one path; with one
// the attempt may be lost once.
func TestCounts(t *testing.T) {
	p := &program.Program{
		Name:    "by hand",
		Clients: []program.Client{{Name: "A", Calls: []program.Request{{Actor: "a", Method: "m"}}}},
	}
	r := Walk(Config{Program: p})
	// sent, begun, ended, released
	if r.States != 5 || r.Paths != "1" || r.Verdict != Holds {
		t.Errorf("no failure: %d states, %s paths, %s", r.States, r.Paths, r.Verdict)
	}
	r = Walk(Config{Program: p, Failures: 1})
	// and: lost, its zombie gone, begun again, ended, released
	if r.States != 10 || r.Paths != "2" {
		t.Errorf("one failure: %d states, %s paths", r.States, r.Paths)
	}
}
