package replica_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pawl-go/pawl/queue"
	"github.com/pawl-go/pawl/queue/memfs"
	"github.com/pawl-go/pawl/queue/replica"
	"github.com/pawl-go/pawl/queue/replica/core"
)

// kind matches events of a kind.
func kind(k replica.EventKind) func(replica.Event) bool {
	return func(e replica.Event) bool { return e.Kind == k }
}

// large is a message that fills cycles quickly.
func large(k int) string { return fmt.Sprintf("%d %s", k, strings.Repeat("x", 3000)) }

// TestFullDiskAtASink: it says so, stays as it is, and goes on when there is room;
// the others never wait for it.
func TestFullDiskAtASink(t *testing.T) {
	disks := map[replica.HostID]*memfs.FS{1: memfs.New(), 2: memfs.New(), 3: memfs.New()}
	c := newCluster(t, 3, func(cfg *replica.Config) {
		fast(cfg)
		cfg.Queues[0].Queue.FS = disks[cfg.Self]
	})
	c.openAll()
	c.awaitSource(1)
	c.awaitAll(c.append(1, "before"))
	disks[3].SetRoom(0)
	var last queue.Index
	for k := range 100 {
		last = c.append(1, large(k))
	}
	e, err := c.events.await(c.ctx(), kind(core.NoticeStorage))
	if err != nil || !errors.Is(e.Err, queue.ErrFull) {
		t.Fatalf("%+v %v", e, err)
	}
	if s := c.queue(3).Stats(); s.Last >= last || s.Failed != "" {
		t.Fatalf("%+v", s)
	}
	disks[3].SetRoom(-1)
	if ms := c.same(last); len(ms) != 101 {
		t.Fatalf("%d messages", len(ms))
	}
}

// TestFullDiskAtTheSource: appends fail, and nothing of them is anywhere.
func TestFullDiskAtTheSource(t *testing.T) {
	disk := memfs.New()
	c := newCluster(t, 2, func(cfg *replica.Config) {
		if cfg.Queues[0].Queue.FS = memfs.New(); cfg.Self == 1 {
			cfg.Queues[0].Queue.FS = disk
		}
	})
	c.openAll()
	c.awaitSource(1)
	disk.SetRoom(0)
	n := 0
	for {
		_, err := c.queue(1).Append(c.ctx(), []byte(large(n)))
		if err != nil {
			if !errors.Is(err, queue.ErrFull) {
				t.Fatal(err)
			}
			break
		}
		n++
	}
	disk.SetRoom(-1)
	if ms := c.same(c.append(1, "after")); len(ms) != n+1 {
		t.Fatalf("%d messages, want %d", len(ms), n+1)
	}
}

// TestFailedFlushEndsTheReplica, and not the host; the others take over.
func TestFailedFlushEndsTheReplica(t *testing.T) {
	disk := memfs.New()
	c := newCluster(t, 2, func(cfg *replica.Config) {
		fast(cfg)
		cfg.Queues[0].Replica.FlushToCount = true
		if cfg.Queues[0].Queue.FS = memfs.New(); cfg.Self == 1 {
			cfg.Queues[0].Queue.FS = disk
		}
	})
	c.openAll()
	c.awaitSource(1)
	c.awaitAll(c.append(1, "before"))
	c.awaitCopying(1, 2)
	disk.FailSync(func(string) error { return errors.New("the disk is gone") })
	_, err := c.queue(1).Append(c.ctx(), []byte("lost"))
	if _, uncertain := errors.AsType[*replica.UncertainError](err); err == nil || !uncertain {
		t.Fatalf("append: %v", err)
	}
	failed, ok := errors.AsType[*replica.FailedError](err)
	if !ok || failed.Queue != qname {
		t.Fatalf("append: %v", err)
	}
	if _, err := c.queue(1).Append(c.ctx(), nil); !errors.As(err, &failed) {
		t.Fatalf("append after that: %v", err)
	}
	if _, err := c.queue(2).TakeOver(c.ctx(), false); err != nil {
		t.Fatalf("%v\n%s", err, c.events)
	}
	if err := c.hosts[1].Close(); !errors.As(err, &failed) {
		t.Fatalf("close: %v", err)
	}
	delete(c.hosts, 1)
}

