package sidecar_test

import (
	"log/slog"
	"path/filepath"
	"testing"

	"github.com/pawl-go/pawl/engine"
	"github.com/pawl-go/pawl/engine/local/localtest"
	"github.com/pawl-go/pawl/engine/remote"
	"github.com/pawl-go/pawl/internal/socket"
	"github.com/pawl-go/pawl/sidecar"
)

// TestServerRestarts: the engine's server ends and comes back while a method runs in
// the application. The pair lives on and serves; the method is run again when its
// former run has returned, which counts for nothing, not even what it writes; and
// who has called it gets its answer.
func TestServerRestarts(t *testing.T) {
	dir, local := t.TempDir(), localtest.New("process")
	serve := func(eng engine.Engine) *remote.Server {
		s, err := remote.NewServer(eng.(remote.Host), remote.ServerConfig{App: "test", Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		l, err := socket.Listen(t.Context(), filepath.Join(dir, remote.SocketName))
		if err != nil {
			t.Fatal(err)
		}
		s.Serve(l, "")
		t.Cleanup(func() { _ = s.Close() })
		return s
	}
	server := serve(local.Open(t, engine.Options{App: "test"}))
	p := start(t, func(c *sidecar.Config) { c.Engine, c.Service = "pawl:"+dir, "" })
	answered := make(chan string, 1)
	go func() {
		_, b := p.do("POST", thing+"a/call/holdandcount", ``)
		answered <- b
	}()
	if s, b := p.do("POST", thing+"b/call/holding", ``); s != 200 { // it holds
		t.Fatalf("%d %s", s, b)
	}
	if err := server.Close(); err != nil {
		t.Fatal(err)
	}
	serve(local.Crash(t))
	if s, b := p.do("POST", thing+"b/call/self", ``); s != 200 {
		t.Fatalf("after the restart: %d %s", s, b)
	}
	if s, b := p.do("POST", thing+"b/call/release", ``); s >= 300 {
		t.Fatalf("%d %s", s, b)
	}
	if b := <-answered; b != `{"value":1}` {
		t.Errorf("it was answered %s, want one count", b)
	}
}
