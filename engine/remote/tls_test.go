package remote_test

import (
	"crypto/tls"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pawl-go/pawl/engine"
	"github.com/pawl-go/pawl/engine/local/localtest"
	"github.com/pawl-go/pawl/engine/remote"
	"github.com/pawl-go/pawl/internal/tlsfiles"
	"github.com/pawl-go/pawl/internal/tlsfiles/tlstest"
)

// parameters of an engine's URL.
func parameters(ca tlsfiles.Authority, own tlsfiles.Pair) string {
	q := url.Values{}
	for name, v := range map[string]string{"ca": string(ca), "cert": own.Cert, "key": own.Key} {
		if v != "" {
			q.Set(name, v)
		}
	}
	return "?" + q.Encode()
}

// TestMutualTLS: with certificates of the authority a component joins, without
// it does not, and both sides need one.
func TestMutualTLS(t *testing.T) {
	ca, other := tlstest.New(t, "ours"), tlstest.New(t, "theirs")
	own := ca.Pair(t, "node")
	cfg, err := tlsfiles.Server(own, ca.Authority())
	if err != nil {
		t.Fatal(err)
	}
	s, err := remote.NewServer(localtest.New("process").Open(t, engine.Options{App: "world"}).(remote.Host), remote.ServerConfig{App: "world"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	var lc net.ListenConfig
	l, err := lc.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.Serve(tls.NewListener(l, cfg), "")
	address := "pawl://" + l.Addr().String()

	eng, err := engine.Open(t.Context(), address+parameters(ca.Authority(), own), engine.Options{App: "world"})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = eng.Close() }()
	if _, err := eng.Join(t.Context(), engine.Component{Name: "a", Types: hosting}, newSink()); err != nil {
		t.Fatal(err)
	}
	for name, query := range map[string]string{
		"no TLS":                      "",
		"no certificate":              parameters(ca.Authority(), tlsfiles.Pair{}),
		"one of another authority":    parameters(ca.Authority(), other.Pair(t, "node")),
		"a server of another":         parameters(other.Authority(), own),
		"the machine trusts it not":   parameters(tlsfiles.System, own),
		"a certificate, no authority": parameters("", own),
	} {
		t.Run(name, func(t *testing.T) {
			c, err := engine.Open(t.Context(), address+query, engine.Options{App: "world"})
			if err == nil {
				_ = c.Close()
				t.Error("it was let in")
			}
			t.Log(err)
		})
	}
}

// TestLongSocketPath: a data directory may be deep in the tree.
func TestLongSocketPath(t *testing.T) {
	dir := filepath.Join(t.TempDir(), strings.Repeat("long-", 30))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	_, u := serveIn(t, dir, localtest.New("process").Open(t, engine.Options{App: "world"}), remote.ServerConfig{App: "world"})
	eng, err := engine.Open(t.Context(), u, engine.Options{App: "world"})
	if err != nil {
		t.Fatal(err)
	}
	if err := eng.Close(); err != nil {
		t.Fatal(err)
	}
}
