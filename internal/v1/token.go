package v1

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"

	"github.com/pawl-go/pawl/engine"
)

// CodeUnauthorized: the request carries no token, or another one.
const CodeUnauthorized engine.Code = "unauthorized"

// ListenTCP listens on host:port, with TLS if secure is not nil. It refuses any
// address but a loopback one unless secure asks clients for certificates (mutual
// TLS), or there is a token: the caller gives it to [Protect].
func ListenTCP(ctx context.Context, address, token string, secure *tls.Config) (net.Listener, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", address, err)
	}
	mutual := secure != nil && secure.ClientAuth == tls.RequireAndVerifyClientCert
	if token == "" && !mutual && !loopback(host) {
		return nil, fmt.Errorf("listen on %s: everybody who reaches it could do everything: give a token or mutual TLS, or listen on 127.0.0.1", address)
	}
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", address, err)
	}
	if secure != nil {
		l = tls.NewListener(l, secure)
	}
	return l, nil
}

// RefusePlaintext answers an HTTP request that came without TLS to a port that wants it,
// with a problem that says so.
func RefusePlaintext(w io.Writer) error {
	p := problem(CodeBadRequest, "this port speaks TLS: ask https://, with ?ca=FILE (and &cert=FILE&key=FILE for mutual TLS) on the command line")
	b, err := json.Marshal(p)
	if err != nil {
		return fmt.Errorf("refuse plaintext: %w", err)
	}
	resp := http.Response{
		StatusCode: p.Status, ProtoMajor: 1, ProtoMinor: 1, Close: true,
		Header:        http.Header{"Content-Type": {"application/problem+json"}},
		Body:          io.NopCloser(bytes.NewReader(b)),
		ContentLength: int64(len(b)),
	}
	return resp.Write(w)
}

func loopback(host string) bool {
	if host == "localhost" {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}

// Protect lets only requests with "Authorization: Bearer TOKEN" through to h, but
// for the health checks. It compares in constant time. The token is not empty.
func Protect(h http.Handler, token string) http.Handler {
	if token == "" {
		panic("v1: Protect without a token")
	}
	want := sha256.Sum256([]byte(token))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		given, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		got := sha256.Sum256([]byte(given))
		if ok && subtle.ConstantTimeCompare(got[:], want[:]) == 1 || strings.HasPrefix(r.URL.Path, "/v1/health/") {
			h.ServeHTTP(w, r)
			return
		}
		p := problem(CodeUnauthorized, "give the token: Authorization: Bearer TOKEN (PAWL_TOKEN of the command line)")
		w.Header().Set("WWW-Authenticate", `Bearer realm="pawl"`)
		write(w, p.Status, "application/problem+json", p)
	})
}
