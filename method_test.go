package pawl

import (
	"context"
	"errors"
	"strings"
	"testing"
)

type (
	base  struct{}
	named struct{ base }
	byEmb struct{ *base }
	namer interface {
		Plain(context.Context, int) (int, error)
	}
	box[T any]    struct{ v T }
	putter[T any] interface {
		Put(context.Context, T) (T, error)
	}
)

func double(n int) int { return 2 * n }

func (*base) Promoted(_ context.Context, n int) (int, error) { return n, nil }

// Leaf begins with the code of an inlined function.
func (*named) Leaf(_ context.Context, n int) (int, error)  { return double(n), nil }
func (*named) Plain(_ context.Context, n int) (int, error) { return n, nil }
func (named) ByValue(_ context.Context, n int) (int, error) {
	return n, nil
}
func (b *box[T]) Put(_ context.Context, v T) (T, error) { b.v = v; return v, nil }

//nolint:revive // the shape of a method expression
func Exported(_ *named, _ context.Context, n int) (int, error) { return n, nil }

func inGeneric[T any]() error { return methodOfErr((*box[T]).Put) }

func byTypeParam[A putter[int]]() *methodRef { return methodOf(A.Put) }

func methodOfErr[A, In, Out any](m func(A, context.Context, In) (Out, error)) error {
	if ref := methodOf(m); ref.err != nil {
		return ref.err
	}
	return nil
}

func TestMethodNames(t *testing.T) {
	type local struct{ base }
	for want, ref := range map[string]*methodRef{
		"Promoted":   methodOf((*named).Promoted),
		"Promoted ":  methodOf(byEmb.Promoted),
		"Promoted  ": methodOf((*local).Promoted),
		"Leaf":       methodOf((*named).Leaf),
		"ByValue":    methodOf((*named).ByValue),
		"ByValue ":   methodOf(named.ByValue),
		"Plain":      methodOf((*named).Plain),
		"Plain ":     methodOf(namer.Plain),
		"Put":        methodOf((*box[int]).Put),
		"Put ":       methodOf((*box[string]).Put),
		"Put  ":      methodOf((*box[*named]).Put),
		"Put   ":     methodOf(putter[int].Put),
	} {
		if ref.err != nil || ref.name != strings.TrimSpace(want) {
			t.Errorf("%s: name %q, %v", want, ref.name, ref.err)
		}
	}
	if again := methodOf((*named).Leaf); again != methodOf((*named).Leaf) {
		t.Error("a method is learnt twice")
	}
}

func TestBadMethods(t *testing.T) {
	n := &named{}
	bound := func(_ *named, ctx context.Context, i int) (int, error) { return n.Plain(ctx, i) }
	for name, err := range map[string]error{
		"closure":        methodOfErr(bound),
		"plain function": methodOfErr(Exported),
		"in generic":     inGeneric[int](),
		"nil":            methodOfErr[*named, int, int](nil),
	} {
		if !errors.Is(err, ErrBadMethod) {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if name != "nil" && (!strings.Contains(err.Error(), "method_test.go:") || !strings.Contains(err.Error(), "interface")) {
			t.Errorf("%s: %v does not name the place and the way out", name, err)
		}
	}
	// Depending on the compiler a type parameter's method has a name or not; it
	// is never taken for another.
	if ref := byTypeParam[*box[int]](); ref.err == nil && ref.name != "Put" {
		t.Errorf("by type parameter: name %q", ref.name)
	}
}

func TestMethodName(t *testing.T) {
	for symbol, want := range map[string]string{
		"example.com/bank%2ev1.(*Account).Deposit": "Deposit",
		"main.Account.Deposit":                     "Deposit",
		"main.RoomAPI.Join":                        "Join",
		"main.(*Box[...]).Put":                     "Put",
		"main.GI[...].Put":                         "Put",
		"main.(*local·1).Put":                      "Put",
		"main.Deposit":                             "",
		"main.Deposit[...]":                        "",
		"main.open.func1":                          "",
		"main.init.0":                              "",
		"main.(*Account).Deposit-fm":               "",
		"main.(*Account).Deposit.func1":            "",
		"main.(*Account).Deposit.gowrap1":          "",
		"?":                                        "",
	} {
		got, ok := methodName(symbol)
		if ok != (want != "") || ok && got != want {
			t.Errorf("%s: %q, %v; want %q", symbol, got, ok, want)
		}
	}
}

func TestTypeNames(t *testing.T) {
	if r := Actor[*named]("x"); r.Type != "named" || r.String() != "named/x" || r.IsZero() {
		t.Errorf("Actor: %#v", r)
	}
	if r := Actor[named]("x"); r.Type != "named" {
		t.Errorf("of a value type: %#v", r)
	}
	if r := Actor[*renamed]("x"); r.Type != "new name" {
		t.Errorf("ActorType: %#v", r)
	}
	if r := Actor[*box[int]]("x"); r.Type != "box[int]" {
		t.Errorf("generic: %#v", r)
	}
	const rooms Kind[namer] = "Room"
	if r := rooms.Actor("x"); r != (Ref[namer]{Type: "Room", ID: "x"}) {
		t.Errorf("Kind: %#v", r)
	}
}

type renamed struct{}

func (*renamed) ActorType() string { return "new name" }

func BenchmarkMethodOf(b *testing.B) {
	for b.Loop() {
		methodOf((*named).Plain)
	}
}
