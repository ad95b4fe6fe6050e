package v1_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/pawl-go/pawl/engine"
	"github.com/pawl-go/pawl/internal/runtime"
	v1 "github.com/pawl-go/pawl/internal/v1"
)

func face(t *testing.T, f *fake) *v1.Handler {
	t.Helper()
	h, err := v1.New(v1.Config{
		Runtime: f, App: "bank", PayloadLimit: 1000, Wait: 50 * time.Millisecond,
		MapCells: func(string) []string { return []string{"items", "none"} },
		Logger:   slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// ask sends a request with headers as "Name: value" lines.
func ask(h http.Handler, method, path, body string, headers ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequestWithContext(context.Background(), method, path, strings.NewReader(body))
	for _, line := range headers {
		k, v, _ := strings.Cut(line, ": ")
		r.Header.Add(k, v)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func problem(t *testing.T, w *httptest.ResponseRecorder) v1.Problem {
	t.Helper()
	if got := w.Header().Get("Content-Type"); got != "application/problem+json" {
		t.Fatalf("status %d, content type %q, body %s", w.Code, got, w.Body)
	}
	var p v1.Problem
	if err := json.Unmarshal(w.Body.Bytes(), &p); err != nil {
		t.Fatal(err)
	}
	if p.Status != w.Code {
		t.Errorf("problem says %d, the status is %d", p.Status, w.Code)
	}
	return p
}

func value(s string) func(runtime.Call) *engine.Outcome {
	return func(runtime.Call) *engine.Outcome { return &engine.Outcome{Value: []byte(s)} }
}

func TestCall(t *testing.T) {
	f := newFake()
	h := face(t, f)

	f.outcome = value("12")
	w := ask(h, "POST", "/v1/actors/Account/alice/call/Deposit", `{"amount":5}`, `Idempotency-Key: "k1"`)
	if w.Code != 200 || w.Body.String() != "12" || w.Header().Get("Pawl-Invocation") != "7-1" {
		t.Errorf("%d %s %v", w.Code, w.Body, w.Header())
	}
	c := f.calls[0]
	if c.To != (engine.Actor{Type: "Account", ID: "alice"}) || c.Method != "Deposit" ||
		string(c.Payload) != `{"amount":5}` || c.Key != "k1" {
		t.Errorf("called %+v", c)
	}

	f.outcome = value("")
	if w := ask(h, "POST", "/v1/actors/Account/alice/call/Deposit", ""); w.Code != 204 || w.Body.Len() != 0 {
		t.Errorf("no value: %d %s", w.Code, w.Body)
	}
	if w := ask(h, "POST", "/v1/actors/Account/alice/call/Balance", ""); w.Code != 200 || w.Body.String() != `"read"` {
		t.Errorf("read-only: %d %s", w.Code, w.Body)
	}

	f.outcome = nil
	for _, prefer := range []string{"respond-async", "wait=0", "foo, wait=0"} {
		w = ask(h, "POST", "/v1/actors/Account/alice/call/Deposit", "1", "Prefer: "+prefer)
		id := w.Header().Get("Pawl-Invocation")
		if w.Code != 202 || w.Header().Get("Location") != "/v1/invocations/"+id+"/outcome" {
			t.Errorf("%s: %d %s %v", prefer, w.Code, w.Body, w.Header())
		}
	}
}

func TestSegmentsArriveIntact(t *testing.T) {
	f := newFake()
	f.outcome = value("1")
	h := face(t, f)
	for _, id := range []string{"a/b", "..", ".", "a b", "ü", "100%", "a?b#c", "\x00\xff", "%2F", "a;b", "/", "//", ""} {
		w := ask(h, "POST", "/v1/actors/Account/"+v1.Segment(id)+"/call/Deposit", "1")
		if w.Code != 200 {
			t.Errorf("id %q: %d %s", id, w.Code, w.Body)
			continue
		}
		if got := f.calls[len(f.calls)-1].To.ID; got != id {
			t.Errorf("id %q arrived as %q", id, got)
		}
	}
}

func TestFailures(t *testing.T) {
	f := newFake()
	h := face(t, f)
	for _, c := range []struct {
		failure   *engine.Failure
		status    int
		code      engine.Code
		kind      string
		retryable bool
		exit      v1.Exit
	}{
		{&engine.Failure{Code: "shop.no_stock", Message: "none left"}, 422, "shop.no_stock", v1.KindApplication, false, 1},
		{&engine.Failure{Code: "not_found", Message: "my own"}, 422, "not_found", v1.KindApplication, false, 1},
		{&engine.Failure{Message: "plain"}, 422, "application", v1.KindApplication, false, 1},
		{&engine.Failure{Kind: engine.FailurePanic, Message: "boom", Detail: []byte("stack")}, 422, "panic", v1.KindPanic, false, 1},
		{engine.Fail(engine.ErrDeadlock, "a -> b -> a"), 409, "deadlock", v1.KindPawl, false, 5},
		{engine.Fail(engine.ErrNoHost, "nobody"), 503, "no_host", v1.KindPawl, true, 4},
		{engine.Fail(engine.ErrCanceled, "by hand"), 409, "canceled", v1.KindPawl, false, 1},
	} {
		f.outcome = func(runtime.Call) *engine.Outcome { return &engine.Outcome{Failure: c.failure} }
		p := problem(t, ask(h, "POST", "/v1/actors/Account/a/call/Deposit", "1"))
		if p.Status != c.status || p.Code != c.code || p.Kind != c.kind || p.Retryable != c.retryable ||
			p.Exit() != c.exit || p.Detail != c.failure.Message || p.Invocation == "" {
			t.Errorf("%+v became %+v", c.failure, p)
		}
	}
}

func TestRefusals(t *testing.T) {
	f := newFake()
	f.outcome = value("1")
	h := face(t, f)
	for _, c := range []struct {
		method, path, body string
		status             int
		code               engine.Code
		says               string
	}{
		{"POST", "/v1/actors/Account/a/call/Deposti", "1", 404, "no_method", "Did you mean Deposit?"},
		{"POST", "/v1/actors/Account/a/call/Zzzzzzzzz", "1", 404, "no_method", "it has Balance, Deposit, Withdraw"},
		{"POST", "/v1/actors/Account/a/call/Deposit", "{", 400, "bad_payload", "not JSON"},
		{"POST", "/v1/actors/Account/a/call/Deposit", `"` + strings.Repeat("x", 70000) + `"`, 413, "too_large", "larger than"},
		{"POST", "/v1/actors/Account/a/tell/Deposit?delay=-1s", "1", 400, "bad_request", "delay=-1s"},
		{"POST", "/v1/actors/Account/a/tell/Deposit?at=noon", "1", 400, "bad_request", "at=noon"},
		{"POST", "/v1/invocations", `{"type":"Account"}`, 400, "bad_request", "needs type, id and method"},
		{"POST", "/v1/invocations", `{"type":"Account","method":"Deposit","verb":"ask"}`, 400, "bad_request", "neither call nor tell"},
		{"GET", "/v1/invocations?status=dead", "", 400, "bad_request", "scheduled, pending"},
		{"GET", "/v1/invocations?since=yesterday", "", 400, "bad_request", "10m"},
		{"GET", "/v1/invocations?cursor=x", "", 400, "bad_request", "cursor=x"},
		{"GET", "/v1/invocations?limit=0", "", 400, "bad_request", "limit=0"},
		{"GET", "/v1/invocations/hello", "", 404, "not_found", "not an invocation id"},
		{"GET", "/v1/invocations/7-3e9", "", 404, "not_found", "no such invocation"},
		{"GET", "/v1/invocations/6-1", "", 410, "not_found", "no longer kept"},
		{"GET", "/v1/invocations/6-1/outcome?wait=1s", "", 410, "not_found", "no longer kept"},
		{"GET", "/v1/actors", "", 400, "bad_request", "?type="},
		{"GET", "/v1/actors/Account/a/state/none", "", 404, "not_found", "no cell none"},
		{"GET", "/v1/actors/Account/a/state/items/x", "", 404, "not_found", "no entry"},
		{"GET", "/v1/nothing", "", 404, "not_found", "no route"},
		{"PUT", "/v1/types", "", 405, "bad_request", "it takes GET"},
		{"GET", "/v1/types/", "", 404, "not_found", "no route"},
	} {
		p := problem(t, ask(h, c.method, c.path, c.body))
		if p.Status != c.status || p.Code != c.code || !strings.Contains(p.Detail, c.says) {
			t.Errorf("%s %s: %d %s %q", c.method, c.path, p.Status, p.Code, p.Detail)
		}
	}
	if len(f.calls) != 0 {
		t.Errorf("called %v", f.calls)
	}

	f.refuse = &engine.Error{Code: engine.ErrOverloaded, Actor: "Account/a"}
	w := ask(h, "POST", "/v1/actors/Account/a/tell/Deposit", "1")
	if p := problem(t, w); p.Status != 429 || !p.Retryable || w.Header().Get("Retry-After") == "" {
		t.Errorf("%+v", p)
	}
	f.refuse = errBusy
	if p := problem(t, ask(h, "DELETE", "/v1/actors/Account/a", "")); p.Status != 409 || p.Code != v1.CodeConflict {
		t.Errorf("%+v", p)
	}
}

// TestRead: the answer of a read-only method cannot be asked for later, so
// respond-async does not count; one that never counts is to be asked for again.
func TestRead(t *testing.T) {
	f := newFake()
	for _, prefer := range []string{"Prefer: wait=1", "Prefer: respond-async"} {
		if w := ask(face(t, f), "POST", "/v1/actors/Account/a/call/Balance", "", prefer); w.Code != 200 || w.Body.String() != `"read"` {
			t.Errorf("%s: %d %s, want the answer", prefer, w.Code, w.Body)
		}
	}
	f.uncommitted = true
	w := ask(face(t, f), "POST", "/v1/actors/Account/a/call/Balance", "", "Prefer: respond-async")
	if p := problem(t, w); p.Code != engine.ErrUnavailable || !p.Retryable {
		t.Errorf("got %+v, want unavailable, to be asked for again", p)
	}
}

func TestTell(t *testing.T) {
	f := newFake()
	h := face(t, f)
	before := time.Now() //nolint:forbidigo // the delay is from now
	w := ask(h, "POST", "/v1/actors/Account/a/tell/Deposit?delay=90s", "1")
	if w.Code != 202 || w.Header().Get("Location") != "/v1/invocations/7-1/outcome" {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if d := f.calls[0].NotBefore.Sub(before); d < 89*time.Second || d > 100*time.Second {
		t.Errorf("delayed by %v", d)
	}
	w = ask(h, "POST", "/v1/invocations", `{"type":"Account","id":"","method":"Deposit","input":[1],"verb":"tell","key":"k","at":"2030-01-02T03:04:05Z"}`)
	if w.Code != 202 {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if c := f.calls[1]; c.Key != "k" || string(c.Payload) != "[1]" || c.NotBefore.Year() != 2030 {
		t.Errorf("%+v", c)
	}
}

func TestPaging(t *testing.T) {
	f := newFake()
	h := face(t, f)
	for i := range 7 {
		ask(h, "POST", "/v1/actors/Account/a/tell/Deposit", fmt.Sprint(i))
	}
	page := func(query string) v1.Page[v1.Invocation] {
		var p v1.Page[v1.Invocation]
		w := ask(h, "GET", "/v1/invocations?limit=3"+query, "")
		if err := json.Unmarshal(w.Body.Bytes(), &p); err != nil || w.Code != 200 {
			t.Fatal(w.Code, w.Body, err)
		}
		return p
	}
	ids := func(p v1.Page[v1.Invocation]) (out string) {
		for _, in := range p.Items {
			out += in.ID + " "
		}
		return out
	}
	one := page("")
	two := page("&cursor=" + one.Next)
	three := page("&cursor=" + two.Next)
	if got := ids(one) + ids(two) + ids(three); got != "7-7 7-6 7-5 7-4 7-3 7-2 7-1 " || three.Next != "" {
		t.Errorf("pages: %s, next %q", got, three.Next)
	}
	// The cursor's invocation is no longer kept: its time serves.
	f.infos = append(f.infos[:2:2], f.infos[3:]...)
	if got := ids(page("&cursor=" + one.Next)); got != "7-4 7-3 7-2 " {
		t.Errorf("after a gone cursor: %s", got)
	}
}

func TestOutcome(t *testing.T) {
	f := newFake()
	h := face(t, f)
	ask(h, "POST", "/v1/actors/Account/a/tell/Deposit", "1")
	if w := ask(h, "GET", "/v1/invocations/7-1/outcome", ""); w.Code != 202 || !strings.Contains(w.Body.String(), `"pending"`) {
		t.Errorf("not waited: %d %s", w.Code, w.Body)
	}
	if w := ask(h, "GET", "/v1/invocations/7-1/outcome?wait=10ms", ""); w.Code != 202 {
		t.Errorf("wait ended: %d %s", w.Code, w.Body)
	}
	close(f.ended)
	if w := ask(h, "GET", "/v1/invocations/7-1/outcome?wait=10s", ""); w.Code != 200 || w.Body.String() != "1" {
		t.Errorf("ended: %d %s", w.Code, w.Body)
	}
	f.infos[0].Status = engine.StatusParked
	f.infos[0].Attempts = 16
	f.infos[0].Outcome = &engine.Outcome{Failure: &engine.Failure{Message: "it died"}}
	p := problem(t, ask(h, "GET", "/v1/invocations/7-1/outcome?wait=10s", ""))
	if p.Code != engine.ErrParked || !strings.Contains(p.Detail, "it died") || p.Invocation != "7-1" {
		t.Errorf("parked: %+v", p)
	}
	f.infos[0].Status = engine.StatusDone
	f.infos[0].Outcome = &engine.Outcome{Value: []byte("9")}
	if w := ask(h, "GET", "/v1/invocations/7-1/outcome", ""); w.Code != 200 || w.Body.String() != "9" {
		t.Errorf("kept: %d %s", w.Code, w.Body)
	}
}

func TestOperator(t *testing.T) {
	f := newFake()
	h := face(t, f)
	ask(h, "POST", "/v1/actors/Account/a/tell/Deposit", "1")
	for _, c := range []struct {
		path, body string
		status     int
		act        string
	}{
		{"cancel", `{"reason":"mine","force":true}`, 200, "cancel mine by force"},
		{"cancel", "", 200, "cancel canceled by an operator"},
		{"answer", `{"value":{"x":1}}`, 200, `answer {"x":1}`},
		{"answer", `{"error":{"code":"c","message":"m"}}`, 200, "answer error c m"},
		{"resume", "", 202, "resume"},
		{"skip", "", 204, "skip"},
	} {
		w := ask(h, "POST", "/v1/invocations/7-1/"+c.path, c.body)
		if w.Code != c.status || f.acts[len(f.acts)-1] != c.act {
			t.Errorf("%s: %d %s, %q", c.path, w.Code, w.Body, f.acts)
		}
	}
	f.acts = nil
	for _, c := range [][2]string{{"POST", "/pause"}, {"POST", "/unpause"}, {"DELETE", ""}} {
		if w := ask(h, c[0], "/v1/actors/Account/a%2Fb"+c[1], ""); w.Code != 204 {
			t.Errorf("%v: %d %s", c, w.Code, w.Body)
		}
	}
	if got := strings.Join(f.acts, ", "); got != "pause Account/a/b, unpause Account/a/b, purge Account/a/b" {
		t.Error(got)
	}
}

func TestState(t *testing.T) {
	f := newFake()
	h := face(t, f)
	f.cells[engine.Key{Cell: "balance"}] = []byte("12")
	f.cells[engine.Key{Cell: "blob"}] = []byte("\xff\x00")
	for _, k := range []string{"a", "b/c", "d"} {
		f.cells[engine.Key{Cell: "items", Entry: k, InMap: true}] = []byte(`"` + k + `"`)
	}
	for _, c := range []struct{ path, want string }{
		{"/balance", "12"},
		{"/blob", "\xff\x00"},
		{"/items", `{"key":"items","entries":[{"key":"a","value":"a"},{"key":"b/c","value":"b/c"},{"key":"d","value":"d"}],"map":true}` + "\n"},
		{"/items?limit=1&from=b", `{"key":"items","entries":[{"key":"b/c","value":"b/c"}],"map":true,"more":true}` + "\n"},
		{"/items/b%2Fc", `"b/c"`},
	} {
		w := ask(h, "GET", "/v1/actors/Account/a/state"+c.path, "")
		if w.Code != 200 || w.Body.String() != c.want {
			t.Errorf("%s: %d %s", c.path, w.Code, w.Body)
		}
		if w.Header().Get("Pawl-Position") != "42" {
			t.Errorf("%s: position %q", c.path, w.Header().Get("Pawl-Position"))
		}
	}
	w := ask(h, "GET", "/v1/actors/Account/a/state", "")
	var p v1.Page[v1.Cell]
	if err := json.Unmarshal(w.Body.Bytes(), &p); err != nil || len(p.Items) != 3 {
		t.Errorf("%v %s", err, w.Body)
	}
}

func TestLists(t *testing.T) {
	f := newFake()
	h := face(t, f)
	f.actors = []engine.Actor{{Type: "Account", ID: "a"}, {Type: "Account", ID: "b/c"}, {Type: "Account", ID: "d"}}
	f.paused = f.actors[1:2]
	for _, c := range []struct{ path, want string }{
		{"/v1/actors?type=Account&limit=2", `{"items":[{"type":"Account","id":"a","path":"/v1/actors/Account/a"},` +
			`{"type":"Account","id":"b/c","path":"/v1/actors/Account/b%2Fc","paused":true}],"next":"ZA"}`},
		{"/v1/actors?type=Account&cursor=ZA", `{"items":[{"type":"Account","id":"d","path":"/v1/actors/Account/d"}]}`},
		{"/v1/actors/Account/a", `{"type":"Account","id":"a","path":"/v1/actors/Account/a"}`},
		{"/v1/actors/Account/b%2Fc", `{"type":"Account","id":"b/c","path":"/v1/actors/Account/b%2Fc","paused":true}`},
		{"/v1/types", `{"items":[{"name":"Account","hosts":["one"],"methods":[{"name":"Balance","read_only":true},` +
			`{"name":"Deposit"},{"name":"Withdraw"}]},{"name":"Old","hosts":[]}]}`},
		{"/v1/health/live", `{"status":"live"}`},
		{"/v1/health/ready", `{"status":"ready"}`},
	} {
		w := ask(h, "GET", c.path, "")
		if got := strings.TrimSpace(w.Body.String()); w.Code != 200 || got != c.want {
			t.Errorf("%s: %d\n%s\nwant\n%s", c.path, w.Code, got, c.want)
		}
	}
	var comps v1.Components
	w := ask(h, "GET", "/v1/components", "")
	if err := json.Unmarshal(w.Body.Bytes(), &comps); err != nil || comps.App != "bank" ||
		comps.Items[0].Live != 3 || comps.Engine.Durability != "process" {
		t.Errorf("%v %s", err, w.Body)
	}
	close(f.fenced)
	if p := problem(t, ask(h, "GET", "/v1/health/ready", "")); p.Status != 503 || p.Code != engine.ErrFenced {
		t.Errorf("%+v", p)
	}
}

func TestNearest(t *testing.T) {
	names := []string{"Account", "Transfer", "Order"}
	for word, want := range map[string]string{
		"Acount": "Account", "account": "Account", "Acocunt": "Account", "Odrer": "Order",
		"Transfers": "Transfer", "Payment": "", "": "",
	} {
		if got := v1.Nearest(word, names); got != want {
			t.Errorf("Nearest(%q) = %q, want %q", word, got, want)
		}
	}
}
