package conformance_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/pawl-go/pawl/internal/rig"
	"github.com/pawl-go/pawl/spec/check"
)

// town is a server with the pairs of applications on the SDK that use it. What the
// engine does, over all lives of the server, is traced.
type town struct {
	t      *testing.T
	w      *rig.Witness
	data   string
	url    string // of the engine
	trace  string
	server *rig.Process
	pairs  []*rig.Process
}

func newTown(t *testing.T) *town {
	t.Helper()
	rig.NPM(t, jsDir(t))
	data, err := os.MkdirTemp("", "pawl") //nolint:usetesting // a socket's path is short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(data) })
	n := &town{t: t, w: rig.NewWitness(t), data: filepath.Join(data, "d"), trace: filepath.Join(t.TempDir(), "trace")}
	n.url = "pawl:" + n.data
	n.serve()
	return n
}

func jsDir(t *testing.T) string { return filepath.Join(rig.Root(t), "conformance", "js") }

// serve starts the server.
func (n *town) serve() {
	n.t.Helper()
	n.server = rig.Start(n.t, "server", nil, rig.Pawl(n.t), "serve", "--app", "conformance", "--data", n.data,
		"--listen", "", "--durability", "process", "--trace", n.trace)
	n.server.Listening(filepath.Join(n.data, "pawl.sock"))
}

// pair starts a pair that hosts some types.
func (n *town) pair(name, types string, flags ...string) (*rig.Process, rig.App) {
	n.t.Helper()
	return n.run(name, "actors.js", append(flags, "--actors", types)...)
}

// run starts a pair of an application of js.
func (n *town) run(name, script string, flags ...string) (*rig.Process, rig.App) {
	n.t.Helper()
	args := append([]string{"run", "--app", "conformance", "--engine", n.url}, flags...)
	p := rig.Start(n.t, name, []string{n.w.Env()}, rig.Pawl(n.t), append(args, "--", "node", filepath.Join(jsDir(n.t), script))...)
	n.pairs = append(n.pairs, p)
	return p, p.Ready()
}

// judge ends all that lives and holds what the engine has traced to the semantics.
func (n *town) judge() {
	n.t.Helper()
	for _, p := range append(n.pairs, n.server) {
		select {
		case <-p.Done():
		default:
			p.Signal(syscall.SIGTERM)
			p.Wait()
		}
	}
	report, err := check.File(n.trace, check.Options{})
	if err != nil {
		n.t.Errorf("the trace: %v", err)
	}
	n.t.Log(report)
}

// post makes a request of the runtime of an application.
func post(t *testing.T, app rig.App, path, body string) answer {
	t.Helper()
	return request(t, http.DefaultClient, http.MethodPost, app.KAR()+path, body)
}

// promise makes a call to be awaited.
func promise(t *testing.T, app rig.App, path, body string) (id string) {
	t.Helper()
	return leave(t, app, path, body, "promise")
}

// texts are notes as they were told.
func texts(notes []json.RawMessage) string { return fmt.Sprintf("%s", notes) }

// TestServerIsKilled: kill -9 of the server, with applications in three processes that
// are in the middle of everything. They do not wait for it and end, and when all are
// back, everything that was acknowledged goes on.
func TestServerIsKilled(t *testing.T) {
	n := newTown(t)
	n.url += "?rejoin=0s"
	one, _ := n.pair("one", "Slow,Tail")
	two, _ := n.pair("two", "Slow,Tail,Counter,Clock")
	three, front := n.pair("three", "Echo")
	tell(t, front, "Slow/left/call/run", `["left","gate"]`)
	tell(t, front, "Slow/right/call/run", `["right","gate"]`)
	tell(t, front, "Slow/left/call/run", `["second"]`) // behind the first
	held := promise(t, front, "/actor/Tail/held/call/held", `["gate"]`)
	for _, name := range []string{"left", "right", "held/held"} {
		n.w.Notes(name, 1)
	}
	for want := 1; want <= 3; want++ {
		if got := post(t, front, "/actor/Counter/c/call/add", `[1]`); got != (answer{200, fmt.Sprintf(`{"value":%d}`, want)}) {
			t.Errorf("count: %+v", got)
		}
	}
	added := promise(t, front, "/actor/Counter/c/call/add", `[1]`)
	schedule := `{"path":"/tick","targetTime":"2000-01-01T00:00:00Z","data":["late"]}`
	if got := request(t, http.DefaultClient, http.MethodPut, front.KAR()+"/actor/Clock/k/reminders/r", schedule); got.status != http.StatusNoContent {
		t.Errorf("remind: %+v", got)
	}
	n.w.Notes("tick/k", 1)

	n.server.Kill()
	for _, p := range []*rig.Process{one, two, three} {
		if code := p.Wait(); code == 0 {
			t.Error("exit code 0 of a pair whose server was killed")
		}
	}
	n.w.Open("gate")
	n.serve()
	n.pair("one again", "Slow,Tail")
	n.pair("two again", "Slow,Tail,Counter,Clock")
	_, front = n.pair("three again", "Echo")

	for _, name := range []string{"left", "right"} {
		if got := texts(n.w.Notes(name, 3)); got != `["begin" "begin" "end"]` {
			t.Errorf("%s: %s", name, got)
		}
	}
	if got := texts(n.w.Notes("second", 2)); got != `["begin" "end"]` {
		t.Errorf("second: %s", got)
	}
	if got := post(t, front, "/await", held); got != (answer{200, `{"value":"two"}`}) {
		t.Errorf("held: %+v", got)
	}
	if got := texts(n.w.Notes("held/held", 3)); got != `["one" "one" "two"]` {
		t.Errorf("held: %s", got)
	}
	// State is written at once: an attempt that dies behind its write leaves it.
	sum := post(t, front, "/await", added)
	if sum != (answer{200, `{"value":4}`}) && sum != (answer{200, `{"value":5}`}) {
		t.Errorf("added: %+v", sum)
	}
	if got := post(t, front, "/actor/Counter/c/call/get", `[]`); got != sum {
		t.Errorf("count: %+v after %+v", got, sum)
	}
	n.judge()
}

