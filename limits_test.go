package pawl_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/pawl-go/pawl"
)

// sized returns, keeps and is given strings of some size.
type sized struct {
	v pawl.Value[string]
	m pawl.Map[string, string]
}

func (s *sized) Argument(context.Context, string) (pawl.None, error) { return pawl.None{}, nil }

func (s *sized) Result(_ context.Context, n int) (string, error) { return text(n), nil }

func (s *sized) State(ctx context.Context, n int) (pawl.None, error) {
	s.v.Set(ctx, text(n))
	return pawl.None{}, nil
}

func (s *sized) Entry(ctx context.Context, n int) (pawl.None, error) {
	s.m.Set(ctx, "k", text(n))
	return pawl.None{}, nil
}

func (s *sized) EntryKey(ctx context.Context, n int) (pawl.None, error) {
	s.m.Set(ctx, strings.Repeat("k", n), "")
	return pawl.None{}, nil
}

func (s *sized) RawState(ctx context.Context, n int) (pawl.None, error) {
	return pawl.None{}, pawl.State(ctx).Set(ctx, "raw", []byte(`"`+text(n)+`"`))
}

func (s *sized) RawKey(ctx context.Context, n int) (pawl.None, error) {
	return pawl.None{}, pawl.State(ctx).Set(ctx, strings.Repeat("k", n), []byte("1"))
}

// text has n bytes once it is encoded.
func text(n int) string { return strings.Repeat("x", n-2) }

func TestLimits(t *testing.T) {
	const payload = 1000
	_, ctx := openIn(t, t.TempDir(), pawl.Config{Limits: pawl.Limits{Payload: payload}}, func(app *pawl.App) {
		pawl.Register[sized](app)
	})
	a := pawl.Actor[*sized]("a")
	call := func(m func(*sized, context.Context, int) (pawl.None, error)) func(n int) error {
		return func(n int) error { _, err := pawl.Call(ctx, a, m, n); return err }
	}
	for _, tt := range []struct {
		name  string
		limit int
		at    func(n int) error
	}{
		{"argument of a call", payload, func(n int) error { _, err := pawl.Call(ctx, a, (*sized).Argument, text(n)); return err }},
		{"argument of Go", payload, func(n int) error {
			_, err := pawl.Go(ctx, a, (*sized).Argument, text(n)).Wait(ctx)
			return err
		}},
		{"argument of a tell", payload, func(n int) error { return pawl.Tell(ctx, a, (*sized).Argument, text(n)) }},
		{"argument of a raw call", payload, func(n int) error {
			_, err := pawl.CallRaw(ctx, "sized", "a", "Argument", []byte(`"`+text(n)+`"`))
			return err
		}},
		{"argument of a reminder", payload, func(n int) error {
			return pawl.Remind(ctx, a, "r", (*sized).Argument, text(n), pawl.Every(1<<40))
		}},
		{"result", payload, func(n int) error { _, err := pawl.Call(ctx, a, (*sized).Result, n); return err }},
		{"state", payload, call((*sized).State)},
		{"entry", payload, call((*sized).Entry)},
		{"raw state", payload, call((*sized).RawState)},
		{"state key of an entry", 1024, call((*sized).EntryKey)},
		{"state key", 1024, call((*sized).RawKey)},
		{"actor id", 1024, func(n int) error {
			return pawl.Tell(ctx, pawl.Actor[*sized](strings.Repeat("i", n)), (*sized).Argument, "")
		}},
		{"key", 1024, func(n int) error {
			return pawl.Tell(ctx, a, (*sized).Argument, "", pawl.Key(strings.Repeat("k", n)))
		}},
		{"reminder name", 128, func(n int) error {
			return pawl.Remind(ctx, a, strings.Repeat("r", n), (*sized).Argument, "", pawl.Every(1<<40))
		}},
		{"type name", 128, func(n int) error {
			return pawl.Tell(ctx, pawl.Kind[*sized](strings.Repeat("t", n)).Actor("a"), (*sized).Argument, "")
		}},
	} {
		for _, n := range []int{tt.limit - 1, tt.limit} {
			if err := tt.at(n); err != nil {
				t.Errorf("%s of %d bytes: %v", tt.name, n, err)
			}
		}
		err := tt.at(tt.limit + 1)
		if !errors.Is(err, pawl.ErrTooLarge) {
			t.Errorf("%s over the limit: %v", tt.name, err)
			continue
		}
		for _, want := range []int{tt.limit, tt.limit + 1} {
			if !strings.Contains(err.Error(), fmt.Sprint(want)) {
				t.Errorf("%s: %v does not say %d", tt.name, err, want)
			}
		}
		if pawl.Temporary(err) {
			t.Errorf("%s: %v is temporary", tt.name, err)
		}
	}
}

// diver calls another, which calls another, and so on.
type diver struct{}

func (*diver) Dive(ctx context.Context, deeper int) (int, error) {
	if deeper == 0 {
		return 0, nil
	}
	n, err := pawl.Call(ctx, pawl.Actor[*diver](fmt.Sprint(deeper)), (*diver).Dive, deeper-1)
	return n + 1, err
}

func TestDepth(t *testing.T) {
	const depth = 5
	_, ctx := openIn(t, t.TempDir(), pawl.Config{Limits: pawl.Limits{Depth: depth}}, func(app *pawl.App) {
		pawl.Register[diver](app)
	})
	dive := func(n int) (int, error) {
		return pawl.Call(ctx, pawl.Actor[*diver]("top"), (*diver).Dive, n)
	}
	for _, n := range []int{depth - 1, depth} {
		if got, err := dive(n); got != n || err != nil {
			t.Errorf("%d nested calls: %d, %v", n, got, err)
		}
	}
	_, err := dive(depth + 1)
	if !errors.Is(err, pawl.ErrTooDeep) || !strings.Contains(err.Error(), fmt.Sprint(depth)) || pawl.Temporary(err) {
		t.Errorf("%d nested calls: %v", depth+1, err)
	}
}
