package service

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pawl-go/pawl/queue"
	"github.com/pawl-go/pawl/queue/memfs"
)

func TestStartFromStart(t *testing.T) {
	d := newDesk(t)
	d.cfg.Start = FromStart
	d.feed("in", 1, 3)
	d.mustRun(&mixer{})
	d.mustRun(&mixer{})
	if got := d.sums("out"); got != "1.0/1 3.0/2 1.0/1 3.0/2" {
		t.Fatal(got)
	}
	// What begins anew is what is gone on with.
	d.cfg.Start = LastWritten
	d.feed("in", 1)
	if s := d.mustRun(&mixer{}); s.Stats().Replayed != 2 || s.Stats().Handled != 1 {
		t.Fatalf("%+v", s.Stats())
	}
	if got := d.sums("out"); !strings.HasSuffix(got, " 1.0/3") {
		t.Fatal(got)
	}
}

func TestStartFromEnd(t *testing.T) {
	d := newDesk(t)
	d.cfg.Start = FromEnd
	d.feed("in", 1, 3)
	d.mustRun(&mixer{})
	if got := d.sums("out"); got != "" {
		t.Fatal(got)
	}
	s := d.service(&mixer{})
	if err := s.open(t.Context()); err != nil {
		t.Fatal(err)
	}
	d.feed("in", 5, 1)
	if _, err := s.step(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := s.close(); err != nil {
		t.Fatal(err)
	}
	want := "5.0/1 5.1/1 1.0/2"
	if got := d.sums("out"); got != want {
		t.Fatalf("%s, want %s", got, want)
	}
	d.cfg.Start = LastWritten
	d.feed("in", 3)
	d.mustRun(&mixer{})
	if got := d.sums("out"); got != want+" 3.0/3" {
		t.Fatal(got)
	}
}

func TestStartNamed(t *testing.T) {
	d := newDesk(t)
	d.cfg.Start, d.cfg.Stateless = Named, true
	d.feed("in", 1, 3)
	d.mustRun(pass{})
	d.feed("in", 5)
	s := d.mustRun(pass{})
	if s.Stats().Handled != 1 {
		t.Fatalf("%+v", s.Stats())
	}
	n := 0
	for _, err := range Messages(d.queue("out"), 0) {
		if err != nil {
			t.Fatal(err)
		}
		n++
	}
	if n != 3 {
		t.Fatalf("%d messages", n)
	}
}

// TestStartNamedWithState: a sink whose state is replayed, with effects kept back.
func TestStartNamedWithState(t *testing.T) {
	for _, snaps := range []bool{false, true} {
		d := newDesk(t)
		d.cfg.Output, d.cfg.Start = Output{}, Named
		if snaps {
			d.cfg.Snapshots = Snapshots{Dir: d.root + "/snaps", Every: 3}
		}
		d.feed("in", 1, 2, 3)
		d.mustRun(&sink{})
		d.feed("in", 4)
		d.mustRun(&sink{})
		d.feed("in", 5, 6)
		s := &sink{}
		d.mustRun(s)
		again := []int{1, 2, 3, 4}
		if snaps {
			again = []int{4}
		}
		if !slices.Equal(s.again, again) || !slices.Equal(s.effects, []int{5, 6}) || s.Seen != 6 {
			t.Fatalf("snapshots %v: again %v, effects %v, seen %d", snaps, s.again, s.effects, s.Seen)
		}
	}
}

func TestAStatelessServiceReplaysNothing(t *testing.T) {
	d := newDesk(t)
	d.cfg.Stateless = true
	d.cfg.Inputs = append(d.cfg.Inputs, Input{ID: 2, Queue: d.queue("in2")})
	for range 3 {
		d.feed("in", make([]int, 400)...)
		d.feed("in2", 1, 2, 3)
		d.mustRun(pass{})
	}
	s := d.mustRun(pass{})
	if s.Stats().Replayed != 0 || s.Stats().Handled != 0 {
		t.Fatalf("%+v", s.Stats())
	}
	d.feed("in2", 1)
	if s := d.mustRun(pass{}); s.Stats().Handled != 1 {
		t.Fatalf("%+v", s.Stats())
	}
	if n := strings.Count(strings.Join(d.dump("out"), " "), "Num{"); n != 3*403+1 {
		t.Fatalf("%d outputs", n)
	}
}

// TestLostInput: what an output was made from is not there any more.
func TestLostInput(t *testing.T) {
	for _, stateless := range []bool{false, true} {
		for _, refill := range []string{"", "other", "same"} {
			d := newDesk(t)
			d.cfg.Stateless = stateless
			var handler any = &mixer{}
			if stateless {
				handler = pass{}
			}
			d.feed("in", 1, 3, 2)
			d.mustRun(handler)
			d.cfg.Inputs[0].Queue = d.cut("in", queue.NewIndex(1, 2))
			switch refill {
			case "other":
				d.feed("in", 8)
			case "same":
				d.feed("in", 2)
			}
			if !stateless {
				handler = &mixer{}
			}
			_, err := d.run(handler)
			lost, ok := errors.AsType[*LostInputError](err)
			if refill == "same" {
				if err != nil {
					t.Fatalf("stateless %v: the same message in the same place: %v", stateless, err)
				}
				continue
			}
			if !ok || lost.Input != (Hop{1, queue.NewIndex(1, 2)}) {
				t.Fatalf("stateless %v, then %q: %v", stateless, refill, err)
			}
		}
	}
}

// TestAnotherInput: one may be added, and none taken away.
func TestAnotherInput(t *testing.T) {
	d := newDesk(t)
	d.feed("in", 1)
	d.feed("in2", 3)
	d.mustRun(&mixer{})
	two(d)
	d.mustRun(&mixer{})
	if got := d.sums("out"); got != "1.0/1 3.0/2" {
		t.Fatal(got)
	}
	if _, err := judge(d.queue("out"), map[uint32]*queue.Queue{1: d.queue("in"), 2: d.queue("in2")}, false); err != nil {
		t.Fatal(err)
	}
	before := d.dump("out")
	if s := d.mustRun(&mixer{}); s.Stats().Replayed != 2 {
		t.Fatalf("%+v", s.Stats())
	}
	if diff := cmp.Diff(before, d.dump("out")); diff != "" {
		t.Fatal(diff)
	}
	d.cfg.Inputs = d.cfg.Inputs[:1]
	if _, err := d.run(&mixer{}); !errorContains(err, "names input 2, which the service does not have") {
		t.Fatal(err)
	}
}

// release deletes the cycles of a queue up to here.
func release(t *testing.T, q *queue.Queue) {
	t.Helper()
	if err := q.Roll(); err != nil {
		t.Fatal(err)
	}
	waitSealed(t, q, int(q.Place().Index.Cycle())-1)
	if err := q.ReleaseBefore(q.Place().Index); err != nil {
		t.Fatal(err)
	}
}

// TestAnAddedInputThatWasReleasedInPart: it begins with what was kept when it was
// added; a replay does, too.
func TestAnAddedInputThatWasReleasedInPart(t *testing.T) {
	d := newDesk(t)
	d.feed("in", 1)
	d.mustRun(&mixer{})
	d.feed("in2", 1)
	release(t, d.queue("in2"))
	d.feed("in2", 3)
	two(d)
	for range 3 {
		d.mustRun(&mixer{})
		if got := d.sums("out"); got != "1.0/1 3.0/2" {
			t.Fatal(got)
		}
	}
}

// TestAReplayMissesNothing: the inputs from which the state was made are gone, and
// the next one is not taken for the first.
func TestAReplayMissesNothing(t *testing.T) {
	for _, begun := range []string{"", "without an input", "without this input"} {
		d := newDesk(t)
		name := "in"
		if begun != "" {
			d.mustRun(&mixer{})
		}
		if begun == "without this input" {
			two(d)
			name = "in2"
		}
		d.feed(name, 0, 4) // without outputs
		d.mustRun(&mixer{})
		if err := d.queue(name).Roll(); err != nil {
			t.Fatal(err)
		}
		d.feed(name, 1)
		d.mustRun(&mixer{})
		if got := d.sums("out"); got != "1.0/3" {
			t.Fatal(got)
		}
		waitSealed(t, d.queue(name), 1)
		if err := d.queue(name).ReleaseBefore(queue.NewIndex(2, 0)); err != nil {
			t.Fatal(err)
		}
		if _, err := d.run(&mixer{}); !errors.Is(err, queue.ErrReleased) {
			t.Fatalf("begun %q: %v", begun, err)
		}
	}
}

// TestABeginIsCommitted: a power cut right after the start does not cost where it
// was.
func TestABeginIsCommitted(t *testing.T) {
	fsys := memfs.New()
	d := newDesk(t)
	d.fs, d.qs = fsys, map[string]*queue.Queue{}
	d.feed("in", 1, 1)
	if err := d.queue("in").WaitDurable(t.Context(), d.queue("in").Last()); err != nil {
		t.Fatal(err)
	}
	d.cfg.Start, d.cfg.Inputs[0].Queue, d.cfg.Output.Queue = FromEnd, d.queue("in"), d.queue("out")
	d.mustRun(&mixer{})
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	for k := range uint64(20) {
		d.fs, d.qs = fsys.Crash(rand.New(rand.NewPCG(seed, k))), map[string]*queue.Queue{}
		d.cfg.Start, d.cfg.Inputs[0].Queue, d.cfg.Output.Queue = LastWritten, d.queue("in"), d.queue("out")
		if s := d.mustRun(&mixer{}); s.Stats().Handled != 0 {
			t.Fatalf("%+v", s.Stats())
		}
		for _, q := range d.qs {
			if err := q.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// TestAnInputThatRepairHasGivenUp is a failure like any other: the end, or a dead
// letter; and a state that was made from it cannot be replayed.
func TestAnInputThatRepairHasGivenUp(t *testing.T) {
	damage := func(d *desk) {
		if err := d.queue("in").Close(); err != nil {
			t.Fatal(err)
		}
		delete(d.qs, "in")
		path := filepath.Join(d.root, "in", "0000000001.cycle")
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		b[bytes.Index(b, []byte(`{"N":3}`))] ^= 1
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := queue.Repair(filepath.Join(d.root, "in"), queue.CheckOptions{Logger: quiet()}); err != nil {
			t.Fatal(err)
		}
		d.cfg.Inputs[0].Queue = d.queue("in")
	}
	d := newDesk(t)
	d.feed("in", 1, 3, 1)
	damage(d)
	_, err := d.run(&mixer{})
	if lost, ok := errors.AsType[*queue.LostError](err); !ok || lost.Index != queue.NewIndex(1, 1) {
		t.Fatal(err)
	}
	d.cfg.DeadLetters.Queue = d.queue("dead")
	for range 2 {
		d.mustRun(&mixer{})
		if got := letters(d); len(got) != 1 || d.sums("out") != "1.0/1 1.0/2" {
			t.Fatalf("%q, %s", got, d.sums("out"))
		}
	}
	d = newDesk(t)
	d.feed("in", 1, 3, 1)
	d.mustRun(&mixer{})
	damage(d)
	_, err = d.run(&mixer{})
	if _, ok := errors.AsType[*LostInputError](err); !ok {
		t.Fatal(err)
	}
}

// changed sends something else for inputs of one kind.
type changed struct {
	mixer
	do func(n int, out []Sum) ([]Sum, error)
}

func (m *changed) Num(c *Context, n Num) error {
	out, err := m.apply(n.N)
	if err != nil {
		return err
	}
	if out, err = m.do(n.N, out); err != nil {
		return err
	}
	for _, s := range out {
		if err := c.Send(s); err != nil {
			return err
		}
	}
	return nil
}

func TestAChangedHandlerIsFound(t *testing.T) {
	on := func(which int, then func(out []Sum) []Sum) func(int, []Sum) ([]Sum, error) {
		return func(n int, out []Sum) ([]Sum, error) {
			if n == which {
				out = then(out)
			}
			return out, nil
		}
	}
	for name, do := range map[string]func(int, []Sum) ([]Sum, error){
		"less":         on(2, func(out []Sum) []Sum { return out[:2] }),
		"more":         on(2, func(out []Sum) []Sum { return append(out, Sum{}) }),
		"other":        on(1, func(out []Sum) []Sum { out[0].Seen++; return out }),
		"where none":   on(4, func([]Sum) []Sum { return []Sum{{}} }),
		"none":         on(1, func([]Sum) []Sum { return nil }),
		"last, less":   on(3, func([]Sum) []Sum { return nil }),
		"last, more":   on(3, func(out []Sum) []Sum { return append(out, Sum{}) }),
		"second other": on(2, func(out []Sum) []Sum { out[1].N++; return out }),
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t)
			d.feed("in", 1, 4, 2, 3)
			d.mustRun(&mixer{})
			if _, err := d.run(&changed{do: do}); err == nil {
				t.Fatal("not found")
			} else if _, ok := errors.AsType[*DivergedError](err); !ok {
				t.Fatal(err)
			}
			before := d.dump("out")
			d.cfg.TrustReplay = true
			s, err := d.run(&changed{do: do})
			if err != nil || s.Stats().Replayed != 4 {
				t.Fatal(err, s.Stats())
			}
			if diff := cmp.Diff(before, d.dump("out")); diff != "" {
				t.Fatal(diff)
			}
		})
	}
}

func TestForeignOutputs(t *testing.T) {
	append1 := func(d *desk, p []byte) {
		if _, err := d.queue("out").Append(p); err != nil {
			t.Fatal(err)
		}
	}
	for name, spoil := range map[string]func(d *desk){
		"published":       func(d *desk) { d.feed("out", 1) },
		"plain":           func(d *desk) { append1(d, []byte("hello")) },
		"another input":   func(d *desk) { d.cfg.Inputs[0].ID = 9 },
		"an earlier one":  func(d *desk) { append1(d, orderAt(1, queue.NewIndex(1, 0))) },
		"of a queue more": func(d *desk) { append1(d, orderAt(5, queue.NewIndex(1, 0))) },
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t)
			d.feed("in", 1, 1)
			d.mustRun(&mixer{})
			spoil(d)
			_, err := d.run(&mixer{})
			if _, ok := errors.AsType[*ForeignError](err); !ok {
				t.Fatal(err)
			}
		})
	}
}

