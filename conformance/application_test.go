package conformance_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pawl-go/pawl/internal/ports"
	"github.com/pawl-go/pawl/internal/rig"
)

func TestMain(m *testing.M) {
	code := m.Run()
	rig.Clean()
	os.Exit(code)
}

// freePort finds a port that is free now, for an application that has to be told
// one.
func freePort(t *testing.T) int {
	t.Helper()
	port, err := ports.Free(1)
	if err != nil {
		t.Fatal(err)
	}
	return port
}

// startBare starts an application of js without a runtime: the test is it. What
// the application asks its runtime is answered by the handler.
func startBare(t *testing.T, handler http.Handler, env ...string) rig.App {
	t.Helper()
	dir := filepath.Join(rig.Root(t), "conformance", "js")
	rig.NPM(t, dir)
	runtime := httptest.NewUnstartedServer(handler)
	runtime.Config.Protocols = new(http.Protocols)
	runtime.Config.Protocols.SetUnencryptedHTTP2(true) // the SDK speaks nothing else
	runtime.Start()
	t.Cleanup(runtime.Close)
	_, port, err := net.SplitHostPort(runtime.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	env = append(env, "KAR_RUNTIME_PORT="+port, fmt.Sprint("KAR_APP_PORT=", freePort(t)))
	return rig.Start(t, "application", env, "node", filepath.Join(dir, "actors.js")).Ready()
}

// answer is what an application answers.
type answer struct {
	status int
	body   string
}

func request(t *testing.T, client *http.Client, method, url, body string) answer {
	t.Helper()
	req, err := http.NewRequestWithContext(context.WithoutCancel(t.Context()), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/kar+json")
	res, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer{res.StatusCode, string(b)}
}

// TestSDKAsApplication pins what the published SDK answers to the runtime: what
// the runtime has to understand, the SDK's faults included.
func TestSDKAsApplication(t *testing.T) {
	for _, protocol := range []string{"http1", "h2c"} {
		t.Run(protocol, func(t *testing.T) {
			w := rig.NewWitness(t)
			env := []string{w.Env()}
			transport := &http.Transport{}
			if protocol == "h2c" {
				env = append(env, "H2C=1")
				transport.Protocols = new(http.Protocols)
				transport.Protocols.SetUnencryptedHTTP2(true)
			}
			t.Cleanup(transport.CloseIdleConnections)
			client := &http.Client{Transport: transport}
			app := startBare(t, http.NotFoundHandler(), env...)
			ask := func(method, path, body string) answer {
				t.Helper()
				return request(t, client, method, app.URL()+"/kar/impl/v1/actor/"+path, body)
			}
			for _, c := range []struct {
				name, method, path, body string
				status                   int
				answer                   string
			}{
				{"it hosts the type", "HEAD", "Echo", "", 200, ""},
				{"it does not", "HEAD", "Nobody", "", 404, ""},
				{"call before activation", "POST", "Echo/e/none", "[]", 404, "no actor with type Echo and id e"},
				{"activate", "GET", "Echo/e?session=f:1", "", 201, "Created"},
				{"activate again", "GET", "Echo/e?session=f:1", "", 200, "existing instance"},
				{"a value", "POST", "Echo/e/value?session=f:1", `[{"a":1}]`, 200, `{"value":{"a":1}}`},
				{"no value", "POST", "Echo/e/none?session=f:1", `[]`, 204, ""},
				{"a field", "POST", "Echo/e/constant?session=f:1", `[]`, 200, `{"value":42}`},
				{"no such method", "POST", "Echo/e/missing", `[]`, 404, "no missing in actor with type Echo and id e"},
				{"an id with a slash", "GET", "Echo/a%2Fb%20%C3%A4?session=f:1", "", 201, "Created"},
				{"which arrives", "POST", "Echo/a%2Fb%20%C3%A4/self?session=f:1", "[]", 200, `{"value":{"id":"a/b ä","kar":"a/b ä","type":"Echo"}}`},
				{"deactivate", "DELETE", "Echo/e", "", 200, "OK"},
				{"deactivate again", "DELETE", "Echo/e", "", 404, "no actor with type Echo and id e"},
				{"activate a second kind", "GET", "Tail/t?session=f:1", "", 201, "Created"},
				{
					"a tail call to another", "POST", "Tail/t/to?session=f:1", `["Echo","e","all",1]`, 200,
					`{"tailCall":true,"value":{"actorType":"Echo","actorId":"e","path":"/all","payload":"[1]"}}`,
				},
				{
					"a tail call that releases the lock", "POST", "Tail/t/release?session=f:1", `[1]`, 200,
					`{"tailCall":true,"value":{"actorType":"Tail","actorId":"t","releaseLock":"true","path":"/release","payload":"[0]"}}`,
				},
				{
					"a tail call to a service", "POST", "Tail/t/service?session=f:1", `["double",21]`, 200,
					`{"tailCall":true,"value":{"serviceName":"actors","path":"/double","payload":21,"method":"POST"}}`,
				},
			} {
				if got := ask(c.method, c.path, c.body); got != (answer{c.status, c.answer}) {
					t.Errorf("%s: %+v, want %d %q", c.name, got, c.status, c.answer)
				}
			}
			if got := request(t, client, "GET", app.URL()+"/hello?name=Ann", ""); got != (answer{200, "hello Ann"}) {
				t.Errorf("service: %+v", got)
			}
			// The SDK's fault: an error thrown is a page for an unknown path.
			ask("GET", "Echo/f?session=f:1", "")
			if got := ask("POST", "Echo/f/fail?session=f:1", `["broken"]`); got.status != 404 || strings.Contains(got.body, "broken") {
				t.Errorf("an error thrown: %+v", got)
			}
			// But an activation that fails has the error's message, with status 200.
			if got := ask("GET", "Refusing/r?session=f:1", ""); got.status != 200 || !strings.Contains(got.body, `"message":"not today"`) {
				t.Errorf("an activation refused: %+v", got)
			}
		})
	}
}

// TestSDKAsClient pins what the published SDK asks of the runtime.
func TestSDKAsClient(t *testing.T) {
	asked := make(chan string, 10) // of one case, which asks less
	app := startBare(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		asked <- strings.TrimSpace(fmt.Sprintf("%s %s %s%s %s",
			r.Method, r.URL.RequestURI(), r.Header.Get("Content-Type"), r.Header.Get("Pragma"), body))
		switch r.Header.Get("Pragma") {
		case "async":
			w.WriteHeader(http.StatusAccepted)
			fmt.Fprint(w, "OK")
		case "promise":
			w.WriteHeader(http.StatusAccepted)
			fmt.Fprint(w, "request-1")
		default:
			fmt.Fprint(w, `{"value":7}`)
		}
	}), rig.NewWitness(t).Env())
	url := app.URL() + "/kar/impl/v1/actor/Peer/p"
	request(t, http.DefaultClient, "GET", url+"?session=flow:1", "")
	for _, c := range []struct{ method, args, want string }{
		{"ask", `["q","value",1]`, `POST /kar/v1/actor/Peer/q/call/value?session=flow:2 application/kar+json [1]`},
		{"root", `["e"]`, `POST /kar/v1/actor/Echo/e/call/value application/kar+json ["root"]`},
		{"tells", `["e","n",1]`, `POST /kar/v1/actor/Echo/e/call/told?session=flow:2 application/kar+jsonasync ["n",1]`},
		{"promises", `["e",1]`, `POST /kar/v1/actor/Echo/e/call/value?session=flow:2 application/kar+jsonpromise [1]`},
	} {
		got := request(t, http.DefaultClient, "POST", url+"/"+c.method+"?session=flow:2", c.args)
		if got.status != http.StatusOK {
			t.Errorf("%s: %+v", c.method, got)
		}
		if q := <-asked; q != c.want {
			t.Errorf("%s asks\n%s, want\n%s", c.method, q, c.want)
		}
		for len(asked) > 0 { // a promise is awaited with a second request
			if q := <-asked; q != "POST /kar/v1/await text/plain request-1" {
				t.Errorf("%s asks also %s", c.method, q)
			}
		}
	}
}

// TestCasesAreComplete: every function that the SDK exports is called by a case.
func TestCasesAreComplete(t *testing.T) {
	dir := filepath.Join(rig.Root(t), "conformance", "js")
	rig.NPM(t, dir)
	p := rig.Start(t, "exports", []string{"KAR_RUNTIME_PORT=1"}, "node", filepath.Join(dir, "exports.js"))
	var names []string
	if err := json.Unmarshal([]byte(p.Line("exports ")), &names); err != nil {
		t.Fatal(err)
	}
	if len(names) < 30 {
		t.Errorf("only %d exports: %v", len(names), names)
	}
	var source strings.Builder
	files, err := filepath.Glob(filepath.Join(dir, "cases", "*.js"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range append(files, filepath.Join(dir, "actors.js"), filepath.Join(dir, "serve.js")) {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		source.Write(b)
	}
	for _, name := range names {
		if !strings.Contains(source.String(), name+"(") && !strings.Contains(source.String(), name+" (") && !strings.Contains(source.String(), "sys."+name) {
			t.Errorf("no case calls %s", name)
		}
	}
}
