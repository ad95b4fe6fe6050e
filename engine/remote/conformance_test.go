package remote_test

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/pawl-go/pawl/engine"
	"github.com/pawl-go/pawl/engine/enginetest"
	"github.com/pawl-go/pawl/engine/local/localtest"
	"github.com/pawl-go/pawl/engine/remote"
	"github.com/pawl-go/pawl/internal/socket"
)

// harness is a local engine behind a server: enginetest.Harness.
type harness struct {
	network string
	local   *localtest.Harness
	app     string
	server  *remote.Server
}

func newHarness(network, durability string) *harness {
	return &harness{network: network, local: localtest.New(durability)}
}

func (h *harness) Open(t *testing.T, o engine.Options) engine.Engine {
	t.Helper()
	h.app = o.App
	return h.connect(t, h.local.Open(t, o))
}

func (h *harness) Crash(t *testing.T) engine.Engine {
	t.Helper()
	return h.connect(t, h.local.Crash(t))
}

func (h *harness) Fail(t *testing.T, s engine.Session) {
	t.Helper()
	if err := h.server.Fail(s.Number()); err != nil {
		t.Fatal(err)
	}
	<-s.Fenced() // it has heard of it: a dead process does nothing any more
}

// connect serves an engine, and gives it as a client sees it.
func (h *harness) connect(t *testing.T, eng engine.Engine) engine.Engine {
	t.Helper()
	server, url := serve(t, eng, h.network, remote.ServerConfig{App: h.app, Heartbeat: 20 * time.Second})
	h.server = server
	c, err := engine.Open(t.Context(), url, engine.Options{App: h.app})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// serve offers an engine until the test ends, and gives the URL.
func serve(t *testing.T, eng engine.Engine, network string, cfg remote.ServerConfig) (*remote.Server, string) {
	t.Helper()
	if network == "unix" {
		return serveIn(t, t.TempDir(), eng, cfg)
	}
	s, err := remote.NewServer(eng.(remote.Host), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	var lc net.ListenConfig
	l, err := lc.Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.Serve(l, "secret")
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte("secret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return s, "pawl://" + l.Addr().String() + "?token_file=" + file
}

// serveIn offers an engine at the socket in dir until the test ends.
func serveIn(t *testing.T, dir string, eng engine.Engine, cfg remote.ServerConfig) (*remote.Server, string) {
	t.Helper()
	s, err := remote.NewServer(eng.(remote.Host), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s, listen(t, s, dir)
}

func listen(t *testing.T, s *remote.Server, dir string) (url string) {
	t.Helper()
	l, err := socket.Listen(t.Context(), filepath.Join(dir, remote.SocketName))
	if err != nil {
		t.Fatal(err)
	}
	s.Serve(l, "")
	return "pawl:" + dir
}

// TestConformance holds the engine, as components elsewhere see it, to the suite
// that every engine must pass.
func TestConformance(t *testing.T) {
	for _, network := range []string{"unix", "tcp"} {
		for _, durability := range []string{"process", "disk"} {
			t.Run(network+" "+durability, func(t *testing.T) {
				enginetest.Run(t, func(*testing.T) enginetest.Harness { return newHarness(network, durability) })
			})
		}
	}
}
