package program_test

import (
	"flag"
	"fmt"
	"os"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pawl-go/pawl/engine/trace"
	"github.com/pawl-go/pawl/internal/sim/program"
)

var (
	seed     = flag.Uint64("seed", 0, "run the program of this seed only, and tell of it")
	programs = flag.Int("programs", 300, "how many programs to run")
	from     = flag.Uint64("from", 1, "the seed of the first of them")
)

// progressEvery is how many programs are run between two lines of progress.
const progressEvery = 1000

// tally counts over all programs.
type tally struct {
	sync.Mutex
	began                             time.Time
	programs, failures, points, lives int
	failed                            bool
}

func (c *tally) add(r *program.Result) {
	c.Lock()
	defer c.Unlock()
	c.programs++
	c.failures += r.Failures
	c.points += r.Steps
	c.lives += r.Lives
	c.failed = c.failed || r.Err != nil
	if c.programs%progressEvery == 0 && c.programs < *programs {
		fmt.Fprintln(os.Stderr, c)
	}
}

func (c *tally) stop() bool {
	c.Lock()
	defer c.Unlock()
	return c.failed
}

func (c *tally) String() string {
	took := time.Since(c.began) //nolint:forbidigo // how long the programs take is told, not waited for
	return fmt.Sprintf("%d programs: %d failures in %d lives, %d points passed, %.1f s", c.programs, c.failures, c.lives, c.points, took.Seconds())
}

// TestPrograms runs random programs, the first few hundred seeds by default:
//
//	go test ./internal/sim/program -run TestPrograms -programs 10000
//
// A failing one is made smaller and told of, and can be run again:
//
//	go test ./internal/sim/program -run TestPrograms -seed 42 -v
func TestPrograms(t *testing.T) {
	if *seed != 0 {
		tell(t, *seed)
		return
	}
	c := &tally{began: time.Now()} //nolint:forbidigo // see tally.String
	workers := runtime.GOMAXPROCS(0)
	t.Run("all", func(t *testing.T) {
		for w := range workers {
			t.Run(fmt.Sprint(w), func(t *testing.T) {
				t.Parallel()
				for i := w; i < *programs && !c.stop(); i += workers {
					s := *from + uint64(i)
					r := program.Run(t, program.Random(s))
					if c.add(r); r.Err != nil {
						report(t, s, program.Random(s), r)
					}
				}
			})
		}
	})
	fmt.Fprintln(os.Stderr, c)
}

// tell runs one program and shows it, with its schedule.
func tell(t *testing.T, s uint64) {
	p := program.Random(s)
	r := program.Record(t, p)
	if r.Err != nil {
		report(t, s, p, r)
		return
	}
	t.Logf("seed %d is allowed: %d points in %d lives\n%v\n%s", s, r.Steps, r.Lives, p, strings.Join(r.Points, "\n"))
}

// mostTries bounds the making smaller.
const mostTries = 2000

// report fails the test with a program made as small as possible.
func report(t *testing.T, s uint64, p *program.Program, r *program.Result) {
	t.Helper()
	small := program.Shrink(p, mostTries, func(p *program.Program) bool { return program.Run(t, p).Err != nil })
	again := program.Record(t, small)
	t.Errorf("seed %d fails: %v\n\nMade smaller:\n\n%v\nIts run:\n\n%s\n\nWhat is wrong with it: %v\n\nAgain: go test ./internal/sim/program -run TestPrograms -seed %d -v",
		s, r.Err, small, strings.Join(again.Points, "\n"), again.Err, s)
}

// TestRepeats: a seed gives the same run every time: the same points and, to the
// last one, the same records. When in between a flush in the background is done,
// or a zombie sees the end of its wait, is left to chance.
func TestRepeats(t *testing.T) {
	for s := *from; s < *from+uint64(*programs)/3; s++ {
		p := program.Random(s)
		one, two := program.Record(t, p), program.Record(t, p)
		for i := range max(len(one.Points), len(two.Points)) {
			if i >= len(one.Points) || i >= len(two.Points) || one.Points[i] != two.Points[i] {
				t.Fatalf("seed %d: the runs part at point %d:\n%q\n%q\n%v", s, i, one.Points[i:min(i+3, len(one.Points))], two.Points[i:min(i+3, len(two.Points))], p)
			}
		}
		x, y := records(one.Trace), records(two.Trace)
		for i := range max(len(x), len(y)) {
			if i >= len(x) || i >= len(y) || !same(x[i], y[i]) {
				t.Fatalf("seed %d: the records part at %d:\n%v\n%v", s, i, x[i:min(i+3, len(x))], y[i:min(i+3, len(y))])
			}
		}
	}
}

func records(events []trace.Event) []trace.Event {
	return slices.DeleteFunc(slices.Clone(events), func(e trace.Event) bool { return !e.Kind.Record() && e.Kind != trace.Open })
}

// TestReach: random programs come to every kind of point, and to every failure.
func TestReach(t *testing.T) {
	missing := []string{
		"before start", "before begin", "after send", "after finish", "before postpone", "after commit", "before fenced",
		"before return", "before client", " dies ", "is declared failed", "takes the place", "the process dies",
		"the disk is full", "the disk has room", "an operator cancels", "an operator pauses", "goes on",
	}
	for s := uint64(1); s <= 300 && len(missing) > 0; s++ {
		run := strings.Join(program.Record(t, program.Random(s)).Points, "\n")
		missing = slices.DeleteFunc(missing, func(m string) bool { return strings.Contains(run, m) })
	}
	if len(missing) > 0 {
		t.Errorf("never seen: %q", missing)
	}
}

// same compares events but for the hash of an outcome: a panic has a stack.
func same(x, y trace.Event) bool {
	x.Hash, y.Hash = "", ""
	return reflect.DeepEqual(x, y)
}
