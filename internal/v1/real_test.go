package v1_test

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pawl-go/pawl"
	"github.com/pawl-go/pawl/internal/socket"
	v1 "github.com/pawl-go/pawl/internal/v1"
	"github.com/pawl-go/pawl/internal/v1/client"
)

// Box is an actor of the real application.
type Box struct {
	n     pawl.Value[int]
	items pawl.Map[string, string]
	calls int // in memory only
}

func (b *Box) Calls(context.Context, pawl.None) (int, error) {
	b.calls++
	return b.calls, nil
}

func (b *Box) Add(ctx context.Context, n int) (int, error) {
	return b.n.Update(ctx, func(have int) int { return have + n }), nil
}

func (b *Box) Keep(ctx context.Context, s string) (pawl.None, error) {
	b.items.Set(ctx, s, s)
	return pawl.None{}, nil
}

// boxes starts an application on the local engine; what it returns sends a request
// to its socket, and wants a status; 0: any.
func boxes(t *testing.T) func(status int, method, path, body string, headers ...string) (string, http.Header) {
	t.Helper()
	do, _ := boxesWithClient(t)
	return do
}

// boxesWithClient gives a client beside.
func boxesWithClient(t *testing.T) (func(status int, method, path, body string, headers ...string) (string, http.Header), *client.Client) {
	t.Helper()
	return boxesIn(t, shortDir(t))
}

// longestAnswer bounds a request of a test: one that is answered for ever fails it.
const longestAnswer = time.Minute

func boxesIn(t *testing.T, dir string) (func(status int, method, path, body string, headers ...string) (string, http.Header), *client.Client) {
	t.Helper()
	app, err := pawl.Open(t.Context(), "local:"+dir+"?durability=process",
		pawl.Config{App: "boxes", Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	pawl.Register[Box](app)
	if err := app.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	tr := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return socket.Dial(ctx, filepath.Join(dir, v1.SocketName))
	}}
	c, err := client.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		c.Close()
		tr.CloseIdleConnections()
		if err := app.Close(); err != nil {
			t.Error(err)
		}
	})
	return func(status int, method, path, body string, headers ...string) (string, http.Header) {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), longestAnswer)
		defer cancel()
		r, err := http.NewRequestWithContext(ctx, method, "http://pawl"+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range headers {
			k, v, _ := strings.Cut(line, ": ")
			r.Header.Set(k, v)
		}
		resp, err := tr.RoundTrip(r)
		if err != nil {
			t.Fatalf("%s %s: %v", method, path, err)
		}
		defer resp.Body.Close()
		b, err := io.ReadAll(resp.Body)
		if ctx.Err() != nil {
			t.Fatalf("%s %s is still being answered after %v: %d %s, %v", method, path, longestAnswer, resp.StatusCode, b, err)
		}
		if status != 0 && resp.StatusCode != status {
			t.Errorf("%s %s: %d %s, want %d", method, path, resp.StatusCode, b, status)
		}
		return strings.TrimSpace(string(b)), resp.Header
	}, c
}

