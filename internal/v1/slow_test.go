package v1_test

import (
	"bufio"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	v1 "github.com/pawl-go/pawl/internal/v1"
)

// pipes is a listener in memory, so that the time of a test is virtual.
type pipes chan net.Conn

func (p pipes) Accept() (net.Conn, error) {
	c, ok := <-p
	if !ok {
		return nil, net.ErrClosed
	}
	return c, nil
}

func (p pipes) Close() error   { close(p); return nil }
func (p pipes) Addr() net.Addr { return &net.UnixAddr{Name: "pipes"} }

// TestSlowRequestsEnd: a head that does not arrive costs its connection, a body that
// does not arrive is told so, and who is in time is answered meanwhile.
func TestSlowRequestsEnd(t *testing.T) {
	for name, c := range map[string]struct {
		sent   string
		within time.Duration
		told   string // "": the connection ends
	}{
		"nothing":         {"", 10 * time.Second, ""},
		"half a head":     {"POST /v1/actors/Account/a/tell/Deposit HTTP/1.1\r\nHost: x\r\nContent-Le", 10 * time.Second, ""},
		"half an input":   {"POST /v1/actors/Account/a/tell/Deposit HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n12", time.Minute, "only 2 bytes"},
		"half a value":    {"PUT /v1/actors/Account/a/state/n HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n12", time.Minute, "only 2 bytes"},
		"half an act":     {"POST /v1/invocations:cancel HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{", time.Minute, "only 1 bytes"},
		"chunks that end": {"PUT /v1/actors/Account/a/state/n HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n12\r\n", time.Minute, "only 2 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := make(pipes)
				s := v1.Serve(l, face(t, newFake()), slog.New(slog.DiscardHandler))
				slow, other := connect(l), connect(l)
				defer slow.Close()
				defer other.Close()
				began := time.Now() //nolint:forbidigo // the bubble's
				if _, err := io.WriteString(slow, c.sent); err != nil {
					t.Fatal(err)
				}
				if resp, _ := get(t, other, "GET /v1/health/live HTTP/1.1\r\nHost: x\r\n\r\n"); resp.StatusCode != 200 {
					t.Errorf("beside it: %s", resp.Status)
				}
				if c.told == "" {
					if rest, err := io.ReadAll(slow); err != nil || len(rest) > 0 && !strings.HasPrefix(string(rest), "HTTP/1.1 400 ") {
						t.Errorf("the connection ended with %q, %v", rest, err)
					}
				} else if resp, text := get(t, slow, ""); resp.StatusCode != 408 || !strings.Contains(text, c.told) ||
					!strings.Contains(text, `"code":"bad_request"`) {
					t.Errorf("%s %s", resp.Status, text)
				}
				if took := time.Since(began); took != c.within { //nolint:forbidigo // the bubble's
					t.Errorf("it ended after %v, want %v", took, c.within)
				}
				_ = other.Close()
				if err := s.Close(); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// TestWhatIsNoRequest: what net/http refuses by itself it refuses in plain text, the
// rest gets a problem, and the next connection is served.
func TestWhatIsNoRequest(t *testing.T) {
	synctest.Test(t, noRequests) // net/http lingers after a refusal
}

func noRequests(t *testing.T) {
	l := make(pipes)
	s := v1.Serve(l, face(t, newFake()), slog.New(slog.DiscardHandler))
	for request, status := range map[string]int{
		"rubbish\r\n\r\n":                                                                                400,
		"GET /v1/%zz HTTP/1.1\r\nHost: x\r\n\r\n":                                                        400,
		"GET /v1/types HTTP/1.1\r\n\r\n":                                                                 400, // no Host
		"GET /v1/types HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n":                                400,
		"GET /v1/types HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: rot13\r\n\r\n":                          501,
		"GET /v1/types HTTP/9.9\r\nHost: x\r\n\r\n":                                                      505,
		"GET /v1/types HTTP/1.1\r\nHost: x\r\nX: " + strings.Repeat("x", 70<<10) + "\r\n\r\n":            431,
		"PUT /v1/types HTTP/1.1\r\nHost: x\r\nExpect: wonders\r\nContent-Length: 1\r\n\r\n1":             417,
		"CONNECT elsewhere:80 HTTP/1.1\r\nHost: elsewhere:80\r\n\r\n":                                    404,
		"GET //v1/types HTTP/1.1\r\nHost: x\r\n\r\n":                                                     404,
		"GET http://elsewhere/v1/types HTTP/1.1\r\nHost: x\r\n\r\n":                                      200,
		"PUT /v1/actors/A/a/state/n HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n\r\n": 400,
	} {
		c := connect(l)
		sent := make(chan struct{})
		go func() {
			defer close(sent)
			_, _ = io.WriteString(c, request) // refused half-way, it ends with an error
		}()
		resp, text := get(t, c, "")
		if shown := request[:min(len(request), 60)]; resp.StatusCode != status {
			t.Errorf("%q: %s %s, want %d", shown, resp.Status, text, status)
		}
		_ = c.Close()
		<-sent
	}
	c := connect(l)
	if resp, _ := get(t, c, "GET /v1/health/live HTTP/1.1\r\nHost: x\r\n\r\n"); resp.StatusCode != 200 {
		t.Errorf("after all that: %s", resp.Status)
	}
	_ = c.Close()
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

func connect(l pipes) net.Conn {
	here, there := net.Pipe()
	l <- there
	return here
}

// get sends a request, if there is one, and reads the answer.
func get(t *testing.T, c net.Conn, request string) (*http.Response, string) {
	t.Helper()
	if request != "" {
		if _, err := io.WriteString(c, request); err != nil {
			t.Fatal(err)
		}
	}
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatal(err)
	}
	text, _ := io.ReadAll(resp.Body)
	resp.Body.Close()
	return resp, string(text)
}
