package service

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/pawl-go/pawl/queue"
)

func TestAFailingHandlerStops(t *testing.T) {
	d := newDesk(t)
	d.feed("in", 1, 12, 3)
	for range 2 { // a restart fails in the same place
		_, err := d.run(&mixer{})
		failed, ok := errors.AsType[*HandlerError](err)
		if !ok || !errors.Is(err, errThirteen) || failed.Input != (Hop{1, queue.NewIndex(1, 1)}) || failed.Type != "Num" {
			t.Fatal(err)
		}
		if got := d.sums("out"); got != "1.0/1" {
			t.Fatal(got)
		}
	}
	d.mustRun(&mended{}) // goes on
	if got := d.sums("out"); got != "1.0/1 12.0/2 3.0/3" {
		t.Fatal(got)
	}
}

// TestAFailingSinkStops: its position does not move past what it has failed on.
func TestAFailingSinkStops(t *testing.T) {
	d := newDesk(t)
	d.cfg.Output, d.cfg.Start = Output{}, Named
	d.feed("in", 1, 12, 3)
	if _, err := d.run(&sink{}); !errors.Is(err, errThirteen) {
		t.Fatal(err)
	}
	s := &mendedSink{}
	d.mustRun(s)
	if !slices.Equal(s.again, []int{1}) || !slices.Equal(s.effects, []int{12, 3}) {
		t.Fatalf("%v, again %v", s.effects, s.again)
	}
}

// mendedSink is a sink that does not fail.
type mendedSink struct{ sink }

func (s *mendedSink) Num(c *Context, n Num) error {
	if err := s.sink.Num(c, n); errors.Is(err, errThirteen) && !c.Replaying() {
		s.effects = append(s.effects, n.N)
	}
	return nil
}

// mended is a mixer that does not fail.
type mended struct{ mixer }

func (p *mended) Num(c *Context, n Num) error {
	out, err := p.apply(n.N)
	if err != nil {
		out = []Sum{{N: n.N, Seen: p.Seen}}
	}
	for _, s := range out {
		if err := c.Send(s); err != nil {
			return err
		}
	}
	return nil
}

// wild panics, or sends what cannot be sent and does not look.
type wild struct{}

func (wild) Num(c *Context, n Num) error {
	if n.N == 1 {
		panic(errThirteen)
	}
	if n.N == 2 {
		_ = c.Send(func() {})
	}
	if n.N == 3 {
		panic("three")
	}
	return c.Send(n)
}

func TestPanicsAndWhatCannotBeSent(t *testing.T) {
	for n, want := range map[int]string{1: "panic: thirteen", 2: "no message", 3: "panic: three"} {
		d := newDesk(t)
		d.feed("in", n)
		_, err := d.run(wild{})
		if _, ok := errors.AsType[*HandlerError](err); !ok || !strings.Contains(err.Error(), want) {
			t.Fatal(n, err)
		}
		if p, ok := errors.AsType[*PanicError](err); ok != (n != 2) || ok && !strings.Contains(string(p.Stack), "wild.Num") {
			t.Fatalf("%d: %v, %+v", n, ok, p)
		}
		if errors.Is(err, errThirteen) != (n == 1) {
			t.Fatal(err)
		}
		if len(d.dump("out")) != 1 {
			t.Fatal(d.dump("out"))
		}
	}
}

func TestUnknownTypes(t *testing.T) {
	type Other struct{}
	d := newDesk(t)
	if _, err := NewPublisher(d.queue("in"), PublisherConfig{}).Publish(Other{}); err != nil {
		t.Fatal(err)
	}
	d.feed("in", 1)
	_, err := d.run(&mixer{})
	if u, ok := errors.AsType[*UnknownTypeError](err); !ok || u.Type != "Other" || !strings.Contains(err.Error(), "1@1:0") {
		t.Fatal(err)
	}
	d.cfg.SkipUnknown = true
	d.mustRun(&mixer{})
	if got := d.sums("out"); got != "1.0/1" {
		t.Fatal(got)
	}
}

func TestWhatIsNoMessage(t *testing.T) {
	d := newDesk(t)
	if _, err := d.queue("in").Append([]byte("hello")); err != nil {
		t.Fatal(err)
	}
	_, err := d.run(&mixer{})
	if _, ok := errors.AsType[*FormatError](err); !ok || !strings.Contains(err.Error(), "1@1:0") {
		t.Fatal(err)
	}
	d.cfg.Inputs[0].Type = "Num"
	if _, err := d.run(&mixer{}); err == nil || !strings.Contains(err.Error(), "decode: ") {
		t.Fatal(err)
	}
}

