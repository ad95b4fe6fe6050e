package v1_test

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pawl-go/pawl/engine"
	v1 "github.com/pawl-go/pawl/internal/v1"
	"github.com/pawl-go/pawl/internal/v1/client"
)

func start(t *testing.T, dir string, f *fake) *client.Client {
	t.Helper()
	stop, err := v1.ServeShared(t.Context(), dir, v1.Config{Runtime: f, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	c, err := client.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		c.Close()
		if err := stop(); err != nil {
			t.Error(err)
		}
		if _, err := os.Lstat(filepath.Join(dir, v1.SocketName)); !os.IsNotExist(err) {
			t.Errorf("the socket is still there: %v", err)
		}
	})
	return c
}

// deep makes a directory whose path is longer than a socket's may be.
func deep(t *testing.T) string {
	dir := filepath.Join(t.TempDir(), strings.Repeat("long-", 30), "dir")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestSocket(t *testing.T) {
	for name, dir := range map[string]string{"short": shortDir(t), "long": deep(t)} {
		t.Run(name, func(t *testing.T) {
			f := newFake()
			f.outcome = value("3")
			c := start(t, dir, f)
			r, err := c.Call(t.Context(), client.Target{Type: "Account", ID: "a/b", Method: "Deposit"}, []byte("1"), "", -1)
			if err != nil || string(r.Value) != "3" || r.ID != "7-1" {
				t.Errorf("%+v %v", r, err)
			}
			fi, err := os.Stat(filepath.Join(dir, v1.SocketName))
			if err != nil || fi.Mode().Perm() != 0o600 {
				t.Errorf("mode %v, %v", fi.Mode(), err)
			}
		})
	}
}

func shortDir(t *testing.T) string {
	dir, err := os.MkdirTemp("", "v1") //nolint:usetesting // t.TempDir may be too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

func TestCloseEndsLongPolls(t *testing.T) {
	dir := shortDir(t)
	f := newFake()
	stop, err := v1.ServeShared(t.Context(), dir, v1.Config{Runtime: f, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	c, _ := client.Open("unix:" + filepath.Join(dir, v1.SocketName))
	defer c.Close()
	sent := make(chan error, 1)
	go func() {
		_, err := c.Call(context.WithoutCancel(t.Context()), client.Target{Type: "Account", ID: "a", Method: "Deposit"}, nil, "", -1)
		sent <- err
	}()
	for f.attached.Load() == 0 {
		time.Sleep(time.Millisecond) //nolint:forbidigo // the fake has no signal for it
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
	if err := <-sent; !errors.Is(err, engine.ErrOutcomeUnknown) {
		t.Errorf("the call ended with %v", err)
	}
	if err := c.Ready(t.Context(), time.Minute); !isUnreachable(err) {
		t.Errorf("after the end: %v", err)
	}
}

func isUnreachable(err error) bool {
	var u *client.Unreachable
	return errors.As(err, &u)
}

func TestClientListsAllPages(t *testing.T) {
	f := newFake()
	c := start(t, shortDir(t), f)
	for range 1203 {
		if _, err := c.Tell(t.Context(), client.Target{Type: "Account", ID: "a", Method: "Deposit"}, []byte("1"), "", time.Time{}); err != nil {
			t.Fatal(err)
		}
	}
	seen := map[string]bool{}
	for in, err := range c.Invocations(t.Context(), client.Filter{Status: "pending"}, 0) {
		if err != nil {
			t.Fatal(err)
		}
		seen[in.ID] = true
	}
	n := 0
	for range c.Invocations(t.Context(), client.Filter{}, 7) {
		n++
	}
	if len(seen) != 1203 || n != 7 {
		t.Errorf("listed %d and %d", len(seen), n)
	}
}

func TestComponentsShareASocket(t *testing.T) {
	dir := shortDir(t)
	one, two := newFake(), newFake()
	one.outcome, two.outcome = value("1"), value("2")
	quiet := slog.New(slog.DiscardHandler)
	stopOne, err := v1.ServeShared(t.Context(), dir, v1.Config{Runtime: one, Logger: quiet})
	if err != nil {
		t.Fatal(err)
	}
	stopTwo, err := v1.ServeShared(t.Context(), dir, v1.Config{Runtime: two, Logger: quiet})
	if err != nil {
		t.Fatal(err)
	}
	c, _ := client.Open(dir)
	defer c.Close()
	call := func() string {
		r, err := c.Call(t.Context(), client.Target{Type: "Account", ID: "a", Method: "Deposit"}, nil, "", -1)
		if err != nil {
			t.Fatal(err)
		}
		return string(r.Value)
	}
	if got := call(); got != "1" {
		t.Errorf("%s answered", got)
	}
	if err := stopOne(); err != nil {
		t.Fatal(err)
	}
	if got := call(); got != "2" {
		t.Errorf("%s answered after the first had left", got)
	}
	if err := stopTwo(); err != nil {
		t.Fatal(err)
	}
	if err := c.Ready(t.Context(), time.Minute); !isUnreachable(err) {
		t.Error(err)
	}
}
