package pawl_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/pawl-go/pawl"
)

// echo calls the actor "a" of type cells back.
type echo struct{}

func (*echo) Back(ctx context.Context, _ pawl.None) (pawl.None, error) {
	return pawl.Call(ctx, pawl.Actor[*cells]("a"), (*cells).Run, pawl.None{})
}

// TestReentry: what is written before a re-entry is seen and kept by the inner
// method, what was only changed in place is not, in either direction, and the
// failure of one does not undo the other.
func TestReentry(t *testing.T) {
	var outer, inner func(ctx context.Context, c *cells) error
	depth := 0
	_, ctx := open(t, func(app *pawl.App) {
		pawl.Register[echo](app)
		pawl.RegisterFunc(app, func(string) *cells {
			return &cells{run: func(ctx context.Context, c *cells) error {
				depth++
				defer func() { depth-- }()
				if depth == 1 {
					return outer(ctx, c)
				}
				return inner(ctx, c)
			}}
		})
	})
	call := func() error {
		_, err := pawl.Call(ctx, pawl.Actor[*cells]("a"), (*cells).Run, pawl.None{})
		return err
	}
	back := func(ctx context.Context) error {
		_, err := pawl.Call(ctx, pawl.Actor[*echo]("e"), (*echo).Back, pawl.None{})
		return err
	}

	outer = func(ctx context.Context, c *cells) error {
		c.n.Set(ctx, 1)
		c.tags.Set(ctx, []string{"a", "b"})
		c.stock.Set(ctx, "tea", 1)
		c.tags.Get(ctx)[1] = "B" // of a value that is set: part of it still
		return back(ctx)
	}
	inner = func(ctx context.Context, c *cells) error {
		if n, tags := c.n.Get(ctx), c.tags.Get(ctx); n != 1 || !slices.Equal(tags, []string{"a", "B"}) {
			t.Errorf("inner: %d %v", n, tags)
		}
		if n, _, err := c.stock.Get(ctx, "tea"); n != 1 || err != nil {
			t.Errorf("inner: stock %d, %v", n, err)
		}
		return nil
	}
	must(t, call())

	outer = func(ctx context.Context, c *cells) error {
		kept := c.tags.Get(ctx)
		kept[0] = "outer"
		c.n.Set(ctx, 2)
		must(t, back(ctx))
		if n, tags := c.n.Get(ctx), c.tags.Get(ctx); n != 3 || tags[0] != "a" {
			t.Errorf("outer, after: %d %v", n, tags)
		}
		return errSold // what stood before the re-entry is recorded
	}
	inner = func(ctx context.Context, c *cells) error {
		kept := c.tags.Get(ctx)
		if kept[0] != "a" {
			t.Errorf("inner: what the outer method changed in place shows: %v", kept)
		}
		kept[0] = "inner"
		c.n.Update(ctx, func(n int64) int64 { return n + 1 })
		return nil
	}
	if err := call(); !errors.Is(err, errSold) {
		t.Fatal(err)
	}

	outer = func(ctx context.Context, c *cells) error {
		if n, tags := c.n.Get(ctx), c.tags.Get(ctx); n != 3 || tags[0] != "a" {
			t.Errorf("next run: %d %v", n, tags)
		}
		c.n.Set(ctx, 10)
		if err := back(ctx); !errors.Is(err, errSold) {
			t.Errorf("inner: %v", err)
		}
		if n := c.n.Get(ctx); n != 10 {
			t.Errorf("the failure of the inner method undid the outer's write: %d", n)
		}
		return nil
	}
	inner = func(ctx context.Context, c *cells) error {
		c.n.Set(ctx, 99)
		return errSold
	}
	must(t, call())
}
