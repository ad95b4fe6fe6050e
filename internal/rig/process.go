package rig

import (
	"context"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/pawl-go/pawl/internal/stage"
)

// Patience is how long the rig waits for a process to say or do something. It is
// generous: a test that waits for it has failed.
const Patience = 60 * time.Second

// App is what an application says of itself when it is ready.
type App = stage.App

// Process is a stage.Process of a test, which fails where the process does. It is
// killed at the end of the test, with all processes that it has started and that are
// still of its group.
type Process struct {
	t testing.TB
	p *stage.Process
}

// Start starts a command; name is what it is called in logs. Env is added to the
// environment.
func Start(t testing.TB, name string, env []string, command string, args ...string) *Process {
	t.Helper()
	p, err := stage.Start(name, env, command, args...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		p.KillGroup() // nothing may be left of it
		<-p.Silent()
		if t.Failed() {
			t.Logf("%s:\n  %s", name, strings.ReplaceAll(p.Output(), "\n", "\n  "))
		}
	})
	return &Process{t, p}
}

// patient is a context for waiting.
func (p *Process) patient() (context.Context, context.CancelFunc) {
	return context.WithTimeout(p.t.Context(), Patience)
}

// Line waits for a line that has part in it and returns what follows.
func (p *Process) Line(part string) string {
	p.t.Helper()
	ctx, cancel := p.patient()
	defer cancel()
	rest, err := p.p.Line(ctx, part)
	if err != nil {
		p.t.Fatal(err)
	}
	return rest
}

// Ready waits for the line of an application that says that it is.
func (p *Process) Ready() App {
	p.t.Helper()
	ctx, cancel := p.patient()
	defer cancel()
	a, err := p.p.Ready(ctx)
	if err != nil {
		p.t.Fatal(err)
	}
	return a
}

// Listening waits until the process takes connections at a Unix socket.
func (p *Process) Listening(socket string) {
	p.t.Helper()
	ctx, cancel := p.patient()
	defer cancel()
	if err := p.p.Listening(ctx, socket); err != nil {
		p.t.Fatal(err)
	}
}

// PID is that of the command, not of what it has started.
func (p *Process) PID() int { return p.p.PID() }

// Signal sends the command a signal.
func (p *Process) Signal(s syscall.Signal) {
	p.t.Helper()
	if err := p.p.Signal(s); err != nil {
		p.t.Error(err)
	}
}

// Kill ends the command as kill -9 does, and nothing else of its group.
func (p *Process) Kill() {
	p.t.Helper()
	p.Signal(syscall.SIGKILL)
	p.Wait()
}

// Wait waits for the end of the command and returns its exit code, -1 if a signal
// ended it.
func (p *Process) Wait() int {
	p.t.Helper()
	select {
	case <-p.Done():
	case <-time.After(Patience):
		p.t.Fatalf("process %d has not ended within %v", p.PID(), Patience)
	}
	return p.p.ExitCode()
}

// Done is closed when the command has ended.
func (p *Process) Done() <-chan struct{} { return p.p.Done() }

// Gone waits until there is no process with this id, and logs how long that took: on a
// busy machine what takes a moment may take seconds. A zombie counts as gone.
func Gone(t testing.TB, pid int) {
	t.Helper()
	began := time.Now()
	for alive(pid) {
		if time.Since(began) > Patience {
			t.Fatalf("process %d lives on after %v", pid, Patience)
		}
		<-time.After(5 * time.Millisecond) // nobody tells of the end of a grandchild
	}
	t.Logf("process %d was gone after %v", pid, time.Since(began))
}

// alive tells whether a process runs. It may be a grandchild, whose end the kernel
// tells to its parent alone.
func alive(pid int) bool {
	if syscall.Kill(pid, 0) != nil {
		return false
	}
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return !os.IsNotExist(err)
	}
	_, rest, ok := strings.Cut(string(b), ") ")
	return !ok || !strings.HasPrefix(rest, "Z")
}
