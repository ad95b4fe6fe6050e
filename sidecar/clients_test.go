package sidecar_test

import (
	"bufio"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/pawl-go/pawl/sidecar"
)

// dial connects to the runtime. What it reads ends with the test at the latest.
func (p *running) dial() *net.TCPConn {
	p.t.Helper()
	c, err := net.Dial("tcp", strings.TrimPrefix(p.base, "http://")) //nolint:noctx // a test
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() { _ = c.Close() })
	if err := c.SetDeadline(time.Now().Add(time.Minute)); err != nil { //nolint:forbidigo // of a connection
		p.t.Fatal(err)
	}
	return c.(*net.TCPConn)
}

func (p *running) send(c net.Conn, s string) {
	p.t.Helper()
	if _, err := io.WriteString(c, s); err != nil {
		p.t.Fatal(err)
	}
}

// TestSlowClients: those that do not finish what they ask for are given up, one by one,
// and others are answered meanwhile. A client that waits for its answer is not one of them.
func TestSlowClients(t *testing.T) {
	p := start(t, func(c *sidecar.Config) { c.ShortTimeouts() })
	held := p.dial()
	p.send(held, "POST "+thing+"h/call/hold HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n")
	slow := map[string]string{
		"nothing at all":     "",
		"half a request":     "POST " + thing + "a/call/self HT",
		"half a head":        "POST " + thing + "a/call/self HTTP/1.1\r\nHost: x\r\nContent-Le",
		"half a body":        "POST " + thing + "a/call/echo HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n[1",
		"half a chunk":       "POST " + thing + "a/call/echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n10\r\n[1",
		"half an HTTP/2":     "PRI * HTTP/2.0\r\n\r\nSM",
		"a preface, no more": "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
	}
	conns := map[string]*net.TCPConn{}
	for name, bytes := range slow {
		conns[name] = p.dial()
		p.send(conns[name], bytes)
	}
	p.want("POST", thing+"b/call/self", ``, 200, `{"value":"b"}`)
	for name, c := range conns {
		answer, err := io.ReadAll(c)
		if err != nil {
			t.Errorf("%s: it was not given up: %q, %v", name, answer, err)
		}
		if strings.Contains(string(answer), "200 OK") {
			t.Errorf("%s was answered %q", name, answer)
		}
	}
	p.scratch.CloseIdleConnections() // the runtime is about to: a request might meet that
	p.want("POST", thing+"b/call/release", ``, 204, ``)
	if r, err := http.ReadResponse(bufio.NewReader(held), nil); err != nil || r.StatusCode != 200 {
		t.Errorf("who waited for longer than all of that: %v, %v", r, err)
	} else {
		_ = r.Body.Close()
	}
}

// TestClientsThatClose: a client that closes half of its connection, or all of it, does
// not end what it has asked for; the former gets its answer.
func TestClientsThatClose(t *testing.T) {
	for _, half := range []bool{true, false} {
		t.Run(fmt.Sprint("half=", half), func(t *testing.T) {
			p := start(t)
			c := p.dial()
			p.send(c, "POST "+thing+"a/call/holdandkeep HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n")
			p.port() // answered behind its beginning
			if half {
				if err := c.CloseWrite(); err != nil {
					t.Fatal(err)
				}
			} else if err := c.Close(); err != nil {
				t.Fatal(err)
			}
			p.want("POST", thing+"b/call/release", ``, 204, ``)
			if half {
				r, err := http.ReadResponse(bufio.NewReader(c), nil)
				if err != nil {
					t.Fatal(err)
				}
				b, _ := io.ReadAll(r.Body)
				_ = r.Body.Close()
				if r.StatusCode != 204 && r.StatusCode != 200 {
					t.Errorf("%s %s", r.Status, b)
				}
			}
			p.until("GET", thing+"a/state/kept", `"released"`)
		})
	}
}

