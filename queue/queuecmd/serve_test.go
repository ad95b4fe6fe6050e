package queuecmd

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/pawl-go/pawl/internal/ports"
	"github.com/pawl-go/pawl/queue"
	"github.com/pawl-go/pawl/queue/replica"
	"github.com/pawl-go/pawl/queue/replica/config"
	"github.com/pawl-go/pawl/queue/replica/control"
)

// served is a running `pawl queue serve`.
type served struct {
	stop context.CancelFunc
	done chan error
	said string       // what it said when it began
	log  bytes.Buffer // to be read when it is done
}

// serve runs the command until the test ends, and returns once its socket is there.
func serve(t *testing.T, args ...string) *served {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	s := &served{stop: cancel, done: make(chan error, 1)}
	r, w := io.Pipe()
	c := Command()
	c.SilenceUsage = true
	c.SetArgs(append([]string{"serve"}, args...))
	c.SetOut(w)
	c.SetErr(&s.log)
	go func() {
		err := c.ExecuteContext(ctx)
		w.CloseWithError(err)
		s.done <- err
	}()
	t.Cleanup(cancel)
	line, err := bufio.NewReader(r).ReadString('\n')
	if err != nil || !strings.Contains(line, "control socket") {
		t.Fatalf("serve: %q %v", line, err)
	}
	s.said = line
	go io.Copy(io.Discard, r)
	return s
}

func (s *served) end(t *testing.T) {
	t.Helper()
	s.stop()
	if err := <-s.done; err != nil {
		t.Fatalf("serve: %v\n%s", err, s.log.String())
	}
}

// shortDir is a directory with a path that is short enough for a socket.
func shortDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "q") //nolint:usetesting // t.TempDir may be too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

func writeFile(t *testing.T, path, text string, mode os.FileMode) string {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
	return path
}

// twoHosts is a file with two hosts and one queue.
func twoHosts(t *testing.T) string {
	t.Helper()
	dir := shortDir(t)
	addresses, err := ports.Addresses(2)
	if err != nil {
		t.Fatal(err)
	}
	secret := writeFile(t, filepath.Join(dir, "secret"), "0123456789abcdef0123456789abcdef\n", 0o600)
	return writeFile(t, filepath.Join(dir, "file.yaml"), fmt.Sprintf(`
!ChronicleQueueReplicationCfg {
  context: { baseSourcePath: %[1]q, baseSinkPath: %[2]q, secretFile: %[3]q, heartbeatIntervalMs: 100, heartbeatTimeoutMs: 2000 },
  hosts: { one: { hostId: 1, connectUri: %[4]q }, two: { hostId: 2, connectUri: %[5]q } },
  replicaSets: { both: [ one, two ] },
  queues: { orders: { replicaSets: [ both ], masterId: 1, acknowledge: true, strategy: all } }
}`, filepath.Join(dir, "source"), filepath.Join(dir, "sink"), secret, addresses[0], addresses[1]), 0o600)
}

