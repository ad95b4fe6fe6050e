package main

import (
	"bytes"
	"context"
	"log/slog"
	"os"
	"strings"
	"testing"

	"github.com/pawl-go/pawl"
	"github.com/pawl-go/pawl/internal/v1"
)

// endAfter cancels after so many writes.
type endAfter struct {
	bytes.Buffer
	writes int
	cancel context.CancelFunc
}

func (e *endAfter) Write(b []byte) (int, error) {
	if e.writes--; e.writes <= 0 {
		e.cancel()
	}
	return e.Buffer.Write(b)
}

func TestWatch(t *testing.T) {
	dir := t.TempDir()
	app, err := pawl.Open(t.Context(), "local:"+dir, pawl.Config{
		App: "bank", Component: "teller", Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	defer app.Close()
	pawl.Register[Account](app)
	if err := app.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, format := range []string{"", "jsonl", "id"} {
		ctx, cancel := context.WithCancel(t.Context())
		out := &endAfter{writes: 2, cancel: cancel}
		if format != "" {
			out.writes = 1
		}
		var errs bytes.Buffer
		code := run(ctx, []string{"ps", "-w", "--engine", dir, "-o", format}, os.Stdin, out, &errs)
		if code != v1.ExitDone || !strings.Contains(out.String(), "teller") {
			t.Errorf("-o %q: exit %d, %s%s", format, code, out.String(), errs.String())
		}
		cancel()
	}
	var out, errs bytes.Buffer
	if code := run(t.Context(), []string{"ps", "-w", "--engine", dir, "-o", "json"}, os.Stdin, &out, &errs); code != v1.ExitUsage {
		t.Errorf("exit %d: %s", code, errs.String())
	}
}
