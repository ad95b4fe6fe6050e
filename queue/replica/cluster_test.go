package replica_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/pawl-go/pawl/queue"
	"github.com/pawl-go/pawl/queue/replica"
	"github.com/pawl-go/pawl/queue/replica/core"
	"github.com/pawl-go/pawl/queue/replica/faultnet"
)

// patience is how long a test waits for what must happen, on a busy machine.
const patience = 2 * time.Minute

// cluster is a set of hosts in this process that share one queue, with a faulty
// network between.
type cluster struct {
	t       testing.TB
	n       int
	dir     string
	cfg     func(*replica.Config) // last touches
	hosts   map[replica.HostID]*replica.Host
	proxies map[[2]replica.HostID]*faultnet.Proxy // who dials, whom
	addrs   map[replica.HostID]string
	events  *eventLog
}

const qname = "orders"

func newCluster(t testing.TB, n int, cfg func(*replica.Config)) *cluster {
	t.Helper()
	c := &cluster{
		t: t, n: n, dir: t.TempDir(), cfg: cfg, hosts: map[replica.HostID]*replica.Host{},
		proxies: map[[2]replica.HostID]*faultnet.Proxy{}, addrs: map[replica.HostID]string{}, events: newEventLog(),
	}
	for id := replica.HostID(1); int(id) <= n; id++ {
		for from := id + 1; int(from) <= n; from++ {
			p, err := faultnet.Listen("")
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(p.Close)
			c.proxies[[2]replica.HostID{from, id}] = p
		}
	}
	t.Cleanup(func() {
		for _, h := range c.hosts {
			if err := h.Close(); err != nil {
				t.Errorf("close host %d: %v", h.Self(), err)
			}
		}
	})
	return c
}

func (c *cluster) queueDir(id replica.HostID) string {
	return filepath.Join(c.dir, fmt.Sprintf("host%d", id))
}

func (c *cluster) config(id replica.HostID) replica.Config {
	cfg := replica.Config{
		Self: id, Secret: []byte("tell nobody"), Listen: "127.0.0.1:0", Cluster: "test",
		HeartbeatInterval: 100 * time.Millisecond, HeartbeatTimeout: 2 * time.Second,
		LeaseTimeout: time.Minute, // a busy machine does not stop a source; see lease_test.go
		Logger:       slog.New(slog.NewTextHandler(io.Discard, nil)),
	}
	cfg.OnEvent = func(e replica.Event) { c.events.add(id, e) }
	qc := replica.QueueConfig{
		Name: qname, Dir: c.queueDir(id), Queue: queue.Config{CycleBytes: 64 << 10},
		Replica: core.Config{Master: 1, Acknowledge: true, Strategy: core.Majority()},
	}
	for other := replica.HostID(1); int(other) <= c.n; other++ {
		p := replica.Peer{ID: other}
		if proxy := c.proxies[[2]replica.HostID{id, other}]; proxy != nil {
			p.Addr = proxy.Addr()
		}
		cfg.Peers = append(cfg.Peers, p)
		qc.Replica.Hosts = append(qc.Replica.Hosts, other)
	}
	cfg.Queues = []replica.QueueConfig{qc}
	if c.cfg != nil {
		c.cfg(&cfg)
	}
	return cfg
}

func (c *cluster) open(ids ...replica.HostID) {
	c.t.Helper()
	for _, id := range ids {
		h, err := replica.Open(c.config(id))
		if err != nil {
			c.t.Fatal(err)
		}
		c.hosts[id] = h
		c.addrs[id] = h.Addr().String()
		for from := id + 1; int(from) <= c.n; from++ {
			c.proxies[[2]replica.HostID{from, id}].SetTarget(c.addrs[id])
		}
	}
}

func (c *cluster) openAll() {
	c.t.Helper()
	for id := replica.HostID(1); int(id) <= c.n; id++ {
		c.open(id)
	}
}

func (c *cluster) close(id replica.HostID) {
	c.t.Helper()
	if err := c.hosts[id].Close(); err != nil {
		c.t.Fatalf("close host %d: %v", id, err)
	}
	delete(c.hosts, id)
}

func (c *cluster) kill(id replica.HostID) {
	c.t.Helper()
	if err := c.hosts[id].Kill(); err != nil {
		c.t.Fatalf("kill host %d: %v", id, err)
	}
	delete(c.hosts, id)
}

