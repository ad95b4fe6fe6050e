// Command protoactor does the jobs of pawl bench mesh with protoactor-go, with the
// same messages, two processes over loopback, and the same JSON.
//
//	go run . --beside ../../bin/pawl
//
// It is a module of its own, so that what protoactor-go needs does not enter Pawl's.
// A message is a protobuf BytesValue, which is sent by pointer within a process; the
// remote is that of the library with its default settings, except that it may
// receive 16 MiB.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/pawl-go/pawl/bench/measure"
	"github.com/pawl-go/pawl/bench/messages"
)

type options struct {
	duration time.Duration
	json     bool
	beside   string
	child    func(ctx context.Context) *exec.Cmd
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	o := options{child: func(ctx context.Context) *exec.Cmd { return exec.CommandContext(ctx, os.Args[0], "--child") }}
	child := flag.Bool("child", false, "for the program itself: be the other process")
	flag.StringVar(&o.beside, "beside", "", "the path of the command pawl: do the jobs with it as well, and compare")
	flag.DurationVar(&o.duration, "duration", 2*time.Second, "how long each job")
	flag.BoolVar(&o.json, "json", false, "print JSON")
	flag.Parse()
	err := error(nil)
	if *child {
		err = serve(os.Stdin, os.Stdout)
	} else {
		err = run(ctx, &o, os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "protoactor:", err)
		stop()
		os.Exit(1)
	}
}

// run does the jobs and prints the report; with --beside that of both, and the ratios
// of pawl to all the rest.
func run(ctx context.Context, o *options, w io.Writer) error {
	report := &messages.Report{}
	if o.beside != "" {
		cmd := exec.CommandContext(ctx, o.beside, "bench", "mesh", "--json", "--duration", o.duration.String())
		cmd.Stderr = os.Stderr
		out, err := cmd.Output()
		if err != nil {
			return fmt.Errorf("run %s bench mesh: %w", o.beside, err)
		}
		if err := json.Unmarshal(out, report); err != nil {
			return fmt.Errorf("read %s bench mesh: %w", o.beside, err)
		}
	}
	theirs, err := measureProtoactor(ctx, o)
	if err != nil {
		return err
	}
	if o.beside == "" {
		report = theirs
	} else {
		report.Add(theirs)
	}
	if o.json {
		e := json.NewEncoder(w)
		e.SetIndent("", "  ")
		return e.Encode(report)
	}
	report.Print(w)
	return nil
}

func measureProtoactor(ctx context.Context, o *options) (*messages.Report, error) {
	other, err := startChild(ctx, o)
	if err != nil {
		return nil, err
	}
	defer other.kill()
	s := newSystem(other)
	defer s.close()
	return messages.Run(ctx, []messages.System{s}, o.duration, func(string, float64, int64) {})
}

// child is the other process.
type child struct {
	cmd  *exec.Cmd
	in   io.Writer
	out  *bufio.Scanner
	addr string

	mu   sync.Mutex
	last time.Duration
}

func startChild(ctx context.Context, o *options) (*child, error) {
	c := &child{cmd: o.child(ctx)}
	c.cmd.Stderr = os.Stderr
	var err error
	if c.in, err = c.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := c.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the other process: %w", err)
	}
	c.out = bufio.NewScanner(out)
	if !c.out.Scan() {
		c.kill()
		return nil, fmt.Errorf("the other process says nothing")
	}
	c.addr = c.out.Text()
	return c, nil
}

func (c *child) kill() {
	_ = c.cmd.Process.Kill()
	_ = c.cmd.Wait() // "signal: killed"
}

// cpu asks the other process for its processor time.
func (c *child) cpu() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, err := io.WriteString(c.in, "\n"); err == nil && c.out.Scan() {
		if d, err := time.ParseDuration(c.out.Text()); err == nil {
			c.last = d
		}
	}
	return c.last
}

// serve is the other process: it says where it is, and its processor time for each
// line that it reads.
func serve(in io.Reader, out io.Writer) error {
	n := start()
	defer n.stop()
	fmt.Fprintln(out, n.system.Address())
	for s := bufio.NewScanner(in); s.Scan(); {
		fmt.Fprintln(out, measure.CPU())
	}
	return nil
}
