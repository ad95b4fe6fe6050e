package crash

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Event is a line of a child.
type Event struct {
	Kind  string // ready, sent, again, answered, at, end
	Unit  int    // of sent, again and answered
	Point string // of at
}

// Life is one child process. Its methods are for one goroutine.
type Life struct {
	// Events brings the child's lines, and is closed at their end. The channel
	// has no room: a child that nobody listens to comes to a halt.
	Events <-chan Event
	Name   string // for people, if there are several; Start leaves it empty

	cmd    *exec.Cmd
	stdin  io.WriteCloser
	stderr *tail
}

// Start starts this program anew, with a job. The child is killed when ctx ends.
func Start(ctx context.Context, job Job) (*Life, error) {
	text, err := json.Marshal(job)
	if err != nil {
		return nil, fmt.Errorf("start child: %w", err)
	}
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("start child: %w", err)
	}
	cmd := exec.CommandContext(ctx, self)
	cmd.Env = append(os.Environ(), jobVariable+"="+string(text))
	stderr := &tail{}
	cmd.Stderr = stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("start child: %w", err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("start child: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start child: %w", err)
	}
	events := make(chan Event)
	go read(stdout, events)
	return &Life{Events: events, cmd: cmd, stdin: stdin, stderr: stderr}, nil
}

// Begin tells a child whose job says Standby that its turn has come, and the lowest
// unit without answer. Of one that has ended Wait says why.
func (l *Life) Begin(from int) error {
	if _, err := fmt.Fprintf(l.stdin, "from %d\n", from); err != nil && !errors.Is(err, syscall.EPIPE) {
		return fmt.Errorf("tell child %d to begin: %w", l.cmd.Process.Pid, err)
	}
	return nil
}

// Kill ends the process as kill -9 does. What it has written before can still
// be read from Events, which must be read to its end before Wait.
func (l *Life) Kill() error {
	if err := l.cmd.Process.Kill(); err != nil {
		return fmt.Errorf("kill child %d: %w", l.cmd.Process.Pid, err)
	}
	return nil
}

// Dump asks the process to end with the stacks of its goroutines on standard
// error, and kills it if it has not after a grace.
func (l *Life) Dump(grace time.Duration) {
	_ = l.cmd.Process.Signal(syscall.SIGQUIT) // it may have ended already
	time.AfterFunc(grace, func() { _ = l.cmd.Process.Kill() })
}

// Wait returns when the process has ended, after Events was closed. The error
// holds the end of what it wrote on standard error.
func (l *Life) Wait() error {
	err := l.cmd.Wait()
	_ = l.stdin.Close() // Wait has closed it as a rule
	if err != nil {
		return fmt.Errorf("child %d: %w\n%s", l.cmd.Process.Pid, err, l.stderr)
	}
	return nil
}

// raced reports whether the child was built with the race detector, and that
// has found something.
func (l *Life) raced() bool { return strings.Contains(l.stderr.String(), "WARNING: DATA RACE") }

// read turns lines into events. It ends with the pipe, that is with the child.
func read(r io.Reader, events chan<- Event) {
	defer close(events)
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		kind, rest, _ := strings.Cut(lines.Text(), " ")
		e := Event{Kind: kind, Point: rest}
		if n, err := strconv.Atoi(rest); err == nil {
			e.Unit = n
		}
		events <- e
	}
}

// tail keeps the beginning and the end of what is written to it.
type tail struct {
	mu   sync.Mutex
	text []byte
}

const tailBegin, tailLimit = 16 << 10, 64 << 10

func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, b...)
	if over := len(t.text) - tailLimit; over > 0 {
		t.text = append(t.text[:tailBegin], t.text[tailBegin+over:]...)
	}
	return len(b), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.text)
}
