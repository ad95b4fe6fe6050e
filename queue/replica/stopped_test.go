package replica_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/pawl-go/pawl/queue"
	"github.com/pawl-go/pawl/queue/replica"
	"github.com/pawl-go/pawl/queue/replica/core"
)

// childDir is set for a process of these tests that is to be host 1, and nothing else.
const childDir = "PAWL_REPLICA_CHILD"

func TestMain(m *testing.M) {
	if dir := os.Getenv(childDir); dir != "" {
		if err := beHostOne(dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// beHostOne is a source that appends as fast as it can, and tells what has come of it,
// until it is refused. It ends with its standard input.
func beHostOne(dir string) error {
	cfg := replica.Config{
		Self: 1, Peers: []replica.Peer{{ID: 1}, {ID: 2}, {ID: 3}}, Secret: []byte("tell nobody"), Cluster: "test", Listen: "127.0.0.1:0",
		Logger: slog.New(slog.DiscardHandler),
		Queues: []replica.QueueConfig{{Name: qname, Dir: dir, Queue: queue.Config{CycleBytes: 64 << 10}, Replica: core.Config{
			Hosts: []replica.HostID{1, 2, 3}, Master: 1, Acknowledge: true, Strategy: core.Majority(),
		}}},
	}
	fast(&cfg)
	host, err := replica.Open(cfg)
	if err != nil {
		return err
	}
	say("at", host.Addr())
	q := host.Queue(qname)
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		cancel()
	}()
	if _, err := q.Tenure(ctx); err != nil {
		return errors.Join(err, host.Close())
	}
	for i := 0; ; i++ {
		text := fmt.Sprintf("child %d", i)
		if _, err := q.Append(ctx, []byte(text)); err != nil {
			say("refused", err)
			break
		}
		say(text)
	}
	<-ctx.Done()
	return host.Close()
}

func say(words ...any) { fmt.Fprintln(os.Stdout, words...) } // what the parent reads

// said is what a process has written, line by line.
type said struct {
	mu    sync.Mutex
	cond  *sync.Cond
	lines []string
}

func (s *said) read(r io.Reader) {
	for lines := bufio.NewScanner(r); lines.Scan(); {
		s.mu.Lock()
		s.lines = append(s.lines, lines.Text())
		s.cond.Broadcast()
		s.mu.Unlock()
	}
}

// await waits for a line, at or behind a number, that begins so; and gives all so far.
func (s *said) await(ctx context.Context, t *testing.T, n int, begins string) []string {
	t.Helper()
	defer context.AfterFunc(ctx, s.cond.Broadcast)()
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		for k := n; k < len(s.lines); k++ {
			if strings.HasPrefix(s.lines[k], begins) {
				return append([]string(nil), s.lines...)
			}
		}
		if ctx.Err() != nil {
			t.Fatalf("the process does not say %q; it has said %d lines", begins, len(s.lines))
		}
		s.cond.Wait()
	}
}

// A source whose process is stopped, and wakes when another host has long taken over, can
// append nothing: what it then tries is refused, and it follows.
func TestStoppedSourceWakes(t *testing.T) {
	c := newCluster(t, 3, fast)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	ctx := c.ctx()
	cmd := exec.CommandContext(ctx, self)
	cmd.Env = append(os.Environ(), childDir+"="+c.queueDir(1))
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	child := &said{}
	child.cond = sync.NewCond(&child.mu)
	var reads sync.WaitGroup
	reads.Go(func() { child.read(out) })
	address := strings.TrimPrefix(child.await(ctx, t, 0, "at ")[0], "at ")
	for _, from := range []replica.HostID{2, 3} {
		c.proxies[[2]replica.HostID{from, 1}].SetTarget(address)
	}
	c.open(2, 3)
	child.await(ctx, t, 50, "child")
	if err := cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	if _, err := c.queue(2).TakeOver(ctx, false); err != nil {
		t.Fatal(err)
	}
	c.append(2, "after")
	if err := cmd.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	lines := child.await(ctx, t, 0, "refused")
	last := c.append(2, "end")
	c.awaitCopying(2, 1)
	ms := c.same(last)
	times, over := map[string]int{}, false
	for _, m := range ms {
		times[m.text]++
		over = over || m.text == "after"
		if over && strings.HasPrefix(m.text, "child") {
			t.Errorf("the source that was stopped has appended %q after the take-over", m.text)
		}
	}
	for _, line := range lines {
		if strings.HasPrefix(line, "child") && times[line] != 1 {
			t.Errorf("%s was acknowledged, and is there %d times", line, times[line])
		}
	}
	_ = in.Close()
	reads.Wait()
	if err := cmd.Wait(); err != nil {
		t.Errorf("the process: %v", err)
	}
}
