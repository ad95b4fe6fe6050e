package conformance_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/pawl-go/pawl/internal/rig"
)

// actorTypes are those of js/actors.js.
const actorTypes = "Echo,Lively,Refusing,Counter,Peer,Slow,Tail,Clock,Listener,Store"

// together is how soon the end of one of a pair has ended the other.
const together = time.Second

// alone starts one component that hosts the actors and runs the cases, on an
// engine of its own.
func alone(t *testing.T, w *rig.Witness) (*rig.Process, rig.App) {
	t.Helper()
	return aloneOn(t, w, t.TempDir())
}

// aloneOn is alone with a data directory that may have had a life before.
func aloneOn(t *testing.T, w *rig.Witness, data string) (*rig.Process, rig.App) {
	t.Helper()
	pawl := rig.Pawl(t)
	dir := filepath.Join(rig.Root(t), "conformance", "js")
	rig.NPM(t, dir)
	engine := url.URL{Scheme: "local", Opaque: (&url.URL{Path: data}).EscapedPath()}
	p := rig.Start(t, "pair", []string{w.Env(), "ALONE=1"}, pawl, "run", "--app", "conformance",
		"--actors", actorTypes, "--service", "actors", "--engine", engine.String(), "--", "node", filepath.Join(dir, "suite.js"))
	return p, p.Ready()
}

// TestSDK runs every case on the published SDK.
func TestSDK(t *testing.T) {
	_, app := alone(t, rig.NewWitness(t))
	runCases(t, app)
}

// TestSDKAcrossProcesses runs every case in one process and its actors in two
// others, on one server.
func TestSDKAcrossProcesses(t *testing.T) {
	pawl, w := rig.Pawl(t), rig.NewWitness(t)
	dir := filepath.Join(rig.Root(t), "conformance", "js")
	rig.NPM(t, dir)
	data, err := os.MkdirTemp("", "pawl") //nolint:usetesting // a socket's path is short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(data) })
	server := rig.Start(t, "server", nil, pawl, "serve", "--app", "conformance", "--data", data, "--listen", "", "--durability", "process")
	server.Listening(filepath.Join(data, "pawl.sock"))
	run := func(name, script string, flags ...string) rig.App {
		args := append([]string{"run", "--app", "conformance", "--engine", "pawl:" + data}, flags...)
		return rig.Start(t, name, []string{w.Env()}, pawl, append(args, "--", "node", filepath.Join(dir, script))...).Ready()
	}
	run("actors", "actors.js", "--actors", actorTypes, "--service", "actors")
	run("more actors", "actors.js", "--actors", actorTypes, "--service", "actors")
	runCases(t, run("cases", "suite.js", "--service", "cases"))
}

// runCases runs every case.
func runCases(t *testing.T, app rig.App) {
	t.Helper()
	var names []string
	list := request(t, http.DefaultClient, http.MethodGet, app.URL()+"/cases", "")
	if err := json.Unmarshal([]byte(list.body), &names); err != nil || len(names) == 0 {
		t.Fatalf("cases: %v: %+v", err, list)
	}
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			if got := request(t, http.DefaultClient, http.MethodPost, app.URL()+"/cases/"+name, ""); got.status != http.StatusOK {
				t.Error(got.body)
			}
		})
	}
}

// TestFormContentType: curl's default content type for a body, under which KAR
// loses the body.
func TestFormContentType(t *testing.T) {
	_, app := alone(t, rig.NewWitness(t))
	res, err := http.Post(app.KAR()+"/actor/Echo/form/call/value", "application/x-www-form-urlencoded", strings.NewReader(`["kept"]`)) //nolint:noctx // as curl does
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	var got struct{ Value string }
	if err := json.NewDecoder(res.Body).Decode(&got); err != nil || got.Value != "kept" {
		t.Errorf("%d: %+v, %v", res.StatusCode, got, err)
	}
}

// TestPairEndsTogether: the end of the application ends its runtime, and the other
// way round, however it comes. KAR leaves the application running.
func TestPairEndsTogether(t *testing.T) {
	t.Run("the runtime is killed", func(t *testing.T) {
		p, app := alone(t, rig.NewWitness(t))
		p.Kill()
		rig.Gone(t, app.PID, together)
	})
	t.Run("the application is killed", func(t *testing.T) {
		p, app := alone(t, rig.NewWitness(t))
		if err := syscall.Kill(app.PID, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		rig.Gone(t, p.PID(), together)
		if code := p.Wait(); code == 0 {
			t.Error("exit code 0 for an application that was killed")
		}
	})
	t.Run("SIGTERM", func(t *testing.T) {
		p, app := alone(t, rig.NewWitness(t))
		p.Signal(syscall.SIGTERM)
		p.Wait()
		rig.Gone(t, app.PID, together)
	})
	t.Run("the application asks for it", func(t *testing.T) {
		p, app := alone(t, rig.NewWitness(t))
		request(t, http.DefaultClient, http.MethodPost, app.URL()+"/shutdown", "")
		p.Wait()
		rig.Gone(t, app.PID, together)
	})
}

// TestRetryWaitsForEveryNestedCall: an application is killed while a method waits
// for two calls at once; neither the retry of the method nor of one of them runs
// beside what it waits for.
func TestRetryWaitsForEveryNestedCall(t *testing.T) {
	w, data := rig.NewWitness(t), t.TempDir()
	p, app := aloneOn(t, w, data)
	tell(t, app, "Slow/parent/call/parent", `["parent","gate","left","right"]`)
	w.Notes("left", 1)
	w.Notes("right", 1)
	p.Kill()
	rig.Gone(t, app.PID, together)
	aloneOn(t, w, data)
	w.Notes("left", 2)
	w.Notes("right", 2)
	if n := w.Count("parent"); n != 1 {
		t.Errorf("the parent began again beside its calls: %d notes", n)
	}
	w.Open("gate")
	w.Notes("parent", 3)
	for _, name := range []string{"left", "right"} {
		if got := fmt.Sprintf("%s", w.Notes(name, 3)[:3]); got != `["begin" "begin" "end"]` {
			t.Errorf("%s: %s: a call was made again before its first attempt had ended", name, got)
		}
	}
}

// tell leaves a request and returns when it is durable.
func tell(t *testing.T, app rig.App, path, body string) {
	t.Helper()
	leave(t, app, "/actor/"+path, body, "async")
}

// leave makes a request that nobody waits for, or a promise, and returns what it is
// acknowledged with.
func leave(t *testing.T, app rig.App, path, body, pragma string) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, app.KAR()+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/kar+json")
	req.Header.Set("Pragma", pragma)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	if res.StatusCode != http.StatusAccepted {
		t.Fatalf("%s %s: %s %s", pragma, path, res.Status, b)
	}
	return string(b)
}
