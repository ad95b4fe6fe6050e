package replica_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/pawl-go/pawl/queue"
	"github.com/pawl-go/pawl/queue/replica"
	"github.com/pawl-go/pawl/queue/replica/core"
)

// TestConfigMistakes: each says what to do, and nothing is left open.
func TestConfigMistakes(t *testing.T) {
	c := newCluster(t, 2, nil)
	held, err := queue.Open(t.TempDir(), queue.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	for want, spoil := range map[string]func(*replica.Config){
		"set Secret or TLS": func(cfg *replica.Config) { cfg.Secret = nil },
		"among the hosts": func(cfg *replica.Config) {
			cfg.Self, cfg.Peers[0].Addr, cfg.Peers[1].Addr = 9, "one:1", "two:1"
		},
		"host 2 is there twice":      func(cfg *replica.Config) { cfg.Peers[0].ID = 2 },
		"host 1 has no address":      func(cfg *replica.Config) { cfg.Self, cfg.Peers[0].Addr = 2, "" },
		"has no queue":               func(cfg *replica.Config) { cfg.Queues = nil },
		"directory is there twice":   func(cfg *replica.Config) { cfg.Queues = append(cfg.Queues, cfg.Queues[0]) },
		"it is of host 2":            func(cfg *replica.Config) { cfg.Queues[0].Replica.Self = 2 },
		"set FlushToCount":           func(cfg *replica.Config) { cfg.Queues[0].Queue.Durability = queue.EveryAppend },
		"not among the hosts of the": func(cfg *replica.Config) { cfg.Queues[0].Replica.Hosts = []core.HostID{1, 2, 3} },
		"must exceed the interval":   func(cfg *replica.Config) { cfg.HeartbeatTimeout = time.Millisecond },
		"host id 0":                  func(cfg *replica.Config) { cfg.Peers[1].ID = 0 },
		"lock queue ": func(cfg *replica.Config) {
			second := cfg.Queues[0]
			second.Name, second.Dir = "locked-elsewhere", held.Dir()
			cfg.Queues = append(cfg.Queues, second)
		},
	} {
		cfg := c.config(1)
		spoil(&cfg)
		h, err := replica.Open(cfg)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
		if h != nil {
			h.Close()
		}
	}
	c.open(1) // nothing of that is left behind
}

// TestClosedHost: everything that waits ends, and a second Close says so.
func TestClosedHost(t *testing.T) {
	c := newCluster(t, 2, with(core.All()))
	c.openAll()
	c.awaitSource(1)
	c.awaitAll(c.append(1, "one"))
	h, q := c.hosts[1], c.queue(1)
	tl := q.NewTailer(q.Last() + 1)
	waits := make(chan error, 3)
	go func() { _, _, err := tl.Next(c.ctx()); waits <- err }()
	go func() { waits <- q.WaitReplicated(c.ctx(), q.Last()+5) }()
	go func() { waits <- q.WaitStats(c.ctx(), func(replica.Stats) bool { return false }) }()
	c.close(1)
	for range 3 {
		if err := <-waits; !errors.Is(err, queue.ErrClosed) {
			t.Errorf("%v", err)
		}
	}
	if _, err := q.Append(c.ctx(), nil); !errors.Is(err, queue.ErrClosed) {
		t.Errorf("append: %v", err)
	}
	if err := q.Switch(c.ctx(), 2); !errors.Is(err, queue.ErrClosed) {
		t.Errorf("switch: %v", err)
	}
	if err := h.Close(); !errors.Is(err, queue.ErrClosed) {
		t.Errorf("second close: %v", err)
	}
}
