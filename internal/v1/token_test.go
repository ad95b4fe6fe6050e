package v1_test

import (
	"crypto/tls"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/pawl-go/pawl/internal/tlsfiles"
	"github.com/pawl-go/pawl/internal/tlsfiles/tlstest"
	v1 "github.com/pawl-go/pawl/internal/v1"
)

func TestTokenIsAskedFor(t *testing.T) {
	h := v1.Protect(face(t, newFake()), "secret")
	for header, want := range map[string]int{"": 401, "Bearer wrong": 401, "secret": 401, "Bearer secret": 200} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/v1/components", nil)
		r.Header.Set("Authorization", header)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != want {
			t.Errorf("%q: %d, want %d", header, w.Code, want)
		}
		if want == 401 && problem(t, w).Code != v1.CodeUnauthorized {
			t.Errorf("%q: %s", header, w.Body)
		}
	}
	if w := ask(h, "GET", "/v1/health/live", ""); w.Code != 200 {
		t.Errorf("health: %d", w.Code)
	}
}

func TestOffLoopbackIsRefusedBare(t *testing.T) {
	ca := tlstest.New(t, "ca")
	server, err := tlsfiles.Server(ca.Pair(t, "node"), "") // asks nobody who they are
	if err != nil {
		t.Fatal(err)
	}
	for _, address := range []string{"0.0.0.0:0", ":0", "[::]:0", "192.0.2.1:0"} {
		for _, secure := range []*tls.Config{nil, server} {
			if l, err := v1.ListenTCP(t.Context(), address, "", secure); err == nil {
				l.Close()
				t.Errorf("%s is listened on without a token or mutual TLS", address)
			}
		}
	}
	l, err := v1.ListenTCP(t.Context(), "127.0.0.1:0", "", nil)
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
}

// TestMutualTLS: off loopback and without a token, who shows a certificate of the
// authority is served, over HTTP/1.1 and HTTP/2, and nobody else.
func TestMutualTLS(t *testing.T) {
	ours, theirs := tlstest.New(t, "ours"), tlstest.New(t, "theirs")
	pair := ours.Pair(t, "node")
	secure, err := tlsfiles.Server(pair, ours.Authority())
	if err != nil {
		t.Fatal(err)
	}
	l, err := v1.ListenTCP(t.Context(), "0.0.0.0:0", "", secure)
	if err != nil {
		t.Fatal(err)
	}
	s := v1.Serve(l, face(t, newFake()), slog.New(slog.DiscardHandler))
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	for name, c := range map[string]struct {
		scheme string
		shown  tlsfiles.Pair
		proto  int // of the answer; 0: refused
	}{
		"HTTP/1.1":                 {"https", pair, 1},
		"HTTP/2":                   {"https", pair, 2},
		"no certificate":           {"https", tlsfiles.Pair{}, 0},
		"a stranger's certificate": {"https", theirs.Pair(t, "node"), 0},
		"no TLS":                   {"http", tlsfiles.Pair{}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			client, err := tlsfiles.Client("127.0.0.1", ours.Authority(), c.shown)
			if err != nil {
				t.Fatal(err)
			}
			tr := &http.Transport{TLSClientConfig: client, ForceAttemptHTTP2: c.proto == 2}
			defer tr.CloseIdleConnections()
			r, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, c.scheme+"://127.0.0.1:"+port+"/v1/components", nil)
			resp, err := tr.RoundTrip(r)
			switch {
			case err == nil && c.proto == 0:
				if resp.StatusCode != http.StatusBadRequest { // net/http's own to plain HTTP
					t.Errorf("served: %s", resp.Status)
				}
			case err != nil && c.proto != 0:
				t.Error(err)
			case err == nil && (resp.StatusCode != 200 || resp.ProtoMajor != c.proto):
				t.Errorf("%s over %s", resp.Status, resp.Proto)
			}
			if err == nil {
				resp.Body.Close()
			}
		})
	}
}
