package control

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func socketPath(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "c") //nolint:usetesting // t.TempDir may be too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return filepath.Join(dir, "host1.sock")
}

// TestSocketIsForItsUserOnly, there once, and gone when it is closed.
func TestSocketIsForItsUserOnly(t *testing.T) {
	path := socketPath(t)
	ln, err := Listen(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	fi, err := os.Stat(path)
	if err != nil || fi.Mode().Perm() != 0o600 {
		t.Fatalf("%v %v", fi.Mode(), err)
	}
	if _, err := Listen(t.Context(), path); err == nil || !strings.Contains(err.Error(), "running there already") {
		t.Fatalf("a second host: %v", err)
	}
	if err := ln.Close(); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(entries) != 0 {
		t.Fatalf("left behind: %v %v", entries, err)
	}
}

// TestSocketOfADeadHost is replaced; anything else is left alone.
func TestSocketOfADeadHost(t *testing.T) {
	path := socketPath(t)
	var lc net.ListenConfig
	dead, err := lc.Listen(context.Background(), "unix", path)
	if err != nil {
		t.Fatal(err)
	}
	dead.(*net.UnixListener).SetUnlinkOnClose(false)
	dead.Close()
	ln, err := Listen(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	ln.Close()
	if err := os.WriteFile(path, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Listen(t.Context(), path); err == nil || !strings.Contains(err.Error(), "not a socket") {
		t.Fatalf("in the place of a file: %v", err)
	}
}
