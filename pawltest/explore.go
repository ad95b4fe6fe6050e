package pawltest

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

var replayFlag = flag.String("pawltest.schedule", "",
	"let pawltest.Explore run this one schedule, as it has printed it")

// Run runs a scenario once, in a world in which nothing fails but what it asks
// for itself: components are killed, paused, restarted and drained by their
// methods, the process dies by [World.Crash] and [World.FailNext]. Time is
// virtual, from midnight of January 1, 2000.
func Run(t *testing.T, scenario func(w *World), opts ...Option) {
	t.Helper()
	cfg, err := newConfig(opts, testing.Short())
	if err != nil {
		t.Fatal(err)
	}
	w := play(t, cfg, schedule{seed: cfg.seed}, scenario)
	switch {
	case w.Failed():
		t.Error(w.report())
	case w.Skipped():
		t.Skip(strings.Join(w.said.lines, "\n"))
	default:
		for _, l := range w.said.lines {
			t.Log(l)
		}
	}
}

// Explore runs a scenario again and again: once as it is, and then with a
// failure of the process at each step that can fail, one failure a run and then
// two. Where the scenario has several components, each fails alone as well. What
// the scenario checks must hold in every run. The first schedule for which it
// does not fails the test, with a timeline, the line that runs it again, and a
// hint.
//
// The scenario is plain sequential code that starts components, calls actors
// with [World.Context], and checks what comes back. It is a client outside of the
// process that dies: its calls return, with the answer of whichever life has one.
// It must make everything anew that it uses: variables of the scenario are the
// world outside, which a failure leaves as it is.
func Explore(t *testing.T, scenario func(w *World), opts ...Option) {
	t.Helper()
	cfg, err := newConfig(opts, testing.Short())
	if err != nil {
		t.Fatal(err)
	}
	e := newExplorer(t, cfg, scenario)
	if *replayFlag != "" {
		e.replay(*replayFlag)
		return
	}
	if w := e.explore(); w != nil {
		t.Errorf("%s\n%s", e.tally(), w.report())
		t.Logf("to run it again:\n    go test -run '^%s$' -pawltest.schedule='%v'", t.Name(), w.plan)
		return
	}
	t.Log(e.tally())
}

// explorer tries schedules.
type explorer struct {
	t        *testing.T
	cfg      config
	scenario func(*World)
	began    time.Time
	tried    []int // schedules, by their number of failures
	left     int   // schedules not tried, for the bounds
	skipped  bool
}

func newExplorer(t *testing.T, cfg config, scenario func(*World)) *explorer {
	return &explorer{t: t, cfg: cfg, scenario: scenario, began: time.Now()}
}

// orders is in how many orders of the ready a scenario is tried, if there is
// anything to choose.
const orders = 4

// explore returns the first world that failed, nil if there is none.
func (e *explorer) explore() *World {
	first, choice, bad := e.plain(e.cfg.seed)
	if bad != nil || e.skipped {
		return bad
	}
	layer := first
	if choice {
		for n := range uint64(orders - 1) {
			more, _, bad := e.plain(e.cfg.seed + n + 1)
			if bad != nil {
				return bad
			}
			layer = append(layer, more...)
		}
	}
	for range e.cfg.failures {
		next, bad := e.layer(layer)
		if bad != nil {
			return bad
		}
		layer = next
	}
	return nil
}

// plain runs the scenario without a failure, and gives the schedules with one
// more.
func (e *explorer) plain(seed uint64) (next []schedule, choice bool, bad *World) {
	w := e.try(schedule{seed: seed})
	if w.Failed() {
		return nil, false, w
	}
	if w.Skipped() {
		e.skipped = true
		e.t.Skip(strings.Join(w.said.lines, "\n"))
	}
	return w.more(), w.mu.choice, nil
}

// layer runs schedules of one length, as many as the bounds allow, and gives
// those with one failure more. Beyond the bound they are a random selection.
func (e *explorer) layer(schedules []schedule) (next []schedule, bad *World) {
	if room := e.cfg.schedules - e.total(); len(schedules) > room {
		r := rand.New(rand.NewPCG(e.cfg.seed, uint64(len(schedules))))
		r.Shuffle(len(schedules), func(i, j int) { schedules[i], schedules[j] = schedules[j], schedules[i] })
	}
	for i, s := range schedules {
		if e.total() >= e.cfg.schedules || time.Since(e.began) > e.cfg.within {
			e.left += len(schedules) - i
			return nil, nil
		}
		w := e.try(s)
		if w.Failed() {
			return nil, w
		}
		next = append(next, w.more()...)
	}
	return next, nil
}

func (e *explorer) try(s schedule) *World {
	w := play(e.t, e.cfg, s, e.scenario)
	for len(e.tried) <= len(s.failures) {
		e.tried = append(e.tried, 0)
	}
	e.tried[len(s.failures)]++
	if w.mu.next < len(s.failures) && !w.Failed() {
		w.Errorf("the run did not come to %s, where it was to fail: the program has changed since, or the scenario does not "+
			"do the same each time (a random choice, or something kept from an earlier run)", s.failures[w.mu.next].at)
	}
	return w
}

// more gives the schedules of a run with one failure more, behind those that it
// had.
func (w *World) more() []schedule {
	var list []schedule
	for _, v := range w.mu.visited[w.mu.behind:] {
		list = append(list, w.plan.with(failure{at: v.at}))
		if v.alone {
			list = append(list, w.plan.with(failure{at: v.at, alone: true}))
		}
	}
	return list
}

func (e *explorer) total() (n int) {
	for _, k := range e.tried {
		n += k
	}
	return n
}

// tally says how much was tried.
func (e *explorer) tally() string {
	names := []string{"without failure", "with one", "with two", "with three"}
	var parts []string
	for k, n := range e.tried {
		name := fmt.Sprintf("with %d", k)
		if k < len(names) {
			name = names[k]
		}
		parts = append(parts, fmt.Sprintf("%d %s", n, name))
	}
	text := fmt.Sprintf("explored %d schedules in %v: %s",
		e.total(), time.Since(e.began).Round(time.Millisecond), strings.Join(parts, ", "))
	if e.left > 0 {
		text += fmt.Sprintf("; left %d (see Schedules and Within)", e.left)
	}
	return text
}

// replay runs one schedule and shows its timeline, whether it fails or not.
func (e *explorer) replay(text string) {
	e.t.Helper()
	s, err := parseSchedule(text)
	if err != nil {
		e.t.Fatal(err)
	}
	w := e.try(s)
	if w.Failed() {
		e.t.Error(w.report())
		return
	}
	e.t.Logf("the schedule %v does not fail:\n%s", s, w.Timeline())
}

// report tells of a failed run.
func (w *World) report() string {
	var b strings.Builder
	for _, l := range w.said.lines {
		fmt.Fprintf(&b, "%s\n", l)
	}
	if len(w.said.lines) == 0 {
		b.WriteString("the scenario has failed without a word\n")
	}
	fmt.Fprintf(&b, "timeline:\n%s", w.Timeline())
	for _, h := range w.hints() {
		fmt.Fprintf(&b, "hint: %s\n", h)
	}
	return strings.TrimSuffix(b.String(), "\n")
}