// TestApplicationIsStopped: an application that is stopped (SIGSTOP) answers nothing.
// Others go on, and so does it when it wakes: a call takes as long as it takes.
func TestApplicationIsStopped(t *testing.T) {
	n := newTown(t)
	_, app := n.pair("stopped", "Slow")
	_, front := n.pair("front", "Echo")
	id := promise(t, front, "/actor/Slow/s/call/run", `["s","gate"]`)
	n.w.Notes("s", 1)
	signal(t, app.PID, syscall.SIGSTOP)
	n.w.Open("gate")
	behind := promise(t, front, "/actor/Slow/s/call/run", `["behind"]`)
	fresh := promise(t, front, "/actor/Slow/fresh/call/run", `["fresh"]`)
	for i := range 20 { // others answer meanwhile, and so does its own runtime
		if got := post(t, front, "/actor/Echo/e/call/value", fmt.Sprintf("[%d]", i)); got != (answer{200, fmt.Sprintf(`{"value":%d}`, i)}) {
			t.Errorf("echo: %+v", got)
		}
		if got := request(t, http.DefaultClient, http.MethodGet, app.KAR()+"/system/health", ""); got.status != http.StatusOK {
			t.Errorf("health: %+v", got)
		}
	}
	signal(t, app.PID, syscall.SIGCONT)
	for name, id := range map[string]string{"s": id, "behind": behind, "fresh": fresh} {
		if got := post(t, front, "/await", id); got != (answer{200, `{"value":"` + name + `"}`}) {
			t.Errorf("%s: %+v", name, got)
		}
		if got := texts(n.w.Notes(name, 2)); got != `["begin" "end"]` {
			t.Errorf("%s: %s: it was made again, though nothing had failed", name, got)
		}
	}
	n.judge()
}

// TestPausedHostIsFenced: a runtime that is stopped is declared failed, its actors go
// elsewhere, and its application goes on. When it wakes nothing that either does counts: KAR's
// goes on writing state and answering.
func TestPausedHostIsFenced(t *testing.T) {
	n := newTown(t)
	paused, old := n.pair("paused", "Slow")
	_, front := n.pair("front", "Echo")
	id := promise(t, front, "/actor/Slow/s/call/keep", `["s","gate"]`)
	n.w.Notes("s", 1)
	paused.Signal(syscall.SIGSTOP)
	_, next := n.pair("next", "Slow")
	if got, want := texts(n.w.Notes("s", 2)), fmt.Sprintf("[%d %d]", old.PID, next.PID); got != want {
		t.Fatalf("begun by %s, want %s", got, want)
	}
	n.w.Open("gate") // for the new one, and for the old one, whose write waits in its runtime
	if got := post(t, front, "/await", id); got != (answer{200, fmt.Sprintf(`{"value":%d}`, next.PID)}) {
		t.Errorf("answer: %+v", got)
	}
	paused.Signal(syscall.SIGCONT)
	if code := paused.Wait(); code == 0 {
		t.Error("exit code 0 of a pair that was fenced")
	}
	rig.Gone(t, old.PID)
	if got := texts(n.w.Notes("s/kept", 1)); got != fmt.Sprintf("[%d]", next.PID) {
		t.Errorf("state was kept by %s", got)
	}
	if got := request(t, http.DefaultClient, http.MethodGet, front.KAR()+"/actor/Slow/s/state/by", ""); got != (answer{200, fmt.Sprint(next.PID)}) {
		t.Errorf("state: %+v", got)
	}
	n.judge()
}

// TestServerIsStopped: a server that is stopped holds everybody up, and loses nothing
// and nobody when it wakes.
func TestServerIsStopped(t *testing.T) {
	n := newTown(t)
	pair, app := n.pair("pair", "Counter,Echo")
	if got := post(t, app, "/actor/Counter/c/call/add", `[1]`); got != (answer{200, `{"value":1}`}) {
		t.Fatalf("%+v", got)
	}
	n.server.Signal(syscall.SIGSTOP)
	answers := make(chan answer, 4)
	for range cap(answers) {
		go func() { answers <- post(t, app, "/actor/Counter/c/call/add", `[1]`) }()
	}
	n.server.Signal(syscall.SIGCONT)
	var all []string
	for range cap(answers) {
		all = append(all, (<-answers).body)
	}
	for want := 2; want <= 5; want++ {
		if !strings.Contains(strings.Join(all, " "), fmt.Sprintf(`{"value":%d}`, want)) {
			t.Errorf("nobody was answered %d: %q", want, all)
		}
	}
	select {
	case <-pair.Done():
		t.Error("the pair has ended")
	default:
	}
	n.judge()
}

func signal(t *testing.T, pid int, s syscall.Signal) {
	t.Helper()
	if err := syscall.Kill(pid, s); err != nil {
		t.Fatal(err)
	}
}
