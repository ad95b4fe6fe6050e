package bench

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/url"
	"strconv"

	"github.com/pawl-go/pawl"
)

// Counter is the actor of the benchmarks.
type Counter struct{ n pawl.Value[int64] }

// Add is the input of Counter.Add.
type Add struct {
	Amount int64 `json:"amount"`
	Below  int   `json:"below,omitempty"` // how many counters, nested, before its own
}

// Add adds to the counter and returns its new value.
func (c *Counter) Add(ctx context.Context, in Add) (int64, error) {
	if in.Below > 0 {
		next := pawl.Actor[*Counter](pawl.Self(ctx, c).ID + "'")
		if _, err := pawl.Call(ctx, next, (*Counter).Add, Add{in.Amount, in.Below - 1}); err != nil {
			return 0, err
		}
	}
	return c.n.Update(ctx, func(n int64) int64 { return n + in.Amount }), nil
}

// config is how the benchmarks open an application.
func config(component string) pawl.Config {
	return pawl.Config{App: "bench", Component: component, Logger: slog.New(slog.DiscardHandler)}
}

// open starts an application of counters in dir.
func open(ctx context.Context, dir string, parameters url.Values, opts ...pawl.TypeOption) (*pawl.App, error) {
	u := url.URL{Scheme: "local", Opaque: (&url.URL{Path: dir}).EscapedPath(), RawQuery: parameters.Encode()}
	app, err := pawl.Open(ctx, u.String(), config("bench"))
	if err != nil {
		return nil, err
	}
	pawl.Register[Counter](app, opts...)
	if err := app.Start(ctx); err != nil {
		_ = app.Close()
		return nil, err
	}
	return app, nil
}

// keys names so many counters.
func keys(n int) []pawl.Ref[*Counter] {
	refs := make([]pawl.Ref[*Counter], n)
	for i := range refs {
		refs[i] = pawl.Actor[*Counter](strconv.Itoa(i))
	}
	return refs
}

// chooser gives each client its own seeded sequence of keys.
func chooser(clients, keys int) func(client int) int {
	random := make([]*rand.Rand, clients)
	for i := range random {
		random[i] = rand.New(rand.NewPCG(1, uint64(i)))
	}
	if keys == 1 {
		return func(int) int { return 0 }
	}
	return func(client int) int { return random[client].IntN(keys) }
}

// check compares a counter with what was added to it.
func check(ctx context.Context, ref pawl.Ref[*Counter], want int64) error {
	got, err := pawl.Call(ctx, ref, (*Counter).Add, Add{})
	if err != nil {
		return err
	}
	if got != want {
		return fmt.Errorf("counter %s is %d, and %d was added: this is a bug of Pawl, please report it", ref, got, want)
	}
	return nil
}