func orderAt(source uint32, i queue.Index) []byte {
	f := frame{kind: Order, flags: hasOrder, history: []Hop{{source, i}}}
	return f.append(nil)
}

// TestReleasedInput: retention has deleted what a start needs; with HoldBack it
// does not.
func TestReleasedInput(t *testing.T) {
	for _, hold := range []bool{false, true} {
		t.Run(fmt.Sprint(hold), func(t *testing.T) {
			d := newDesk(t)
			d.cfg.Stateless, d.cfg.HoldBack = true, hold
			roll := func() {
				if err := d.queue("in").Roll(); err != nil {
					t.Fatal(err)
				}
			}
			d.feed("in", 1)
			d.mustRun(pass{})
			for range 3 {
				roll()
				d.feed("in", 3)
			}
			roll() // so that the ones before are sealed
			waitSealed(t, d.queue("in"), 4)
			if err := d.queue("in").ReleaseBefore(queue.NewIndex(3, 0)); err != nil {
				t.Fatal(err)
			}
			s, err := d.run(pass{})
			if hold {
				if err != nil || s.Stats().Handled != 3 {
					t.Fatal(err, s.Stats())
				}
				return
			}
			if !errors.Is(err, queue.ErrReleased) || !strings.Contains(err.Error(), "HoldBack") {
				t.Fatal(err)
			}
			d.cfg.Start = FromStart // as the error says
			if s := d.mustRun(pass{}); s.Stats().Handled != 2 {
				t.Fatalf("%+v", s.Stats())
			}
		})
	}
}

