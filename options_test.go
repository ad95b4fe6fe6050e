package pawl_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/pawl-go/pawl"
)

// patience is how long a test waits for what must come.
const patience = 30 * time.Second

// next gives what is rung next, or fails.
func next(t *testing.T, rung <-chan int) int {
	t.Helper()
	select {
	case n := <-rung:
		return n
	case <-time.After(patience):
		t.Error("nothing rings")
		return 0
	}
}

// What a method tells Immediately leaves while it runs, with what it told before;
// WithOutcome waits for its end, whatever leaves in between.
func TestWhenTellsLeave(t *testing.T) {
	rung := make(chan int, 10)
	b := pawl.Actor[*bell]("b")
	_, ctx := open(t, func(app *pawl.App) {
		pawl.RegisterFunc(app, func(string) *bell { return &bell{rung} })
		pawl.RegisterFunc(app, func(string) *shop {
			return &shop{run: func(ctx context.Context, _ *shop) (string, error) {
				ring := func(n int, opts ...pawl.TellOption) {
					if err := pawl.Tell(ctx, b, (*bell).Ring, n, opts...); err != nil {
						t.Error(err)
					}
				}
				ring(3, pawl.WithOutcome())
				ring(1)
				ring(2, pawl.Immediately())
				for want := 1; want <= 2; want++ {
					if n := next(t, rung); n != want {
						t.Errorf("while the method runs, %d rings; want %d", n, want)
					}
				}
				return "", nil
			}}
		})
	})
	if _, err := pawl.Call(ctx, pawl.Actor[*shop]("s"), (*shop).Run, pawl.None{}); err != nil {
		t.Fatal(err)
	}
	if n := next(t, rung); n != 3 {
		t.Errorf("with the outcome %d rings, want 3", n)
	}
}

// At is a moment: nothing comes before it, and a past one is now.
func TestAt(t *testing.T) {
	rung := make(chan int, 10)
	_, ctx := open(t, func(app *pawl.App) {
		pawl.RegisterFunc(app, func(string) *bell { return &bell{rung} })
	})
	b := pawl.Actor[*bell]("b")
	due := time.Now().Add(50 * time.Millisecond) //nolint:forbidigo // At is by the wall clock
	must(t, pawl.Remind(ctx, b, "r", (*bell).Ring, 3, pawl.At(due)))
	must(t, pawl.Tell(ctx, b, (*bell).Ring, 2, pawl.At(due)))
	must(t, pawl.Tell(ctx, b, (*bell).Ring, 1, pawl.At(due.Add(-time.Hour))))
	if n := next(t, rung); n != 1 {
		t.Errorf("%d rings first", n)
	}
	if sum := next(t, rung) + next(t, rung); sum != 5 {
		t.Errorf("then those that add up to %d", sum)
	}
	if time.Now().Before(due) { //nolint:forbidigo // the same
		t.Error("they rang early")
	}
}

// An invocation that waits for another attempt lets others have its actor if the
// type says so. (That it does not otherwise is a scene of engine/enginetest.)
func TestPassWhileRetrying(t *testing.T) {
	ctx, run := openShop(t, pawl.PassWhileRetrying())
	began := make(chan struct{})
	done := make(chan error, 1)
	go func() {
		_, err := run(func(ctx context.Context, s *shop) (string, error) {
			if pawl.Attempt(ctx) == 1 {
				close(began)
			}
			if s.total.Get(ctx) == 0 {
				return "", pawl.RetryAfter(errors.New("nothing yet"), time.Millisecond)
			}
			return "sold", nil
		})
		done <- err
	}()
	<-began
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if _, err := pawl.Call(ctx, pawl.Actor[*shop]("s"), (*shop).Callback, 1); err != nil {
		t.Errorf("another call: %v", err)
	}
	if err := <-done; err != nil {
		t.Errorf("the one that was retried: %v", err)
	}
}

// forgetful remembers in a plain field how often it was called.
type forgetful struct {
	calls int
	kept  pawl.Value[int]
}

func (f *forgetful) Call(ctx context.Context, end string) (int, error) {
	f.calls++
	f.kept.Set(ctx, f.calls)
	switch end {
	case "error":
		return 0, errSold
	case "panic":
		panic("it does")
	case "retry":
		if pawl.Attempt(ctx) == 1 {
			return 0, pawl.RetryAfter(errSold, 0)
		}
	}
	return f.calls, nil
}

func (f *forgetful) Kept(ctx context.Context, _ pawl.None) (int, error) { return f.kept.Get(ctx), nil }

// An application error rolls back durable cells only; a panic and RetryAfter drop
// what is in memory, too.
func TestPlainFields(t *testing.T) {
	_, ctx := open(t, func(app *pawl.App) { pawl.Register[forgetful](app) })
	for end, want := range map[string]struct{ next, kept int }{
		"error": {3, 1},
		"panic": {1, 1},
		"retry": {2, 1}, // its second attempt was the first call of a new instance
	} {
		a := pawl.Actor[*forgetful](end)
		call := func(end string) int {
			n, _ := pawl.Call(ctx, a, (*forgetful).Call, end)
			return n
		}
		if n := call(""); n != 1 {
			t.Fatalf("%s: the first call is number %d", end, n)
		}
		call(end)
		kept, err := pawl.Call(ctx, a, (*forgetful).Kept, pawl.None{})
		if next := call(""); next != want.next || kept != want.kept || err != nil {
			t.Errorf("after a call that ended with %s, the next is number %d, want %d; recorded is %d, want %d; %v",
				end, next, want.next, kept, want.kept, err)
		}
	}
}
