package pawl_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/pawl-go/pawl"
)

// cells is an actor whose one method runs whatever a test gives it.
type cells struct {
	n     pawl.Value[int64]
	tags  pawl.Value[[]string]
	stock pawl.Map[string, int]
	bad   pawl.Value[any]
	sub   struct {
		street pawl.Value[string] `pawl:"road"`
	}
	run func(ctx context.Context, c *cells) error
}

func (c *cells) Run(ctx context.Context, _ pawl.None) (pawl.None, error) {
	return pawl.None{}, c.run(ctx, c)
}

func (c *cells) Look(ctx context.Context, _ pawl.None) (pawl.None, error) {
	return pawl.None{}, c.run(ctx, c)
}

// script runs functions as methods of one actor, "a".
type script struct {
	t   *testing.T
	ctx context.Context
	f   func(ctx context.Context, c *cells) error
}

func newScript(t *testing.T) *script {
	s := &script{t: t}
	_, s.ctx = open(t, func(app *pawl.App) {
		pawl.RegisterFunc(app, func(string) *cells {
			return &cells{run: func(ctx context.Context, c *cells) error { return s.f(ctx, c) }}
		}, pawl.ReadOnly((*cells).Look))
	})
	return s
}

// method runs f as a method of the actor.
func (s *script) method(f func(ctx context.Context, c *cells) error) error {
	s.f = f
	_, err := pawl.Call(s.ctx, pawl.Actor[*cells]("a"), (*cells).Run, pawl.None{})
	return err
}

// ok is method, for what cannot fail.
func (s *script) ok(f func(ctx context.Context, c *cells)) {
	s.t.Helper()
	if err := s.method(func(ctx context.Context, c *cells) error { f(ctx, c); return nil }); err != nil {
		s.t.Fatal(err)
	}
}

// look runs f as a read-only method, on a fresh copy of the recorded state.
func (s *script) look(f func(ctx context.Context, c *cells)) error {
	s.f = func(ctx context.Context, c *cells) error { f(ctx, c); return nil }
	_, err := pawl.Call(s.ctx, pawl.Actor[*cells]("a"), (*cells).Look, pawl.None{})
	return err
}

func (s *script) wantN(n int64) {
	s.t.Helper()
	s.ok(func(ctx context.Context, c *cells) {
		if got := c.n.Get(ctx); got != n {
			s.t.Errorf("in memory: %d, want %d", got, n)
		}
	})
	if err := s.look(func(ctx context.Context, c *cells) {
		if got := c.n.Get(ctx); got != n {
			s.t.Errorf("recorded: %d, want %d", got, n)
		}
	}); err != nil {
		s.t.Error(err)
	}
}

func TestValue(t *testing.T) {
	s := newScript(t)
	s.ok(func(ctx context.Context, c *cells) {
		if _, ok := c.n.Lookup(ctx); ok {
			t.Error("a value before any was set")
		}
		c.n.Set(ctx, 3)
		if got := c.n.Update(ctx, func(n int64) int64 { return n * 2 }); got != 6 {
			t.Errorf("Update: %d", got)
		}
		c.n.Edit(ctx, func(n *int64) { *n++ })
		if got, ok := c.n.Lookup(ctx); got != 7 || !ok {
			t.Errorf("Lookup: %d, %v", got, ok)
		}
		c.sub.street.Set(ctx, "Elm")
	})
	s.wantN(7)
	s.ok(func(ctx context.Context, c *cells) { c.n.Delete(ctx) })
	s.wantN(0)
	if err := s.look(func(ctx context.Context, c *cells) {
		if _, ok := c.n.Lookup(ctx); ok {
			t.Error("a deleted value is there")
		}
		if got := c.sub.street.Get(ctx); got != "Elm" {
			t.Errorf("nested cell: %q", got)
		}
	}); err != nil {
		t.Fatal(err)
	}
}

