package conformance_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/pawl-go/pawl/internal/rig"
)

// actorTypes are those of js/actors.js.
const actorTypes = "Echo,Lively,Refusing,Counter,Peer,Slow,Tail,Clock,Listener,Store"

// alone starts one component that hosts the actors and runs the cases, on an
// engine of its own.
func alone(t *testing.T, w *rig.Witness, flags ...string) (*rig.Process, rig.App) {
	t.Helper()
	return aloneOn(t, w, t.TempDir(), flags...)
}

// aloneOn is alone with a data directory that may have had a life before.
func aloneOn(t *testing.T, w *rig.Witness, data string, flags ...string) (*rig.Process, rig.App) {
	t.Helper()
	pawl := rig.Pawl(t)
	rig.NPM(t, jsDir(t))
	env := []string{w.Env(), "ALONE=1"}
	if slices.Contains(flags, "--h2c") {
		env = append(env, "H2C=1")
	}
	engine := url.URL{Scheme: "local", Opaque: (&url.URL{Path: data}).EscapedPath()}
	args := append([]string{"run", "--app", "conformance", "--actors", actorTypes, "--service", "actors", "--engine", engine.String()}, flags...)
	p := rig.Start(t, "pair", env, pawl, append(args, "--", "node", filepath.Join(jsDir(t), "suite.js"))...)
	return p, p.Ready()
}

// TestSDK runs every case on the published SDK, which speaks HTTP/2 to its runtime; the
// runtime speaks either protocol to it.
func TestSDK(t *testing.T) {
	t.Run("http1", func(t *testing.T) {
		_, app := alone(t, rig.NewWitness(t))
		runCases(t, app)
	})
	t.Run("h2c", func(t *testing.T) {
		_, app := alone(t, rig.NewWitness(t), "--h2c")
		runCases(t, app)
	})
}

// TestSDKAcrossProcesses runs every case in one process and its actors in two
// others, on one server, and holds what the engine has traced to the semantics.
func TestSDKAcrossProcesses(t *testing.T) {
	n := newTown(t)
	n.pair("actors", actorTypes, "--service", "actors")
	n.pair("more actors", actorTypes, "--service", "actors")
	_, app := n.run("cases", "suite.js", "--service", "cases")
	runCases(t, app)
	n.judge()
}

// TestIdleActorIsDeactivated: an actor that nobody calls is let go, and comes to life
// again when it is called.
func TestIdleActorIsDeactivated(t *testing.T) {
	w := rig.NewWitness(t)
	_, app := alone(t, w, "--idle-after", "200ms")
	for life := range 2 {
		if got := post(t, app, "/actor/Lively/l/call/hello", `[]`); got != (answer{200, `{"value":"hello"}`}) {
			t.Fatalf("%+v", got)
		}
		w.Notes("activated/l", life+1)
		w.Notes("deactivated/l", life+1)
	}
}

// TestBusyActorIsAnswered: what waits for too long for its turn is answered as KAR
// answers it; what was told is not lost by that.
func TestBusyActorIsAnswered(t *testing.T) {
	w := rig.NewWitness(t)
	_, app := alone(t, w, "--busy-timeout", "300ms")
	tell(t, app, "Slow/s/call/run", `["first","gate"]`)
	w.Notes("first", 1)
	tell(t, app, "Slow/s/call/run", `["told"]`)
	got := post(t, app, "/actor/Slow/s/call/run", `["called"]`)
	if got.status != http.StatusInternalServerError || !strings.HasPrefix(got.body, "Possible deadlock: ") {
		t.Errorf("%+v", got)
	}
	w.Open("gate")
	w.Notes("told", 2)
	if n := w.Count("called"); n != 0 {
		t.Errorf("what was answered ran all the same: %d notes", n)
	}
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
		rig.Gone(t, app.PID)
	})
	t.Run("the application is killed", func(t *testing.T) {
		p, app := alone(t, rig.NewWitness(t))
		if err := syscall.Kill(app.PID, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		rig.Gone(t, p.PID())
		if code := p.Wait(); code == 0 {
			t.Error("exit code 0 for an application that was killed")
		}
	})
	t.Run("SIGTERM", func(t *testing.T) {
		p, app := alone(t, rig.NewWitness(t))
		p.Signal(syscall.SIGTERM)
		p.Wait()
		rig.Gone(t, app.PID)
	})
	t.Run("the application asks for it", func(t *testing.T) {
		p, app := alone(t, rig.NewWitness(t))
		request(t, http.DefaultClient, http.MethodPost, app.URL()+"/shutdown", "")
		p.Wait()
		rig.Gone(t, app.PID)
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
	rig.Gone(t, app.PID)
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