func (c *cluster) queue(id replica.HostID) *replica.Queue { return c.hosts[id].Queue(qname) }

func (c *cluster) ctx() context.Context {
	ctx, cancel := context.WithTimeout(c.t.Context(), patience)
	c.t.Cleanup(cancel)
	return ctx
}

// await waits until a host stands so.
func (c *cluster) await(id replica.HostID, what string, ok func(replica.Stats) bool) {
	c.t.Helper()
	if err := c.queue(id).WaitStats(c.ctx(), ok); err != nil {
		c.t.Fatalf("host %d: %s: %v; it is %+v\n%s", id, what, err, c.queue(id).Stats(), c.events)
	}
}

// awaitSource waits until a host may append.
func (c *cluster) awaitSource(id replica.HostID) {
	c.t.Helper()
	c.await(id, "becomes the source", func(s replica.Stats) bool { return s.Role == "source" && s.Locked == "" })
}

// awaitCopying waits until a source copies to a host that may promise.
func (c *cluster) awaitCopying(source, to replica.HostID) {
	c.t.Helper()
	c.await(source, "copies", func(s replica.Stats) bool {
		return slices.ContainsFunc(s.Sinks, func(r replica.SinkStats) bool {
			return r.Host == to && r.Trust == "whole" && (r.State == "copying" || r.State == "live")
		})
	})
}

func (c *cluster) append(id replica.HostID, text string) queue.Index {
	c.t.Helper()
	i, err := c.queue(id).Append(c.ctx(), []byte(text))
	if err != nil {
		c.t.Fatalf("append %q at host %d: %v\n%s", text, id, err, c.events)
	}
	return i
}

// awaitAll waits until all hosts that are up have everything, and it counts.
func (c *cluster) awaitAll(last queue.Index) {
	c.t.Helper()
	for id := range c.hosts {
		c.await(id, "has everything", func(s replica.Stats) bool { return s.Last >= last && s.Counted >= last })
	}
}

// message is an entry as a tailer reads it.
type message struct {
	index queue.Index
	text  string
}

// contents reads what counts at a host.
func (c *cluster) contents(id replica.HostID) []message {
	c.t.Helper()
	tl := c.queue(id).NewTailer(0)
	defer tl.Close()
	var ms []message
	for {
		i, p, ok, err := tl.TryNext()
		if err != nil {
			c.t.Fatalf("read at host %d: %v", id, err)
		}
		if !ok {
			return ms
		}
		ms = append(ms, message{i, string(p)})
	}
}

// same checks that all hosts that are up hold the same, and returns it.
func (c *cluster) same(last queue.Index) []message {
	c.t.Helper()
	c.awaitAll(last)
	var first []message
	var from replica.HostID
	for id := range c.hosts {
		ms := c.contents(id)
		if from == 0 {
			from, first = id, ms
		} else if !slices.Equal(first, ms) {
			c.t.Fatalf("hosts %d and %d differ: %v and %v", from, id, first, ms)
		}
	}
	return first
}

// eventLog keeps the events of all hosts.
type eventLog struct {
	mu      sync.Mutex
	list    []string
	raw     []replica.Event
	changed chan struct{}
}

func newEventLog() *eventLog { return &eventLog{changed: make(chan struct{})} }

func (l *eventLog) add(id replica.HostID, e replica.Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.list = append(l.list, fmt.Sprintf("%s host %d: %s %d %s %v", e.At.Format("05.000"), id, e.Kind, e.Peer, e.Text, e.Err))
	l.raw = append(l.raw, e)
	close(l.changed)
	l.changed = make(chan struct{})
}

// await waits for an event.
func (l *eventLog) await(ctx context.Context, ok func(replica.Event) bool) (replica.Event, error) {
	for {
		l.mu.Lock()
		k := slices.IndexFunc(l.raw, ok)
		var e replica.Event
		if k >= 0 {
			e = l.raw[k]
		}
		changed := l.changed
		l.mu.Unlock()
		if k >= 0 {
			return e, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return e, errors.Join(ctx.Err(), errors.New(l.String()))
		}
	}
}

func (l *eventLog) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := ""
	for _, line := range l.list[max(0, len(l.list)-80):] {
		s += line + "\n"
	}
	return s
}
