package stage

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
	"time"
)

// patience is how long Stop waits for a process to end by itself.
const patience = 15 * time.Second

// Process is a running command. Its methods may be called concurrently.
type Process struct {
	name string
	cmd  *exec.Cmd

	mu    sync.Mutex
	lines []string
	news  chan struct{} // closed and replaced with each line

	done   chan struct{} // closed when the command has ended
	silent chan struct{} // closed when nobody is left who could print
}

// Start starts a command; name is what errors call it, and env is added to the
// environment. Whoever starts a process ends it, with Kill or Stop.
func Start(name string, env []string, command string, args ...string) (*Process, error) {
	p := &Process{name: name, news: make(chan struct{}), done: make(chan struct{}), silent: make(chan struct{})}
	p.cmd = exec.Command(command, args...) //nolint:noctx // it ends by Kill or Stop, not in the midst of a clean end
	p.cmd.Env = append(os.Environ(), env...)
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // an interrupt is for the one who started it
	read, write, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	p.cmd.Stdout, p.cmd.Stderr = write, write
	err = p.cmd.Start()
	_ = write.Close() // the child has its own
	if err != nil {
		_ = read.Close()
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	go func() {
		_ = p.cmd.Wait() // its state says all
		close(p.done)
	}()
	go p.read(read)
	return p, nil
}

// read keeps what the process prints, and what it has started.
func (p *Process) read(r io.ReadCloser) {
	defer close(p.silent)
	defer r.Close()
	for s := bufio.NewScanner(r); s.Scan(); {
		p.mu.Lock()
		p.lines = append(p.lines, s.Text())
		close(p.news)
		p.news = make(chan struct{})
		p.mu.Unlock()
	}
}

// Line waits for a line that has part in it, and returns what follows the part.
// It fails when nobody is left who could print one, and tells what was printed.
func (p *Process) Line(ctx context.Context, part string) (string, error) {
	for seen, last := 0, false; ; {
		p.mu.Lock()
		lines, news := p.lines[seen:], p.news
		p.mu.Unlock()
		for _, l := range lines {
			if _, rest, ok := strings.Cut(l, part); ok {
				return rest, nil
			}
		}
		if last {
			return "", fmt.Errorf("%s ended without saying %q:\n%s", p.name, part, p.Output())
		}
		seen += len(lines)
		select {
		case <-news:
		case <-p.silent:
			last = true // but for what it said just before
		case <-ctx.Done():
			return "", fmt.Errorf("%s has not said %q: %w\n%s", p.name, part, context.Cause(ctx), p.Output())
		}
	}
}

// Output is all that was printed so far.
func (p *Process) Output() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return strings.Join(p.lines, "\n")
}

// App is what an application says of itself when it is ready.
type App struct {
	PID     int `json:"pid"`     // of the application, not of its runtime
	Port    int `json:"app"`     // where it listens for its runtime
	Runtime int `json:"runtime"` // where its runtime listens for it
}

// KAR is the address of the runtime's API for applications.
func (a App) KAR() string { return fmt.Sprintf("http://127.0.0.1:%d/kar/v1", a.Runtime) }

// URL is the address of the application itself.
func (a App) URL() string { return fmt.Sprintf("http://127.0.0.1:%d", a.Port) }

// Ready waits for the line of an application that says that it is.
func (p *Process) Ready(ctx context.Context) (App, error) {
	var a App
	line, err := p.Line(ctx, "ready ")
	if err != nil {
		return a, err
	}
	if json.Unmarshal([]byte(line), &a) != nil || a.PID == 0 {
		return a, fmt.Errorf("%s: not a ready line: %q", p.name, line)
	}
	return a, nil
}

// Listening waits until the process takes connections at a Unix socket.
func (p *Process) Listening(ctx context.Context, socket string) error {
	var d net.Dialer
	for {
		conn, err := d.DialContext(ctx, "unix", socket)
		if err == nil {
			return conn.Close() // it was only to see
		}
		select {
		case <-p.done:
			return fmt.Errorf("%s ended before it listened at %s:\n%s", p.name, socket, p.Output())
		case <-ctx.Done():
			return fmt.Errorf("%s does not listen at %s: %w\n%s", p.name, socket, err, p.Output())
		case <-time.After(5 * time.Millisecond): // nobody tells when a socket comes to be
		}
	}
}

// PID is that of the command, not of what it has started.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Done is closed when the command has ended.
func (p *Process) Done() <-chan struct{} { return p.done }

// Silent is closed when the command has ended, and what it had started as well, if
// that had its output from it.
func (p *Process) Silent() <-chan struct{} { return p.silent }

// ExitCode is that of a command that has ended, -1 if a signal ended it.
func (p *Process) ExitCode() int {
	<-p.done
	return p.cmd.ProcessState.ExitCode()
}

// Signal sends the command a signal.
func (p *Process) Signal(s syscall.Signal) error {
	if err := p.cmd.Process.Signal(s); err != nil {
		return fmt.Errorf("signal %s: %w", p.name, err)
	}
	return nil
}

// Kill ends the command as kill -9 does, and nothing that it has started, and
// waits for its end.
func (p *Process) Kill() {
	_ = p.cmd.Process.Kill() // it may have ended
	<-p.done
}

// KillGroup ends the command and all that is still of its group, stopped or not.
func (p *Process) KillGroup() {
	_ = syscall.Kill(-p.PID(), syscall.SIGCONT) // nobody is left if it fails
	_ = syscall.Kill(-p.PID(), syscall.SIGKILL)
	<-p.done
}

// Stop asks the process to end, waits, and kills it when it takes too long.
func (p *Process) Stop() {
	_ = p.Signal(syscall.SIGTERM) // it may have ended
	select {
	case <-p.done:
	case <-time.After(patience):
		p.Kill()
	}
}
