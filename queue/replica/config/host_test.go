package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// hostFile is a file with two hosts and what is given as its context.
func hostFile(t *testing.T, context string) (*File, Host) {
	t.Helper()
	f, err := Parse("test.yaml", []byte("context: { baseSinkPath: sink$hostId, heartbeatIntervalMs: 100, heartbeatTimeoutMs: 500"+context+" }\n"+
		"hosts: { a: { hostId: 1, connectUri: a:1 }, b: { hostId: 2, connectUri: b:1 } }\nqueues: {}\n"))
	if err != nil {
		t.Fatal(err)
	}
	h, ok := f.Host("b")
	if !ok {
		t.Fatal("no host b")
	}
	return f, h
}

func TestHostConfig(t *testing.T) {
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte(" 0123456789abcdef\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	f, h := hostFile(t, ", secretFile: "+secret)
	cfg, err := f.HostConfig(h)
	if err != nil {
		t.Fatal(err)
	}
	if cfg.Self != 2 || len(cfg.Peers) != 2 || cfg.Peers[0].Name != "a" || cfg.Peers[0].Addr != "a:1" || string(cfg.Secret) != "0123456789abcdef" ||
		cfg.HeartbeatInterval != 100*time.Millisecond || cfg.HeartbeatTimeout != 500*time.Millisecond || cfg.TLS != nil {
		t.Errorf("%+v", cfg)
	}
	if path := f.ControlPath(h); path != filepath.Join("sink2", "host2.sock") {
		t.Errorf("control socket %s", path)
	}
}

// TestFilesOfAHost: each file that the configuration names, and that is not as it must
// be, is an error that says what to do.
func TestFilesOfAHost(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	none := filepath.Join(dir, "none")
	for name, c := range map[string]struct{ context, want string }{
		"no secret":       {", secretFile: " + none, "read secret: stat"},
		"an open secret":  {", secretFile: " + write("open", "0123456789abcdef", 0o644), "chmod 600 it"},
		"a short secret":  {", secretFile: " + write("short", "hunter2", 0o600), "has 7 bytes, want 16 at least"},
		"an empty secret": {", secretFile: " + write("empty", "\n", 0o600), "has 0 bytes"},
		"a directory":     {", secretFile: " + dir, "read secret"},
		"no certificate":  {", tls: { certFile: " + none + ", keyFile: " + none + ", caFile: " + none + " }", "read certificate: open"},
		"no PEM":          {", tls: { certFile: " + write("pem", "x", 0o600) + ", keyFile: " + write("key", "x", 0o600) + ", caFile: " + none + " }", "read certificate: tls"},
	} {
		f, h := hostFile(t, c.context)
		if _, err := f.HostConfig(h); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}
