package counter

import (
	"context"
	"errors"
	"fmt"

	"github.com/pawl-go/pawl"
)

// Counter is a number in the store, under the actor's name. The actor itself
// keeps nothing.
type Counter struct {
	store *Store

	// reached is told of the points at which a failure would be bad. It returns
	// at once, except in the life of a child that is to die there.
	reached func(ctx context.Context, point string)
}

// Incr adds one and returns the new value. It is right: reading and writing are
// two steps, of which each may be repeated, and the actor's lock is kept from
// one to the other.
func (c *Counter) Incr(ctx context.Context, _ pawl.None) (int64, error) {
	e, err := c.store.Get(pawl.Self(ctx, c).ID)
	if err != nil {
		return 0, pawl.Retry(err)
	}
	c.reached(ctx, fmt.Sprintf("got %d", e.Value))
	return pawl.TailSelf(ctx, (*Counter).Set, e.Value+1)
}

// Set writes the value.
func (c *Counter) Set(ctx context.Context, value int64) (int64, error) {
	return value, c.set(ctx, value)
}

// IncrInOne is wrong: a failure after the write, before the outcome is
// recorded, runs all of it again, and reads what it wrote.
func (c *Counter) IncrInOne(ctx context.Context, _ pawl.None) (int64, error) {
	e, err := c.store.Get(pawl.Self(ctx, c).ID)
	if err != nil {
		return 0, pawl.Retry(err)
	}
	return e.Value + 1, c.set(ctx, e.Value+1)
}

// IncrNested is wrong: a failure after the nested call has ended, before the
// outcome is recorded, runs this again, and reads what Set wrote.
func (c *Counter) IncrNested(ctx context.Context, _ pawl.None) (int64, error) {
	self := pawl.Self(ctx, c)
	e, err := c.store.Get(self.ID)
	if err != nil {
		return 0, pawl.Retry(err)
	}
	value, err := pawl.Call(ctx, self, (*Counter).Set, e.Value+1)
	c.reached(ctx, fmt.Sprintf("called for %d", value))
	return value, err
}

// set writes to the store. A store that cannot be reached is no outcome: the
// attempt is made again. So is one whose token is old, but this attempt has been
// given up then, and nothing of it counts.
func (c *Counter) set(ctx context.Context, value int64) error {
	c.reached(ctx, fmt.Sprintf("before set %d", value))
	if err := c.store.Set(pawl.Self(ctx, c).ID, value, pawl.FenceToken(ctx)); err != nil {
		return pawl.Retry(err)
	}
	c.reached(ctx, fmt.Sprintf("after set %d", value))
	return nil
}

// open opens the counters on an engine, and starts them.
func open(ctx context.Context, engine string, newCounter func() *Counter) (*pawl.App, error) {
	app, err := pawl.Open(ctx, engine, pawl.Config{App: "counter"})
	if err != nil {
		return nil, fmt.Errorf("open counters: %w", err)
	}
	pawl.RegisterFunc(app, func(string) *Counter { return newCounter() })
	if err := app.Start(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("start counters: %w", err), app.Close())
	}
	return app, nil
}
