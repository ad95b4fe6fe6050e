package replica_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pawl-go/pawl/queue"
	"github.com/pawl-go/pawl/queue/replica"
)

// TestFlipInEachFile: a bit is flipped in each file of a host in turn. The host either
// starts and has what the others have, or is put aside and copies everything anew; what
// was damaged reaches nobody.
func TestFlipInEachFile(t *testing.T) {
	c := newCluster(t, 3, fast)
	c.openAll()
	c.awaitSource(1)
	want := 40
	for k := range want {
		c.append(1, large(k))
	}
	c.awaitAll(c.queue(1).Last())
	files, err := os.ReadDir(c.queueDir(2))
	if err != nil {
		t.Fatal(err)
	}
	aside := 0
	for _, file := range files {
		path := filepath.Join(c.queueDir(2), file.Name())
		c.close(2)
		b, err := os.ReadFile(path)
		if errors.Is(err, os.ErrNotExist) || len(b) == 0 {
			c.open(2)
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		b[len(b)/3] ^= 4
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		name, _, err := replica.PutAside(c.queueDir(2), false, queue.CheckOptions{})
		if err != nil {
			t.Fatalf("%s: %v", file.Name(), err)
		}
		if name != "" {
			if _, err := os.Stat(filepath.Join(name, file.Name())); err != nil {
				t.Fatal(err)
			}
			aside++
		} else if was := b[len(b)/3] ^ 4; strings.HasSuffix(file.Name(), ".cycle") && was != 0 { // 0: not in use
			t.Fatalf("%s: a flip was not found", file.Name())
		}
		c.open(2)
		want++
		if ms := c.same(c.append(1, large(want))); len(ms) != want {
			t.Fatalf("%s: %d messages, want %d", file.Name(), len(ms), want)
		}
	}
	if aside == 0 {
		t.Fatal("no damage was found")
	}
	for _, id := range []replica.HostID{1, 2, 3} {
		r, err := queue.Verify(c.queueDir(id), queue.CheckOptions{})
		if err != nil || r.Damaged() {
			t.Fatalf("host %d: %+v %v", id, r.Problems, err)
		}
	}
}

func TestPutAsideRefuses(t *testing.T) {
	if _, _, err := replica.PutAside(t.TempDir(), true, queue.CheckOptions{}); !errors.Is(err, replica.ErrNoReplica) {
		t.Fatal(err)
	}
	c := newCluster(t, 2, nil)
	c.openAll()
	c.awaitSource(1)
	c.awaitAll(c.append(1, "one"))
	if _, _, err := replica.PutAside(c.queueDir(2), true, queue.CheckOptions{}); err == nil || !strings.Contains(err.Error(), "stop the host") {
		t.Fatalf("a host that runs: %v", err)
	}
	c.close(2)
	if name, _, err := replica.PutAside(c.queueDir(2), false, queue.CheckOptions{}); name != "" || err != nil {
		t.Fatalf("no damage: %q %v", name, err)
	}
	if name, _, err := replica.PutAside(c.queueDir(2), true, queue.CheckOptions{}); name == "" || err != nil {
		t.Fatalf("always: %q %v", name, err)
	}
	c.open(2)
	if ms := c.same(c.append(1, "two")); len(ms) != 2 {
		t.Fatal(ms)
	}
}
