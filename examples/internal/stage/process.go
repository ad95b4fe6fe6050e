package stage

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
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
	done  chan struct{} // closed when it has ended and all its lines are read
}

// Start starts a command; name is what errors call it, and env is added to the
// environment. Whoever starts a process ends it, with Kill or Stop.
func Start(name string, env []string, command string, args ...string) (*Process, error) {
	p := &Process{name: name, news: make(chan struct{}), done: make(chan struct{})}
	p.cmd = exec.Command(command, args...) //nolint:noctx // it ends by Kill or Stop, not in the midst of a clean end
	p.cmd.Env = append(os.Environ(), env...)
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // an interrupt is for the one who started it
	read, write := io.Pipe()
	p.cmd.Stdout, p.cmd.Stderr = write, write
	p.cmd.WaitDelay = time.Second // what a killed runtime leaves behind may hold the output open for so long
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	go func() {
		_ = p.cmd.Wait() // that it was killed is no news
		_ = write.Close()
	}()
	go p.read(read)
	return p, nil
}

// read keeps what the process prints, until it has ended.
func (p *Process) read(r io.Reader) {
	defer close(p.done)
	for s := bufio.NewScanner(r); s.Scan(); {
		p.mu.Lock()
		p.lines = append(p.lines, s.Text())
		close(p.news)
		p.news = make(chan struct{})
		p.mu.Unlock()
	}
}

// Line waits for a line that has part in it, and returns what follows the part.
// It fails when the process ends without one, and tells what it has printed.
func (p *Process) Line(ctx context.Context, part string) (string, error) {
	for seen := 0; ; {
		p.mu.Lock()
		lines, news := p.lines[seen:], p.news
		p.mu.Unlock()
		for _, l := range lines {
			if _, rest, ok := strings.Cut(l, part); ok {
				return rest, nil
			}
		}
		seen += len(lines)
		select {
		case <-news:
		case <-p.done:
			if p.count() > seen {
				continue
			}
			return "", fmt.Errorf("%s ended without saying %q:\n%s", p.name, part, p.Output())
		case <-ctx.Done():
			return "", fmt.Errorf("%s has not said %q: %w\n%s", p.name, part, context.Cause(ctx), p.Output())
		}
	}
}

func (p *Process) count() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.lines)
}

// Output is all that the process has printed so far.
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

// Ready waits for the line of an application that says that it is.
func (p *Process) Ready(ctx context.Context) (App, error) {
	var a App
	line, err := p.Line(ctx, "ready ")
	if err == nil {
		err = json.Unmarshal([]byte(line), &a)
	}
	return a, err
}

// PID is that of the command, not of what it has started.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Done is closed when the process has ended.
func (p *Process) Done() <-chan struct{} { return p.done }

// Kill ends the process as kill -9 does, and waits for that.
func (p *Process) Kill() {
	_ = p.cmd.Process.Kill() // it may have ended
	<-p.done
}

// Stop asks the process to end, waits, and kills it when it takes too long.
func (p *Process) Stop() {
	_ = p.cmd.Process.Signal(syscall.SIGTERM) // it may have ended
	select {
	case <-p.done:
	case <-time.After(patience):
		p.Kill()
	}
}
