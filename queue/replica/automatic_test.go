package replica_test

import (
	"slices"
	"testing"
	"time"

	"github.com/pawl-go/pawl/queue/memfs"
	"github.com/pawl-go/pawl/queue/replica"
)

// automatic keeps the timeout of the cluster, for on a busy machine a short one would
// elect somebody where the test expects nobody.
func automatic(cfg *replica.Config) { cfg.Queues[0].Automatic = true }

// awaitNewSource waits until one of some hosts may append.
func (c *cluster) awaitNewSource(ids ...replica.HostID) replica.HostID {
	c.t.Helper()
	found := make(chan replica.HostID, len(ids))
	for _, id := range ids {
		q := c.queue(id)
		go func() {
			if q.WaitStats(c.t.Context(), func(s replica.Stats) bool { return s.Role == "source" && s.Locked == "" }) == nil {
				found <- id
			}
		}()
	}
	select {
	case id := <-found:
		return id
	case <-c.ctx().Done():
		c.t.Fatalf("nobody takes over\n%s", c.events)
		return 0
	}
}

// TestAutomaticTakeOver: the source dies, again and again, and a sink takes over by
// itself, with all that counted.
func TestAutomaticTakeOver(t *testing.T) {
	c := newCluster(t, 3, automatic)
	c.openAll()
	c.awaitSource(1)
	source := replica.HostID(1)
	for round := range 2 {
		var others []replica.HostID
		for id := range c.hosts {
			if id != source {
				others = append(others, id)
				c.awaitCopying(source, id)
			}
		}
		c.append(source, large(round))
		c.kill(source)
		old := source
		source = c.awaitNewSource(others...)
		c.append(source, "after")
		c.open(old)
		c.await(old, "follows", func(s replica.Stats) bool { return s.Source == source })
	}
	if ms := c.same(c.append(source, "end")); len(ms) != 5 {
		t.Fatalf("%d messages", len(ms))
	}
}

// TestAutomaticPartition: a source that is left with a minority is replaced; what it
// appends meanwhile does not count, and it follows when it is back.
func TestAutomaticPartition(t *testing.T) {
	c := newCluster(t, 5, automatic)
	c.openAll()
	c.awaitSource(1)
	c.awaitAll(c.append(1, "before"))
	cut := func(do func(from, to replica.HostID)) {
		for _, here := range []replica.HostID{1, 2} {
			for _, there := range []replica.HostID{3, 4, 5} {
				do(here, there)
			}
		}
	}
	cut(func(from, to replica.HostID) { p, _ := c.link(from, to); p.Refuse() })
	alone := make(chan error, 1)
	go func() {
		_, err := c.queue(1).Append(t.Context(), []byte("alone"))
		alone <- err
	}()
	source := c.awaitNewSource(3, 4, 5)
	c.append(source, "after")
	cut(func(from, to replica.HostID) { p, _ := c.link(from, to); p.Release() })
	if err := <-alone; err == nil {
		t.Fatal("what was appended with a minority was acknowledged")
	}
	ms := c.same(c.append(source, "end"))
	if len(ms) != 3 || ms[1].text != "after" {
		t.Fatalf("%v", ms)
	}
}

// TestAutomaticThoughOneHearsTheSource: a source that only one of four others hears counts
// nothing, and is replaced, whoever of them is elected.
func TestAutomaticThoughOneHearsTheSource(t *testing.T) {
	c := newCluster(t, 5, func(cfg *replica.Config) {
		automatic(cfg)
		cfg.LeaseTimeout = 200 * time.Millisecond
	})
	c.openAll()
	c.awaitSource(1)
	c.awaitAll(c.append(1, "before"))
	for _, other := range []replica.HostID{3, 4, 5} {
		p, _ := c.link(1, other)
		p.Refuse()
	}
	source := c.awaitNewSource(2, 3, 4, 5)
	c.append(source, "after")
	for _, other := range []replica.HostID{3, 4, 5} {
		p, _ := c.link(1, other)
		p.Release()
	}
	if ms := c.same(c.append(source, "end")); len(ms) != 3 {
		t.Fatalf("%v", ms)
	}
}

