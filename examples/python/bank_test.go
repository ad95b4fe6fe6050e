package python_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/pawl-go/pawl/internal/ports"
	"github.com/pawl-go/pawl/internal/rig"
)

func TestMain(m *testing.M) {
	code := m.Run()
	rig.Clean()
	os.Exit(code)
}

// runtime plays the part of a runtime with one application: state in a map, and
// calls passed on as they come. It keeps what it was asked.
type runtime struct {
	t *testing.T

	mu    sync.Mutex
	app   string
	state map[string][]byte
	calls []string
}

func (r *runtime) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		r.t.Error(err)
	}
	r.mu.Lock()
	app := r.app
	path := req.URL.EscapedPath()
	value, known := r.state[path]
	call := strings.Contains(path, "/call/")
	switch {
	case call:
		r.calls = append(r.calls, strings.TrimSpace(fmt.Sprint(req.URL.RequestURI(), " ", req.Header.Get("Pragma"))))
	case req.Method == http.MethodPut:
		r.state[path] = body
	}
	r.mu.Unlock()
	switch {
	case call && req.Header.Get("Pragma") == "async":
		w.WriteHeader(http.StatusAccepted)
		fmt.Fprint(w, "OK")
	case call:
		actor, method, _ := strings.Cut(strings.TrimPrefix(path, "/kar/v1/actor/"), "/call/")
		ask(r.t, http.MethodGet, app+actor+"?"+req.URL.RawQuery, "")
		a := ask(r.t, http.MethodPost, app+actor+"/"+method+"?"+req.URL.RawQuery, string(body))
		r.record(actor, a)
		w.WriteHeader(a.status)
		fmt.Fprint(w, a.body)
	case req.Method == http.MethodGet && !known:
		http.NotFound(w, req)
	case req.Method == http.MethodGet:
		w.Write(value)
	default:
		w.WriteHeader(http.StatusCreated)
	}
}

