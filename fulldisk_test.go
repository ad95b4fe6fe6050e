//go:build linux

package pawl_test

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/pawl-go/pawl"
)

// hoard is an actor whose calls take room on the disk.
type hoard struct {
	n    pawl.Value[int]
	last pawl.Value[string]
}

func (h *hoard) Add(ctx context.Context, s string) (int, error) {
	h.last.Set(ctx, s)
	return h.n.Update(ctx, func(n int) int { return n + 1 }), nil
}

// TestFullDisk fills a real, small disk: requests fail with an error that says
// so, nothing acknowledged is lost, and work goes on when there is room again.
func TestFullDisk(t *testing.T) {
	disk := t.TempDir()
	if err := syscall.Mount("tmpfs", disk, "tmpfs", 0, "size=96m"); err != nil {
		t.Skipf("mount a small disk: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(disk, syscall.MNT_DETACH); err != nil {
			t.Errorf("unmount: %v", err)
		}
	})
	filler := filepath.Join(disk, "filler")
	if err := os.WriteFile(filler, make([]byte, 24<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	open := func() (*pawl.App, context.Context) {
		t.Helper()
		url := "local:" + filepath.Join(disk, "data") + "?durability=process&cycle=4MiB&checkpoint=4MiB&retain_bytes=1GiB"
		app, err := pawl.Open(t.Context(), url, pawl.Config{App: "hoard", Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		pawl.Register[hoard](app)
		if err := app.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		return app, app.Context(t.Context())
	}
	app, ctx := open()
	one := pawl.Actor[*hoard]("one")
	big := strings.Repeat("x", 100<<10)
	acknowledged := 0
	var full error
	for range 2000 {
		n, err := bounded(ctx, one, big)
		if err != nil {
			full = err
			break
		}
		acknowledged = n
	}
	if !errors.Is(full, pawl.ErrUnavailable) && !errors.Is(full, pawl.ErrOutcomeUnknown) {
		t.Fatalf("the disk never filled, or the error is another: %v (after %d)", full, acknowledged)
	}
	if errors.Is(full, pawl.ErrUnavailable) && !strings.Contains(full.Error(), "space") {
		t.Errorf("the error does not say what is wrong: %v", full)
	}
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	n, err := pawl.Call(ctx, one, (*hoard).Add, "small")
	if err != nil || n <= acknowledged || n > acknowledged+2 {
		t.Fatalf("with room again: %d, %v, after %d", n, err, acknowledged)
	}
	if err := app.Close(); err != nil {
		t.Fatal(err)
	}
	app, ctx = open()
	defer app.Close()
	if again, err := pawl.Call(ctx, one, (*hoard).Add, "small"); err != nil || again != n+1 {
		t.Fatalf("after reopening: %d, %v, after %d", again, err, n)
	}
}

// bounded is a call that waits for so long: on a full disk an outcome waits for room.
func bounded(ctx context.Context, to pawl.Ref[*hoard], s string) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	return pawl.Call(ctx, to, (*hoard).Add, s)
}
