package main

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/pawl-go/pawl/internal/tlsfiles"
	"github.com/pawl-go/pawl/internal/tlsfiles/tlstest"
	"github.com/pawl-go/pawl/internal/v1"
)

// TestPlaintextToTLS: HTTP without TLS to a port with it is told so, however much of the
// request is on its way; what is no HTTP is cut off.
func TestPlaintextToTLS(t *testing.T) {
	ca := tlstest.New(t, "ours")
	cfg, err := tlsfiles.Server(ca.Pair(t, "node"), "")
	if err != nil {
		t.Fatal(err)
	}
	l, err := v1.ListenTCP(t.Context(), "127.0.0.1:0", "", cfg)
	if err != nil {
		t.Fatal(err)
	}
	s := split(l)
	defer s.http.Close()
	dial := func(sent string) net.Conn {
		var d net.Dialer
		c, err := d.DialContext(t.Context(), "tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		if _, err := io.WriteString(c, sent); err != nil {
			t.Fatal(err)
		}
		return c
	}
	for _, sent := range []string{
		"GET /v1/types HTTP/1.1\r\nHost: x\r\n\r\n",
		"PATCH /v1/actors/A/a/state HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n{\"n\": 12}",
		"POST /v1/actors/A/a/call/B HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n" + strings.Repeat(" ", 100_000),
		"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
	} {
		resp, err := http.ReadResponse(bufio.NewReader(dial(sent)), nil)
		if err != nil {
			t.Errorf("%.20q: %v", sent, err)
			continue
		}
		b, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if resp.StatusCode != 400 || err != nil || resp.Header.Get("Content-Type") != "application/problem+json" || !strings.Contains(string(b), "this port speaks TLS") {
			t.Errorf("%.20q: %s %s %v", sent, resp.Status, b, err)
		}
	}
	if b, err := io.ReadAll(dial("what is this?\r\n")); len(b) > 0 {
		t.Errorf("a stranger was told %q, %v", b, err)
	}
}
