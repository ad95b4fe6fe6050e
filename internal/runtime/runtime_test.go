package runtime_test

import (
	"context"
	"errors"
	goruntime "runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pawl-go/pawl/engine"
	"github.com/pawl-go/pawl/engine/enginetest"
	"github.com/pawl-go/pawl/engine/local/localtest"
	"github.com/pawl-go/pawl/internal/runtime"
)

type (
	scene  = enginetest.Scene
	result = runtime.Result
)

func newWorld(t *testing.T) *enginetest.World {
	return enginetest.NewWorld(t, &localtest.Harness{Params: "durability=process"})
}

func wantCode(t *testing.T, err error, code engine.Code) {
	t.Helper()
	if !errors.Is(err, code) {
		t.Errorf("got %v, want %s", err, code)
	}
}

func TestDrainLetsWhatRunsEnd(t *testing.T) {
	w := newWorld(t)
	w.On("A.go", func(s *scene) result {
		s.Pass("go")
		return enginetest.Value(s.Call("B/b", "nested", ""))
	})
	w.On("B.nested", func(s *scene) result { return enginetest.Value("nested") })
	w.On("A.next", func(s *scene) result { s.Say("next"); return enginetest.Value("") })
	n := w.Node()
	p := n.Start("A/a", "go", "")
	w.Hear("at go")
	next := n.Start("A/a", "next", "")
	now, cancel := context.WithCancel(t.Context())
	cancel()
	wantCancel := n.Drain(now) // begins to drain, and does not wait
	w.Open("go")
	if got := w.Wait(p); got != "nested" || !errors.Is(wantCancel, context.Canceled) {
		t.Errorf("got %q, %v", got, wantCancel)
	}
	if err := n.Drain(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.Times("next", 0)
	if err := n.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	m := w.Node() // the rest was given back
	w.Wait(m.Attach(next.ID()))
	w.Times("next", 1)
}

func TestIdleInstancesGo(t *testing.T) {
	w := newWorld(t)
	w.Type("A", runtime.Type{IdleAfter: 20 * time.Millisecond})
	w.On("A.go", func(s *scene) result { s.Set("n", s.Get("n")+"1"); return enginetest.Value(s.Get("n")) })
	n := w.Node()
	n.Ask("A/a", "go", "")
	w.Hear("deactivated A/a")
	if got := n.Ask("A/a", "go", ""); got != "11" {
		t.Errorf("got %q", got)
	}
}

func TestMaxLive(t *testing.T) {
	w := newWorld(t)
	w.Type("A", runtime.Type{IdleAfter: time.Hour, MaxLive: 2})
	w.On("A.go", func(*scene) result { return enginetest.Value("") })
	n := w.Node()
	for _, id := range []string{"1", "2", "3", "4"} {
		n.Ask("A/"+id, "go", "")
	}
	w.Until(func() bool { return strings.Count(w.Heard(), "deactivated") == 2 }) // those idle for longest
}

func TestPanicAndGoexit(t *testing.T) {
	w := newWorld(t)
	w.On("A.panic", func(s *scene) result { s.Set("n", "x"); panic("oh no") })
	w.On("A.exit", func(*scene) result { goruntime.Goexit(); return result{} })
	w.On("A.get", func(s *scene) result { return enginetest.Value(s.Get("n")) })
	n := w.Node()
	o, err := n.Call(t.Context(), enginetest.Call("A/a", "panic", ""))
	if err != nil || o.Failure.Kind != engine.FailurePanic || !strings.Contains(string(o.Failure.Detail), "runtime_test.go") {
		t.Fatalf("%+v, %v", o, err)
	}
	if got := n.Ask("A/a", "exit", ""); !strings.Contains(got, "Goexit") { // a runner's goroutine
		t.Errorf("got %q", got)
	}
	if got := n.Ask("A/a", "get", ""); got != "" {
		t.Errorf("state is %q", got)
	}
}

func TestContextOfAnAttempt(t *testing.T) {
	w := newWorld(t)
	kept := make(chan *runtime.Invocation, 1)
	derived := make(chan context.Context, 1)
	w.On("A.go", func(s *scene) result {
		ctx, cancel := context.WithTimeout(s.Inv(), time.Hour)
		context.AfterFunc(ctx, cancel)
		if runtime.From(ctx) != s.Inv() {
			s.Say("From does not see through")
		}
		kept <- s.Inv()
		derived <- ctx
		return enginetest.Value("")
	})
	n := w.Node()
	n.Ask("A/a", "go", "")
	inv := <-kept
	<-(<-derived).Done()
	<-inv.Done()
	wantCode(t, inv.Check(), engine.ErrEnded)
	_, err := inv.Call(inv, enginetest.Call("A/a", "go", ""))
	wantCode(t, err, engine.ErrEnded)
	_, err = inv.Tell(inv, enginetest.Call("A/a", "go", ""))
	wantCode(t, err, engine.ErrEnded)
	w.Expect()
}

func TestDeadlineEndsTheWaitOnly(t *testing.T) {
	w := newWorld(t)
	w.On("A.go", func(s *scene) result {
		ctx, cancel := context.WithCancel(s.Inv())
		cancel()
		_, err := s.Inv().Call(ctx, enginetest.Call("B/b", "slow", ""))
		s.Say("wait: %s", string(engine.CodeOf(err)))
		s.Open("slow")
		return enginetest.Value("a")
	})
	w.On("B.slow", func(s *scene) result {
		s.Pass("slow")
		s.Say("slow ends")
		return enginetest.Value("")
	})
	n := w.Node()
	p := n.Start("A/a", "go", "")
	w.Wait(p)
	w.Say("a answered")
	w.Before("wait: outcome_unknown", "slow ends")
	w.Before("slow ends", "a answered") // held at its end
}

func TestOutsideDeadlineGivesAnIDToAttachTo(t *testing.T) {
	w := newWorld(t)
	w.On("A.go", func(s *scene) result { s.Pass("go"); return enginetest.Value("done") })
	n := w.Node()
	ctx, cancel := context.WithCancel(t.Context())
	got := make(chan error, 1)
	go func() {
		_, err := n.Call(ctx, enginetest.Call("A/a", "go", ""))
		got <- err
	}()
	w.Hear("at go")
	cancel()
	err := <-got
	wantCode(t, err, engine.ErrOutcomeUnknown)
	e, _ := errors.AsType[*engine.Error](err)
	id, perr := engine.ParseID(e.Invocation)
	if perr != nil {
		t.Fatal(perr)
	}
	w.Open("go")
	if got := w.Wait(n.Attach(id)); got != "done" {
		t.Errorf("got %q", got)
	}
}

func TestSecondWaitIsAnError(t *testing.T) {
	w := newWorld(t)
	w.On("A.go", func(s *scene) result {
		p, _ := s.Inv().Go(s.Inv(), enginetest.Call("B/b", "slow", ""))
		q, _ := s.Inv().Go(s.Inv(), enginetest.Call("B/c", "slow", ""))
		first := make(chan error)
		go func() { _, err := p.Wait(s.Inv()); first <- err }()
		s.Hear("at slow", "at slow")
		s.Open("second")
		var second error
		for second == nil { // until the first one waits
			goruntime.Gosched()
			ctx, cancel := context.WithCancel(s.Inv())
			cancel()
			if _, err := q.Wait(ctx); errors.Is(err, engine.ErrNotInMethod) {
				second = err
			}
		}
		s.Open("slow")
		if err := <-first; err != nil {
			return enginetest.Failed(err.Error())
		}
		return enginetest.Value(string(engine.CodeOf(second)))
	})
	w.On("B.slow", func(s *scene) result { s.Pass("slow"); return enginetest.Value("") })
	if got := w.Node().Ask("A/a", "go", ""); got != "not_in_method" {
		t.Errorf("got %q", got)
	}
}

// TestDepth is the limit at the limit, one under and one over.
func TestDepth(t *testing.T) {
	w := newWorld(t)
	w.On("A.down", func(s *scene) result {
		left := len(s.Arg())
		if left == 0 {
			return enginetest.Value("bottom")
		}
		return enginetest.Value(s.Call("A/"+s.Arg(), "down", s.Arg()[1:]))
	})
	n := w.Node()
	for depth, want := range map[int]string{999: "bottom", 1000: "bottom", 1001: "?too_deep"} {
		if got := n.Ask("A/top", "down", strings.Repeat("x", depth)); got != want {
			t.Errorf("depth %d: got %q, want %q", depth, got, want)
		}
	}
}

func TestPayloadAndOutcomeLimits(t *testing.T) {
	const payload, outcome = 4 << 20, 16 << 20
	w := newWorld(t)
	w.On("A.result", func(s *scene) result {
		n := map[string]int{"under": payload - 1, "at": payload, "over": payload + 1}[s.Arg()]
		return enginetest.Value(strings.Repeat("x", n))
	})
	w.On("A.write", func(s *scene) result {
		n := map[string]int{"under": payload - 1, "at": payload, "over": payload + 1}[s.Arg()]
		s.Set("k", strings.Repeat("x", n))
		return enginetest.Value("")
	})
	w.On("A.together", func(s *scene) result {
		n := map[string]int{"under": outcome - 1, "at": outcome, "over": outcome + 1}[s.Arg()]
		for i := range 3 {
			s.Set(string(rune('a'+i)), strings.Repeat("x", payload))
			n -= payload + 1
		}
		s.Tell("A/sink", "eat", strings.Repeat("x", n/2))
		return enginetest.Value(strings.Repeat("x", n-n/2))
	})
	w.On("A.eat", func(*scene) result { return enginetest.Value("") })
	w.On("A.keys", func(s *scene) result { return enginetest.Value(s.Get("k") + s.Get("a")) })
	n := w.Node()
	for _, method := range []string{"result", "write", "together"} {
		for _, arg := range []string{"under", "at"} {
			if got := n.Ask("A/"+method+arg, method, arg); strings.HasPrefix(got, "!") {
				t.Errorf("%s %s the limit: %s", method, arg, got)
			}
		}
		if got := n.Ask("A/"+method, method, "over"); got != "!too_large" {
			t.Errorf("%s over the limit: %.20s", method, got)
		}
		if got := n.Ask("A/"+method, "keys", ""); got != "" {
			t.Errorf("%s over the limit: its writes were recorded", method)
		}
	}
	for size, want := range map[int]engine.Code{payload - 1: "", payload: "", payload + 1: engine.ErrTooLarge} {
		_, err := n.Call(t.Context(), enginetest.Call("A/arg", "eat", strings.Repeat("x", size)))
		if got := engine.CodeOf(err); got != want {
			t.Errorf("an argument of %d bytes: %v", size, err)
		}
	}
}

// TestManyReadyActors: more actors with work than may run at once.
func TestManyReadyActors(t *testing.T) {
	const many = 12_000
	w := newWorld(t)
	var ended atomic.Int64
	gate := make(chan struct{})
	w.On("A.go", func(s *scene) result {
		<-gate
		if ended.Add(1) == many {
			s.Say("all")
		}
		return enginetest.Value("")
	})
	n := w.Node()
	for i := range many {
		n.Tell("A/"+string(rune(i)), "go", "")
	}
	close(gate)
	w.Hear("all")
}

// TestStrict: every begin and every return of a strict type waits for the
// commit; of others a nested call's first attempt does not.
func TestStrict(t *testing.T) {
	w := enginetest.NewWorld(t, &localtest.Harness{Params: "durability=disk"})
	w.Type("S", runtime.Type{Strict: true})
	committed := func(s *scene) string {
		session := s.Node.Session()
		if session.Committed(session.Last()) {
			return "committed"
		}
		return "not yet"
	}
	w.On("S.begin", func(s *scene) result { return enginetest.Value(committed(s)) })
	w.On("S.call", func(s *scene) result {
		s.Call("L/l", "begin", "")
		return enginetest.Value(committed(s))
	})
	w.On("L.begin", func(s *scene) result { return enginetest.Value(committed(s)) })
	w.On("L.call", func(s *scene) result { return enginetest.Value(s.Call(s.Arg(), "begin", "")) })
	n := w.Node()
	for _, c := range []struct{ to, method, arg, want string }{
		{"L/a", "call", "S/s", "committed"}, // begins
		{"S/b", "call", "", "committed"},    // returns
		{"L/c", "call", "L/l", "not yet"},
	} {
		got := n.Ask(c.to, c.method, c.arg)
		for range 5 { // the queue flushes once a second by itself, perhaps just then
			if c.want == "not yet" && got != c.want {
				got = n.Ask(c.to, c.method, c.arg)
			}
		}
		if got != c.want {
			t.Errorf("%s.%s(%s): %s, want %s", c.to, c.method, c.arg, got, c.want)
		}
	}
}

// TestStrictReentry: one that re-enters does not begin on writes of the outer
// method that are recorded and do not count yet.
func TestStrictReentry(t *testing.T) {
	w := enginetest.NewWorld(t, &localtest.Harness{Params: "durability=disk"})
	w.Type("S", runtime.Type{Strict: true})
	w.On("S.outer", func(s *scene) result {
		s.Set("n", "1")
		return enginetest.Value(s.Call("S/s", "inner", ""))
	})
	w.On("S.inner", func(s *scene) result {
		session := s.Node.Session()
		if s.Get("n") == "" || !session.Committed(session.Last()) {
			return enginetest.Value("not yet")
		}
		return enginetest.Value("committed")
	})
	if got := w.Node().Ask("S/s", "outer", ""); got != "committed" {
		t.Errorf("inner begins on the writes of outer: %s", got)
	}
}

// TestStrictState: a method of a strict type does not begin on state that does
// not count yet: it waits for the outcome of the one before it on its actor.
func TestStrictState(t *testing.T) {
	w := enginetest.NewWorld(t, &localtest.Harness{Params: "durability=disk"})
	w.Type("S", runtime.Type{Strict: true})
	w.On("S.first", func(s *scene) result {
		s.Set("n", "1")
		s.Say("first")
		s.Pass("both are there")
		return enginetest.Value("")
	})
	w.On("S.second", func(s *scene) result {
		session := s.Node.Session()
		if !session.Committed(session.Last()) {
			return enginetest.Value("not yet")
		}
		return enginetest.Value("committed")
	})
	n := w.Node()
	n.Tell("S/s", "first", "")
	w.Hear("first")
	p := n.Start("S/s", "second", "")
	if err := n.Session().Wait(t.Context(), n.Session().Last()); err != nil {
		t.Fatal(err)
	}
	w.Open("both are there")
	if got := w.Wait(p); got != "committed" {
		t.Errorf("second begins on the outcome of first: %s", got)
	}
}