// letters lists the dead letters: cause, type, payload, reason.
func letters(d *desk) []string {
	d.t.Helper()
	var all []string
	for e, err := range Messages(d.queue("dead"), 0) {
		if err != nil {
			d.t.Fatal(err)
		}
		all = append(all, fmt.Sprintf("%s %s %s %s %s", e.Kind, e.History[0], e.Type, e.Payload, e.Reason))
	}
	return all
}

func TestDeadLetters(t *testing.T) {
	d := newDesk(t)
	d.cfg.DeadLetters.Queue = d.queue("dead")
	if _, err := d.queue("in").Append([]byte("hello")); err != nil {
		t.Fatal(err)
	}
	d.feed("in", 1, 12, 3)
	for range 3 { // restarts write no letter again
		d.mustRun(&mixer{})
		want := "1.0/1 3.0/3" // 12 has been seen
		if got := d.sums("out"); got != want {
			t.Fatalf("%s, want %s", got, want)
		}
		got := letters(d)
		if len(got) != 2 || got[1] != `dead 1@1:2 Num {"N":12} handle "Num" at 1@1:2: thirteen` || !strings.HasPrefix(got[0], "dead 1@1:0  hello ") {
			t.Fatalf("%q", got)
		}
	}
	// Replayed without a queue for them, the failure is an expected one.
	d.cfg.DeadLetters = Output{}
	if s := d.mustRun(&mixer{}); s.Stats().Replayed != 4 {
		t.Fatalf("%+v", s.Stats())
	}
}

// TestALetterThatACrashHasCost: killed at each step, there is one letter, and
// without the queue for it no start.
func TestALetterThatACrashHasCost(t *testing.T) {
	for _, step := range []string{stepHandled, stepAcknowledged, stepAppended, stepBuried, stepLetter} {
		d := newDesk(t)
		d.cfg.DeadLetters.Queue = d.queue("dead")
		d.feed("in", 12)
		s := d.service(&mixer{})
		s.trap = func(at string) error {
			if at == step {
				return errTrap
			}
			return nil
		}
		if err := drain(s); !errors.Is(err, errTrap) {
			t.Fatal(step, err)
		}
		lacking := step == stepAppended || step == stepBuried || step == stepLetter // for all it can know
		without := *d
		without.cfg.DeadLetters = Output{}
		_, err := without.run(&mixer{})
		if _, ok := errors.AsType[*ConfigError](err); ok != lacking {
			t.Fatal(step, err)
		}
		if got := letters(d); len(got) != map[bool]int{true: 1}[step == stepLetter] {
			t.Fatalf("%s: %q", step, got)
		}
		d.feed("in", 3)
		d.mustRun(&mixer{})
		d.mustRun(&mixer{})
		if got := letters(d); len(got) != 1 || d.sums("out") != "3.0/2" {
			t.Fatalf("%s: %q, %s", step, got, d.sums("out"))
		}
	}
}

var errTrap = errors.New("killed here")

func TestDeadLettersOfASink(t *testing.T) {
	d := newDesk(t)
	d.cfg.Output, d.cfg.Start = Output{}, Named
	d.cfg.DeadLetters.Queue = d.queue("dead")
	d.feed("in", 1, 12, 3)
	d.mustRun(&sink{})
	s := &sink{}
	d.mustRun(s)
	if got := letters(d); len(got) != 1 || len(s.again) != 2 || len(s.effects) != 0 {
		t.Fatalf("%q %v %v", got, s.again, s.effects)
	}
}

func TestLettersOfAnother(t *testing.T) {
	d := newDesk(t)
	d.cfg.DeadLetters.Queue = d.queue("dead")
	d.feed("dead", 1)
	if _, err := d.run(&mixer{}); !errors.Is(err, ErrLetter) {
		t.Fatal(err)
	}
}

// TestALetterThatCannotBeWritten: nothing goes on without it.
func TestALetterThatCannotBeWritten(t *testing.T) {
	d := newDesk(t)
	d.cfg.DeadLetters = Output{Queue: d.queue("dead"), Append: func(context.Context, ...[]byte) (queue.Index, error) { return 0, errTrap }}
	d.feed("in", 12, 1)
	if _, err := d.run(&mixer{}); !errors.Is(err, errTrap) || d.sums("out") != "" {
		t.Fatal(err, d.sums("out"))
	}
	d.cfg.DeadLetters.Append = nil
	d.mustRun(&mixer{})
	if got := letters(d); len(got) != 1 || d.sums("out") != "1.0/2" {
		t.Fatalf("%q, %s", got, d.sums("out"))
	}
}
