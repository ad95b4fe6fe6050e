package pair

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"syscall"
	"time"
)

// Config describes the child.
type Config struct {
	Command []string // program and arguments; required
	Env     []string // added to this process's
	Stdin   io.Reader
	Stdout  io.Writer // nil: discarded
	Stderr  io.Writer
	// Watcher is the command of a process that calls [Watch] and ends: this
	// program again, as a rule. Empty: no watcher, and when this process is
	// killed only the child itself ends, on Linux.
	Watcher []string
}

// Process is a running child. All methods are safe for concurrent use.
type Process struct {
	cmd  *exec.Cmd
	pipe *os.File // the watcher ends when it is closed
	done chan struct{}
	code int
}

// outputDelay is how long output is still copied when the child has ended, and
// others hold its pipes.
const outputDelay = 100 * time.Millisecond

// Start starts the child, and its watcher before it.
func Start(c Config) (*Process, error) {
	if len(c.Command) == 0 {
		return nil, errors.New("start child: no command")
	}
	p := &Process{done: make(chan struct{})}
	p.cmd = exec.Command(c.Command[0], c.Command[1:]...) //nolint:noctx // its end is this package's
	p.cmd.Env = append(os.Environ(), c.Env...)
	p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr = c.Stdin, c.Stdout, c.Stderr
	p.cmd.SysProcAttr = attributes()
	p.cmd.WaitDelay = outputDelay
	var watcher *exec.Cmd
	if len(c.Watcher) > 0 {
		var err error
		if watcher, err = p.watch(c.Watcher); err != nil {
			return nil, fmt.Errorf("start watcher: %w", err)
		}
	}
	started := make(chan error)
	go p.live(watcher, started)
	if err := <-started; err != nil {
		return nil, fmt.Errorf("start %s: %w", c.Command[0], err)
	}
	return p, nil
}

// watch starts the watcher, which reads the group to kill from the pipe.
func (p *Process) watch(command []string) (*exec.Cmd, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(command[0], command[1:]...) //nolint:noctx // it ends with the pipe
	cmd.Stdin = r
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // a Ctrl-C is not for it
	err = cmd.Start()
	_ = r.Close() // the watcher has its own
	if err != nil {
		_ = w.Close()
		return nil, err
	}
	p.pipe = w
	return cmd, nil
}

// live starts the child and stays with it: the kernel ties the child's life to
// that of the thread that started it.
func (p *Process) live(watcher *exec.Cmd, started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	err := p.cmd.Start()
	if err == nil && p.pipe != nil {
		_, err = fmt.Fprintln(p.pipe, p.cmd.Process.Pid)
		if err != nil {
			p.Kill()
		}
	}
	started <- err
	if err == nil {
		_ = p.cmd.Wait() // its state says all
		p.code = exitCode(p.cmd.ProcessState)
		p.Kill() // what it has left behind
	}
	close(p.done)
	if watcher != nil {
		_ = p.pipe.Close()
		_ = watcher.Wait() // it has nothing to say
	}
}

// exitCode is that of a shell: 128 and the signal for a child that was killed.
func exitCode(s *os.ProcessState) int {
	if ws, ok := s.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		return 128 + int(ws.Signal())
	}
	return s.ExitCode()
}

// Pid is the child's process id, and that of its group.
func (p *Process) Pid() int { return p.cmd.Process.Pid }

// Done is closed when the child has ended, and its group with it.
func (p *Process) Done() <-chan struct{} { return p.done }

// Wait waits for the end of the child and gives its exit code; 128+n if
// signal n has ended it.
func (p *Process) Wait() int {
	<-p.done
	return p.code
}

// Signal sends a signal to the child's group.
func (p *Process) Signal(s syscall.Signal) {
	if p.cmd.Process != nil {
		_ = syscall.Kill(-p.Pid(), s) // nobody is left if it fails
	}
}

// Kill ends the child and its group at once.
func (p *Process) Kill() { p.Signal(syscall.SIGKILL) }

// Watch is the whole of a watcher: it reads a process group from r, waits for
// r's end, and kills the group. It returns an error if r holds something else.
func Watch(r io.Reader) error {
	b, err := io.ReadAll(r)
	if len(b) == 0 {
		return err // the child was never started
	}
	pid, bad := strconv.Atoi(string(b[:len(b)-1]))
	if bad != nil || pid <= 1 {
		return fmt.Errorf("watch: %q is not a process group", b)
	}
	if err := syscall.Kill(-pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
		return fmt.Errorf("watch: kill group %d: %w", pid, err)
	}
	return nil
}