// TestFailedFlushAtASink ends its replica: it acknowledges nothing that is not on its
// disk, the others go on, and it has everything once it has started again.
func TestFailedFlushAtASink(t *testing.T) {
	disks := map[replica.HostID]*memfs.FS{1: memfs.New(), 2: memfs.New(), 3: memfs.New()}
	c := newCluster(t, 3, func(cfg *replica.Config) {
		fast(cfg)
		cfg.Queues[0].Replica.FlushToCount = true
		cfg.Queues[0].Queue.FS = disks[cfg.Self]
	})
	c.openAll()
	c.awaitSource(1)
	before := c.append(1, "before")
	c.awaitAll(before)
	c.awaitCopying(1, 3)
	disks[3].FailSync(func(string) error { return errors.New("the disk is gone") })
	last := c.append(1, "without host 3")
	e, err := c.events.await(c.ctx(), kind(replica.EventFailed))
	if err != nil || !strings.Contains(e.Err.Error(), "the disk is gone") {
		t.Fatalf("%+v %v", e, err)
	}
	c.await(1, "misses host 3", func(s replica.Stats) bool { return s.Sinks[1].State == "down" && s.Counted >= last })
	if s := c.queue(3).Stats(); s.Failed == "" || s.Flushed > before {
		t.Fatalf("%+v", s)
	}
	var failed *replica.FailedError
	if err := c.hosts[3].Close(); !errors.As(err, &failed) {
		t.Fatalf("close: %v", err)
	}
	delete(c.hosts, 3)
	disks[3].FailSync(nil)
	c.open(3)
	if ms := c.same(c.append(1, "after")); len(ms) != 3 {
		t.Fatalf("%v", ms)
	}
}

// TestPowerCut: all hosts go down at once, with FlushToCount; what counted is there.
func TestPowerCut(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 4))
	disks := map[replica.HostID]*memfs.FS{1: memfs.New(), 2: memfs.New(), 3: memfs.New()}
	boot := "first"
	c := newCluster(t, 3, func(cfg *replica.Config) {
		cfg.Queues[0].Replica.FlushToCount = true
		cfg.Queues[0].Queue.FS = disks[cfg.Self]
		now := boot
		cfg.BootID = func() string { return now }
	})
	c.openAll()
	c.awaitSource(1)
	want := 0
	for round := range 4 {
		for range 20 {
			c.append(1, large(want))
			want++
		}
		for id, disk := range disks {
			release := c.hosts[id].Hold()
			disks[id] = disk.Crash(r)
			release()
		}
		for id := range disks { // what they still write goes nowhere
			c.kill(id)
		}
		boot = fmt.Sprint("after ", round)
		c.openAll()
		c.awaitSource(1)
	}
	ms := c.same(c.append(1, "end"))
	if len(ms) != want+1 {
		t.Fatalf("%d messages, want %d", len(ms), want+1)
	}
}

// TestSinkBehindRetention starts from the oldest cycle that is kept, and an event
// says so.
func TestSinkBehindRetention(t *testing.T) {
	c := newCluster(t, 3, func(cfg *replica.Config) {
		fast(cfg)
		cfg.Queues[0].Queue.Retain.Entries = 40
	})
	c.openAll()
	c.awaitSource(1)
	c.awaitAll(c.append(1, "before"))
	c.close(3)
	var last queue.Index
	for k := range 200 {
		last = c.append(1, large(k))
	}
	gone := filepath.Join(c.queueDir(1), "0000000001.cycle")
	c.await(1, "deletes the first cycle", func(replica.Stats) bool {
		_, err := os.Stat(gone)
		return err != nil
	})
	c.open(3)
	c.await(3, "has the end", func(s replica.Stats) bool { return s.Last >= last && s.Counted >= last })
	if _, err := c.events.await(c.ctx(), kind(core.NoticeRestarted)); err != nil {
		t.Fatal(err)
	}
	last = c.append(1, "after")
	c.awaitAll(last)
	ms := c.contents(3)
	if len(ms) < 40 || len(ms) > 199 || ms[len(ms)-1] != (message{last, "after"}) {
		t.Fatalf("%d messages", len(ms))
	}
	// It may take over, and a host that has more history follows it.
	c.awaitCopying(1, 3)
	if err := c.queue(1).Switch(c.ctx(), 3); err != nil {
		t.Fatalf("%v\n%s", err, c.events)
	}
	c.awaitSource(3)
	c.awaitAll(c.append(3, "from 3"))
	c.close(3)
	c.open(3) // with its base, from its files
	c.awaitSource(3)
	c.awaitAll(c.append(3, "from 3 again"))
}

