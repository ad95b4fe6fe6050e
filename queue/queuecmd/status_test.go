package queuecmd

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pawl-go/pawl/internal/ports"
	"github.com/pawl-go/pawl/queue"
	"github.com/pawl-go/pawl/queue/replica"
	"github.com/pawl-go/pawl/queue/replica/control"
	"github.com/pawl-go/pawl/queue/replica/faultnet"
)

// threeHosts is a file with three hosts and one queue. Host three dials host one
// through the proxy.
func threeHosts(t *testing.T) (file string, oneToThree *faultnet.Proxy) {
	t.Helper()
	dir := shortDir(t)
	secret := writeFile(t, filepath.Join(dir, "secret"), "0123456789abcdef0123456789abcdef\n", 0o600)
	at, err := ports.Addresses(3)
	if err != nil {
		t.Fatal(err)
	}
	p, err := faultnet.Listen(at[0])
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	text := `
context: { baseSourcePath: %[1]q, baseSinkPath: %[2]q, secretFile: %[3]q, heartbeatIntervalMs: 50, heartbeatTimeoutMs: 1000 }
hosts: { one: { hostId: 1, connectUri: %[4]q }, two: { hostId: 2, connectUri: %[5]q }, three: { hostId: 3, connectUri: %[6]q } }
replicaSets: { all: [ one, two, three ] }
queues: { orders: { replicaSets: [ all ], masterId: 1, acknowledge: true, strategy: majority } }
`
	write := func(name, one string) string {
		return writeFile(t, filepath.Join(dir, name),
			fmt.Sprintf(text, filepath.Join(dir, "source"), filepath.Join(dir, "sink$hostId"), secret, one, at[1], at[2]), 0o600)
	}
	write("file-three.yaml", p.Addr())
	return write("file.yaml", at[0]), p
}

// overviewOf asks a host until what it says is right.
func overviewOf(t *testing.T, file, host string, ok func(replica.Overview) bool) replica.Overview {
	t.Helper()
	for {
		out, err := run(t, "replication", "status", "-c", file, "--host", host, "-o", "json")
		var o control.Overview
		if err != nil || json.Unmarshal([]byte(out), &o) != nil || len(o.Queues) != 1 || len(o.Queues[0].Hosts) != 3 {
			t.Fatalf("%v\n%s", err, out)
		}
		if ok(o.Queues[0]) {
			return o.Queues[0]
		}
		if t.Context().Err() != nil {
			t.Fatalf("%s", out)
		}
	}
}

// TestStatusOfAllHosts: one command shows three hosts; then one that is cut off from
// the one that is asked, and one that is dead.
func TestStatusOfAllHosts(t *testing.T) {
	file, oneToThree := threeHosts(t)
	one := serve(t, "-c", file, "--host", "one")
	two := serve(t, "-c", file, "--host", "two")
	three := serve(t, "-c", strings.Replace(file, "file.yaml", "file-three.yaml", 1), "--host", "three")
	status := func(host string, want ...string) {
		t.Helper()
		out, err := run(t, "replication", "status", "-c", file, "--host", host)
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range want {
			if !strings.Contains(out, line) {
				t.Fatalf("host %s does not say %q:\n%s", host, line, out)
			}
		}
	}
	live := func(h replica.HostOverview) bool { return h.Reached && h.State == "live" && h.Trust == "whole" }
	overviewOf(t, file, "three", func(o replica.Overview) bool {
		return o.Source == 1 && o.Hosts[0].Reached && live(o.Hosts[1]) && live(o.Hosts[2])
	})
	status("two", "orders: source host 1, epoch", "once 2 of 3 hosts hold it", "1 one    source", "2 two    sink", "3 three  sink")

	oneToThree.Refuse()
	o := overviewOf(t, file, "three", func(o replica.Overview) bool { return !o.Hosts[0].Reached && o.Hosts[1].Reached })
	if o.Source != 1 || len(o.Hosts[0].HeardBy) != 1 || o.Hosts[0].HeardBy[0] != 2 {
		t.Fatalf("%+v", o)
	}
	status("three", "1 one    ?", "host 1 cannot be reached from host 3: ", "; it is connected with host 2", "the source, host 1, cannot be reached")
	overviewOf(t, file, "one", func(o replica.Overview) bool { return !o.Hosts[2].Reached && o.Hosts[2].State == "down" })

	oneToThree.Release()
	overviewOf(t, file, "one", func(o replica.Overview) bool { return live(o.Hosts[2]) })
	two.end(t)
	overviewOf(t, file, "three", func(o replica.Overview) bool { return !o.Hosts[1].Reached && o.Hosts[1].State == "down" })
	status("three", "2 two    ?", "host 2 cannot be reached from host 3: ")
	one.end(t)
	three.end(t)
}

