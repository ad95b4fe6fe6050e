package pawl

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/pawl-go/pawl/engine"
)

var errNoStock = errors.New("no stock")

type stockError struct {
	Item string
	Left int
	err  error `json:"-"` // left out on purpose
}

func (e *stockError) Error() string { return fmt.Sprintf("%d of %s left", e.Left, e.Item) }
func (e *stockError) Unwrap() error { return e.err }

type quotaError struct{ Max int }

func (e quotaError) Error() string { return fmt.Sprint("quota ", e.Max) }

// loop is an error whose tree goes round in circles.
type loop struct{}

func (loop) Error() string { return "loop" }
func (loop) Unwrap() error { return loop{} }

// odd cannot be compared, although its type can.
type odd struct{ v any }

func (odd) Error() string { return "odd" }

func init() {
	RegisterError("test.no_stock", errNoStock)
	RegisterErrorType[*stockError]("test.stock")
	RegisterErrorType[quotaError]("test.quota")
}

// hops sends an error over n hops, each in bytes, as each method returns it.
func hops(err error, n int) error {
	for range n {
		b, jerr := json.Marshal(failureOf(err))
		if jerr != nil {
			panic(jerr)
		}
		f := new(engine.Failure)
		if jerr := json.Unmarshal(b, f); jerr != nil {
			panic(jerr)
		}
		err = errorOf(f)
	}
	return err
}

func TestErrorsSurviveHops(t *testing.T) {
	parked := &Error{Code: ErrParked, Invocation: "2-1", Actor: "A/b", Method: "M", Err: errNoStock}
	for _, tt := range []struct {
		name    string
		err     error
		is      []error
		isNot   []error
		message string
	}{
		{"plain", errors.New("plain"), nil, []error{errNoStock}, "plain"},
		{"sentinel", errNoStock, []error{errNoStock}, []error{ErrParked}, "no stock"},
		{"wrapped", fmt.Errorf("order 7: %w", errNoStock), []error{errNoStock}, nil, "order 7: no stock"},
		{"twice wrapped", fmt.Errorf("b: %w", fmt.Errorf("a: %w", errNoStock)), []error{errNoStock}, nil, "b: a: no stock"},
		{"joined", errors.Join(io.EOF, errNoStock, ErrTooLarge), []error{errNoStock, ErrTooLarge}, []error{io.EOF}, "EOF\nno stock\npawl: too_large"},
		{"ours", parked, []error{ErrParked, errNoStock}, nil, parked.Error()},
		{"ours wrapped", fmt.Errorf("x: %w", parked), []error{ErrParked, errNoStock}, nil, "x: " + parked.Error()},
		{"code", ErrDeadlock, []error{ErrDeadlock}, nil, "pawl: deadlock"},
		{"final", Final(errNoStock), []error{errNoStock}, nil, "no stock"},
		{"registered type", &stockError{Item: "tea", Left: 2, err: errNoStock}, []error{errNoStock}, nil, "2 of tea left"},
		{"loop", loop{}, nil, nil, "loop"},
		{"not comparable", odd{[]int{1}}, nil, nil, "odd"},
		{"panic", &PanicError{Value: "boom", Stack: "main.go:1"}, nil, nil, "panic: boom"},
	} {
		for n := range 4 {
			got := hops(tt.err, n)
			if got.Error() != tt.message {
				t.Errorf("%s, %d hops: message %q, want %q", tt.name, n, got.Error(), tt.message)
			}
			for _, is := range tt.is {
				if !errors.Is(got, is) {
					t.Errorf("%s, %d hops: %v is not %v", tt.name, n, got, is)
				}
			}
			for _, is := range tt.isNot {
				if n > 0 && errors.Is(got, is) {
					t.Errorf("%s, %d hops: %v is %v", tt.name, n, got, is)
				}
			}
		}
	}
}

func TestErrorTypesSurviveHops(t *testing.T) {
	err := hops(fmt.Errorf("a: %w", errors.Join(&stockError{Item: "tea", Left: 2}, quotaError{9})), 3)
	if s, ok := errors.AsType[*stockError](err); !ok || s.Item != "tea" || s.Left != 2 {
		t.Errorf("stockError: %+v, %v", s, ok)
	}
	if q, ok := errors.AsType[quotaError](err); !ok || q.Max != 9 {
		t.Errorf("quotaError: %+v, %v", q, ok)
	}
	e, ok := errors.AsType[*Error](hops(&Error{Code: ErrOutcomeUnknown, Invocation: "2-1", Actor: "A/b", Method: "M"}, 3))
	if !ok || e.Invocation != "2-1" || e.Actor != "A/b" || e.Method != "M" {
		t.Errorf("the place of an error of ours was lost: %+v", e)
	}
	p, ok := errors.AsType[*PanicError](hops(&PanicError{Value: "boom", Stack: "main.go:1"}, 3))
	if !ok || p.Stack != "main.go:1" {
		t.Errorf("PanicError: %+v", p)
	}
	a, ok := errors.AsType[*AppError](hops(&AppError{Code: "x.y", Message: "m", Detail: []byte(`{"a":1}`)}, 3))
	if !ok || a.Code != "x.y" || string(a.Detail) != `{"a":1}` {
		t.Errorf("AppError: %+v", a)
	}
}

