//go:build linux

package replica_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/pawl-go/pawl/queue"
	"github.com/pawl-go/pawl/queue/replica"
	"github.com/pawl-go/pawl/queue/replica/core"
)

// smallDisk mounts a file system of 1 MiB, of which a file takes a part until the
// result is called.
func smallDisk(t *testing.T, dir string) (makeRoom func()) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=1m"); err != nil {
		t.Skipf("cannot mount a tmpfs: %v", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, 0); err != nil {
			t.Error(err)
		}
	})
	filler := filepath.Join(dir, "filler")
	if err := os.WriteFile(filler, make([]byte, 704<<10), 0o600); err != nil {
		t.Fatal(err)
	}
	return func() {
		if err := os.Remove(filler); err != nil {
			t.Error(err)
		}
	}
}

// TestRealFullDisks: the file system of a sink is full, and then that of the source.
func TestRealFullDisks(t *testing.T) {
	for full, name := range map[replica.HostID]string{3: "a sink", 1: "the source"} {
		t.Run(name, func(t *testing.T) {
			disks := t.TempDir()
			dir := filepath.Join(disks, "small")
			makeRoom := smallDisk(t, dir)
			c := newCluster(t, 3, func(cfg *replica.Config) {
				fast(cfg)
				if cfg.Self == full {
					cfg.Queues[0].Dir = filepath.Join(dir, "q")
				}
			})
			c.t.Cleanup(func() { // before the file system goes
				if err := c.hosts[full].Close(); err != nil {
					t.Error(err)
				}
				delete(c.hosts, full)
				if u := usageOf(t, dir); u.files+u.maps > 0 {
					t.Errorf("a closed host has still open: %+v", u)
				}
			})
			c.openAll()
			c.awaitSource(1)
			c.awaitAll(c.append(1, "before"))
			n, err := 1, error(nil)
			for ; err == nil && n < 100; n++ {
				_, err = c.queue(1).Append(c.ctx(), []byte(large(n)))
			}
			if full == 1 {
				n-- // the last one was refused
				if !errors.Is(err, queue.ErrFull) {
					t.Fatalf("append on a full disk: %v", err)
				}
			} else {
				if err != nil {
					t.Fatalf("the disk of another is full: %v", err)
				}
				e, err := c.events.await(c.ctx(), kind(core.NoticeStorage))
				if err != nil || !errors.Is(e.Err, queue.ErrFull) {
					t.Fatalf("%+v %v", e, err)
				}
			}
			makeRoom()
			if ms := c.same(c.append(1, "after")); len(ms) != n+1 {
				t.Fatalf("%d messages, want %d", len(ms), n+1)
			}
		})
	}
}

// TestManyRollsOfCopies: at the source and at the sinks handles, mappings and disk
// space come back to where they were.
func TestManyRollsOfCopies(t *testing.T) {
	rolls := uint32(500)
	if testing.Short() {
		rolls = 150
	}
	c := newCluster(t, 3, func(cfg *replica.Config) {
		cfg.Queues[0].Queue.CycleBytes = 16 << 10
		cfg.Queues[0].Queue.Retain.Entries = 10
		cfg.Queues[0].Replica.Strategy = core.Unbounded()
	})
	c.openAll()
	c.awaitSource(1)
	roll := func(n uint32) {
		t.Helper()
		for to := c.queue(1).Last().Cycle() + n; c.queue(1).Last().Cycle() < to; {
			c.append(1, strings.Repeat("x", 9000)) // one in a cycle
		}
		last := c.append(1, "the last")
		c.awaitAll(last)
		for id := range c.hosts {
			c.await(id, "deletes what is old", func(replica.Stats) bool { return c.queue(id).Local().First().Cycle()+20 > last.Cycle() })
		}
	}
	roll(40)
	before := usageOf(t, c.dir)
	roll(rolls)
	after := usageOf(t, c.dir)
	// Up to 20 old cycles more or less are there at each of the three hosts at any moment;
	// what leaks does so in each roll.
	few := int(rolls / 2)
	if after.files > before.files+few || after.maps > before.maps+few || after.disk > before.disk+int64(few)*(16<<10) {
		t.Fatalf("%+v at first, %+v after %d rolls", before, after, rolls)
	}
	t.Logf("%+v at first, %+v after %d rolls", before, after, rolls)
}

// usage is what a directory takes of this process and of the disk.
type usage struct {
	files, maps int
	disk        int64
}

func usageOf(t *testing.T, dir string) usage {
	t.Helper()
	var u usage
	fds, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	for _, fd := range fds {
		if to, err := os.Readlink("/proc/self/fd/" + fd.Name()); err == nil && strings.HasPrefix(to, dir) {
			u.files++
		}
	}
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		t.Fatal(err)
	}
	u.maps = strings.Count(string(maps), dir)
	err = filepath.WalkDir(dir, func(_ string, d os.DirEntry, err error) error {
		if err == nil {
			var info os.FileInfo
			if info, err = d.Info(); err == nil {
				u.disk += info.Size()
			}
		}
		if errors.Is(err, os.ErrNotExist) { // deleted at this moment
			return nil
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return u
}