// endAfter cancels after so many writes.
type endAfter struct {
	bytes.Buffer
	writes int
	cancel context.CancelFunc
}

func (e *endAfter) Write(b []byte) (int, error) {
	if e.writes--; e.writes == 0 {
		e.cancel()
	}
	return e.Buffer.Write(b)
}

func TestStatusWatch(t *testing.T) {
	file := twoHosts(t)
	one := serve(t, "-c", file, "--host", "one")
	for _, format := range []string{"", "jsonl"} {
		ctx, cancel := context.WithCancel(t.Context())
		out := &endAfter{writes: 2, cancel: cancel}
		c := Command()
		c.SilenceUsage = true
		c.SetArgs([]string{"replication", "status", "-c", file, "--host", "one", "--watch", "-o", format})
		c.SetOut(out)
		if err := c.ExecuteContext(ctx); err != nil {
			t.Fatal(err)
		}
		cancel()
		want := "host 2 cannot be reached from host 1"
		if format != "" {
			want = `"queue":"orders"`
		}
		if strings.Count(out.String(), want) != 2 {
			t.Errorf("-o %q:\n%s", format, out)
		}
	}
	if _, err := run(t, "replication", "status", "-c", file, "--host", "one", "-w", "-o", "json"); err == nil || !strings.Contains(err.Error(), "jsonl") {
		t.Error(err)
	}
	one.end(t)
}

func TestPrintOverview(t *testing.T) {
	index := func(i queue.Index) *queue.Index { return &i }
	gap := uint64(3)
	o := replica.Overview{
		Queue: "orders", Asked: 1, Source: 1, Epoch: "7.1", Need: 2, Promises: 2, Warnings: []string{"look here"},
		Hosts: []replica.HostOverview{
			{
				Host: 1, Name: "a", Reached: true, Role: "source", Epoch: "7.1", Trust: "whole", Appended: index(queue.NewIndex(1, 9)),
				Applied: index(queue.NewIndex(1, 6)), Gap: &gap, Locked: "no majority", WaitsFor: []int{2, 3},
			},
			{Host: 2, Name: "b", HeardMS: 61_234, Why: "it is gone", HeardBy: []replica.HostID{1, 3}, State: "copying", Sent: index(queue.NewIndex(1, 8))},
			{Host: 3, Name: "c", Reached: true, HeardMS: -1, Role: "sink", Follows: 1, Failed: "disk", State: "live"},
		},
	}
	var out bytes.Buffer
	if err := printOverview(&out, &o); err != nil {
		t.Fatal(err)
	}
	want := `orders: source host 1, epoch 7.1; an entry counts once 2 of 3 hosts hold it; a take-over needs the promises of 2
HOST  ROLE    EPOCH  FOLLOWS  STATE    SENT  RECEIVED  APPENDED  FLUSHED  APPLIED  GAP  TRUST  HEARD
1 a   source  7.1    -        -        -     -         1:9       -        1:6      3    whole  -
2 b   ?       -      -        copying  1:8   -         -         -        -        -    -      1m1s ago
3 c   ended   -      1        live     -     -         -         -        -        -    -      never
host 1 waits: no majority (hosts 2, 3)
host 2 cannot be reached from host 1: it is gone; it is connected with hosts 1, 3
look here
`
	if out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", out.String(), want)
	}
}
