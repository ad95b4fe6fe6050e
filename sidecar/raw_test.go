package sidecar_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/pawl-go/pawl/sidecar"
)

// raw is an application that answers with bytes: those of the method that is called.
func raw() {
	l, err := net.Listen("tcp", "127.0.0.1:"+os.Getenv("KAR_APP_PORT")) //nolint:noctx // it is killed
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(9)
	}
	fmt.Fprintln(os.Stdout, os.Getenv("KAR_RUNTIME_PORT"))
	for {
		c, err := l.Accept()
		if err != nil {
			os.Exit(9)
		}
		go answerRaw(c)
	}
}

const rawOK = "HTTP/1.1 200 OK\r\nContent-Length: "

// rawAnswers are what an application may answer that is not right, by method.
var rawAnswers = map[string]string{
	"garbage":   "\x00\x01\x02 this is no HTTP\r\n\r\n",
	"nothing":   "",
	"halfhead":  "HTTP/1.1 200 O",
	"halfbody":  rawOK + "100\r\n\r\n{\"value\":",
	"badchunk":  "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nZZZ\r\n{}\r\n",
	"bighead":   "HTTP/1.1 200 OK\r\nX: " + strings.Repeat("x", 12<<20) + "\r\n\r\n",
	"bigbody":   rawOK + "6000000\r\n\r\n" + strings.Repeat("x", 6_000_000),
	"notjson":   rawOK + "6\r\n\r\n<html>",
	"aword":     rawOK + "6\r\n\r\n\"word\"",
	"alist":     rawOK + "2\r\n\r\n[]",
	"badstack":  rawOK + "35\r\n\r\n{\"error\":true,\"message\":{},\"stack\":1",
	"redirect":  "HTTP/1.1 302 Found\r\nLocation: /x\r\nContent-Length: 0\r\n\r\n",
	"badstatus": "HTTP/1.1 999 What\r\nContent-Length: 4\r\n\r\nwhat",
	"interim":   "HTTP/1.1 103 Early Hints\r\n\r\n" + rawOK + "11\r\n\r\n{\"value\":1}",
	"more":      rawOK + "11\r\n\r\n{\"value\":1} and what nobody asked for",
	"none":      "HTTP/1.1 204 No Content\r\n\r\n",
}

// answerRaw answers one request of a connection, and closes it.
func answerRaw(c net.Conn) {
	defer c.Close()
	r, err := http.ReadRequest(bufio.NewReader(c))
	if err != nil {
		return
	}
	_, _ = io.Copy(io.Discard, r.Body)
	method := r.URL.Path[strings.LastIndex(r.URL.Path, "/")+1:]
	if method == "silent" {
		_, _ = io.Copy(io.Discard, c) // until the runtime closes it
		return
	}
	bytes, ok := rawAnswers[method]
	if r.Method != http.MethodPost || !ok {
		bytes = rawOK + "0\r\nConnection: close\r\n\r\n"
	}
	_, _ = io.WriteString(c, bytes)
}

// TestRawAnswers: whatever an application answers, its caller gets an answer, and the
// runtime goes on.
func TestRawAnswers(t *testing.T) {
	p := start(t, role("raw"))
	for method, want := range map[string]struct {
		status int
		body   string
	}{
		"garbage":   {200, "broke off its answer"},
		"nothing":   {200, "broke off its answer"},
		"halfhead":  {200, "broke off its answer"},
		"halfbody":  {200, "broke off its answer"},
		"badchunk":  {200, "broke off its answer"},
		"bighead":   {200, "broke off its answer"},
		"bigbody":   {413, "larger than its limit"},
		"notjson":   {500, "the application answered notjson with what is not"},
		"aword":     {500, "the application answered aword with what is not"},
		"alist":     {500, "the application answered alist with what is not"},
		"badstack":  {500, "the application answered badstack with what is not"},
		"redirect":  {302, ""},
		"badstatus": {999, "what"},
		"interim":   {200, `{"value":1}`},
		"more":      {200, `{"value":1}`},
		"none":      {204, ""},
	} {
		if s, b := p.do("POST", thing+method+"/call/"+method, ``); s != want.status || !strings.Contains(b, want.body) {
			t.Errorf("%s: %d %.200q, want %d and %q", method, s, b, want.status, want.body)
		}
		p.want("POST", thing+method+"/call/none", ``, 204, ``) // the actor is free
	}
}

// TestSilentApplication: an application that never answers holds up its caller, and
// what waits for the actor, but nobody else; and not the end.
func TestSilentApplication(t *testing.T) {
	url := "local:" + t.TempDir()
	p := start(t, role("raw"), func(c *sidecar.Config) {
		c.Engine, c.Grace, c.BusyTimeout = url, 100*time.Millisecond, 200*time.Millisecond
	})
	s, id := p.do("POST", thing+"a/call/silent", ``, "Pragma", "promise")
	if s != 202 {
		t.Fatalf("promise: %d %q", s, id)
	}
	p.want("POST", thing+"b/call/interim", ``, 200, `{"value":1}`)
	if s, b := p.do("POST", thing+"a/call/interim", ``); s != 500 || !strings.HasPrefix(b, "Possible deadlock") {
		t.Errorf("behind it: %d %q", s, b)
	}
	p.stop()
	<-p.ended
	if p.err != nil {
		t.Error(p.err)
	}
	again := start(t, func(c *sidecar.Config) { c.Engine = url })
	again.want("POST", "/kar/v1/await", id, 404, `no method silent`) // it was given back, and is tried again
}

// role makes the application another one.
func role(name string) func(*sidecar.Config) {
	return func(c *sidecar.Config) {
		c.Command = []string{"/usr/bin/env", "PAWL_TEST_ROLE=" + name, os.Args[0]}
	}
}
