package remote_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/pawl-go/pawl/engine"
	"github.com/pawl-go/pawl/engine/local/localtest"
	"github.com/pawl-go/pawl/engine/remote"
)

// childURL makes this binary a component of the engine that it names.
const childURL = "PAWL_REMOTE_TEST_CHILD"

func TestMain(m *testing.M) {
	if url := os.Getenv(childURL); url != "" {
		if err := child(url); err != nil {
			fmt.Fprintln(os.Stdout, "error:", err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// child hosts A, says when it has something, and tries to finish it when it is
// told to by a line.
func child(url string) error {
	ctx := context.Background()
	eng, err := engine.Open(ctx, url, engine.Options{App: "world"})
	if err != nil {
		return err
	}
	h := newSink()
	s, err := eng.Join(ctx, engine.Component{Name: "child", Types: hosting}, h)
	if err != nil {
		return err
	}
	fmt.Fprintln(os.Stdout, "joined")
	d := <-h.delivered
	fmt.Fprintln(os.Stdout, "delivered")
	bufio.NewScanner(os.Stdin).Scan()
	_, err = s.Finish(engine.Attempt{ID: d.Request.ID, Step: 1, N: 1}, &engine.Effects{}, &engine.Outcome{})
	fmt.Fprintln(os.Stdout, "finished:", engine.CodeOf(err))
	return nil
}

// family is a server, a component in another process that has a request, and
// one in this process that could take it over.
type family struct {
	cmd   *exec.Cmd
	stdin *os.File
	lines *bufio.Scanner
	other *sink
	id    engine.ID
}

func newFamily(t *testing.T, cfg remote.ServerConfig) *family {
	t.Helper()
	cfg.App = "world"
	_, url := serve(t, localtest.New("disk").Open(t, engine.Options{App: "world"}), "unix", cfg)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	f := &family{cmd: exec.CommandContext(t.Context(), self), other: newSink()}
	f.cmd.Env = append(os.Environ(), childURL+"="+url)
	out, err := f.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	f.cmd.Stdin, f.stdin = r, w
	if err := f.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = f.cmd.Process.Kill()
		_ = f.cmd.Wait()
		_, _ = r.Close(), w.Close()
	})
	f.lines = bufio.NewScanner(out)
	f.hear(t, "joined")
	eng, err := engine.Open(t.Context(), url, engine.Options{App: "world"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = eng.Close() })
	client, err := eng.Join(t.Context(), engine.Component{Name: "client"}, newSink())
	if err != nil {
		t.Fatal(err)
	}
	r1 := tell(client, 1)
	f.id = r1.ID
	if _, err := client.Send(engine.Attempt{}, &engine.Effects{Requests: []*engine.Request{r1}}); err != nil {
		t.Fatal(err)
	}
	f.hear(t, "delivered")
	if _, err := eng.Join(t.Context(), engine.Component{Name: "other", Types: hosting}, f.other); err != nil {
		t.Fatal(err)
	}
	return f
}

func (f *family) hear(t *testing.T, want string) {
	t.Helper()
	if !f.lines.Scan() || f.lines.Text() != want {
		t.Fatalf("the child says %q, want %q", f.lines.Text(), want)
	}
}

// moved waits until the request of the child is at the other component, and
// logs how long it took.
func (f *family) moved(t *testing.T, signal syscall.Signal) {
	t.Helper()
	began := time.Now() //nolint:forbidigo // what is measured
	if err := f.cmd.Process.Signal(signal); err != nil {
		t.Fatal(err)
	}
	d := <-f.other.delivered
	t.Logf("moved after %v", time.Since(began)) //nolint:forbidigo // what is measured
	if d.Request.ID != f.id || d.Attempts != 1 || d.Lost != 1 {
		t.Errorf("moved: %v with %d attempts, %d lost", d.Request.ID, d.Attempts, d.Lost)
	}
}

// TestKilledComponent: the work of a process that dies moves after the grace, and does
// not wait for the heartbeat timeout.
func TestKilledComponent(t *testing.T) {
	f := newFamily(t, remote.ServerConfig{Heartbeat: time.Hour})
	f.moved(t, syscall.SIGKILL)
}

// TestStoppedComponent: a process that hangs is fenced after the heartbeat
// timeout, and nothing that it does when it wakes counts.
func TestStoppedComponent(t *testing.T) {
	f := newFamily(t, remote.ServerConfig{Heartbeat: 4 * time.Second}) // the others are to be heard on a busy machine
	f.moved(t, syscall.SIGSTOP)
	if _, err := f.stdin.WriteString("\n"); err != nil {
		t.Fatal(err)
	}
	if err := f.cmd.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	f.hear(t, "finished: pawl: fenced")
}
