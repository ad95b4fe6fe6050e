package pawl_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/pawl-go/pawl"
)

type oneOfTheName struct{ n pawl.Value[int] }

func (*oneOfTheName) ActorType() string { return "Shared" }

func (o *oneOfTheName) Get(ctx context.Context, _ pawl.None) (int, error) { return o.n.Get(ctx), nil }

type otherOfTheName struct{ n pawl.Value[string] }

func (*otherOfTheName) ActorType() string { return "Shared" }

func (o *otherOfTheName) Get(ctx context.Context, _ pawl.None) (string, error) {
	return o.n.Get(ctx), nil
}

// TestOneTypeAName: two Go types under one name are refused across components
// too, as long as both live.
func TestOneTypeAName(t *testing.T) {
	url := "local:" + t.TempDir() + "?durability=process"
	open := func() *pawl.App {
		t.Helper()
		app, err := pawl.Open(t.Context(), url, pawl.Config{App: "shared"})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = app.Close() })
		return app
	}
	a, same, other := open(), open(), open()
	pawl.Register[oneOfTheName](a)
	pawl.Register[oneOfTheName](same)
	pawl.Register[otherOfTheName](other)
	for _, app := range []*pawl.App{a, same} {
		if err := app.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	err := other.Start(t.Context())
	if !errors.Is(err, pawl.ErrBadMethod) || !strings.Contains(err.Error(), "otherOfTheName") || !strings.Contains(err.Error(), "oneOfTheName") {
		t.Fatalf("the other type under the name: %v", err)
	}
}

type endless struct{}

func (*endless) Look(ctx context.Context, _ pawl.None) (int, error) {
	return pawl.Call(ctx, pawl.Actor[*endless]("e"), (*endless).Look, pawl.None{})
}

// TestEndlessReads: read-only methods that read each other without end meet
// the limit of depth.
func TestEndlessReads(t *testing.T) {
	app, err := pawl.Open(t.Context(), "local:"+t.TempDir()+"?durability=process", pawl.Config{App: "endless"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = app.Close() })
	pawl.Register[endless](app, pawl.ReadOnly((*endless).Look))
	if err := app.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	_, err = pawl.Call(app.Context(t.Context()), pawl.Actor[*endless]("e"), (*endless).Look, pawl.None{})
	if !errors.Is(err, pawl.ErrTooDeep) {
		t.Fatalf("got %v, not too_deep", err)
	}
}