// TestAutomaticWithAFullDisk: a host that cannot take over, since its disk takes no
// epoch, leaves it to another, and does not get the office back at once.
func TestAutomaticWithAFullDisk(t *testing.T) {
	disks := map[replica.HostID]*memfs.FS{}
	for id := replica.HostID(1); id <= 5; id++ {
		disks[id] = memfs.New()
	}
	elected := make(chan replica.HostID, 2*5) // more than the test reads
	c := newCluster(t, 5, func(cfg *replica.Config) {
		automatic(cfg)
		cfg.Queues[0].Queue.FS = disks[cfg.Self]
		log := cfg.OnEvent
		cfg.OnEvent = func(e replica.Event) {
			log(e)
			if e.Kind != replica.EventElected {
				return
			}
			select {
			case elected <- cfg.Self:
			default:
			}
		}
	})
	c.openAll()
	c.awaitSource(1)
	for id := replica.HostID(2); id <= 5; id++ {
		c.awaitCopying(1, id)
	}
	c.awaitAll(c.append(1, "before"))
	for id := replica.HostID(2); id <= 5; id++ {
		disks[id].SetRoom(0)
	}
	c.kill(1)
	first := c.awaitElected(elected)
	for c.awaitElected(elected) == first { // raft may elect it again; nobody hands it the office
	}
	var others []replica.HostID
	for id := replica.HostID(2); id <= 5; id++ {
		if id != first {
			disks[id].SetRoom(-1)
			others = append(others, id)
		}
	}
	source := c.awaitNewSource(others...)
	disks[first].SetRoom(-1)
	c.open(1)
	if ms := c.same(c.append(source, "after")); len(ms) != 2 {
		t.Fatalf("%v", ms)
	}
}

// awaitElected waits for the next host that is elected.
func (c *cluster) awaitElected(elected <-chan replica.HostID) replica.HostID {
	c.t.Helper()
	select {
	case id := <-elected:
		return id
	case <-c.ctx().Done():
		c.t.Fatalf("nobody else is elected\n%s", c.events)
		return 0
	}
}

// TestFlappingLink: one that comes and goes between the source and a sink moves
// nothing, for the others have a source.
func TestFlappingLink(t *testing.T) {
	c := newCluster(t, 3, automatic)
	c.openAll()
	c.awaitSource(1)
	c.awaitAll(c.append(1, "before"))
	epoch := c.queue(1).Stats().Epoch
	p, _ := c.link(1, 2)
	for range 2 {
		p.Refuse()
		c.await(1, "misses host 2", func(s replica.Stats) bool { return s.Sinks[0].State == "down" })
		c.append(1, "meanwhile")
		p.Release()
		c.await(1, "has host 2 again", func(s replica.Stats) bool { return s.Sinks[0].State == "live" })
	}
	p.Refuse() // for longer than the timeout
	end := time.NewTimer(3 * time.Second)
	defer end.Stop()
	for waiting := true; waiting; {
		select {
		case <-end.C:
			waiting = false
		default:
			c.append(1, "meanwhile")
		}
	}
	if s := c.queue(1).Stats(); s.Epoch != epoch || s.Role != "source" {
		t.Fatalf("%+v\n%s", s, c.events)
	}
	p.Release()
	ms := c.same(c.append(1, "end"))
	if !slices.ContainsFunc(ms, func(m message) bool { return m.text == "end" }) {
		t.Fatalf("%d messages", len(ms))
	}
}

func TestAutomaticIsRefused(t *testing.T) {
	for n, change := range map[int]func(*replica.Config){2: automatic, 3: func(cfg *replica.Config) {
		automatic(cfg)
		cfg.Queues[0].Replica.Acknowledge = false
	}} {
		c := newCluster(t, n, change)
		if _, err := replica.Open(c.config(1)); err == nil {
			t.Errorf("%d hosts: automatic take-over is let in", n)
		}
	}
}
