package crash

import (
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// The child of these tests appends each unit to a file, and answers.
func TestMain(m *testing.M) {
	Main(map[string]App{
		"append": appendUnits,
		"dies": func(context.Context, Job, *Reporter) error {
			return errors.New("out of luck")
		},
		"fenced": func(ctx context.Context, job Job, r *Reporter) error {
			if job.From < 3*8 { // three lives, of a window each
				job.Units = job.From + 8
			}
			if err := appendUnits(ctx, job, r); err != nil || job.From >= 3*8 {
				return err
			}
			return errors.New("somebody else works here")
		},
		"stalls": func(ctx context.Context, _ Job, r *Reporter) error {
			r.Ready()
			<-ctx.Done()
			return nil
		},
		"stops": func(ctx context.Context, j Job, r *Reporter) error {
			r.StopAt(ctx, j, "nowhere")
			r.StopAt(ctx, j, "here")
			return nil
		},
	})
	os.Exit(m.Run())
}

func appendUnits(ctx context.Context, job Job, r *Reporter) error {
	f, err := os.OpenFile(filepath.Join(job.Dir, "units"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	r.Ready()
	return job.Dispatch(ctx, r, func(_ context.Context, unit int) error {
		r.Again(unit)
		_, err := f.WriteString(strconv.Itoa(unit) + "\n")
		return err
	})
}

func TestRunKillsAndResumes(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	dir := t.TempDir()
	var killed, started int
	run := Run{
		Job:   Job{App: "append", Dir: dir, Units: 2000, Rate: 1000, Window: 8},
		Kills: 5, Seed: seed, Early: 0.3,
		Watch: func(m Moment) {
			switch m.Kind {
			case Killed:
				killed++
			case Started:
				started++
			}
		},
	}
	result, err := run.Do(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(result.Kills) != 5 || killed != 5 || started != 6 {
		t.Errorf("%d kills, told of %d, and of %d starts; want 5, 5, 6", len(result.Kills), killed, started)
	}
	if result.Answered != 2000 {
		t.Errorf("answered %d units, want 2000", result.Answered)
	}
	for _, k := range result.Kills {
		if k.InFlight == 0 && !k.Early {
			t.Errorf("kill of life %d landed with nothing in flight", k.Life)
		}
	}
	text, err := os.ReadFile(filepath.Join(dir, "units"))
	if err != nil {
		t.Fatal(err)
	}
	done := map[string]bool{}
	for line := range strings.Lines(string(text)) {
		done[strings.TrimSpace(line)] = true
	}
	if len(done) != 2000 {
		t.Errorf("the children did %d different units, want 2000", len(done))
	}
}

// A kill waits for its moment, but not until there is nothing left to kill.
func TestKillsAreOverdue(t *testing.T) {
	s := &state{
		Run: Run{Job: Job{Units: 100}, Kills: 2}, points: []int{10, 90}, result: &Result{}, flying: map[int]bool{99: true}, fresh: true,
	}
	for _, c := range []struct {
		kills, answered int
		want            bool
	}{{0, 9, false}, {0, 10, false}, {0, 89, false}, {0, 90, true}, {1, 90, false}, {1, 94, false}, {1, 95, true}, {2, 99, false}} {
		s.result.Kills, s.result.Answered = make([]Kill, c.kills), c.answered
		if got := s.overdue(); got != c.want {
			t.Errorf("%d kills, %d answered: overdue %t", c.kills, c.answered, got)
		}
	}
}

// A child that has ended before its turn says why.
func TestBeginOfAChildThatHasEnded(t *testing.T) {
	life, err := Start(t.Context(), Job{App: "dies", Units: 1, Standby: true})
	if err != nil {
		t.Fatal(err)
	}
	for range life.Events {
	}
	if err := life.Begin(0); err != nil {
		t.Error(err)
	}
	if err := life.Wait(); err == nil || !strings.Contains(err.Error(), "out of luck") {
		t.Errorf("error %v, want one with the child's words", err)
	}
}

func TestRunReportsAChildThatDies(t *testing.T) {
	_, err := Run{Job: Job{App: "dies", Units: 1}}.Do(t.Context())
	if err == nil || !strings.Contains(err.Error(), "out of luck") {
		t.Errorf("error %v, want one with the child's words", err)
	}
}

// A child whose place another has taken is followed by the next one, a few times.
func TestRunGoesOnAfterAChildIsFenced(t *testing.T) {
	fenced := func(err error) bool { return strings.Contains(err.Error(), "somebody else works here") }
	told := 0
	run := Run{
		Job: Job{App: "fenced", Dir: t.TempDir(), Units: 40, Window: 8}, Fenced: fenced,
		Watch: func(m Moment) {
			if m.Kind == Fenced {
				told++
			}
		},
	}
	result, err := run.Do(t.Context())
	if err != nil || result.Answered != 40 || result.Fenced != 3 || told != 3 {
		t.Errorf("%+v, told %d times, %v; want 40 answers after 3 lives that were fenced", result, told, err)
	}
	run.Job.App, run.Fenced = "dies", func(error) bool { return true }
	if result, err = run.Do(t.Context()); err == nil || result.Fenced != mostFenced {
		t.Errorf("a child that is fenced for ever: %+v, %v", result, err)
	}
}

func TestRunReportsAChildThatStalls(t *testing.T) {
	// A child that is told to show its stacks before it has begun has none.
	_, err := Run{Job: Job{App: "stalls", Units: 1}, Patience: 3 * time.Second}.Do(t.Context())
	if err == nil || !strings.Contains(err.Error(), "no sign of life") || !strings.Contains(err.Error(), "goroutine") {
		t.Errorf("error %v, want one with the child's stacks", err)
	}
}

func TestStopAt(t *testing.T) {
	life, err := Start(t.Context(), Job{App: "stops", StopAt: "here"})
	if err != nil {
		t.Fatal(err)
	}
	if e := <-life.Events; e.Kind != "at" || e.Point != "here" {
		t.Errorf("event %+v, want at here", e)
	}
	if err := life.Kill(); err != nil {
		t.Fatal(err)
	}
	for range life.Events {
	}
	if err := life.Wait(); err == nil {
		t.Error("a killed child ended well")
	}
}

func TestPoints(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	got := points(rand.New(rand.NewPCG(seed, 1)), 20, 1000)
	again := points(rand.New(rand.NewPCG(seed, 1)), 20, 1000)
	if !slices.Equal(got, again) {
		t.Error("the same seed gave other moments")
	}
	if len(got) != 20 || !slices.IsSorted(got) || got[19] > 950 {
		t.Errorf("points %v: want 20, rising, below 950", got)
	}
}

func TestTailKeepsBothEnds(t *testing.T) {
	var w tail
	w.Write([]byte("first"))
	for range 200 {
		w.Write([]byte(strings.Repeat("x", 1000)))
	}
	w.Write([]byte("last"))
	text := w.String()
	if len(text) > tailLimit || !strings.HasPrefix(text, "first") || !strings.HasSuffix(text, "last") {
		t.Errorf("kept %d bytes, beginning %.8q", len(text), text)
	}
}

func TestQuantile(t *testing.T) {
	r := Result{Kills: []Kill{{Recovery: 3}, {Recovery: 1, InFlight: 4}, {}, {Recovery: 2, InFlight: 2}}}
	all := r.Recoveries()
	if !slices.Equal(all, []time.Duration{1, 2, 3}) || Quantile(all, 0.5) != 2 || Quantile(nil, 0.5) != 0 {
		t.Errorf("recoveries %v", all)
	}
	if sum, least := r.InFlight(); sum != 6 || least != 0 {
		t.Errorf("in flight %d, least %d", sum, least)
	}
}

// A standby does nothing until its turn has come, and goes on where it is told to.
func TestAStandbyGoesOnWhereItIsToldTo(t *testing.T) {
	const units, from = 20, 15
	dir := t.TempDir()
	life, err := Start(t.Context(), Job{App: "append", Dir: dir, Units: units, Standby: true})
	if err != nil {
		t.Fatal(err)
	}
	if e := <-life.Events; e.Kind != "ready" {
		t.Errorf("first of all it said %+v", e)
	}
	if written, err := os.ReadFile(filepath.Join(dir, "units")); err != nil || len(written) > 0 {
		t.Errorf("before its turn it has done %q, %v", written, err)
	}
	if err := life.Begin(from); err != nil {
		t.Fatal(err)
	}
	var answered []int
	for e := range life.Events {
		if e.Kind == "answered" {
			answered = append(answered, e.Unit)
		}
	}
	if err := life.Wait(); err != nil {
		t.Fatal(err)
	}
	slices.Sort(answered)
	if want := []int{15, 16, 17, 18, 19}; !slices.Equal(answered, want) {
		t.Errorf("answered %v, want %v", answered, want)
	}
}
