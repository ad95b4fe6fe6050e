package program_test

import (
	"flag"
	"fmt"
	"os"
	"reflect"
	"testing"
	"time"

	"github.com/pawl-go/pawl/engine/trace"
	"github.com/pawl-go/pawl/internal/sim/program"
)

var (
	seed     = flag.Uint64("seed", 0, "run this program only")
	programs = flag.Int("programs", 300, "how many programs to run")
	from     = flag.Uint64("from", 1, "the seed of the first of them")
)

func TestPrograms(t *testing.T) {
	began := time.Now()
	var failures, points, lives int
	for i := range *programs {
		s := *from + uint64(i)
		if *seed != 0 {
			s = *seed
		}
		p := program.Random(s)
		r := program.Run(t, p)
		failures += r.Failures
		points += r.Steps
		lives += r.Lives
		if r.Err != nil {
			t.Fatalf("seed %d: %v\n%v\n%v", s, r.Err, p, r.Notes)
		}
		if *seed != 0 {
			t.Logf("%v\n%v", p, r.Notes)
			break
		}
	}
	fmt.Fprintf(os.Stderr, "%d programs, %d failures, %d points, %d lives, %v\n", *programs, failures, points, lives, time.Since(began))
}

// TestRepeats: a seed gives the same run every time, to the last event of its
// trace.
func TestRepeats(t *testing.T) {
	for s := range uint64(300) {
		p := program.Random(s)
		one, two := program.Record(t, p), program.Record(t, p)
		for i := range max(len(one.Points), len(two.Points)) {
			if i >= len(one.Points) || i >= len(two.Points) || one.Points[i] != two.Points[i] {
				t.Fatalf("seed %d: the runs part at point %d:\n%q\n%q\n%v", s, i, one.Points[i:min(i+3, len(one.Points))], two.Points[i:min(i+3, len(two.Points))], p)
			}
		}
		for i := range max(len(one.Trace), len(two.Trace)) {
			if i >= len(one.Trace) || i >= len(two.Trace) || !same(one.Trace[i], two.Trace[i]) {
				t.Fatalf("seed %d: the traces part at event %d:\n%+v\n%+v", s, i, one.Trace[i:min(i+3, len(one.Trace))], two.Trace[i:min(i+3, len(two.Trace))])
			}
		}
	}
}

// same compares events but for the hash of an outcome: a panic has a stack.
func same(x, y trace.Event) bool {
	x.Hash, y.Hash = "", ""
	return reflect.DeepEqual(x, y)
}