// TestLimits: a body at the limit is taken, one over it is refused, whatever says how
// long it is, on either protocol.
func TestLimits(t *testing.T) {
	p := start(t)
	const limit = 4 << 20
	h2 := &http.Transport{Protocols: new(http.Protocols)}
	h2.Protocols.SetUnencryptedHTTP2(true)
	t.Cleanup(h2.CloseIdleConnections)
	for name, client := range map[string]*http.Client{"HTTP/1.1": {}, "HTTP/2": {Transport: h2}} {
		for size, want := range map[int]int{limit: 200, limit + 1: 413, 4 * limit: 413} {
			for _, known := range []bool{true, false} {
				body := io.Reader(strings.NewReader(`["` + strings.Repeat("x", size-4) + `"]`))
				if !known {
					body = io.MultiReader(body) // sent in chunks
				}
				r, err := client.Post(p.base+thing+"a/call/nothing", "application/json", body) //nolint:noctx // a test
				if err != nil {
					t.Errorf("%s, %d bytes, known=%v: %v", name, size, known, err)
					continue
				}
				_ = r.Body.Close()
				if want == 200 {
					want = 204
				}
				if r.StatusCode != want {
					t.Errorf("%s, %d bytes, known=%v: %s, want %d", name, size, known, r.Status, want)
				}
			}
		}
	}
	p.want("POST", thing+"a/call/self", ``, 200, `{"value":"a"}`)
}

// TestBothProtocols: HTTP/1.1 and HTTP/2 without TLS are answered at one port, many at a
// time; a request that nobody can take is refused by status.
func TestBothProtocols(t *testing.T) {
	p := start(t)
	h2 := &http.Transport{Protocols: new(http.Protocols)}
	h2.Protocols.SetUnencryptedHTTP2(true)
	t.Cleanup(h2.CloseIdleConnections)
	for major, client := range map[int]*http.Client{1: {}, 2: {Transport: h2}} {
		answers := make(chan string, 100)
		for i := range cap(answers) {
			go func() {
				r, err := client.Post(p.base+fmt.Sprintf("%sc%d/call/echo", thing, i), "application/kar+json", strings.NewReader(fmt.Sprint("[", i, "]"))) //nolint:noctx // a test
				if err != nil {
					answers <- err.Error()
					return
				}
				defer r.Body.Close()
				b, _ := io.ReadAll(r.Body)
				if want := fmt.Sprintf(`{"value":[%d]}`, i); string(b) != want || r.ProtoMajor != major {
					answers <- fmt.Sprintf("%s %s: %s, want %s", r.Proto, r.Status, b, want)
					return
				}
				answers <- ""
			}()
		}
		for range cap(answers) {
			if wrong := <-answers; wrong != "" {
				t.Errorf("HTTP/%d: %s", major, wrong)
			}
		}
	}
	c := p.dial()
	p.send(c, "\x16\x03\x01\x02\x00 a client that speaks TLS\r\n\r\n")
	if b, err := io.ReadAll(c); err != nil || !strings.HasPrefix(string(b), "HTTP/1.1 400") {
		t.Errorf("TLS: %q, %v", b, err)
	}
}

// TestStreamsAreBounded reads the settings of HTTP/2 with which the runtime begins.
func TestStreamsAreBounded(t *testing.T) {
	p := start(t)
	c := p.dial()
	p.send(c, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"+"\x00\x00\x00\x04\x00\x00\x00\x00\x00")
	head := make([]byte, 9) // length, type, flags, stream
	if _, err := io.ReadFull(c, head); err != nil || head[3] != 4 {
		t.Fatalf("not a frame of settings: %x, %v", head, err)
	}
	settings := make([]byte, int(head[0])<<16|int(head[1])<<8|int(head[2]))
	if _, err := io.ReadFull(c, settings); err != nil {
		t.Fatal(err)
	}
	const maxConcurrentStreams = 3
	for s := settings; len(s) >= 6; s = s[6:] {
		if binary.BigEndian.Uint16(s) == maxConcurrentStreams {
			if n := binary.BigEndian.Uint32(s[2:]); n != sidecar.MaxStreams {
				t.Errorf("%d streams, want %d", n, sidecar.MaxStreams)
			}
			return
		}
	}
	t.Errorf("no bound on streams in %x", settings)
}

// TestLoopbackOnly: nobody else on the network reaches the runtime.
func TestLoopbackOnly(t *testing.T) {
	p := start(t)
	_, port, err := net.SplitHostPort(strings.TrimPrefix(p.base, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	addresses, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range addresses {
		ip, _, err := net.ParseCIDR(a.String())
		if err != nil || ip.IsLoopback() || ip.IsLinkLocalUnicast() {
			continue
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		var d net.Dialer
		if c, err := d.DialContext(ctx, "tcp", net.JoinHostPort(ip.String(), port)); err == nil {
			_ = c.Close()
			t.Errorf("the runtime listens at %v", ip)
		}
	}
}