func TestStateOverREST(t *testing.T) {
	do := boxes(t)
	const a = "/v1/actors/Box/a%2Fb%20%C3%BC"
	do(200, "POST", a+"/call/Add", "5")
	_, h := do(200, "GET", a+"/state/n", "")
	do(204, "PUT", a+"/state/n", "40", "If-Match: "+h.Get("ETag"))
	if got, _ := do(200, "POST", a+"/call/Add", "2"); got != "42" {
		t.Errorf("the live instance kept its cell: %s", got)
	}
	do(412, "PUT", a+"/state/n", "1", "If-Match: "+h.Get("ETag"))
	do(412, "PUT", a+"/state/n", "1", "If-None-Match: *")
	do(400, "PUT", a+"/state/n", "{")
	do(204, "PUT", a+"/state/items/k%2F1", `"one"`)
	do(204, "PATCH", a+"/state/items", `{"k/1": null, "two": "2"}`)
	if got, _ := do(200, "GET", a+"/state/items", ""); got != `{"key":"items","entries":[{"key":"two","value":"2"}],"map":true}` {
		t.Errorf("the map is %s", got)
	}
	do(204, "PATCH", a+"/state", `{"n": 7}`)
	if got, _ := do(200, "POST", a+"/call/Add", "0"); got != "7" {
		t.Errorf("after the patch: %s", got)
	}
	do(204, "DELETE", a+"/state/items", "")
	do(404, "GET", a+"/state/items", "")
	do(204, "DELETE", a+"/state/n", "")
	if got, _ := do(200, "POST", a+"/call/Add", "1"); got != "1" {
		t.Errorf("after the delete: %s", got)
	}
	do(200, "POST", a+"/call/Calls", "")
	do(204, "POST", a+"/deactivate", "")
	if got, _ := do(200, "POST", a+"/call/Calls", ""); got != "1" {
		t.Errorf("the instance was not dropped: %s", got)
	}
	do(400, "PATCH", a+"/state", "{}")
	do(204, "DELETE", a, "")
}

// TestWhatNobodyHostsWaits: that nobody hosts a type now is no reason to refuse what is
// sent to it.
func TestWhatNobodyHostsWaits(t *testing.T) {
	do := boxes(t)
	for path, in := range map[string]string{
		"/v1/actors/Nobody/a/tell/Do": "1",
		"/v1/actors/Nobody/a/call/Do": "1",
		"/v1/invocations":             `{"verb": "tell", "type": "Nobody", "id": "a", "method": "Do", "input": 1}`,
	} {
		_, h := do(202, "POST", path, in, "Prefer: wait=0")
		if text, _ := do(200, "GET", "/v1/invocations/"+h.Get(v1.HeaderInvocation), ""); !strings.Contains(text, `"status":"pending"`) {
			t.Errorf("%s: %s", path, text)
		}
	}
}

func TestRemindersOverREST(t *testing.T) {
	do := boxes(t)
	const a = "/v1/actors/Box/a"
	do(204, "PUT", a+"/reminders/tick", `{"method": "Add", "input": 1, "every": "1h", "misfire": "all"}`)
	got, _ := do(200, "GET", a+"/reminders/tick", "")
	if !strings.Contains(got, `"method":"Add","input":1`) || !strings.Contains(got, `"every":"1h0m0s","misfire":"all"`) {
		t.Errorf("set %s", got)
	}
	do(404, "PUT", a+"/reminders/tick", `{"method": "Ad"}`)
	do(400, "PUT", a+"/reminders/tick", `{"method": "Add", "every": "soon"}`)
	do(400, "PUT", a+"/reminders/tick", `{"method": "Add", "misfire": "maybe"}`)
	do(204, "DELETE", a+"/reminders/tick", "")
	do(404, "GET", a+"/reminders/tick", "")
	if got, _ := do(200, "GET", a+"/reminders", ""); got != `{"items":[]}` {
		t.Errorf("left %s", got)
	}
}

