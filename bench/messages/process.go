package messages

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"time"

	"github.com/pawl-go/pawl/bench/measure"
)

// open starts the other process of a system, if it has one, and the system here.
func (s System) open(ctx context.Context, start func(context.Context, string) *exec.Cmd) (*Client, error) {
	if s.Serve == nil {
		c, err := s.Open(ctx, "")
		if err == nil {
			c.cpu = func() time.Duration { return 0 }
		}
		return c, err
	}
	p, err := startProcess(start(ctx, s.Name))
	if err != nil {
		return nil, err
	}
	c, err := s.Open(ctx, p.addr)
	if err != nil {
		p.kill()
		return nil, err
	}
	c.cpu = p.cpu
	here := c.Close
	c.Close = func() { here(); p.kill() }
	return c, nil
}

// serve is the other process. It says where it is, and its processor time for each
// line that it reads; it ends with its input.
func (s System) serve(in io.Reader, out io.Writer) error {
	server, err := s.Serve()
	if err != nil {
		return fmt.Errorf("serve %s: %w", s.Name, err)
	}
	defer server.Close()
	fmt.Fprintln(out, server.Addr)
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		fmt.Fprintln(out, measure.CPU())
	}
	return lines.Err()
}

// process is the other process, seen from here.
type process struct {
	cmd  *exec.Cmd
	in   io.Writer
	addr string

	mu   sync.Mutex
	out  *bufio.Scanner
	last time.Duration
}

func startProcess(cmd *exec.Cmd) (p *process, err error) {
	p = &process{cmd: cmd}
	cmd.Stderr = os.Stderr
	if p.in, err = cmd.StdinPipe(); err != nil {
		return nil, fmt.Errorf("start the other process: %w", err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("start the other process: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the other process: %w", err)
	}
	p.out = bufio.NewScanner(out)
	if !p.out.Scan() {
		p.kill()
		return nil, errors.Join(errors.New("the other process does not say where it is"), p.out.Err())
	}
	p.addr = p.out.Text()
	return p, nil
}

// cpu asks for the processor time so far.
func (p *process) cpu() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, err := io.WriteString(p.in, "\n"); err == nil && p.out.Scan() {
		if d, err := time.ParseDuration(p.out.Text()); err == nil {
			p.last = d
		}
	}
	return p.last // it has ended: the next message to it fails
}

func (p *process) kill() {
	_ = p.cmd.Process.Kill()
	_ = p.cmd.Wait() // "signal: killed"
}