// waitSealed waits until so many cycles are sealed.
func waitSealed(t *testing.T, q *queue.Queue, n int) {
	t.Helper()
	for q.Stats().Sealed < n {
		if err := q.WaitDurable(t.Context(), q.Last()); err != nil { // lets the helper run
			t.Fatal(err)
		}
		if t.Context().Err() != nil {
			t.Fatal("not sealed")
		}
	}
}

// TestHoldBackMoves: what a start does not need is let go.
func TestHoldBackMoves(t *testing.T) {
	at := func(d *desk) queue.Index {
		infos, err := d.queue("in").Positions()
		if err != nil || len(infos) != 1 || !infos[0].HoldBack || infos[0].Name != "mix" {
			t.Fatal(infos, err)
		}
		return infos[0].Next
	}
	d := newDesk(t)
	d.cfg.HoldBack, d.cfg.Stateless = true, true
	s := d.service(pass{})
	if err := s.open(t.Context()); err != nil {
		t.Fatal(err)
	}
	step := func() {
		d.feed("in", 1)
		if n, err := s.step(t.Context()); n != 1 || err != nil {
			t.Fatal(n, err)
		}
	}
	step()
	step()
	if got := at(d); got != 0 {
		t.Fatalf("at %s before the outputs are flushed", got)
	}
	if err := d.queue("out").WaitDurable(t.Context(), d.queue("out").Last()); err != nil {
		t.Fatal(err)
	}
	step()
	if got := at(d); got != queue.NewIndex(1, 1) {
		t.Fatalf("at %s, want behind the input whose output was awaited", got)
	}
	if err := s.close(); err != nil {
		t.Fatal(err)
	}
	d = newDesk(t)
	d.cfg.HoldBack, d.cfg.Snapshots = true, Snapshots{Dir: d.root + "/snaps", Every: 2}
	d.feed("in", 1, 1)
	d.mustRun(&mixer{})
	if got := at(d); got != 0 {
		t.Fatalf("at %s with one snapshot", got)
	}
	d.feed("in", 1, 1)
	d.mustRun(&mixer{})
	if got := at(d); got != queue.NewIndex(1, 2) {
		t.Fatalf("at %s, want behind what the older snapshot covers", got)
	}
}