func TestTopicsOverREST(t *testing.T) {
	do := boxes(t)
	const a = "/v1/actors/Box/a"
	do(204, "PUT", a+"/subscriptions/s%2F1", `{"topic": "x y", "method": "Add"}`)
	do(400, "PUT", a+"/subscriptions/s", `{"topic": "x"}`)
	do(404, "PUT", a+"/subscriptions/s", `{"topic": "x", "method": "None"}`)
	_, h := do(202, "POST", "/v1/topics/x%20y/publish", "5", "Idempotency-Key: once")
	do(202, "POST", "/v1/topics/x%20y/publish", "5", "Idempotency-Key: once")
	do(204, "GET", "/v1/invocations/"+h.Get("Pawl-Invocation")+"/outcome?wait=30", "")
	if got, _ := do(200, "POST", a+"/call/Add", "1"); got != "6" {
		t.Errorf("told %s", got)
	}
	if got, _ := do(200, "GET", "/v1/topics/x%20y", ""); !strings.Contains(got, `"name":"s/1","type":"Box","actor":"a"`) {
		t.Errorf("subscribers %s", got)
	}
	do(400, "POST", "/v1/topics/x/publish", "{")
	do(204, "DELETE", a+"/subscriptions/s%2F1", "")
	do(404, "DELETE", a+"/subscriptions/s%2F1", "")
	do(204, "PUT", a+"/subscriptions/s", `{"topic": "x", "method": "Add"}`)
	do(204, "DELETE", a, "")
	if got, _ := do(200, "GET", "/v1/topics/x", ""); got != `{"items":[]}` {
		t.Errorf("a purged actor still has %s", got)
	}
	if got, _ := do(200, "GET", "/v1/types", ""); !strings.Contains(got, `{"name":"Add","input":{"type":"integer"},"output":{"type":"integer"}}`) {
		t.Errorf("types %s", got)
	}
	if got, _ := do(200, "GET", "/v1/types", ""); strings.Contains(got, "pawl.") {
		t.Errorf("types of our own are listed: %s", got)
	}
}

func TestTreeAndCancelMany(t *testing.T) {
	do := boxes(t)
	do(204, "POST", "/v1/actors/Box/a/pause", "")
	_, h := do(202, "POST", "/v1/actors/Box/a/tell/Add", "1")
	do(202, "POST", "/v1/actors/Box/a/tell/Add", "1")
	id := h.Get("Pawl-Invocation")
	if got, _ := do(200, "GET", "/v1/invocations/"+id+"/tree", ""); !strings.Contains(got, `"asked":true`) {
		t.Errorf("tree %s", got)
	}
	do(400, "POST", "/v1/invocations:cancel", `{}`)
	do(400, "POST", "/v1/invocations:cancel", `{"filter": {"tipe": "Box"}}`)
	for _, dry := range []string{"true", "false"} {
		got, _ := do(200, "POST", "/v1/invocations:cancel", `{"filter": {"type": "Box"}, "dry_run": `+dry+`}`)
		if strings.Count(got, "-") != 2 {
			t.Errorf("dry %s: %s", dry, got)
		}
	}
	if got, _ := do(200, "POST", "/v1/invocations:cancel", `{"filter": {"type": "Box"}}`); !strings.HasPrefix(got, `{"items":[]`) {
		t.Errorf("left %s", got)
	}
	if got, _ := do(200, "GET", "/metrics", ""); !strings.Contains(got, "\npawl_paused 1\n") {
		t.Errorf("metrics %s", got)
	}
}

// TestOpenAPI: every route is described, and references resolve.
func TestOpenAPI(t *testing.T) {
	do := boxes(t)
	text, _ := do(200, "GET", "/v1/openapi.json", "")
	var d struct {
		OpenAPI string `json:"openapi"`
		Paths   map[string]map[string]struct {
			OperationID string           `json:"operationId"`
			Summary     string           `json:"summary"`
			Parameters  []map[string]any `json:"parameters"`
			Responses   map[string]any   `json:"responses"`
		} `json:"paths"`
	}
	if err := json.Unmarshal([]byte(text), &d); err != nil || d.OpenAPI != "3.1.0" {
		t.Fatalf("%v %q", err, d.OpenAPI)
	}
	seen := map[string]bool{}
	for path, ops := range d.Paths {
		for method, op := range ops {
			if op.Summary == "" || op.Responses["default"] == nil || len(op.Responses) < 2 || seen[op.OperationID] {
				t.Errorf("%s %s is described as %+v", method, path, op)
			}
			seen[op.OperationID] = true
			inPath := 0
			for _, p := range op.Parameters {
				if p["in"] == "path" {
					inPath++
				}
			}
			if inPath != strings.Count(path, "{") {
				t.Errorf("%s %s has %d parameters in its path", method, path, inPath)
			}
		}
	}
	if len(seen) < 40 {
		t.Errorf("%d routes are described", len(seen))
	}
}
