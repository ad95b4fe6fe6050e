package pawl_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/pawl-go/pawl"
)

// shop calls other actors, by whatever a test gives it.
type shop struct {
	total pawl.Value[int64]
	run   func(ctx context.Context, s *shop) (string, error)
}

func (s *shop) Run(ctx context.Context, _ pawl.None) (string, error) { return s.run(ctx, s) }

// Callback is what a callee calls in turn.
func (s *shop) Callback(ctx context.Context, n int64) (int64, error) {
	return s.total.Update(ctx, func(t int64) int64 { return t + n }), nil
}

// back calls the shop back.
type back struct{}

func (*back) Call(ctx context.Context, n int64) (int64, error) {
	return pawl.Call(ctx, pawl.Actor[*shop]("s"), (*shop).Callback, n)
}

// adder is a contract that counter fulfils.
type adder interface {
	Add(context.Context, int64) (int64, error)
}

var errSold = errors.New("sold out")

func init() { pawl.RegisterError("test.sold", errSold) }

// openShop gives a function that runs code as the shop's method.
func openShop(t testing.TB, opts ...pawl.TypeOption) (context.Context, func(func(ctx context.Context, s *shop) (string, error)) (string, error)) {
	var f func(ctx context.Context, s *shop) (string, error)
	_, ctx := open(t, func(app *pawl.App) {
		pawl.Register[counter](app, pawl.ReadOnly((*counter).Get), pawl.Formerly("Plus", (*counter).Add))
		pawl.Register[back](app)
		pawl.RegisterFunc(app, func(string) *shop {
			return &shop{run: func(ctx context.Context, s *shop) (string, error) { return f(ctx, s) }}
		}, opts...)
	})
	return ctx, func(g func(ctx context.Context, s *shop) (string, error)) (string, error) {
		f = g
		return pawl.Call(ctx, pawl.Actor[*shop]("s"), (*shop).Run, pawl.None{})
	}
}

func count(t testing.TB, ctx context.Context, id string) int64 { //nolint:revive // as t.Helper functions go
	t.Helper()
	n, err := pawl.Call(ctx, pawl.Actor[*counter](id), (*counter).Get, pawl.None{})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestCallsOutside(t *testing.T) {
	ctx, _ := openShop(t)
	a := pawl.Actor[*counter]("a")
	const counters pawl.Kind[adder] = "counter"
	if n, err := pawl.Call(ctx, counters.Actor("a"), adder.Add, 2); n != 2 || err != nil {
		t.Errorf("by a contract: %d, %v", n, err)
	}
	if out, err := pawl.CallRaw(ctx, "counter", "a", "Plus", json.RawMessage("3")); string(out) != "5" || err != nil {
		t.Errorf("raw, by a former name: %s, %v", out, err)
	}
	f := pawl.Go(ctx, a, (*counter).Add, 4)
	if n, err := f.Wait(ctx); n != 9 || err != nil || f.ID() == "" {
		t.Errorf("Go: %d, %v", n, err)
	}
	g, err := pawl.Start(ctx, a, (*counter).Add, 1, pawl.Key("k"))
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if n, err := g.Wait(ctx); n != 10 || err != nil {
			t.Errorf("Start: %d, %v", n, err)
		}
		if n, err := pawl.Attach[int64](ctx, g.ID()).Wait(ctx); n != 10 || err != nil {
			t.Errorf("Attach: %d, %v", n, err)
		}
	}
	if n, err := pawl.Call(ctx, a, (*counter).Add, 1, pawl.Key("k")); n != 10 || err != nil {
		t.Errorf("the key again: %d, %v", n, err)
	}
	for _, id := range []string{"no id", "7-7"} {
		if _, err := pawl.Attach[int64](ctx, id).Wait(ctx); !errors.Is(err, pawl.ErrNotFound) {
			t.Errorf("Attach(%q): %v", id, err)
		}
	}
	if err := pawl.Tell(ctx, a, (*counter).Add, 5); err != nil {
		t.Error(err)
	}
	if n, err := pawl.Call(ctx, a, (*counter).Add, 0); n != 15 || err != nil {
		t.Errorf("after a tell: %d, %v", n, err)
	}
}