func TestServeSwitchTakeOver(t *testing.T) {
	file := twoHosts(t)
	one := serve(t, "-c", file, "--host", "one", "--cycle-bytes", "65536")
	two := serve(t, "-c", file, "--host", "two", "--cycle-bytes", "65536")
	mustRun := func(want string, args ...string) string {
		t.Helper()
		out, err := run(t, append([]string{"replication"}, args...)...)
		if err != nil || !strings.Contains(out, want) {
			t.Fatalf("%v: %v\n%s", args, err, out)
		}
		return out
	}
	mustRun("this host is the source of orders now", "takeover", "orders", "-c", file, "--host", "1")
	var status control.Overview
	if err := json.Unmarshal([]byte(mustRun("orders", "status", "-c", file, "--host", "one", "-o", "json")), &status); err != nil {
		t.Fatal(err)
	}
	if status.Host != 1 || len(status.Queues) != 1 || status.Queues[0].Source != 1 || len(status.Queues[0].Hosts) != 2 {
		t.Fatalf("%+v", status)
	}
	mustRun("a take-over needs the promises of 1", "status", "-c", file, "--host", "one")
	for { // until the other has caught up
		out, err := run(t, "replication", "switch", "orders", "--to", "2", "-c", file, "--host", "one", "-o", "json")
		if err == nil {
			var s switched
			if err := json.Unmarshal([]byte(out), &s); err != nil || s.Queue != "orders" || s.Source != 2 {
				t.Fatalf("%v\n%s", err, out)
			}
			break
		}
		if !strings.Contains(err.Error(), "not connected and caught up") {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	mustRun("orders: source host 2", "status", "-c", file, "--host", "two")
	if _, err := run(t, "replication", "switch", "orders", "--to", "2", "-c", file, "--host", "one"); err == nil || !strings.Contains(err.Error(), "not the source") {
		t.Fatalf("switch at a sink: %v", err)
	}
	if _, err := run(t, "replication", "takeover", "others", "-c", file, "--host", "one"); err == nil || !strings.Contains(err.Error(), "no such queue") {
		t.Fatalf("take over a queue that is not there: %v", err)
	}
	two.end(t)
	mustRun("this host is the source of orders now", "takeover", "orders", "-c", file, "--host", "one")
	one.end(t)
	if _, err := run(t, "replication", "status", "-c", file, "--host", "one"); err == nil || !strings.Contains(err.Error(), "is it running") {
		t.Fatalf("status of nobody: %v", err)
	}
}

func TestServeMetrics(t *testing.T) {
	file := twoHosts(t)
	one := serve(t, "-c", file, "--host", "one", "--metrics", "127.0.0.1:0")
	_, url, ok := strings.Cut(strings.TrimSpace(one.said), "; metrics ")
	if !ok {
		t.Fatal(one.said)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil || !strings.Contains(string(b), `pawl_queue_role{queue="orders",role="sink"} 1`) {
		t.Fatalf("%v\n%s", err, b)
	}
	one.end(t)
}

// TestTakeOverByForce prints what each host held, and what may be lost.
func TestTakeOverByForce(t *testing.T) {
	file := twoHosts(t)
	two := serve(t, "-c", file, "--host", "two")
	_, err := run(t, "replication", "takeover", "orders", "--timeout", "300ms", "-c", file, "--host", "two")
	if err == nil || !strings.Contains(err.Error(), "not done after 300ms") || !strings.Contains(err.Error(), "hosts [1]") {
		t.Fatalf("take over without the other: %v", err)
	}
	two.end(t)
	two = serve(t, "-c", file, "--host", "two")
	out, err := run(t, "replication", "takeover", "orders", "--force", "-c", file, "--host", "two")
	if err != nil || !strings.Contains(out, "1     no: what counted and only it holds is lost") {
		t.Fatalf("%v\n%s", err, out)
	}
	two.end(t)
}

func TestServeRefuses(t *testing.T) {
	file := twoHosts(t)
	dir := filepath.Dir(file)
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	noSecret := strings.Replace(string(text), fmt.Sprintf("secretFile: %q,", filepath.Join(dir, "secret")), "", 1)
	bare := writeFile(t, filepath.Join(dir, "bare.yaml"), noSecret, 0o600)
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"-c", file}, "--host NAME"},
		{[]string{"-c", file, "--host", "three"}, `no host "three"`},
		{[]string{"-c", filepath.Join(dir, "none.yaml"), "--host", "one"}, "no such file"},
		{[]string{"-c", bare, "--host", "one"}, "say Insecure"},
	} {
		if _, err := run(t, append([]string{"serve"}, c.args...)...); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: %v, want %q", c.args, err, c.want)
		}
	}
	if err := os.Chmod(filepath.Join(dir, "secret"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := run(t, "serve", "-c", file, "--host", "one"); err == nil || !strings.Contains(err.Error(), "chmod 600") {
		t.Errorf("a secret that others can read: %v", err)
	}
}

// TestServeRetains: a sink that is nothing but a host keeps what the file says, and not
// the whole queue.
func TestServeRetains(t *testing.T) {
	path := twoHosts(t)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	const cycle, keep, cycles = 64 << 10, 200_000, 20
	writeFile(t, path, strings.Replace(string(text), "strategy: all", fmt.Sprintf("strategy: all, retain: { bytes: %d }", keep), 1), 0o600)
	two := serve(t, "-c", path, "--host", "two", "--cycle-bytes", strconv.Itoa(cycle))
	file, err := config.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	one, _ := file.Host("one")
	q, _ := file.Queue("orders")
	cfg, err := file.HostConfig(one)
	if err != nil {
		t.Fatal(err)
	}
	cfg.Queues = []replica.QueueConfig{{
		Name: q.Name, Dir: file.Dir(q, one.ID), Replica: file.Replica(q, one.ID), Queue: queue.Config{CycleBytes: cycle},
	}}
	host, err := replica.Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	orders := host.Queue(q.Name)
	if _, err := orders.Tenure(ctx); err != nil {
		t.Fatal(err)
	}
	for range cycles * 8 {
		if _, err := orders.Append(ctx, make([]byte, cycle/8)); err != nil {
			t.Fatal(err)
		}
	}
	files := func() int {
		names, err := filepath.Glob(filepath.Join(file.Dir(q, 2), "*.cycle"))
		if err != nil {
			t.Fatal(err)
		}
		return len(names)
	}
	again := time.NewTicker(20 * time.Millisecond) // another process, as it were, tells nobody
	defer again.Stop()
	for n := files(); n == 0 || n > keep/cycle+3; n = files() {
		select {
		case <-again.C:
		case <-ctx.Done():
			t.Fatalf("the sink keeps %d files of %d", n, cycles)
		}
	}
	if err := host.Close(); err != nil {
		t.Error(err)
	}
	two.end(t)
}