func TestNestedFailurePassesThrough(t *testing.T) {
	f := &engine.Failure{
		Code: "test.no_stock", Message: "m", Detail: []byte("{}"), Invocation: "2-1", Actor: "A/b", Method: "M",
		Causes: []*engine.Failure{engine.Fail(ErrTooDeep, "deep")},
	}
	want, _ := json.Marshal(f)
	if got, _ := json.Marshal(failureOf(errorOf(f))); string(got) != string(want) {
		t.Errorf("got %s\nwant %s", got, want)
	}
}

func TestTemporary(t *testing.T) {
	unavailable := &Error{Code: ErrUnavailable, Err: errors.New("no engine")}
	app := errors.New("app")
	for _, tt := range []struct {
		name           string
		err            error
		temporary, unk bool
	}{
		{"nil", nil, false, false},
		{"app", app, false, false},
		{"unavailable", unavailable, true, false},
		{"wrapped", fmt.Errorf("x: %w", unavailable), true, false},
		{"code", ErrOverloaded, true, false},
		{"no host", ErrNoHost, true, false},
		{"unknown", ErrOutcomeUnknown, true, true},
		{"fenced", ErrFenced, false, true},
		{"parked", ErrParked, false, false},
		{"parked because unavailable", &Error{Code: ErrParked, Err: unavailable}, false, false},
		{"final", Final(unavailable), false, false},
		{"final below", fmt.Errorf("x: %w", Final(unavailable)), false, false},
		{"retry", Retry(app), true, false},
		{"retry over final", Retry(Final(app)), true, false},
		{"joined", errors.Join(app, unavailable), true, false},
		{"joined with final", errors.Join(unavailable, Final(app)), false, false},
		{"deadline of the user's", context.DeadlineExceeded, false, false},
		{"another's outcome", hops(fmt.Errorf("x: %w", unavailable), 1), false, false},
		{"another's final outcome", hops(Final(unavailable), 1), false, false},
	} {
		if got := Temporary(tt.err); got != tt.temporary {
			t.Errorf("%s: Temporary is %v", tt.name, got)
		}
		if got := OutcomeUnknown(tt.err); got != tt.unk {
			t.Errorf("%s: OutcomeUnknown is %v", tt.name, got)
		}
	}
	if Temporary(loop{}) {
		t.Error("a loop is temporary")
	}
	if Retry(nil) != nil || RetryAfter(nil, 1) != nil || Final(nil) != nil {
		t.Error("a mark of nil is not nil")
	}
}

func TestRegisterErrorRefuses(t *testing.T) {
	for name, f := range map[string]func(){
		"code taken":     func() { RegisterError("test.no_stock", errors.New("other")) },
		"sentinel taken": func() { RegisterError("test.other", errNoStock) },
		"nil":            func() { RegisterError("test.other", nil) },
		"type taken":     func() { RegisterErrorType[quotaError]("test.other") },
		"no code":        func() { RegisterError("", errors.New("x")) },
		"dropped field":  func() { RegisterErrorType[*lossy]("test.other") },
		"interface":      func() { RegisterErrorType[error]("test.other") },
	} {
		func() {
			defer func() {
				if v := recover(); v == nil || !strings.Contains(fmt.Sprint(v), "test.") && name != "no code" {
					t.Errorf("%s: panic %v", name, v)
				}
			}()
			f()
		}()
	}
}

type lossy struct{ item string }

func (e *lossy) Error() string { return e.item }

func TestBackoff(t *testing.T) {
	b := Backoff{}.withDefaults()
	for n, want := range map[int]float64{1: 0.1, 2: 0.2, 5: 1.6, 11: 60, 10_000: 60} {
		if d := b.wait(n).Seconds(); d > want || d < 0.9*want {
			t.Errorf("attempt %d: waits %v s, want %v", n, d, want)
		}
	}
}

func TestLookingAtErrorOfForeignTail(t *testing.T) {
	if foreignTail(errNoStock) != nil || foreignTail(loop{}) != nil {
		t.Error("an error of the application is taken for a tail call")
	}
}