// record writes the state that goes with an outcome.
func (r *runtime) record(actor string, a answer) {
	var outcome struct {
		State struct{ Updates map[string]json.RawMessage }
	}
	if err := json.Unmarshal([]byte(a.body), &outcome); err != nil && a.body != "" {
		return // a page
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for key, value := range outcome.State.Updates {
		r.state["/kar/v1/actor/"+actor+"/state/"+key] = value
	}
}

type answer struct {
	status int
	body   string
}

func ask(t *testing.T, method, url, body string) answer {
	t.Helper()
	req, err := http.NewRequestWithContext(context.WithoutCancel(t.Context()), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Errorf("%s %s: %v", method, url, err)
		return answer{}
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		t.Error(err)
	}
	return answer{res.StatusCode, string(b)}
}

// startBank starts the application with the test as its runtime, and returns the
// address of its actors.
func startBank(t *testing.T) (*runtime, string) {
	t.Helper()
	r := &runtime{t: t, state: map[string][]byte{}}
	server := httptest.NewServer(r)
	t.Cleanup(server.Close)
	port, err := ports.Free(1)
	if err != nil {
		t.Fatal(err)
	}
	_, runtimePort, _ := net.SplitHostPort(server.Listener.Addr().String())
	bank := filepath.Join(rig.Root(t), "examples", "python", "bank.py")
	p := rig.Start(t, "bank", []string{"KAR_APP_PORT=" + strconv.Itoa(port), "KAR_RUNTIME_PORT=" + runtimePort}, rig.Python(t), "-B", bank)
	url := p.Ready().URL() + "/kar/impl/v1/actor/"
	r.mu.Lock()
	r.app = url
	r.mu.Unlock()
	return r, url
}

func TestBankAnswersItsRuntime(t *testing.T) {
	r, app := startBank(t)
	for _, c := range []struct {
		name, method, path, body string
		want                     answer
	}{
		{"it hosts the type", "HEAD", "Account", "", answer{200, ""}},
		{"it does not", "HEAD", "Other", "", answer{404, ""}},
		{"another type", "GET", "Other/a", "", answer{404, "no actor type Other"}},
		{"before activation", "POST", "Account/a/balance", "[]", answer{404, "no actor Account/a/balance"}},
		{"activate", "GET", "Account/a?session=f:1", "", answer{201, "created"}},
		{"activate again", "GET", "Account/a?session=f:1", "", answer{200, "existing instance"}},
		{"deposit", "POST", "Account/a/deposit?session=f:1", "[7]", answer{200, `{"value": 7, "state": {"updates": {"balance": 7}, "submapupdates": {}}}`}},
		{"it is kept", "POST", "Account/a/balance?session=f:2", "[]", answer{200, `{"value": 7}`}},
		{"no value", "POST", "Account/a/notify?session=f:2", `["b",1]`, answer{204, ""}},
		{"no such method", "POST", "Account/a/missing", "[]", answer{404, "no method missing in actor type Account"}},
		{"nor a private one", "POST", "Account/a/_path", "[]", answer{404, "no method _path in actor type Account"}},
		{"nor one of the library", "POST", "Account/a/set_state", `["balance",9]`, answer{404, "no method set_state in actor type Account"}},
		{
			"a tail call", "POST", "Account/a/transfer?session=f:3", `["b",5]`,
			answer{200, `{"tailCall": true, "value": {"actorType": "Account", "actorId": "b", "path": "/deposit", "payload": "[5]"}, "state": {"updates": {"balance": 2}, "submapupdates": {}}}`},
		},
		{"nested calls, one to itself", "POST", "Account/a/total?session=f:4", `["b","c/d"]`, answer{200, `{"value": 2}`}},
		{"deactivate", "DELETE", "Account/a", "", answer{200, "OK"}},
		{"deactivate again", "DELETE", "Account/a", "", answer{404, "no actor Account/a"}},
		{"a path of nobody", "POST", "", "[]", answer{404, "no path /kar/impl/v1/actor/"}},
	} {
		got := ask(t, c.method, app+c.path, c.body)
		if got != c.want {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
		if actor, _, ok := strings.Cut(c.path, "/deposit"); ok {
			r.record(actor, got)
		}
		if actor, _, ok := strings.Cut(c.path, "/transfer"); ok {
			r.record(actor, got)
		}
	}
}

func TestBankAnswersAnError(t *testing.T) {
	_, app := startBank(t)
	ask(t, "GET", app+"Account/poor?session=f:1", "")
	for _, c := range []struct{ body, message string }{
		{"[5]", "poor has only 0"},
		{"[]", "missing 1 required positional argument"},
		{"[5", "delimiter"},
	} {
		got := ask(t, "POST", app+"Account/poor/withdraw?session=f:1", c.body)
		var e struct {
			Error          bool
			Message, Stack string
		}
		if err := json.Unmarshal([]byte(got.body), &e); err != nil {
			t.Fatalf("%s: %v in %+v", c.body, err, got)
		}
		if got.status != 200 || !e.Error || !strings.Contains(e.Message, c.message) || !strings.Contains(e.Stack, "Traceback") {
			t.Errorf("withdraw %s: %d %+v", c.body, got.status, e)
		}
	}
}

func TestBankAsksItsRuntime(t *testing.T) {
	r, app := startBank(t)
	ask(t, "GET", app+"Account/a?session=f:1", "")
	ask(t, "POST", app+"Account/a/total?session=f:9", `["c/d"]`)
	ask(t, "POST", app+"Account/a/notify?session=f:10", `["b",1]`)
	want := []string{
		"/kar/v1/actor/Account/a/call/balance?session=f%3A9",
		"/kar/v1/actor/Account/c%2Fd/call/balance?session=f%3A9",
		"/kar/v1/actor/Account/b/call/deposit?session=f%3A10 async",
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if fmt.Sprint(r.calls) != fmt.Sprint(want) {
		t.Errorf("it asked %q, want %q", r.calls, want)
	}
}

// TestBankOnPawl runs the bank as its README says, kills it, and runs it again.
func TestBankOnPawl(t *testing.T) {
	engine := url.URL{Scheme: "local", Opaque: (&url.URL{Path: t.TempDir()}).EscapedPath()}
	start := func() (*rig.Process, rig.App) {
		p := rig.Start(t, "bank", nil, rig.Pawl(t), "run", "--app", "bank", "--actors", "Account", "--engine", engine.String(),
			"--", rig.Python(t), "-B", filepath.Join(rig.Root(t), "examples", "python", "bank.py"))
		return p, p.Ready()
	}
	p, app := start()
	call := func(path, body, want string) {
		t.Helper()
		got := ask(t, "POST", app.KAR()+"/actor/Account/"+path, body)
		if got.status != http.StatusOK || !strings.Contains(strings.ReplaceAll(got.body, " ", ""), want) {
			t.Errorf("%s %s: %+v, want %s", path, body, got, want)
		}
	}
	call("ann/call/deposit", "[10]", `{"value":10}`)
	call("ann/call/transfer", `["bob",4]`, `{"value":4}`)
	call("ann/call/total", `["bob"]`, `{"value":10}`)
	call("ann/call/withdraw", "[99]", `"message":"annhasonly6"`)
	p.Kill()
	rig.Gone(t, app.PID)
	_, app = start()
	call("ann/call/balance", "[]", `{"value":6}`)
	call("ann/call/total", `["bob"]`, `{"value":10}`)
}
