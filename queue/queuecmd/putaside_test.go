package queuecmd

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pawl-go/pawl/queue/replica/config"
	"github.com/pawl-go/pawl/queue/replica/control"
)

// TestRepairFromTheOthers: a copy with damage is put aside, and the host has the queue
// again once it has started.
func TestRepairFromTheOthers(t *testing.T) {
	file := twoHosts(t)
	one, two := serve(t, "-c", file, "--host", "one"), serve(t, "-c", file, "--host", "two")
	awaitWhole(t, file)
	f, err := config.Load(file)
	if err != nil {
		t.Fatal(err)
	}
	q, _ := f.Queue("orders")
	dir := f.Dir(q, 2)
	if out, err := run(t, "replication", "repair", dir); err == nil || !strings.Contains(err.Error(), "stop the host") {
		t.Fatalf("a host that runs: %v\n%s", err, out)
	}
	two.end(t)
	if out, err := run(t, "replication", "repair", dir); err != nil || !strings.Contains(out, "there is no damage") {
		t.Fatalf("%v\n%s", err, out)
	}
	path := filepath.Join(dir, "0000000001.cycle")
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	b[0] ^= 4
	writeFile(t, path, string(b), 0o600)
	out, err := run(t, "replication", "repair", dir, "-o", "json")
	var p putAside
	if err != nil || json.Unmarshal([]byte(out), &p) != nil || !p.Damaged {
		t.Fatalf("%v\n%s", err, out)
	}
	if was, err := os.ReadFile(filepath.Join(p.Aside, filepath.Base(path))); err != nil || string(was) != string(b) {
		t.Fatalf("what was put aside is not what was there: %v", err)
	}
	two = serve(t, "-c", file, "--host", "two")
	awaitWhole(t, file)
	two.end(t)
	one.end(t)
	if out, err := run(t, "verify", dir); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if _, err := run(t, "replication", "repair", p.Aside+".no"); err == nil || !strings.Contains(err.Error(), "no copy of a replicated queue") {
		t.Fatal(err)
	}
}

// awaitWhole returns once host one copies to the other, which may promise.
func awaitWhole(t *testing.T, file string) {
	t.Helper()
	for {
		out, err := run(t, "replication", "status", "-c", file, "--host", "one", "-o", "json")
		var s control.Overview
		if err != nil || json.Unmarshal([]byte(out), &s) != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		if two := s.Queues[0].Hosts[1]; two.Reached && two.State == "live" && two.Trust == "whole" {
			return
		}
	}
}