func TestCallMistakes(t *testing.T) {
	app, err := pawl.Open(t.Context(), engineURL(t.TempDir()), pawl.Config{App: "test"})
	if err != nil {
		t.Fatal(err)
	}
	defer app.Close()
	a := pawl.Actor[*counter]("a")
	for name, ctx := range map[string]context.Context{"no app": t.Context(), "not started": app.Context(t.Context())} {
		_, err := pawl.Call(ctx, a, (*counter).Add, 1)
		if !errors.Is(err, pawl.ErrNoApp) || !strings.Contains(err.Error(), "call_test.go:") {
			t.Errorf("%s: %v", name, err)
		}
	}
	ctx, _ := openShop(t)
	closure := func(*counter, context.Context, int64) (int64, error) { return 0, nil }
	for name, tt := range map[string]struct {
		want error
		err  func() error
	}{
		"closure":      {pawl.ErrBadMethod, func() error { return pawl.Tell(ctx, a, closure, 1) }},
		"zero ref":     {pawl.ErrBadMethod, func() error { return pawl.Tell(ctx, pawl.Ref[*counter]{}, (*counter).Add, 1) }},
		"once outside": {pawl.ErrNotInMethod, func() error { return pawl.Tell(ctx, a, (*counter).Add, 1, pawl.Once("x")) }},
		"tail outside": {pawl.ErrNotInMethod, func() error { _, err := pawl.TailCall(ctx, a, (*counter).Add, 1); return err }},
		"tail self":    {pawl.ErrNotInMethod, func() error { _, err := pawl.TailSelf(ctx, (*counter).Add, 1); return err }},
		"sync outside": {pawl.ErrNotInMethod, func() error { return pawl.Sync(ctx) }},
		"no method":    {pawl.ErrNoMethod, func() error { _, err := pawl.CallRaw(ctx, "counter", "a", "Ad", nil); return err }},
		"zero future":  {pawl.ErrNotFound, func() error { _, err := new(pawl.Future[int]).Wait(ctx); return err }},
		"bad input":    {pawl.ErrBadPayload, func() error { _, err := pawl.CallRaw(ctx, "counter", "a", "Add", []byte(`"x"`)); return err }},
		"both keys":    {pawl.ErrNotInMethod, func() error { return pawl.Tell(ctx, a, (*counter).Add, 1, pawl.Once("x"), pawl.Key("y")) }},
	} {
		if err := tt.err(); !errors.Is(err, tt.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, f := range map[string]func(){
		"StepID":     func() { pawl.StepID(ctx) },
		"FenceToken": func() { pawl.FenceToken(ctx) },
		"State":      func() { pawl.State(ctx) },
		"Self":       func() { pawl.Self(ctx, &counter{}) },
	} {
		if err := panicOf(f); !errors.Is(err, pawl.ErrNotInMethod) || !strings.Contains(err.Error(), "call_test.go:") {
			t.Errorf("%s outside: panic %v", name, err)
		}
	}
	if pawl.InvocationID(ctx) != "" || pawl.Attempt(ctx) != 0 || pawl.CallerGone(ctx) != nil {
		t.Error("outside of methods there is an invocation")
	}
}

func TestCallsInMethods(t *testing.T) {
	ctx, run := openShop(t)
	a, b := pawl.Actor[*counter]("a"), pawl.Actor[*counter]("b")
	_, err := run(func(ctx context.Context, s *shop) (string, error) {
		n, err := pawl.Call(ctx, a, (*counter).Add, 3, pawl.Once("first"))
		if n != 3 || err != nil {
			t.Errorf("Call: %d, %v", n, err)
		}
		n, err = pawl.Call(ctx, a, (*counter).Add, 3, pawl.Once("first"))
		if n != 3 || err != nil {
			t.Errorf("Call once, again: %d, %v", n, err)
		}
		f, g := pawl.Go(ctx, a, (*counter).Add, 1), pawl.Go(ctx, b, (*counter).Add, 1)
		if n, err := g.Wait(ctx); n != 1 || err != nil {
			t.Errorf("Go: %d, %v", n, err)
		}
		if n, err := f.Wait(ctx); n != 4 || err != nil {
			t.Errorf("Go: %d, %v", n, err)
		}
		if n, err := pawl.Call(ctx, pawl.Actor[*back]("x"), (*back).Call, 2); n != 2 || err != nil {
			t.Errorf("a call that comes back: %d, %v", n, err)
		}
		if got := s.total.Get(ctx); got != 2 {
			t.Errorf("what the callback wrote: %d", got)
		}
		if n, err := pawl.Call(pawl.Detach(ctx), b, (*counter).Add, 1); n != 2 || err != nil {
			t.Errorf("detached: %d, %v", n, err)
		}
		h, err := pawl.Start(ctx, b, (*counter).Add, 1)
		must(t, err)
		if n, err := h.Wait(ctx); n != 3 || err != nil {
			t.Errorf("Start: %d, %v", n, err)
		}
		must(t, pawl.Tell(ctx, b, (*counter).Add, 10, pawl.WithOutcome()))
		must(t, pawl.Tell(ctx, b, (*counter).Add, 100))
		if n := count(t, ctx, "b"); n != 3 {
			t.Errorf("a tell held has run: %d", n)
		}
		if pawl.Self(ctx, s) != pawl.Actor[*shop]("s") || pawl.Attempt(ctx) != 1 {
			t.Error("Self or Attempt")
		}
		if id := pawl.InvocationID(ctx); id == "" || pawl.StepID(ctx) != id+"/1" {
			t.Errorf("ids: %q, %q", id, pawl.StepID(ctx))
		}
		timed, cancel := context.WithTimeout(ctx, time.Minute)
		defer cancel()
		if n, err := pawl.Call(timed, a, (*counter).Add, 1); n != 5 || err != nil {
			t.Errorf("with a deadline: %d, %v", n, err)
		}
		return "", nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if n, err := pawl.Call(ctx, b, (*counter).Add, 0); n != 113 || err != nil {
		t.Errorf("after the tells: %d, %v", n, err)
	}
}

func TestErrorsOfMethods(t *testing.T) {
	ctx, run := openShop(t)
	_, err := run(func(context.Context, *shop) (string, error) { return "", fmt.Errorf("tea: %w", errSold) })
	if !errors.Is(err, errSold) || err.Error() != "tea: sold out" {
		t.Errorf("error %v", err)
	}
	_, err = run(func(context.Context, *shop) (string, error) { panic("boom") })
	if p, ok := errors.AsType[*pawl.PanicError](err); !ok || p.Value != "boom" || !strings.Contains(p.Stack, "call_test.go") {
		t.Errorf("panic: %v", err)
	}
	tries := 0
	out, err := run(func(ctx context.Context, s *shop) (string, error) {
		if tries++; tries < 3 {
			s.total.Set(ctx, 99)
			return "", pawl.RetryAfter(errSold, 0)
		}
		return fmt.Sprint(s.total.Get(ctx), pawl.Attempt(ctx)), nil
	})
	if out != "0 3" || err != nil {
		t.Errorf("RetryAfter: %q, %v", out, err)
	}
	if _, err := run(func(ctx context.Context, s *shop) (string, error) {
		return "", pawl.Final(&pawl.Error{Code: pawl.ErrUnavailable})
	}); !errors.Is(err, pawl.ErrUnavailable) || pawl.Temporary(err) {
		t.Errorf("Final: %v", err)
	}
	if _, err := pawl.CallRaw(ctx, "shop", "s", "Run", nil, pawl.Key("x")); !errors.Is(err, pawl.ErrUnavailable) {
		t.Errorf("CallRaw: %v", err)
	}
}

func TestRetryErrors(t *testing.T) {
	_, run := openShop(t, pawl.RetryErrors(pawl.Backoff{First: 1, Attempts: 3}))
	tries := 0
	_, err := run(func(context.Context, *shop) (string, error) { tries++; return "", errSold })
	if !errors.Is(err, errSold) || tries != 3 {
		t.Errorf("%d attempts, %v", tries, err)
	}
	for name, final := range map[string]error{
		"final": pawl.Final(errSold), "ours": &pawl.Error{Code: pawl.ErrTooLarge},
	} {
		tries = 0
		if _, err := run(func(context.Context, *shop) (string, error) { tries++; return "", final }); err == nil || tries != 1 {
			t.Errorf("%s: %d attempts, %v", name, tries, err)
		}
	}
}

func TestTailCalls(t *testing.T) {
	ctx, run := openShop(t)
	out, err := run(func(ctx context.Context, s *shop) (string, error) {
		if strings.HasSuffix(pawl.StepID(ctx), "/1") {
			s.total.Set(ctx, 5)
			return pawl.TailSelf(ctx, (*shop).Run, pawl.None{})
		}
		if strings.HasSuffix(pawl.StepID(ctx), "/2") {
			return pawl.TailSelf(ctx, (*shop).Run, pawl.None{}, pawl.ReleaseLock())
		}
		return fmt.Sprint(s.total.Get(ctx), pawl.StepID(ctx) == pawl.InvocationID(ctx)+"/3"), nil
	})
	if out != "5 true" || err != nil {
		t.Errorf("TailSelf: %q, %v", out, err)
	}
	_ = ctx
}

func TestTailMisuse(t *testing.T) {
	_, run := openShop(t)
	tail := func(ctx context.Context) error {
		_, err := pawl.TailCall(ctx, pawl.Actor[*counter]("a"), (*counter).Add, 1)
		return err
	}
	var kept error
	for _, tt := range []struct {
		name, want string
		f          func(ctx context.Context) error
	}{
		{"dropped", "dropped: the method returned no error", func(ctx context.Context) error { _ = tail(ctx); return nil }},
		{"another error", `dropped: the method returned the error "sold out"`, func(ctx context.Context) error { _ = tail(ctx); return errSold }},
		{"wrapped", "wrapped or joined", func(ctx context.Context) error { return fmt.Errorf("x: %w", tail(ctx)) }},
		{"joined", "wrapped or joined", func(ctx context.Context) error { return errors.Join(errSold, tail(ctx)) }},
		{"twice", "made twice", func(ctx context.Context) error { _ = tail(ctx); return tail(ctx) }},
		{"goroutine", "dropped", func(ctx context.Context) error {
			done := make(chan error)
			go func() { done <- tail(ctx) }()
			kept = <-done
			return nil
		}},
		{"of another", "by another attempt or invocation", func(context.Context) error { return kept }},
		{"of another, wrapped", "by another attempt or invocation", func(context.Context) error { return fmt.Errorf("x: %w", kept) }},
	} {
		_, err := run(func(ctx context.Context, s *shop) (string, error) {
			s.total.Set(ctx, 1)
			return "", tt.f(ctx)
		})
		if !errors.Is(err, pawl.ErrTailMisuse) || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), "call_test.go:") {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
	if _, err := run(func(ctx context.Context, s *shop) (string, error) {
		if n := s.total.Get(ctx); n != 0 {
			t.Errorf("a misused step was recorded: %d", n)
		}
		if n := count(t, ctx, "a"); n != 0 {
			t.Errorf("a misused tail call has run: %d", n)
		}
		if err := tail(ctx); !errors.Is(err, pawl.ErrTailCall) {
			t.Errorf("the error of a tail call: %v", err)
		} else {
			return "", err
		}
		return "", nil
	}); !errors.Is(err, pawl.ErrBadPayload) { // a number, where the caller expects a string
		t.Errorf("a good tail call: %v", err)
	}
}

func TestStrayGoroutine(t *testing.T) {
	_, run := openShop(t)
	release, done := make(chan struct{}), make(chan error, 1)
	if _, err := run(func(ctx context.Context, s *shop) (string, error) {
		go func() {
			<-release
			_, err := pawl.TailCall(ctx, pawl.Actor[*counter]("a"), (*counter).Add, 1)
			if perr := panicOf(func() { s.total.Set(ctx, 9) }); !errors.Is(perr, pawl.ErrEnded) {
				t.Errorf("a cell after the end: %v", perr)
			}
			done <- err
		}()
		return "", nil
	}); err != nil {
		t.Fatal(err)
	}
	close(release)
	if err := <-done; !errors.Is(err, pawl.ErrEnded) {
		t.Errorf("a tail call after the end: %v", err)
	}
}

func TestEndOfWait(t *testing.T) {
	var held func(ctx context.Context, s *shop) (string, error)
	_, ctx := open(t, func(app *pawl.App) {
		pawl.RegisterFunc(app, func(string) *shop { return &shop{run: held} })
	})
	waiting, cancel := context.WithCancel(ctx)
	begun, hold := make(chan struct{}), make(chan struct{})
	held = func(context.Context, *shop) (string, error) {
		close(begun)
		<-hold
		return "held", nil
	}
	go func() { <-begun; cancel() }()
	_, err := pawl.Call(waiting, pawl.Actor[*shop]("s"), (*shop).Run, pawl.None{})
	e, ok := errors.AsType[*pawl.Error](err)
	if !ok || e.Code != pawl.ErrOutcomeUnknown || !pawl.OutcomeUnknown(err) || !errors.Is(err, context.Canceled) {
		t.Fatalf("error %v", err)
	}
	close(hold)
	if out, err := pawl.Attach[string](ctx, e.Invocation).Wait(ctx); out != "held" || err != nil {
		t.Errorf("Attach: %q, %v", out, err)
	}
}

func TestMiddleware(t *testing.T) {
	app, _ := open(t, func(app *pawl.App) { pawl.Register[counter](app) })
	srv := httptest.NewServer(app.Middleware(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n, err := pawl.Call(r.Context(), pawl.Actor[*counter]("a"), (*counter).Add, 2)
		fmt.Fprint(w, n, err)
	})))
	defer srv.Close()
	rec := httptest.NewRecorder()
	srv.Config.Handler.ServeHTTP(rec, httptest.NewRequestWithContext(t.Context(), "POST", "/", nil))
	if got := rec.Body.String(); got != "2 <nil>" {
		t.Errorf("answer %q", got)
	}
}
