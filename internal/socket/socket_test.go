package socket_test

import (
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/pawl-go/pawl/internal/socket"
)

// places gives a directory with a short path and one whose path is longer than a
// socket's may be.
func places(t *testing.T) map[string]string {
	t.Helper()
	short, err := os.MkdirTemp("", "sock") //nolint:usetesting // t.TempDir may be too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(short) })
	return map[string]string{"short": short, "long": deep(t)}
}

func deep(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), strings.Repeat("long-", 30), "dir")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestListenAndDial(t *testing.T) {
	for name, dir := range places(t) {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(dir, "x.sock")
			l, err := socket.Listen(t.Context(), path)
			if err != nil {
				t.Fatal(err)
			}
			if fi, err := os.Stat(path); err != nil || fi.Mode().Perm() != 0o600 {
				t.Errorf("mode %v, %v", fi.Mode(), err)
			}
			c, err := socket.Dial(t.Context(), path)
			if err != nil {
				t.Fatal(err)
			}
			_ = c.Close()
			if _, err := socket.Listen(t.Context(), path); err == nil || !strings.Contains(err.Error(), "another process answers") {
				t.Errorf("a second listener: %v", err)
			}
			if err := l.Close(); err != nil {
				t.Error(err)
			}
			if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("the socket is still there: %v", err)
			}
			if _, err := socket.Dial(t.Context(), path); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("dial nobody: %v", err)
			}
		})
	}
}

func TestStaleSocketIsReplaced(t *testing.T) {
	for name, dir := range places(t) {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(dir, "x.sock")
			l, err := socket.Listen(t.Context(), path)
			if err != nil {
				t.Fatal(err)
			}
			abandon(t, l, path)
			if _, err := socket.Dial(t.Context(), path); !errors.Is(err, syscall.ECONNREFUSED) {
				t.Fatalf("dial what a dead process has left: %v", err)
			}
			if l, err = socket.Listen(t.Context(), path); err != nil {
				t.Fatal(err)
			}
			_ = l.Close()
		})
	}
}

// abandon closes l as the death of its process would: the socket stays.
func abandon(t *testing.T, l net.Listener, path string) {
	t.Helper()
	kept := path + ".kept"
	if err := os.Link(path, kept); err != nil {
		t.Fatal(err)
	}
	_ = l.Close()
	if err := os.Rename(kept, path); err != nil {
		t.Fatal(err)
	}
}

func TestListenRefusesAFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.sock")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := socket.Listen(t.Context(), path); err == nil || !strings.Contains(err.Error(), "not a socket") {
		t.Error(err)
	}
}

// TestNoWayIsShortEnough: the temporary directory is of no help either.
func TestNoWayIsShortEnough(t *testing.T) {
	path := filepath.Join(deep(t), "x.sock")
	t.Setenv("TMPDIR", deep(t))
	if _, err := socket.Listen(t.Context(), path); err == nil || !strings.Contains(err.Error(), "shorter data directory") {
		t.Error(err)
	}
	if _, err := socket.Dial(t.Context(), path); err == nil || !strings.Contains(err.Error(), "shorter data directory") {
		t.Error(err)
	}
}
