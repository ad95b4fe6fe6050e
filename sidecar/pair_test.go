package sidecar_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/pawl-go/pawl/sidecar"
)

// lone is a pair as a process of its own, whose command is the grandchild of a
// shell.
func lone() {
	code, err := sidecar.Run(context.Background(), sidecar.Config{
		App: "test", Engine: os.Getenv("ENGINE"), Actors: []string{"Thing"},
		Command: []string{"/bin/sh", "-c", `PAWL_TEST_ROLE=app "$0" & wait`, os.Args[0]},
		Watcher: []string{"/usr/bin/env", "PAWL_TEST_ROLE=", os.Args[0], "watch"},
		Stdout:  os.Stdout, Stderr: os.Stderr,
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// soon bounds how long the one outlives the other: a second, and far more where
// other tests share the cores.
const soon = time.Minute

// took measures until what it returns is called, and logs that.
func took(t *testing.T, what string) (ended func()) {
	start := time.Now() //nolint:forbidigo // a measurement
	return func() {
		t.Helper()
		t.Logf("%s after %v", what, time.Since(start)) //nolint:forbidigo // a measurement
	}
}

// ends wants the pair to end soon, with one of some codes.
func (p *running) ends(codes ...int) {
	p.t.Helper()
	defer took(p.t, "the pair has ended")()
	select {
	case <-p.ended:
	case <-time.After(soon):
		p.t.Errorf("the pair lives %v later", soon)
		<-p.ended
	}
	if !slices.Contains(codes, p.code) || p.err != nil {
		p.t.Errorf("exit code %d, %v; want one of %d", p.code, p.err, codes)
	}
}

func TestKilledRuntimeEndsCommand(t *testing.T) {
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), "PAWL_TEST_ROLE=runtime", "ENGINE=local:"+t.TempDir())
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(out)
	if _, err := lines.ReadString('\n'); err != nil { // the application listens
		t.Fatal(err)
	}
	ended := took(t, "the command has ended")
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	// The pipe ends when the last process that could write to it has ended.
	gone := make(chan error, 1)
	go func() {
		_, err := io.Copy(io.Discard, lines)
		gone <- err
	}()
	select {
	case err := <-gone:
		ended()
		if err != nil {
			t.Error(err)
		}
	case <-time.After(soon):
		t.Errorf("something of the command lives %v later", soon)
	}
	_ = cmd.Wait() // it was killed
}

func TestKilledCommandEndsRuntime(t *testing.T) {
	p := start(t)
	_, answer := p.do("POST", thing+"a/call/pid", ``)
	var pid int
	if _, err := fmt.Sscanf(answer, `{"value":%d}`, &pid); err != nil {
		t.Fatalf("%q: %v", answer, err)
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	p.ends(128 + int(syscall.SIGKILL))
}

func TestExitCodePasses(t *testing.T) {
	p := start(t)
	p.want("POST", thing+"a/call/die", ``, 202, `OK`, "Pragma", "async")
	p.ends(7)
}

// The death of the process is a failure, not an outcome: the attempt is made
// again by the next pair, what it had written stands, and a promise is answered by
// any component.
func TestDeathIsRetried(t *testing.T) {
	url := "local:" + t.TempDir()
	same := func(c *sidecar.Config) { c.Engine = url }
	first := start(t, same)
	s, id := first.do("POST", thing+"a/call/dieonce", ``, "Pragma", "promise")
	if s != 202 {
		t.Fatalf("promise: %d %q", s, id)
	}
	first.ends(7)
	second := start(t, same)
	second.want("POST", "/kar/v1/await", id, 200, `{"value":"alive"}`)
}

// What does not end within the grace is given back.
func TestDrainGivesBack(t *testing.T) {
	url := "local:" + t.TempDir()
	same := func(c *sidecar.Config) { c.Engine, c.Grace = url, 100*time.Millisecond }
	first := start(t, same)
	s, id := first.do("POST", thing+"a/call/hold", ``, "Pragma", "promise")
	if s != 202 {
		t.Fatalf("promise: %d %q", s, id)
	}
	first.want("POST", thing+"b/call/self", ``, 200, `{"value":"b"}`)
	first.stop()
	// On a busy machine SIGTERM may not have ended it within the grace.
	first.ends(128+int(syscall.SIGTERM), 128+int(syscall.SIGKILL))
	second := start(t, same)
	second.want("POST", thing+"b/call/release", ``, 204, ``)
	second.want("POST", "/kar/v1/await", id, 200, `{"value":"released"}`)
}

// What runs at the end may end, with all that it calls; new work is refused.
func TestDrainFinishes(t *testing.T) {
	p := start(t, func(c *sidecar.Config) { c.Grace = time.Minute })
	held := make(chan string, 1)
	go func() {
		r, err := http.Post(p.base+thing+"a/call/hold", "", nil) //nolint:noctx // a test
		if err != nil {
			held <- err.Error()
			return
		}
		defer r.Body.Close()
		b, _ := io.ReadAll(r.Body)
		held <- string(b)
	}()
	port := p.port() // answered behind the begin of hold
	p.stop()
	for { // until the end was heard of
		s, b := p.do("POST", thing+"b/call/self", ``)
		if s == 503 && strings.Contains(b, "shutting down") {
			break
		}
	}
	p.want("POST", "/kar/v1/service/echo/call/x", ``, 503, "the runtime is shutting down")
	p.base = "http://127.0.0.1:" + port // past the runtime
	p.want("POST", "/kar/impl/v1/actor/Thing/b/release", ``, 204, ``)
	if got := <-held; got != `{"value":"released"}` {
		t.Errorf("what ran was answered %q", got)
	}
	<-p.ended
}

// port gives the application's own port, when a method of it holds.
func (p *running) port() string {
	p.t.Helper()
	_, answer := p.do("POST", thing+"b/call/holding", ``)
	var v struct{ Value string }
	if err := json.Unmarshal([]byte(answer), &v); err != nil {
		p.t.Fatalf("%q: %v", answer, err)
	}
	return v.Value
}

func TestBadConfig(t *testing.T) {
	for want, change := range map[string]func(*sidecar.Config){
		"--app":            func(c *sidecar.Config) { c.App = "" },
		"behind --":        func(c *sidecar.Config) { c.Command = nil },
		"named twice":      func(c *sidecar.Config) { c.Actors = []string{"A", "A"} },
		"negative":         func(c *sidecar.Config) { c.Grace = -1 },
		"cannot both":      func(c *sidecar.Config) { c.AppPort, c.RuntimePort = 9, 9 },
		"unknown scheme":   func(c *sidecar.Config) { c.Engine = "nothing:x" },
		"no such file":     func(c *sidecar.Config) { c.Command = []string{"/no/such/program"} },
		"the limit is 128": func(c *sidecar.Config) { c.Service = strings.Repeat("s", 129) },
	} {
		cfg := config(t, "")
		change(&cfg)
		if _, err := sidecar.Run(t.Context(), cfg); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want an error with %q", err, want)
		}
	}
}