// TestHintsAreLost: without its chain a host reads its cycles again; without its
// promises it promises nothing until it has caught up.
func TestHintsAreLost(t *testing.T) {
	c := newCluster(t, 3, fast)
	c.openAll()
	c.awaitSource(1)
	var last queue.Index
	for k := range 60 {
		last = c.append(1, large(k))
	}
	c.awaitAll(last)
	for id := replica.HostID(1); id <= 3; id++ {
		c.close(id)
		if err := os.WriteFile(filepath.Join(c.queueDir(id), "replica.chain"), []byte("nonsense"), 0o600); err != nil {
			t.Fatal(err)
		}
		c.open(id)
	}
	c.awaitSource(1)
	c.awaitAll(c.append(1, "without chains"))
	c.close(2)
	if err := os.Remove(filepath.Join(c.queueDir(2), "replica.promises")); err != nil {
		t.Fatal(err)
	}
	for _, other := range []replica.HostID{1, 3} {
		p, _ := c.link(2, other)
		p.Refuse()
	}
	c.open(2)
	if s := c.queue(2).Stats(); s.Trust != "lost" {
		t.Fatalf("%+v", s)
	}
	for _, other := range []replica.HostID{1, 3} {
		p, _ := c.link(2, other)
		p.Release()
	}
	c.await(2, "may promise again", func(s replica.Stats) bool { return s.Trust == "whole" })
	if ms := c.same(c.append(1, "end")); len(ms) != 62 {
		t.Fatalf("%d messages", len(ms))
	}
}

// TestHoldForSinks: nothing is deleted that a sink has not got, though it is away.
func TestHoldForSinks(t *testing.T) {
	c := newCluster(t, 3, func(cfg *replica.Config) {
		fast(cfg)
		cfg.Queues[0].Queue.Retain.Entries = 20
		cfg.Queues[0].HoldForSinks = true
	})
	c.openAll()
	c.awaitSource(1)
	c.awaitAll(c.append(1, "before"))
	c.close(3)
	var last queue.Index
	for k := range 150 {
		last = c.append(1, large(k))
	}
	c.open(3)
	c.await(3, "has the end", func(s replica.Stats) bool { return s.Last >= last && s.Counted >= last })
	if ms := c.contents(3); len(ms) != 151 || ms[0].text != "before" {
		t.Fatalf("%d messages, the first %v", len(ms), ms[0])
	}
	gone := filepath.Join(c.queueDir(1), "0000000001.cycle")
	c.await(1, "deletes what all have", func(replica.Stats) bool {
		_, err := os.Stat(gone)
		return err != nil
	})
}

// TestBitFlip: damage at a host is found before it is sent, and never spread; the
// host gets everything anew from the others once its directory is gone.
func TestBitFlip(t *testing.T) {
	c := newCluster(t, 3, fast)
	c.openAll()
	c.awaitSource(1)
	var last queue.Index
	for k := range 60 {
		last = c.append(1, large(k))
	}
	c.awaitAll(last)
	c.await(1, "has summed up the first cycle", func(replica.Stats) bool {
		b, err := os.ReadFile(filepath.Join(c.queueDir(1), "replica.chain"))
		return err == nil && strings.Contains(string(b), `"cycle":1,`)
	})
	c.close(1)
	c.close(2)
	path := filepath.Join(c.queueDir(1), "0000000001.cycle")
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	b[30<<10] ^= 4
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(c.queueDir(2)); err != nil {
		t.Fatal(err)
	}
	c.open(1, 2) // 2 begins anew, and 1 is to feed it
	c.awaitSource(1)
	if _, err := c.events.await(c.ctx(), kind(core.NoticeDamaged)); err != nil {
		t.Fatal(err)
	}
	c.awaitCopying(1, 3)
	if err := c.queue(1).Switch(c.ctx(), 3); err != nil {
		t.Fatalf("%v\n%s", err, c.events)
	}
	c.awaitSource(3)
	c.await(2, "has everything", func(s replica.Stats) bool { return s.Last >= last && s.Counted >= last && s.Trust == "whole" })
	c.close(1)
	// Without the sums of its cycles the host has to read them, and says so.
	if err := os.Remove(filepath.Join(c.queueDir(1), "replica.chain")); err != nil {
		t.Fatal(err)
	}
	if _, err := replica.Open(c.config(1)); err == nil || !strings.Contains(err.Error(), "copied anew") {
		t.Fatalf("open with a damaged cycle: %v", err)
	}
	if err := os.RemoveAll(c.queueDir(1)); err != nil {
		t.Fatal(err)
	}
	c.open(1)
	if ms := c.same(c.append(3, "end")); len(ms) != 61 {
		t.Fatalf("%d messages", len(ms))
	}
}
