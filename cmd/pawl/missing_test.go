package main

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/pawl-go/pawl"
)

// TestMissingTimeout: how long a request waits for a type that nobody hosts is the
// server's to say, not the component's.
func TestMissingTimeout(t *testing.T) {
	s := newServed(t, "--missing-timeout", "200ms")
	app, err := pawl.Open(t.Context(), "pawl:"+s.dir, pawl.Config{
		App: "orders", MissingTimeout: time.Hour, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := app.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	_, err = pawl.Call(app.Context(ctx), pawl.Actor[*Stock]("top"), (*Stock).Take, pawl.None{})
	if !errors.Is(err, pawl.ErrNoHost) || !strings.Contains(err.Error(), "200ms") {
		t.Errorf("a call that nobody can answer: %v", err)
	}
	if err := app.Close(); err != nil {
		t.Error(err)
	}
	s.end()
}
