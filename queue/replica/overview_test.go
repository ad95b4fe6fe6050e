package replica_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/pawl-go/pawl/queue"
	"github.com/pawl-go/pawl/queue/replica"
)

// awaitOverview asks a host until what it says is right.
func (c *cluster) awaitOverview(id replica.HostID, what string, ok func(replica.Overview) bool) replica.Overview {
	c.t.Helper()
	ctx := c.ctx()
	for {
		asked, cancel := context.WithTimeout(ctx, 10*time.Second)
		o := c.queue(id).Overview(asked)
		cancel()
		if ok(o) {
			return o
		}
		if ctx.Err() != nil {
			c.t.Fatalf("host %d: %s: it says %+v\n%s", id, what, o, c.events)
		}
	}
}

func hostOf(o replica.Overview, id replica.HostID) replica.HostOverview {
	for _, h := range o.Hosts {
		if h.Host == id {
			return h
		}
	}
	return replica.HostOverview{}
}

func isAt(i *queue.Index, want queue.Index) bool { return i != nil && *i == want }

// complete says whether all hosts have told that they have everything.
func complete(o replica.Overview, n int, last queue.Index) bool {
	if o.Source != 1 || len(o.Hosts) != n || len(o.Warnings) > 0 {
		return false
	}
	for k, h := range o.Hosts {
		ok := h.Reached && h.Why == "" && int(h.Host) == k+1 && h.Epoch == o.Epoch && h.Trust == "whole" &&
			isAt(h.Appended, last) && isAt(h.Applied, last) && h.Flushed != nil && h.Gap != nil && *h.Gap == 0
		if h.Host == 1 {
			ok = ok && h.Role == "source" && h.State == "" && h.Follows == 0
		} else {
			ok = ok && h.Role == "sink" && h.State == "live" && h.Follows == 1 && isAt(h.Sent, last) && isAt(h.Received, last)
		}
		if !ok {
			return false
		}
	}
	return true
}

// TestOverview: every host, asked, shows the whole set; one that is cut off from it is
// shown with the reason, with who hears it, and with what the source knows; so is one
// that is dead.
func TestOverview(t *testing.T) {
	c := newCluster(t, 3, fast)
	c.openAll()
	c.awaitSource(1)
	last := c.append(1, "something")
	c.awaitAll(last)
	for id := range c.hosts {
		o := c.awaitOverview(id, "sees all", func(o replica.Overview) bool { return complete(o, 3, last) })
		if o.Asked != id || o.Queue != qname || o.Need != 2 || o.Promises != 2 {
			t.Errorf("%+v", o)
		}
	}
	// A sink and a sink.
	between, _ := c.link(2, 3)
	between.Refuse()
	for _, ends := range [][2]replica.HostID{{2, 3}, {3, 2}} {
		c.awaitOverview(ends[0], "misses a sink", func(o replica.Overview) bool {
			h := hostOf(o, ends[1])
			return o.Source == 1 && !h.Reached && h.Why != "" && h.HeardMS >= 0 && h.Role == "" && h.State == "live" &&
				isAt(h.Appended, last) && isAt(h.Sent, last) && len(h.HeardBy) == 1 && h.HeardBy[0] == 1 && hostOf(o, 1).Reached
		})
	}
	between.Release()
	// A sink, one way only, and the source.
	held, way := c.link(1, 2)
	held.Hold(way)
	c.awaitOverview(2, "misses the source", func(o replica.Overview) bool {
		h := hostOf(o, 1)
		return o.Source == 1 && !h.Reached && h.Why != "" && len(h.HeardBy) == 1 && h.HeardBy[0] == 3 && hostOf(o, 3).Reached &&
			len(o.Warnings) == 1 && strings.Contains(o.Warnings[0], "the source, host 1, cannot be reached from host 2")
	})
	held.Release()
	held.Break()
	c.kill(3)
	for id := range c.hosts {
		c.awaitOverview(id, "misses the dead host", func(o replica.Overview) bool {
			h := hostOf(o, 3)
			return o.Source == 1 && !h.Reached && h.Why != "" && h.HeardMS >= 0 && h.State == "down" && h.Sent == nil && h.Gap == nil && len(h.HeardBy) == 0
		})
	}
	c.open(3)
	c.awaitOverview(2, "sees all again", func(o replica.Overview) bool { return complete(o, 3, last) })
}

// TestOverviewWithoutASource, and then of a host that was never there.
func TestOverviewWithoutASource(t *testing.T) {
	c := newCluster(t, 3, fast)
	c.open(2)
	o := c.queue(2).Overview(c.ctx())
	if o.Source != 0 || len(o.Warnings) != 1 || !strings.Contains(o.Warnings[0], "no host") {
		t.Errorf("%+v", o)
	}
	if h := hostOf(o, 3); h.Reached || h.HeardMS != -1 || !strings.Contains(h.Why, "has not connected to this host") {
		t.Errorf("%+v", h)
	}
	if h := hostOf(o, 2); !h.Reached || h.Role != "sink" || h.Follows != 0 {
		t.Errorf("%+v", h)
	}
}

// TestOverviewDoesNotWaitForEver for a host that is connected and says nothing.
func TestOverviewDoesNotWaitForEver(t *testing.T) {
	c := newCluster(t, 2, func(cfg *replica.Config) {
		cfg.HeartbeatInterval, cfg.HeartbeatTimeout = 20*time.Second, 100*time.Second
	})
	c.openAll()
	c.awaitSource(1)
	p, way := c.link(2, 1)
	p.Hold(way)
	ctx, cancel := context.WithTimeoutCause(t.Context(), 50*time.Millisecond, errors.New("enough"))
	defer cancel()
	o := c.queue(1).Overview(ctx)
	p.Release()
	if h := hostOf(o, 2); h.Reached || !strings.Contains(h.Why, "did not answer in time") {
		t.Fatalf("%+v", h)
	}
	c.awaitOverview(1, "is answered again", func(o replica.Overview) bool { return hostOf(o, 2).Reached })
}

// TestOverviewOfAnEndedReplica: the others say that a host is there, and has no part
// in the queue.
func TestOverviewOfAnEndedReplica(t *testing.T) {
	c := newCluster(t, 2, func(cfg *replica.Config) {
		fast(cfg)
		if cfg.Self == 2 {
			cfg.Queues[0].Name = "another"
		}
	})
	c.openAll()
	c.awaitOverview(1, "has no part", func(o replica.Overview) bool {
		h := hostOf(o, 2)
		return !h.Reached && strings.Contains(h.Why, "has no part in the queue")
	})
}
