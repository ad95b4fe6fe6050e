package service

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pawl-go/pawl/queue"
)

func TestEachInputHasItsOutputsOnce(t *testing.T) {
	d := newDesk(t)
	d.feed("in", 1, 2, 3, 0, 4)
	d.mustRun(&mixer{})
	want := "1.0/1 2.0/2 2.1/2 2.2/2 3.0/3"
	if got := d.sums("out"); got != want {
		t.Fatalf("%s, want %s", got, want)
	}
	before := d.dump("out")
	d.mustRun(&mixer{}) // nothing new: 0 and 4 are handled again and send nothing
	if diff := cmp.Diff(before, d.dump("out")); diff != "" {
		t.Fatal(diff)
	}
	d.feed("in", 5)
	d.mustRun(&mixer{})
	if got := d.sums("out"); got != want+" 5.0/6 5.1/6" {
		t.Fatal(got)
	}
}

func TestHistoryLeadsBackOverServices(t *testing.T) {
	d := newDesk(t)
	d.feed("in", 3, 2)
	d.mustRun(&mixer{})
	second := *d
	second.cfg.Name = "second"
	second.cfg.Inputs = []Input{{ID: 7, Queue: d.queue("out")}}
	second.cfg.Output = Output{Queue: d.queue("out2")}
	second.cfg.Stateless = true
	second.mustRun(pass{})
	var got []Envelope
	for e, err := range Messages(d.queue("out2"), 0) {
		if err != nil {
			t.Fatal(err)
		}
		e.Payload = nil
		got = append(got, e.Envelope)
	}
	hop := func(source, cycle, seq uint32) Hop { return Hop{source, queue.NewIndex(cycle, seq)} }
	at := time.Unix(1e9, 0).UTC()
	want := []Envelope{ // 1:0 on out is the Begin
		{Type: "Sum", Time: at, History: []Hop{hop(7, 1, 1), hop(1, 1, 0)}},
		{Type: "Sum", Time: at, History: []Hop{hop(7, 1, 2), hop(1, 1, 1)}},
		{Type: "Sum", Time: at, History: []Hop{hop(7, 1, 3), hop(1, 1, 1)}},
		{Type: "Sum", Time: at, History: []Hop{hop(7, 1, 4), hop(1, 1, 1)}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatal(diff)
	}
}

// pass sends on what it gets.
type pass struct{}

func (pass) Any(c *Context, o Opaque) error { return c.Send(o) }

func TestTheSameInputsGiveTheSameBytes(t *testing.T) {
	a, b := newDesk(t), newDesk(t)
	ns := make([]int, 500)
	for k := range ns {
		ns[k] = k % 11
	}
	a.feed("in", ns...)
	b.feed("in", ns...)
	a.mustRun(&mixer{})
	b.mustRun(&mixer{})
	if diff := cmp.Diff(a.dump("out"), b.dump("out")); diff != "" {
		t.Fatal(diff)
	}
	a.cfg.Output.Queue = a.queue("again")
	a.mustRun(&mixer{})
	if diff := cmp.Diff(a.dump("out"), a.dump("again")); diff != "" {
		t.Fatal(diff)
	}
}

// TestRunWaitsAndEnds: several inputs, none of which has anything; then they have.
func TestRunWaitsAndEnds(t *testing.T) {
	d := newDesk(t)
	d.cfg.Inputs = append(d.cfg.Inputs, Input{ID: 2, Queue: d.queue("in2")}, Input{ID: 3, Queue: d.queue("in3")})
	s := d.service(&mixer{})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	out := d.queue("out").NewTailer(0)
	defer out.Close()
	for k, name := range []string{"in", "in2", "in3", "in2", "in"} {
		d.feed(name, 1)
		for {
			_, p, err := out.Next(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if e, err := Decode(p); err != nil {
				t.Fatal(err)
			} else if e.Kind == Message {
				if want := []uint32{1, 2, 3, 2, 1}[k]; e.History[0].Source != want {
					t.Fatalf("output %d comes from %s", k, e.History[0])
				}
				break
			}
		}
	}
	cancel()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	if st := s.Stats(); st.Handled != 5 || st.Sent != 5 || !st.Live {
		t.Fatalf("%+v", st)
	}
	if err := s.Run(t.Context()); !errors.Is(err, ErrRan) {
		t.Fatal(err)
	}
}

// TestNoOutputBeforeTheAcknowledgement: an output waits for its input, and for
// those of other queues that were handled before it.
func TestNoOutputBeforeTheAcknowledgement(t *testing.T) {
	d := newDesk(t)
	type ask struct {
		source uint32
		i      queue.Index
	}
	asked, let := make(chan ask), make(chan error)
	wait := func(source uint32) Wait {
		return func(ctx context.Context, i queue.Index) error {
			asked <- ask{source, i}
			return <-let
		}
	}
	d.cfg.Inputs = []Input{
		{ID: 1, Queue: d.queue("in"), Acknowledged: wait(1)},
		{ID: 2, Queue: d.queue("in2"), Acknowledged: wait(2)},
	}
	d.feed("in", 0) // sends nothing, but is handled before
	d.feed("in2", 1)
	ended := make(chan error, 1)
	go func() {
		_, err := d.run(&mixer{})
		ended <- err
	}()
	next := func() ask {
		t.Helper()
		select {
		case a := <-asked:
			return a
		case err := <-ended:
			t.Fatalf("it did not wait: it has written %q, and ended with %v", d.sums("out"), err)
			return ask{}
		}
	}
	for _, want := range []ask{{1, queue.NewIndex(1, 0)}, {2, queue.NewIndex(1, 0)}} {
		if got := next(); got != want {
			t.Fatalf("asked for %v, want %v", got, want)
		}
		if n := len(d.dump("out")); n != 1 { // the begin
			t.Fatalf("%d entries before the acknowledgement", n)
		}
		let <- nil
	}
	if err := <-ended; err != nil || d.sums("out") != "1.0/2" {
		t.Fatal(err, d.sums("out"))
	}
	// One that fails is the end, without the output.
	failed := errors.New("no other host")
	d.feed("in", 1)
	go func() {
		_, err := d.run(&mixer{})
		ended <- err
	}()
	next()
	let <- failed
	if err := <-ended; !errors.Is(err, failed) || d.sums("out") != "1.0/2" {
		t.Fatal(err, d.sums("out"))
	}
}

// sink has effects outside, and no output.
type sink struct {
	mixer
	effects, again []int
}

func (s *sink) Num(c *Context, n Num) error {
	if _, err := s.apply(n.N); err != nil {
		return err
	}
	if c.Replaying() {
		s.again = append(s.again, n.N)
	} else {
		s.effects = append(s.effects, n.N)
	}
	return nil
}

func TestASinkWaitsForTheAcknowledgementFirst(t *testing.T) {
	d := newDesk(t)
	s := &sink{}
	acknowledged := 0
	d.cfg.Output, d.cfg.Start = Output{}, Named
	d.cfg.Inputs[0].Acknowledged = func(context.Context, queue.Index) error {
		if acknowledged++; len(s.effects) != acknowledged-1 {
			t.Errorf("%d effects before acknowledgement %d", len(s.effects), acknowledged)
		}
		return nil
	}
	d.feed("in", 1, 2, 3)
	d.mustRun(s)
	if acknowledged != 3 || len(s.effects) != 3 {
		t.Fatal(acknowledged, s.effects)
	}
}

func TestSendWithoutOutputFails(t *testing.T) {
	d := newDesk(t)
	d.cfg.Output, d.cfg.Start = Output{}, Named
	d.feed("in", 1)
	if _, err := d.run(&mixer{}); err == nil || !strings.Contains(err.Error(), "no output queue") {
		t.Fatal(err)
	}
}

// TestPlainInput: entries that no Publisher has written.
func TestPlainInput(t *testing.T) {
	d := newDesk(t)
	for _, line := range []string{`{"N":1}`, `{"N":3}`} {
		if _, err := d.queue("in").Append([]byte(line)); err != nil {
			t.Fatal(err)
		}
	}
	d.cfg.Inputs[0].Type = "Num"
	d.mustRun(&mixer{})
	if got := d.sums("out"); got != "1.0/1 3.0/2" {
		t.Fatal(got)
	}
}

// TestOrderIsTold: inputs without outputs leave an Order now and then, so that the
// runs stay short.
func TestOrderIsTold(t *testing.T) {
	d := newDesk(t)
	d.cfg.Inputs = append(d.cfg.Inputs, Input{ID: 2, Queue: d.queue("in2")})
	for range orderRuns {
		d.feed("in", slices.Repeat([]int{0}, burst)...)
		d.feed("in2", slices.Repeat([]int{0}, burst)...)
	}
	s := d.mustRun(&mixer{})
	if st := s.Stats(); st.Handled != 2*burst*orderRuns || st.Sent != 0 {
		t.Fatalf("%+v", st)
	}
	orders := 0
	for _, e := range d.dump("out") {
		if strings.Contains(e, `"\xb1\x01`) {
			orders++
		}
	}
	if orders != 2 {
		t.Fatalf("%d orders", orders)
	}
	// The last Order came as soon as there were so many runs: within the last one.
	if s := d.mustRun(&mixer{}); s.Stats().Handled >= 2*burst || s.Stats().Replayed+s.Stats().Handled != 2*burst*orderRuns {
		t.Fatalf("%+v: the last run was not told", s.Stats())
	}
}
