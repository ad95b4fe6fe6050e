package pawl_test

import (
	"context"
	"log/slog"
	"testing"

	"github.com/pawl-go/pawl"
)

// open opens and starts an app on a fresh local engine, and gives it and a
// context to call with.
func open(t testing.TB, register func(app *pawl.App)) (*pawl.App, context.Context) {
	t.Helper()
	return openIn(t, t.TempDir(), pawl.Config{}, register)
}

// openIn is open on a directory, with a configuration.
func openIn(t testing.TB, dir string, cfg pawl.Config, register func(app *pawl.App)) (*pawl.App, context.Context) {
	t.Helper()
	cfg.App = "test"
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelDebug}))
	}
	app, err := pawl.Open(t.Context(), engineURL(dir), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := app.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	register(app)
	if err := app.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	return app, app.Context(context.Background())
}

// counter is the actor of most tests.
type counter struct {
	n pawl.Value[int64]
}

func (c *counter) Add(ctx context.Context, d int64) (int64, error) {
	return c.n.Update(ctx, func(n int64) int64 { return n + d }), nil
}

func (c *counter) Get(ctx context.Context, _ pawl.None) (int64, error) { return c.n.Get(ctx), nil }

func TestCall(t *testing.T) {
	_, ctx := open(t, func(app *pawl.App) { pawl.Register[counter](app) })
	for i := range int64(3) {
		n, err := pawl.Call(ctx, pawl.Actor[*counter]("a"), (*counter).Add, 5)
		if err != nil || n != 5*(i+1) {
			t.Fatalf("Add: %d, %v", n, err)
		}
	}
}

// engineURL names a local engine on a directory.
func engineURL(dir string) string {
	return "local:" + dir + "?durability=process"
}
