package local

import (
	"path/filepath"
	"strconv"
	"testing"

	"github.com/pawl-go/pawl/engine"
	"github.com/pawl-go/pawl/engine/enginetest"
	"github.com/pawl-go/pawl/engine/trace"
	"github.com/pawl-go/pawl/queue"
	"github.com/pawl-go/pawl/queue/replica"
	"github.com/pawl-go/pawl/queue/replica/config"
)

// TestReplicatedConformance holds the engine to the suite with its journal on three hosts:
// a crash is the loss of the source, and the next life is another host's.
func TestReplicatedConformance(t *testing.T) {
	if testing.Short() {
		t.Skip("three hosts for each test of the suite")
	}
	enginetest.Run(t, func(t *testing.T) enginetest.Harness { return &copiesHarness{hosts: newThreeHosts(t, cutOffNever)} })
}

// copiesHarness is an engine on host 1, then, after a crash, on host 2. It implements
// enginetest.Harness.
type copiesHarness struct {
	hosts   *threeHosts
	options engine.Options
	eng     *handle
	sinks   [4]*replica.Host
	source  int
}

func (h *copiesHarness) Open(t *testing.T, o engine.Options) engine.Engine {
	h.options = o
	h.sinks[2], h.sinks[3] = h.sink(t, 2), h.sink(t, 3)
	return h.open(t, 1)
}

// sink opens a host that only copies.
func (h *copiesHarness) sink(t *testing.T, id int) *replica.Host {
	t.Helper()
	file, err := config.Load(h.hosts.file[id])
	if err != nil {
		t.Fatal(err)
	}
	self, _ := file.Host(strconv.Itoa(id))
	cfg, err := file.HostConfig(self)
	if err != nil {
		t.Fatal(err)
	}
	q, _ := file.Queue("journal")
	cfg.Logger = h.options.Logger
	cfg.Queues = []replica.QueueConfig{{
		Name: q.Name, Dir: filepath.Join(h.hosts.dir, "data"+strconv.Itoa(id), "journal"),
		Replica: file.Replica(q, self.ID), Queue: queue.Config{CycleBytes: 1 << 20, Durability: queue.Disk},
	}}
	host, err := replica.Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = host.Close() })
	return host
}

func (h *copiesHarness) open(t *testing.T, id int) engine.Engine {
	t.Helper()
	e, err := engine.Open(t.Context(), h.hosts.url(id, "&standby=wait"), h.options)
	if err != nil {
		t.Fatalf("open engine: %v", err)
	}
	h.eng, h.source = e.(*handle), id
	t.Cleanup(func() { _ = e.Close() })
	return e
}

func (h *copiesHarness) Fail(t *testing.T, s engine.Session) {
	t.Helper()
	if err := h.eng.Fail(s); err != nil {
		t.Fatalf("fail session: %v", err)
	}
}

// Crash cuts the source off at the moment of its death, and lets host 2 take over. The
// suite counts on all that is recorded by then, so it waits until that counts: what
// becomes of the rest is TestSourceIsLost's.
func (h *copiesHarness) Crash(t *testing.T) engine.Engine {
	t.Helper()
	if h.source != 1 {
		t.Skip("a second crash: three hosts outlive the loss of one")
	}
	if err := h.eng.wait(t.Context(), engine.Position(h.eng.last.Load())); err != nil {
		t.Fatal(err)
	}
	die := func() { h.eng.Die(func() { h.hosts.cut(1, true) }) }
	if life, ok := h.options.Trace.(*trace.Life); ok {
		h.options.Trace = life.Kill(die)
	} else {
		die()
	}
	if _, err := h.sinks[2].Queue("journal").TakeOver(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	if err := h.sinks[2].Close(); err != nil {
		t.Fatal(err)
	}
	return h.open(t, 2)
}
