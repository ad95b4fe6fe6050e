package bench

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"runtime/metrics"
	"strconv"
	"strings"
	"time"

	"github.com/pawl-go/pawl/bench/messages"
	"github.com/pawl-go/pawl/bench/rounds"
)

// Starter makes the command that runs a job in a process of its own: one that
// calls [Child] with the argument and its standard output.
type Starter func(ctx context.Context, argument string) *exec.Cmd

// job is what a child does.
type job struct {
	Do         string        `json:"do"`  // "size", "serve", "mesh", "tail" or "application"
	Dir        string        `json:"dir"` // tail: of the queue; empty: the standard input
	Durability string        `json:"durability,omitempty"`
	Calls      []int         `json:"calls,omitempty"`  // size: memory after so many calls, rising
	Actors     int           `json:"actors,omitempty"` // size: or after one call to each of so many actors
	Live       int           `json:"live,omitempty"`   // size: of which so many stay live; 0: all
	Keys       int           `json:"keys,omitempty"`   // serve: counters
	Settle     time.Duration `json:"settle,omitempty"` // size: rest before memory is read
	System     string        `json:"system,omitempty"` // mesh: whose actors it has
}

// line is what a child prints, each on a line.
type line struct {
	Memory   *Memory `json:"memory,omitempty"`
	Answered int     `json:"answered,omitempty"` // serve: calls answered so far
	Value    int64   `json:"value,omitempty"`    // serve: the first answer
	Done     int     `json:"done,omitempty"`     // size: calls so far
	Error    string  `json:"error,omitempty"`
	// tail: it is there, and then what it saw.
	Ready bool           `json:"ready,omitempty"`
	Seen  *rounds.Figure `json:"seen,omitempty"`
}

// Memory is what a process takes.
type Memory struct {
	RSS        float64 `json:"rss_mib"`
	Anonymous  float64 `json:"anonymous_mib"` // of RSS; the rest are pages of mapped files
	Heap       float64 `json:"heap_mib"`      // in use, of Go
	Live       float64 `json:"live_mib"`      // of Heap: what its last collection has left
	Goroutines int     `json:"goroutines"`
}

// Child does what a parent has asked for; see [Starter].
func Child(ctx context.Context, argument string, out io.Writer) error {
	var j job
	if err := json.Unmarshal([]byte(argument), &j); err != nil {
		return fmt.Errorf("read job: %w", err)
	}
	say := func(l line) {
		b, _ := json.Marshal(l) //nolint:errchkjson // our own struct
		fmt.Fprintf(out, "%s\n", b)
	}
	var err error
	switch j.Do {
	case "size":
		err = j.size(ctx, say)
	case "serve":
		err = j.serve(ctx, say)
	case "mesh":
		return messages.Serve(meshSystems(), j.System, os.Stdin, out)
	case "tail":
		err = j.tail(ctx, say)
	case "application":
		err = serveApplication(out)
	default:
		err = fmt.Errorf("no job %q", j.Do)
	}
	if err != nil {
		say(line{Error: err.Error()})
	}
	return err
}

// process is a running child.
type process struct {
	cmd *exec.Cmd
	out *bufio.Scanner
}

// command makes the command that does a job.
func (s Starter) command(ctx context.Context, j job) *exec.Cmd {
	b, _ := json.Marshal(j) //nolint:errchkjson // our own struct
	return s(ctx, string(b))
}

func (s Starter) start(ctx context.Context, j job) (*process, error) {
	p := &process{cmd: s.command(ctx, j)}
	p.cmd.Stderr = os.Stderr
	pipe, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("start child: %w", err)
	}
	p.out = bufio.NewScanner(pipe)
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start child: %w", err)
	}
	return p, nil
}

// next reads a line; ok is false at the end.
func (p *process) next() (l line, ok bool, err error) {
	if !p.out.Scan() {
		return l, false, p.out.Err()
	}
	if err := json.Unmarshal(p.out.Bytes(), &l); err != nil {
		return l, false, fmt.Errorf("read child: %w: %s", err, p.out.Text())
	}
	if l.Error != "" {
		return l, false, fmt.Errorf("child: %s", l.Error)
	}
	return l, true, nil
}

// kill ends the child as kill -9 does.
func (p *process) kill() {
	_ = p.cmd.Process.Kill()
	_ = p.cmd.Wait() // "signal: killed"
}

// memory reads what this process takes now.
func memory() *Memory {
	var ms runtime.MemStats
	runtime.ReadMemStats(&ms)
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(live)
	m := &Memory{Heap: mib(int64(ms.HeapInuse)), Live: mib(int64(live[0].Value.Uint64())), Goroutines: runtime.NumGoroutine()}
	b, err := os.ReadFile("/proc/self/status")
	if err != nil { // not Linux: what Go has from the system
		m.RSS, m.Anonymous = mib(int64(ms.Sys)), mib(int64(ms.Sys))
		return m
	}
	for text := range strings.Lines(string(b)) {
		f := strings.Fields(text)
		if len(f) < 2 {
			continue
		}
		kib, _ := strconv.ParseInt(f[1], 10, 64)
		switch f[0] {
		case "VmRSS:":
			m.RSS = mib(kib << 10)
		case "RssAnon:":
			m.Anonymous = mib(kib << 10)
		}
	}
	return m
}

func mib(bytes int64) float64 { return float64(bytes*10>>20) / 10 }
