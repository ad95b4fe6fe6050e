package pawltest_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/pawl-go/pawl"
	"github.com/pawl-go/pawl/pawltest"
)

// Visit is an actor that does a bit of everything.
type Visit struct {
	count pawl.Value[int]
	names pawl.Map[string, int]
}

// Come counts, and tells the clock.
func (v *Visit) Come(ctx context.Context, name string) (int, error) {
	if err := pawl.Tell(ctx, clock, (*Clock).Tick, pawl.None{}); err != nil {
		return 0, err
	}
	n := v.count.Update(ctx, func(n int) int { return n + 1 })
	v.names.Set(ctx, name, n)
	return n, nil
}

// Pay has the order paid.
func (v *Visit) Pay(ctx context.Context, amount int) (string, error) {
	receipt, err := pawl.Call(ctx, pawl.Actor[*Order]("1"), (*Order).Pay, amount)
	if err != nil {
		return "", fmt.Errorf("pay: %w", err)
	}
	return receipt, nil
}

// Leave ends as a transfer.
func (v *Visit) Leave(ctx context.Context, amount int) (int, error) {
	return pawl.TailCall(ctx, pawl.Actor[*Transfer]("t"), (*Transfer).Nested, Move{Amount: amount})
}

func TestContext(t *testing.T) {
	v := new(Visit)
	ctx := pawltest.Context(t, "v", v)
	for want, name := range []string{"Ada", "Bob"} {
		if n, err := v.Come(ctx, name); n != want+1 || err != nil {
			t.Errorf("Come = %d, %v", n, err)
		}
	}
	if self := pawl.Self(ctx, v); self != pawl.Actor[*Visit]("v") {
		t.Errorf("Self = %v", self)
	}
	if told := pawltest.Told(ctx, (*Clock).Tick); len(told) != 2 {
		t.Errorf("told the clock %d times", len(told))
	}
	if told := pawltest.Told(ctx, (*Clock).Start); len(told) != 0 {
		t.Errorf("told the clock to start %v", told)
	}
	if err := pawl.Sync(ctx); err != nil {
		t.Error(err)
	}
	if n := v.count.Get(ctx); n != 2 {
		t.Errorf("the cell has %d", n)
	}
	var names []string
	for e, err := range v.names.All(ctx) {
		if err != nil {
			t.Error(err)
		}
		names = append(names, e.Key)
	}
	if !slices.Equal(names, []string{"Ada", "Bob"}) {
		t.Errorf("the map has %v", names)
	}
	v.names.Clear(ctx)
	v.count.Delete(ctx)
	if err := pawl.Sync(ctx); err != nil {
		t.Error(err)
	}
	if n, err := v.names.Len(ctx); n != 0 || err != nil || v.count.Get(ctx) != 0 {
		t.Errorf("after Clear and Delete: %d names, %v", n, err)
	}
}

func TestStub(t *testing.T) {
	v := new(Visit)
	ctx := pawltest.Context(t, "v", v)
	pawltest.Stub(ctx, (*Order).Pay, func(o pawl.Ref[*Order], amount int) (string, error) {
		if amount > 100 {
			return "", errNoFunds
		}
		return fmt.Sprintf("%v got %d", o, amount), nil
	})
	if got, err := v.Pay(ctx, 20); got != "Order/1 got 20" || err != nil {
		t.Errorf("Pay = %q, %v", got, err)
	}
	if _, err := v.Pay(ctx, 200); !errors.Is(err, errNoFunds) {
		t.Errorf("Pay of too much: %v", err)
	}
	pawltest.Stub(ctx, (*Order).Pay, func(pawl.Ref[*Order], int) (string, error) { return "another", nil })
	if got, _ := v.Pay(ctx, 20); got != "another" {
		t.Errorf("Pay with a second stub = %q", got)
	}
}

func TestTailed(t *testing.T) {
	v := new(Visit)
	ctx := pawltest.Context(t, "v", v)
	_, err := v.Leave(ctx, 5)
	if m := pawltest.Tailed(t, err, pawl.Actor[*Transfer]("t"), (*Transfer).Nested); m.Amount != 5 {
		t.Errorf("the tail call has %+v", m)
	}
}

// Misuse fails the test, with what to do. Each case runs in a process of its own,
// since it must fail.
func TestContextMisuse(t *testing.T) {
	cases := map[string]struct {
		do   func(t *testing.T)
		want string
	}{
		"no stub": {func(t *testing.T) {
			v := new(Visit)
			_, _ = v.Pay(pawltest.Context(t, "v", v), 20)
		}, "Order/1.Pay was called, and has no stub"},
		"used before": {func(t *testing.T) {
			v := new(Visit)
			pawltest.Context(t, "v", v)
			pawltest.Context(t, "w", v)
		}, "newActor returned an actor that it had returned before"},
		"no actor": {func(t *testing.T) { pawltest.Context(t, "v", &struct{ n int }{}) }, "the type's name"},
		"no tail call": {func(t *testing.T) {
			pawltest.Tailed(t, errNoFunds, pawl.Actor[*Transfer]("t"), (*Transfer).Nested)
		}, "returned the error not enough funds, not a tail call to Transfer/t.Nested"},
		"another tail call": {func(t *testing.T) {
			v := new(Visit)
			_, err := v.Leave(pawltest.Context(t, "v", v), 5)
			pawltest.Tailed(t, err, pawl.Actor[*Transfer]("t"), (*Transfer).Once)
		}, "ended with a tail call to Transfer/t.Nested, not to Transfer/t.Once"},
		"another context": {func(t *testing.T) {
			pawltest.Told(t.Context(), (*Clock).Tick)
		}, "the context is not one of pawltest.Context"},
	}
	if name := os.Getenv("PAWLTEST_MISUSE"); name != "" {
		cases[name].do(t)
		return
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestContextMisuse$")
			cmd.Env = append(os.Environ(), "PAWLTEST_MISUSE="+name)
			out, err := cmd.CombinedOutput()
			if err == nil || !strings.Contains(string(out), c.want) {
				t.Errorf("%v, want a failure that says %q:\n%s", err, c.want, out)
			}
		})
	}
}