func TestErrorRollsBack(t *testing.T) {
	s := newScript(t)
	s.ok(func(ctx context.Context, c *cells) {
		c.n.Set(ctx, 1)
		c.tags.Set(ctx, []string{"a"})
		c.stock.Set(ctx, "tea", 1)
	})
	sentinel := errors.New("no")
	for name, end := range map[string]func() error{
		"error": func() error { return sentinel },
		"panic": func() error { panic("no") },
	} {
		err := s.method(func(ctx context.Context, c *cells) error {
			c.n.Set(ctx, 2)
			c.tags.Edit(ctx, func(tags *[]string) { (*tags)[0] = "b" })
			c.stock.Set(ctx, "tea", 2)
			c.stock.Delete(ctx, "tea")
			return end()
		})
		if err == nil {
			t.Fatalf("%s: no error", name)
		}
		s.wantN(1)
		s.ok(func(ctx context.Context, c *cells) {
			if got := c.tags.Get(ctx); !slices.Equal(got, []string{"a"}) {
				t.Errorf("%s: tags %v", name, got)
			}
			if got, ok, err := c.stock.Get(ctx, "tea"); got != 1 || !ok || err != nil {
				t.Errorf("%s: stock %d, %v, %v", name, got, ok, err)
			}
		})
	}
}

func TestChangeInPlaceDoesNotLeak(t *testing.T) {
	s := newScript(t)
	s.ok(func(ctx context.Context, c *cells) { c.tags.Set(ctx, []string{"a", "b"}) })
	var kept []string
	s.ok(func(ctx context.Context, c *cells) {
		kept = c.tags.Get(ctx)
		kept[0] = "changed"
	})
	s.ok(func(ctx context.Context, c *cells) {
		if got := c.tags.Get(ctx); got[0] != "a" {
			t.Errorf("what was changed in place shows: %v", got)
		}
		// Nor through what another run has kept.
		kept[0] = "changed"
		if got := c.tags.Get(ctx); got[0] != "a" {
			t.Errorf("shared with an earlier run: %v", got)
		}
	})
	s.ok(func(ctx context.Context, c *cells) {
		mine := []string{"x"}
		c.tags.Set(ctx, mine)
		kept = mine
	})
	kept[0] = "changed"
	s.ok(func(ctx context.Context, c *cells) {
		if got := c.tags.Get(ctx); got[0] != "x" {
			t.Errorf("a value that was set is shared: %v", got)
		}
	})
}

func TestMap(t *testing.T) {
	s := newScript(t)
	keys := func(ctx context.Context, c *cells, from string) string {
		var b strings.Builder
		for e, err := range c.stock.From(ctx, from) {
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(&b, "%s=%d ", e.Key, e.Value)
		}
		return strings.TrimSpace(b.String())
	}
	want := func(ctx context.Context, c *cells, from, want string) {
		t.Helper()
		if got := keys(ctx, c, from); got != want {
			t.Errorf("from %q: %s, want %s", from, got, want)
		}
	}
	s.ok(func(ctx context.Context, c *cells) {
		for i, k := range []string{"d", "b", "f", "", "b\x00"} {
			c.stock.Set(ctx, k, i)
		}
		want(ctx, c, "", "=3 b=1 b\x00=4 d=0 f=2")
		c.stock.Delete(ctx, "b\x00")
	})
	s.ok(func(ctx context.Context, c *cells) {
		want(ctx, c, "b", "b=1 d=0 f=2")
		c.stock.Set(ctx, "c", 7) // between recorded ones
		c.stock.Set(ctx, "d", 8) // over one
		c.stock.Delete(ctx, "f") // instead of one
		c.stock.Set(ctx, "z", 9) // behind
		want(ctx, c, "", "=3 b=1 c=7 d=8 z=9")
		want(ctx, c, "bb", "c=7 d=8 z=9")
		if n, err := c.stock.Len(ctx); n != 5 || err != nil {
			t.Errorf("Len: %d, %v", n, err)
		}
		if err := pawl.Sync(ctx); err != nil {
			t.Fatal(err)
		}
		want(ctx, c, "", "=3 b=1 c=7 d=8 z=9")
	})
	s.ok(func(ctx context.Context, c *cells) {
		seen := ""
		for e, err := range c.stock.All(ctx) { // a loop sees what it does ahead of itself
			if err != nil {
				t.Fatal(err)
			}
			seen += string(e.Key)
			if e.Key == "b" {
				c.stock.Delete(ctx, "c")
				c.stock.Set(ctx, "e", 1)
				if err := pawl.Sync(ctx); err != nil {
					t.Fatal(err)
				}
			}
		}
		if seen != "bdez" {
			t.Errorf("saw %q", seen)
		}
		c.stock.Clear(ctx)
		want(ctx, c, "", "")
		c.stock.Set(ctx, "n", 1)
		want(ctx, c, "", "n=1")
	})
	s.ok(func(ctx context.Context, c *cells) { want(ctx, c, "", "n=1") })
	s.ok(func(ctx context.Context, c *cells) { // more than a page
		for i := range 300 {
			c.stock.Set(ctx, fmt.Sprintf("k%03d", i), i)
		}
	})
	s.ok(func(ctx context.Context, c *cells) {
		if n, err := c.stock.Len(ctx); n != 301 || err != nil {
			t.Errorf("Len: %d, %v", n, err)
		}
		for i := range 299 {
			c.stock.Delete(ctx, fmt.Sprintf("k%03d", i))
		}
		want(ctx, c, "", "k299=299 n=1")
	})
}

