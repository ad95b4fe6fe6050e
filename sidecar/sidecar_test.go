package sidecar_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	_ "github.com/pawl-go/pawl/engine/local" // scheme local:
	"github.com/pawl-go/pawl/sidecar"
	"github.com/pawl-go/pawl/sidecar/pair"
)

// TestMain lets the test program be the application, and a watcher.
func TestMain(m *testing.M) {
	switch os.Getenv("PAWL_TEST_ROLE") {
	case "app":
		application()
	case "raw":
		raw()
	case "runtime":
		lone()
	}
	if len(os.Args) > 1 && os.Args[1] == "watch" {
		if err := pair.Watch(os.Stdin); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// running is a pair whose application is this program.
type running struct {
	t       *testing.T
	base    string
	stop    context.CancelFunc
	ended   chan struct{}
	code    int
	err     error
	scratch *http.Client
}

func config(t *testing.T, ready string) sidecar.Config {
	return sidecar.Config{
		App: "test", Actors: []string{"Thing"}, Service: "echo", Engine: "local:" + t.TempDir(),
		Command: []string{"/usr/bin/env", "PAWL_TEST_ROLE=app", "READY=" + ready, os.Args[0]},
		Watcher: []string{os.Args[0], "watch"},
		Stderr:  os.Stderr, Stdout: os.Stderr,
		Logger: slog.New(slog.DiscardHandler),
	}
}

// start runs a pair until the end of the test.
func start(t *testing.T, changes ...func(*sidecar.Config)) *running {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cfg := config(t, "stdout")
	cfg.Stdout = w
	for _, change := range changes {
		change(&cfg)
	}
	ctx, stop := context.WithCancel(t.Context())
	p := &running{t: t, stop: stop, ended: make(chan struct{}), scratch: &http.Client{}}
	go func() {
		p.code, p.err = sidecar.Run(ctx, cfg)
		w.Close()
		close(p.ended)
	}()
	t.Cleanup(func() { stop(); <-p.ended })
	var port int
	if _, err := fmt.Fscanln(r, &port); err != nil {
		<-p.ended
		t.Fatalf("the application did not come up: %v, %v", err, p.err)
	}
	p.base = fmt.Sprintf("http://127.0.0.1:%d", port)
	return p
}

// do makes a request and gives status and body.
func (p *running) do(verb, path, body string, header ...string) (int, string) {
	p.t.Helper()
	r, err := http.NewRequestWithContext(p.t.Context(), verb, p.base+path, strings.NewReader(body))
	if err != nil {
		p.t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	resp, err := p.scratch.Do(r)
	if err != nil {
		p.t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		p.t.Fatal(err)
	}
	return resp.StatusCode, string(b)
}

// want makes a request and wants an answer.
func (p *running) want(verb, path, body string, status int, answer string, header ...string) {
	p.t.Helper()
	if s, b := p.do(verb, path, body, header...); s != status || b != answer {
		p.t.Errorf("%s %s %s: %d %q, want %d %q", verb, path, body, s, b, status, answer)
	}
}

const thing = "/kar/v1/actor/Thing/"

func TestCalls(t *testing.T) {
	for _, h2c := range []bool{false, true} {
		t.Run(fmt.Sprintf("h2c=%v", h2c), func(t *testing.T) {
			p := start(t, func(c *sidecar.Config) { c.H2C = h2c })
			p.want("POST", thing+"a/call/echo", `[1,"x"]`, 200, `{"value":[1,"x"]}`)
			p.want("POST", thing+"a/call/echo", `{"a":1}`, 200, `{"value":[{"a":1}]}`)
			p.want("POST", thing+"a/call/echo", `[2]`, 200, `{"value":[2]}`, "Content-Type", "application/x-www-form-urlencoded")
			p.want("POST", thing+"a/call/nothing", ``, 204, ``)
			p.want("POST", thing+"a/call/throw", ``, 200, `{"error":true,"message":"thrown","stack":"at x"}`)
			p.want("POST", thing+"a/call/missing", ``, 404, "no method missing")
			p.want("POST", thing+"a/call/refuse", ``, 418, "teapot")
			p.want("POST", thing+"a%2Fb%20_%C3%A9/call/self", ``, 200, `{"value":"a/b _é"}`)
			p.want("POST", thing+"refused/call/echo", ``, 409, "not activated")
			p.want("POST", thing+"a/call/echo", `[`, 400, "the body is not JSON; it is an array of arguments")
			p.want("POST", thing+"a/call/", `[]`, 404, "the path names no method")
			p.want("GET", "/kar/v1/nowhere", ``, 404, "no such route under /kar/v1")
		})
	}
}

func TestRubbish(t *testing.T) {
	p := start(t)
	for _, method := range []string{"rubbish", "badtail"} {
		if s, b := p.do("POST", thing+"a/call/"+method, ``); s != 500 || !strings.Contains(b, "the application answered") {
			t.Errorf("%s: %d %q", method, s, b)
		}
	}
	if s, b := p.do("POST", thing+"a/call/cut", ``); s != 200 || !strings.Contains(b, "broke off its answer") {
		t.Errorf("cut: %d %q", s, b)
	}
	p.want("POST", thing+"a/call/echo", `[1]`, 200, `{"value":[1]}`)
	big := strings.Repeat("x", 5<<20)
	if s, _ := p.do("POST", thing+"a/call/echo", `["`+big+`"]`); s != 413 {
		t.Errorf("a body over the limit: %d, want 413", s)
	}
}

func TestNesting(t *testing.T) {
	p := start(t)
	p.want("POST", thing+"a/call/reenter", `["b"]`, 200, `{"value":"a/b/a"}`)
	p.want("POST", thing+"a/call/parallel", `[20]`, 200, `{"value":20}`)
	p.want("POST", thing+"a/call/promised", `[]`, 200, `{"value":"b"}`)
	p.want("POST", thing+"a/call/first", `[]`, 200, `{"value":"fast before slow"}`)
	if s, b := p.do("POST", thing+"b/call/self?session=0-0:0-1.1.1", ``); s != 409 || !strings.Contains(b, "no such session") {
		t.Errorf("a session that is unknown: %d %q, want 409", s, b)
	}
	_, old := p.do("POST", thing+"a/call/session", ``)
	var v struct{ Value string }
	if err := json.Unmarshal([]byte(old), &v); err != nil || v.Value == "" {
		t.Fatalf("no session: %q, %v", old, err)
	}
	if s, b := p.do("POST", thing+"b/call/self?session="+v.Value, ``); s != 409 || !strings.Contains(b, "has ended") {
		t.Errorf("a session that has ended: %d %q, want 409", s, b)
	}
}

func TestTails(t *testing.T) {
	p := start(t)
	p.want("POST", thing+"a/call/tailself", `[]`, 200, `{"value":"a after tail"}`)
	p.want("POST", thing+"a/call/tailother", `[]`, 200, `{"value":"z after tail"}`)
	p.want("POST", thing+"a/call/tailrelease", `[]`, 200, `{"value":"a after tail"}`)
	p.want("POST", thing+"a/call/tailservice", `[]`, 203, `POST /there/x? {"n":1}`)
}

func TestPromises(t *testing.T) {
	p := start(t)
	s, id := p.do("POST", thing+"a/call/self", ``, "Pragma", "promise")
	if s != 202 {
		t.Fatalf("promise: %d %q", s, id)
	}
	p.want("POST", "/kar/v1/await", id, 200, `{"value":"a"}`, "Content-Type", "text/plain")
	p.want("POST", "/kar/v1/await", id, 200, `{"value":"a"}`) // again: it is kept
	if s, _ := p.do("POST", "/kar/v1/await", "9-9"); s != 500 {
		t.Errorf("await of an unknown id: %d, want 500", s)
	}
	p.want("POST", thing+"a/call/keep", `["told"]`, 202, `OK`, "Pragma", "async")
	p.want("POST", thing+"a/call/self", ``, 200, `{"value":"a"}`) // behind it
	p.want("GET", thing+"a/state/kept", ``, 200, `"told"`)
}

func TestState(t *testing.T) {
	p := start(t)
	s := thing + "s/state"
	p.want("PUT", s+"/k", `1`, 201, ``)
	p.want("PUT", s+"/k", `2`, 204, ``)
	p.want("GET", s+"/k", ``, 200, `2`)
	p.want("HEAD", s+"/k", ``, 200, ``)
	p.want("HEAD", s+"/none", ``, 404, ``)
	p.want("GET", s+"/none?nilOnAbsent=true", ``, 200, `null`)
	if st, _ := p.do("GET", s+"/none", ``); st != 404 {
		t.Errorf("a key that is not there: %d", st)
	}
	p.want("PUT", s+"/k", `{`, 400, `the body is not JSON`)
	p.want("PUT", s+"/k/sub", `"of the same name"`, 201, ``)
	p.want("GET", s+"/k", ``, 200, `2`)
	p.want("GET", s+"/k/sub", ``, 200, `"of the same name"`)
	p.want("POST", s, `{"updates":{"a":1,"k":3},"submapupdates":{"m":{"x":1,"y":2}},"removals":["none"],"submapremovals":{"k":["sub"]}}`,
		200, `{"added":3,"removed":1}`)
	p.want("POST", s+"/m", `{"op":"get"}`, 200, `{"x":1,"y":2}`)
	p.want("POST", s+"/m", `{"op":"keys"}`, 200, `["x","y"]`)
	p.want("POST", s+"/m", `{"op":"size"}`, 200, `2`)
	if st, _ := p.do("POST", s+"/m", `{"op":"turn"}`); st != 400 {
		t.Errorf("an unknown operation: %d", st)
	}
	p.want("GET", s, ``, 200, `{"a":1,"k":3,"m":{"x":1,"y":2}}`)
	p.want("POST", s+"/m", `{"op":"clear"}`, 200, `2`)
	p.want("DELETE", s+"/a", ``, 200, `1`)
	p.want("DELETE", s+"/a", ``, 200, `0`)
	p.want("PUT", s+"/m/z", `1`, 201, ``)
	p.want("DELETE", s, ``, 200, `2`)
	p.want("GET", s, ``, 200, `{}`)
	p.want("POST", thing+"s/call/count", `[]`, 200, `{"value":1}`)
	p.want("POST", thing+"s/call/count", `[]`, 200, `{"value":2}`)
	p.want("POST", thing+"s/call/deactivated", ``, 200, `{"value":0}`)
	p.want("DELETE", thing+"s", ``, 202, `OK`)
	p.want("POST", thing+"s/call/deactivated", ``, 200, `{"value":1}`)
	p.want("POST", thing+"s/call/count", `[]`, 200, `{"value":1}`)
}

// TestStateOfOutcome has answers that carry changes of state: they are made with the
// outcome, and not at all if that is an error.
func TestStateOfOutcome(t *testing.T) {
	p := start(t)
	s := thing + "o/state"
	p.want("PUT", s+"/gone", `1`, 201, ``)
	p.want("POST", thing+"o/call/with", `["value"]`, 200, `{"value":1}`)
	p.want("GET", s, ``, 200, `{"s":{"w":1},"w":1}`)
	p.want("POST", thing+"o/call/with", `["tail"]`, 200, `{"value":"z after tail"}`)
	p.want("GET", s, ``, 200, `{"s":{"w":2},"w":2}`)
	p.want("POST", thing+"o/call/with", `["error"]`, 200, `{"error":true,"message":"thrown","stack":""}`)
	if st, _ := p.do("POST", thing+"o/call/with", `["rubbish"]`); st != 500 {
		t.Errorf("a tail call to nowhere: %d", st)
	}
	p.want("GET", s, ``, 200, `{"s":{"w":2},"w":2}`)
	p.want("POST", thing+"o/call/with", `["nothing"]`, 204, ``)
	p.want("GET", s, ``, 200, `{"s":{"w":3},"w":3}`)
	p.want("POST", thing+"o/call/around", ``, 200, `{"value":"around"}`)
	p.want("GET", s, ``, 200, `{"around":1,"s":{"w":4},"w":4}`)
}

func TestReminders(t *testing.T) {
	p := start(t)
	r := thing + "r/reminders"
	p.want("PUT", r+"/one", `{"path":"/keep","targetTime":"2100-01-01T00:00:00Z","period":"1m30s","data":["x"]}`, 204, ``)
	p.want("PUT", r+"/one", `{"path":"/keep","targetTime":"2100-01-01T00:00:00Z","period":"1m30s","data":["x"]}`, 200, `OK`)
	p.want("GET", r+"/one", ``, 200,
		`{"actor":{"Type":"Thing","ID":"r"},"id":"one","path":"/keep","targetTime":"2100-01-01T00:00:00Z","period":90000000000,"data":["x"]}`)
	p.want("GET", r+"/two?nilOnAbsent=true", ``, 200, `null`)
	if s, _ := p.do("GET", r+"/two", ``); s != 404 {
		t.Errorf("a reminder that is not there: %d", s)
	}
	for _, bad := range []string{`{}`, `{"path":"/x","targetTime":"soon"}`, `{"path":"/x","targetTime":"2100-01-01T00:00:00Z","period":"often"}`} {
		if s, _ := p.do("PUT", r+"/bad", bad); s != 400 {
			t.Errorf("reminder %s: %d, want 400", bad, s)
		}
	}
	p.want("DELETE", r, ``, 200, `1`)
	p.want("GET", r, ``, 200, `[]`)
	past := time.Now().Add(-time.Second).Format(time.RFC3339) //nolint:forbidigo // a due time
	p.want("PUT", r+"/due", `{"path":"/release","targetTime":"`+past+`","data":[]}`, 204, ``)
	p.want("POST", thing+"other/call/hold", ``, 200, `{"value":"released"}`)
}

func TestServices(t *testing.T) {
	p := start(t)
	p.want("PUT", "/kar/v1/service/echo/call/a%2Fb/c?q=1", `body`, 203, `PUT /a%2Fb/c?q=1 body`)
	r, err := http.NewRequestWithContext(t.Context(), "GET", p.base+"/kar/v1/service/echo/call/x", bytes.NewReader(nil))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("X-Mine", "kept")
	resp, err := p.scratch.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if got := resp.Header.Get("X-Echo"); got != "kept" {
		t.Errorf("a header came back as %q", got)
	}
}

func TestSystem(t *testing.T) {
	p := start(t)
	p.want("GET", "/kar/v1/system/health", ``, 200, `Peachy Keen!`)
	if s, b := p.do("GET", "/kar/v1/system/information/sidecars", ``); s != 200 || !strings.Contains(b, `{"actors":["Thing"],"services":["echo"]}`) {
		t.Errorf("sidecars: %d %s", s, b)
	}
	if s, _ := p.do("GET", "/kar/v1/system/information/weather", ``); s != 400 {
		t.Errorf("unknown information: %d", s)
	}
	p.want("POST", "/kar/v1/system/shutdown", ``, 200, `OK`)
	<-p.ended
	if p.err != nil {
		t.Error(p.err)
	}
}

// TestRefusedOutcomes: when the answer of a method cannot be recorded the actor goes, so
// that it does not go on with what it has in memory and nowhere else.
func TestRefusedOutcomes(t *testing.T) {
	p := start(t)
	p.want("POST", thing+"g/call/grow", `[10]`, 200, `{"value":1}`)
	p.want("POST", thing+"g/call/grow", `[10]`, 200, `{"value":2}`)
	if st, b := p.do("POST", thing+"g/call/grow", `[5000000]`); st != 413 {
		t.Errorf("an answer over the limit: %d %.200q", st, b)
	}
	p.want("POST", thing+"g/call/grow", `[10]`, 200, `{"value":3}`)
}
