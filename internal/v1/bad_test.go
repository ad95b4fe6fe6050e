package v1_test

import (
	"bufio"
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pawl-go/pawl/engine"
	"github.com/pawl-go/pawl/internal/socket"
	v1 "github.com/pawl-go/pawl/internal/v1"
)

// TestBadInput: each gets the problem that the page says, and the face goes on.
func TestBadInput(t *testing.T) {
	do := boxes(t)
	const a = "/v1/actors/Box/a"
	huge := `"` + strings.Repeat("x", 5<<20) + `"`
	for _, c := range []struct {
		status             int
		method, path, body string
		code               engine.Code
	}{
		{400, "POST", a + "/call/Add", "{", engine.ErrBadPayload},
		{400, "POST", a + "/call/Add", `"five"`, engine.ErrBadPayload},
		{413, "POST", a + "/call/Add", huge, engine.ErrTooLarge},
		{413, "PUT", a + "/state/n", huge, engine.ErrTooLarge},
		{413, "POST", "/v1/topics/x/publish", huge, engine.ErrTooLarge},
		{404, "POST", a + "/call/Ad", "1", engine.ErrNoMethod},
		{404, "POST", a + "/call", "1", engine.ErrNotFound},
		{404, "GET", "/v2/types", "", engine.ErrNotFound},
		{405, "PUT", "/v1/types", "", v1.CodeBadRequest},
		{400, "POST", "/v1/invocations", `[]`, v1.CodeBadRequest},
		{400, "POST", "/v1/invocations", `{"type": 5}`, v1.CodeBadRequest},
		{404, "GET", "/v1/invocations/1-ffff", "", engine.ErrNotFound},
		{404, "GET", "/v1/invocations/a%2Fb%FF", "", engine.ErrNotFound},
		{404, "GET", "/v1/invocations/ff/tree", "", engine.ErrNotFound},
		{404, "GET", "/v1/actors/Box/nobody", "", engine.ErrNotFound},
		{400, "GET", "/v1/actors", "", v1.CodeBadRequest},
		{400, "GET", "/v1/actors?type=Box&limit=-1", "", v1.CodeBadRequest},
		{400, "GET", "/v1/invocations?status=lost", "", v1.CodeBadRequest},
		{400, "POST", a + "/tell/Add?delay=soon", "1", v1.CodeBadRequest},
		{400, "PATCH", a + "/state", "[1]", v1.CodeBadRequest},
		{400, "PUT", a + "/reminders/x", "{", v1.CodeBadRequest},
		{400, "POST", "/v1/invocations:cancel", `{"filter": 5}`, v1.CodeBadRequest},
	} {
		got, h := do(c.status, c.method, c.path, c.body)
		if !strings.Contains(got, `"code":"`+string(c.code)+`"`) || h.Get("Content-Type") != "application/problem+json" {
			t.Errorf("%s %s: %s", c.method, c.path, got)
		}
	}
	for _, id := range []string{"a%2Fb", "%20", "_", "%C3%BC", "%FF", "", "%2E%2E", strings.Repeat("x", 1000)} {
		if got, _ := do(200, "POST", "/v1/actors/Box/"+id+"/call/Add", "1"); got != "1" {
			t.Errorf("id %q: %s", id, got)
		}
	}
}

// TestBrokenConnections: halves of requests, and connections closed within, cost
// nobody else anything.
func TestBrokenConnections(t *testing.T) {
	dir := shortDir(t)
	f := newFake()
	f.outcome = value("3")
	start(t, dir, f)
	path := filepath.Join(dir, v1.SocketName)
	for _, text := range []string{
		"", "POST", "POST /v1/types HTTP/1.1\r\n", "rubbish\r\n\r\n", "PRI * HTTP/2.0\r\n\r\nXX\r\n\r\n",
		"POST /v1/actors/Account/a/call/Deposit HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n12",
	} {
		c, err := socket.Dial(t.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.WriteString(c, text)
		_ = c.Close()
	}
	// One that closes its half within the body is told.
	half, err := socket.Dial(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer half.Close()
	_, _ = io.WriteString(half, "PUT /v1/actors/Account/a/state/n HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n12")
	if err := half.(*net.UnixConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	told, err := http.ReadResponse(bufio.NewReader(half), nil)
	if err != nil {
		t.Fatal(err)
	}
	if text, _ := io.ReadAll(told.Body); told.StatusCode != 400 || !strings.Contains(string(text), "broke off after 2 bytes") {
		t.Errorf("half a body: %s %s", told.Status, text)
	}
	told.Body.Close()
	// One that closes its half after the request still gets its answer.
	c, err := socket.Dial(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_, _ = io.WriteString(c, "GET /v1/health/live HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
	if err := c.(*net.UnixConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil || resp.StatusCode != 200 {
		t.Fatalf("half closed: %v %v", resp, err)
	}
	resp.Body.Close()
}

// TestSlowClient: a request that dribbles in holds up nobody.
func TestSlowClient(t *testing.T) {
	l, err := v1.ListenTCP(t.Context(), "127.0.0.1:0", "", nil)
	if err != nil {
		t.Fatal(err)
	}
	s := v1.Serve(l, face(t, newFake()), slog.New(slog.DiscardHandler))
	var d net.Dialer
	slow, err := d.DialContext(t.Context(), "tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer slow.Close()
	_, _ = io.WriteString(slow, "POST /v1/actors/Account/a/tell/Deposit HTTP/1.1\r\nHost: x\r\nContent-Le")
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	r, _ := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+l.Addr().String()+"/v1/health/live", nil)
	tr := &http.Transport{}
	defer tr.CloseIdleConnections()
	resp, err := tr.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if err := s.Close(); err != nil {
		t.Errorf("close beside a slow client: %v", err)
	}
}