func TestReadOnlyWritesNothing(t *testing.T) {
	s := newScript(t)
	other := pawl.Actor[*cells]("b")
	for name, f := range map[string]func(ctx context.Context, c *cells) error{
		"Set":    func(ctx context.Context, c *cells) error { c.n.Set(ctx, 1); return nil },
		"Delete": func(ctx context.Context, c *cells) error { c.n.Delete(ctx); return nil },
		"Map":    func(ctx context.Context, c *cells) error { c.stock.Set(ctx, "k", 1); return nil },
		"Tell": func(ctx context.Context, c *cells) error {
			return pawl.Tell(ctx, other, (*cells).Run, pawl.None{})
		},
		"Call": func(ctx context.Context, c *cells) error {
			_, err := pawl.Call(ctx, other, (*cells).Run, pawl.None{})
			return err
		},
		"Sync":  func(ctx context.Context, c *cells) error { return pawl.Sync(ctx) },
		"State": func(ctx context.Context, c *cells) error { return pawl.State(ctx).Set(ctx, "k", []byte("1")) },
		"Tail": func(ctx context.Context, c *cells) error {
			_, err := pawl.TailCall(ctx, other, (*cells).Run, pawl.None{})
			return err
		},
		"Remind": func(ctx context.Context, c *cells) error {
			return pawl.Remind(ctx, other, "r", (*cells).Run, pawl.None{}, pawl.After(1))
		},
	} {
		s.f = f
		if _, err := pawl.Call(s.ctx, pawl.Actor[*cells]("a"), (*cells).Look, pawl.None{}); !errors.Is(err, pawl.ErrReadOnly) {
			t.Errorf("%s: %v", name, err)
		}
	}
	s.f = func(context.Context, *cells) error { return nil }
	if err := pawl.Tell(s.ctx, other, (*cells).Look, pawl.None{}); !errors.Is(err, pawl.ErrNoMethod) {
		t.Errorf("a tell to a read-only method: %v", err)
	}
}

// panicOf gives what f panics with.
func panicOf(f func()) (err error) {
	defer func() { err, _ = recover().(error) }()
	f()
	return nil
}

func TestCellMisuse(t *testing.T) {
	s := newScript(t)
	var stale context.Context
	var cell *cells
	s.ok(func(ctx context.Context, c *cells) { stale, cell = ctx, c })
	var copied cells // as go vet would not let it
	reflect.ValueOf(&copied).Elem().Set(reflect.ValueOf(cell).Elem())
	unbound := &cells{}
	s.ok(func(ctx context.Context, c *cells) {
		for name, tt := range map[string]struct {
			want error
			f    func()
		}{
			"no method":  {pawl.ErrNotInMethod, func() { c.n.Get(s.ctx) }},
			"map":        {pawl.ErrNotInMethod, func() { c.stock.Set(s.ctx, "k", 1) }},
			"copied":     {pawl.ErrNotInMethod, func() { copied.n.Get(ctx) }},
			"copied set": {pawl.ErrNotInMethod, func() { copied.n.Set(ctx, 1) }},
			"copied map": {pawl.ErrNotInMethod, func() { copied.stock.All(ctx) }},
			"unbound":    {pawl.ErrNotInMethod, func() { unbound.n.Get(ctx) }},
			"ended":      {pawl.ErrEnded, func() { c.n.Get(stale) }},
			"ended set":  {pawl.ErrEnded, func() { c.n.Set(stale, 1) }},
		} {
			err := panicOf(tt.f)
			if !errors.Is(err, tt.want) || !strings.Contains(err.Error(), "cell_test.go:") {
				t.Errorf("%s: panic %v", name, err)
			}
		}
	})
	first := cell
	s.f = func(ctx context.Context, c *cells) error {
		if err := panicOf(func() { first.n.Get(ctx) }); !errors.Is(err, pawl.ErrNotInMethod) {
			t.Errorf("the cell of another actor: panic %v", err)
		}
		return nil
	}
	if _, err := pawl.Call(s.ctx, pawl.Actor[*cells]("b"), (*cells).Run, pawl.None{}); err != nil {
		t.Fatal(err)
	}
}

