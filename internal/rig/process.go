package rig

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// Patience is how long the rig waits for a process to say or do something. It is
// generous: a test that waits for it has failed.
const Patience = 60 * time.Second

// Process is a running command. It is killed at the end of the test, with all
// processes that it has started and that are still of its group.
type Process struct {
	t    testing.TB
	name string
	cmd  *exec.Cmd

	mu    sync.Mutex
	lines []string
	news  chan struct{} // closed and replaced with each line, and at the end
	ended bool

	done chan struct{}
	err  error // of Wait, once done is closed
}

// Start starts a command; name is what it is called in logs. Env is added to the
// environment.
func Start(t testing.TB, name string, env []string, command string, args ...string) *Process {
	t.Helper()
	p := &Process{t: t, name: name, news: make(chan struct{}), done: make(chan struct{})}
	p.cmd = exec.CommandContext(context.Background(), command, args...)
	p.cmd.Env = append(os.Environ(), env...)
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	p.cmd.Stdout, p.cmd.Stderr = write, write
	if err := p.cmd.Start(); err != nil {
		t.Fatalf("start %s: %v", name, err)
	}
	_ = write.Close() // the child has its own
	var reading sync.WaitGroup
	reading.Go(func() { p.read(read) })
	go func() {
		p.err = p.cmd.Wait()
		close(p.done)
	}()
	t.Cleanup(func() {
		_ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGCONT)
		_ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL) // nothing may be left of it
		<-p.done
		reading.Wait()
		if t.Failed() {
			t.Logf("%s:\n  %s", name, strings.Join(p.lines, "\n  "))
		}
	})
	return p
}

func (p *Process) read(r io.ReadCloser) {
	defer r.Close()
	for s := bufio.NewScanner(r); s.Scan(); {
		p.mu.Lock()
		p.lines = append(p.lines, s.Text())
		p.tell()
		p.mu.Unlock()
	}
	p.mu.Lock()
	p.ended = true
	p.tell()
	p.mu.Unlock()
}

// tell wakes those who wait for a line; p.mu is held.
func (p *Process) tell() {
	close(p.news)
	p.news = make(chan struct{})
}

// Line waits for a line that begins with prefix and returns the rest of it.
func (p *Process) Line(prefix string) string {
	p.t.Helper()
	over := time.NewTimer(Patience)
	defer over.Stop()
	for seen := 0; ; {
		p.mu.Lock()
		lines, news, ended := p.lines[seen:], p.news, p.ended
		p.mu.Unlock()
		for _, l := range lines {
			if rest, ok := strings.CutPrefix(l, prefix); ok {
				return rest
			}
		}
		seen += len(lines)
		if ended {
			p.t.Fatalf("%s ended without a line that begins with %q", p.name, prefix)
		}
		select {
		case <-news:
		case <-over.C:
			p.t.Fatalf("%s printed no line that begins with %q within %v", p.name, prefix, Patience)
		}
	}
}

// App is what an application says of itself when it is ready.
type App struct {
	PID     int `json:"pid"`
	Port    int `json:"app"`     // where it listens for its runtime
	Runtime int `json:"runtime"` // where its runtime listens for it
}

// Ready waits for the line of an application that says that it is.
func (p *Process) Ready() App {
	p.t.Helper()
	var a App
	if line := p.Line("ready "); json.Unmarshal([]byte(line), &a) != nil || a.PID == 0 {
		p.t.Fatalf("%s: not a ready line: %q", p.name, line)
	}
	return a
}

// KAR is the address of the runtime's API for applications.
func (a App) KAR() string { return fmt.Sprintf("http://127.0.0.1:%d/kar/v1", a.Runtime) }

// URL is the address of the application itself.
func (a App) URL() string { return fmt.Sprintf("http://127.0.0.1:%d", a.Port) }

// Listening waits until the process takes connections at a Unix socket.
func (p *Process) Listening(socket string) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.t.Context(), Patience)
	defer cancel()
	var d net.Dialer
	for {
		conn, err := d.DialContext(ctx, "unix", socket)
		if err == nil {
			_ = conn.Close() // it was only to see
			return
		}
		select {
		case <-p.done:
			p.t.Fatalf("%s ended before it listened at %s", p.name, socket)
		case <-ctx.Done():
			p.t.Fatalf("%s does not listen at %s: %v", p.name, socket, err)
		case <-time.After(5 * time.Millisecond): // nobody tells when a socket comes to be
		}
	}
}

// PID is that of the command, not of what it has started.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Signal sends the command a signal.
func (p *Process) Signal(s syscall.Signal) {
	p.t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		p.t.Errorf("signal %s: %v", p.name, err)
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
	case <-p.done:
	case <-time.After(Patience):
		p.t.Fatalf("%s has not ended within %v", p.name, Patience)
	}
	return p.cmd.ProcessState.ExitCode()
}

// Done is closed when the command has ended.
func (p *Process) Done() <-chan struct{} { return p.done }

// Gone waits until there is no process with this id, and fails the test if that
// takes longer than within. A zombie counts as gone.
func Gone(t testing.TB, pid int, within time.Duration) {
	t.Helper()
	end := time.Now().Add(within)
	for {
		if !alive(pid) {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("process %d lives on after %v", pid, within)
		}
		<-time.After(5 * time.Millisecond) // nobody tells of the end of a grandchild
	}
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