func TestStateThatDoesNotEncode(t *testing.T) {
	s := newScript(t)
	err := s.method(func(ctx context.Context, c *cells) error {
		c.n.Set(ctx, 1)
		c.bad.Set(ctx, func() {})
		return nil
	})
	if !errors.Is(err, pawl.ErrBadPayload) {
		t.Errorf("error %v", err)
	}
	s.wantN(0)
}

func TestRawState(t *testing.T) {
	s := newScript(t)
	s.ok(func(ctx context.Context, c *cells) {
		st := pawl.State(ctx)
		c.n.Set(ctx, 7)
		if v, ok, err := st.Get(ctx, "n"); string(v) != "7" || !ok || err != nil {
			t.Errorf("a cell's value: %s, %v, %v", v, ok, err)
		}
		if err := st.Set(ctx, "n", []byte("8")); err != nil || c.n.Get(ctx) != 8 {
			t.Errorf("a cell was not set: %v", err)
		}
		if err := st.Set(ctx, "n", []byte(`"x"`)); !errors.Is(err, pawl.ErrBadPayload) {
			t.Errorf("a cell was set to another type: %v", err)
		}
		must(t, st.Set(ctx, "loose", []byte("[1]")))
		must(t, st.Set(ctx, "gone", []byte("1")))
		must(t, st.Delete(ctx, "gone"))
		must(t, st.SetEntry(ctx, "stock", "tea", []byte("3")))
		must(t, st.SetEntry(ctx, "other", "k", []byte("4")))
		if v, ok, err := c.stock.Get(ctx, "tea"); v != 3 || !ok || err != nil {
			t.Errorf("an entry of a map cell: %d, %v, %v", v, ok, err)
		}
	})
	s.ok(func(ctx context.Context, c *cells) {
		st := pawl.State(ctx)
		keys, err := st.Keys(ctx)
		if want := []string{"loose", "n"}; !slices.Equal(keys, want) || err != nil {
			t.Errorf("keys %q, %v; want %q", keys, err, want)
		}
		if v, ok, err := st.Get(ctx, "loose"); string(v) != "[1]" || !ok || err != nil {
			t.Errorf("loose: %s, %v, %v", v, ok, err)
		}
		for e, err := range st.Entries(ctx, "other", "") {
			if e.Key != "k" || string(e.Value) != "4" || err != nil {
				t.Errorf("other: %v, %v", e, err)
			}
		}
		must(t, st.Delete(ctx, "n"))
		must(t, st.Clear(ctx, "stock"))
		must(t, st.DeleteEntry(ctx, "other", "k"))
		if _, ok := c.n.Lookup(ctx); ok {
			t.Error("a deleted cell is there")
		}
		if keys, _ := st.Keys(ctx); !slices.Equal(keys, []string{"loose"}) {
			t.Errorf("keys %q", keys)
		}
	})
	s.ok(func(ctx context.Context, c *cells) {
		if n, err := c.stock.Len(ctx); n != 0 || err != nil {
			t.Errorf("Len: %d, %v", n, err)
		}
		if _, ok, err := pawl.State(ctx).Entry(ctx, "other", "k"); ok || err != nil {
			t.Errorf("other: %v, %v", ok, err)
		}
	})
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
