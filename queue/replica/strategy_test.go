package replica_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/pawl-go/pawl/queue/replica"
	"github.com/pawl-go/pawl/queue/replica/core"
)

// with makes clusters with a strategy.
func with(s core.Strategy) func(*replica.Config) {
	return func(cfg *replica.Config) {
		fast(cfg)
		cfg.Queues[0].Replica.Strategy = s
	}
}

// TestAppendsWait until enough hosts are there, or until their context ends.
func TestAppendsWait(t *testing.T) {
	c := newCluster(t, 2, with(core.All()))
	c.openAll()
	c.awaitSource(1)
	c.append(1, "both")
	c.close(2)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	i, err := c.queue(1).Append(ctx, []byte("alone"))
	if uncertain, ok := errors.AsType[*replica.UncertainError](err); !ok || uncertain.First != i || !errors.Is(err, context.Canceled) {
		t.Fatalf("%v %v", i, err)
	}
	if gap := c.queue(1).Gap(); gap != 1 {
		t.Fatalf("gap %d", gap)
	}
	c.open(2)
	if err := c.queue(1).WaitReplicated(c.ctx(), i); err != nil {
		t.Fatal(err)
	}
	if gap := c.queue(1).Gap(); gap != 0 {
		t.Fatalf("gap %d", gap)
	}
	if held := c.queue(1).Held(1); held < i {
		t.Fatalf("the other host has %s, want %s", held, i)
	}
}

// TestMaxGapLetsSomeAhead: as many as it says, and no more.
func TestMaxGapLetsSomeAhead(t *testing.T) {
	c := newCluster(t, 2, with(core.MaxGap(core.Limit{Messages: 3})))
	c.openAll()
	c.awaitSource(1)
	c.awaitAll(c.append(1, "both"))
	c.close(2)
	for k := range 3 {
		c.append(1, fmt.Sprint(k))
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := c.queue(1).Append(ctx, []byte("one too many")); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("%v", err)
	}
	c.open(2)
	if ms := c.same(c.append(1, "end")); len(ms) != 6 {
		t.Fatalf("%v", ms)
	}
}

// TestOrFail: appends fail, before anything is appended, when too few are there.
func TestOrFail(t *testing.T) {
	c := newCluster(t, 2, with(core.Any().OrFail(100*time.Millisecond)))
	c.openAll()
	c.awaitSource(1)
	c.awaitAll(c.append(1, "both"))
	c.close(2)
	c.await(1, "misses the sink", func(s replica.Stats) bool { return s.Sinks[0].State == "down" })
	// The first ones may still be let in, for the patience of the strategy.
	var gap *replica.GapError
	for gap == nil {
		before := c.queue(1).Last()
		ctx, cancel := context.WithTimeout(c.ctx(), 50*time.Millisecond)
		_, err := c.queue(1).Append(ctx, []byte("refused"))
		cancel()
		if errors.As(err, &gap) && c.queue(1).Last() != before {
			t.Fatal("a refused append is there")
		}
		if gap == nil && !errors.Is(err, context.DeadlineExceeded) {
			t.Fatal(err)
		}
	}
	if gap.Need != 2 || gap.Live != 1 {
		t.Fatalf("%+v", gap)
	}
}

// TestOrFlush: the source goes on alone, by its disk, and nobody else takes over
// but by force.
func TestOrFlush(t *testing.T) {
	c := newCluster(t, 2, with(core.Any().OrFlush(100*time.Millisecond)))
	c.openAll()
	c.awaitSource(1)
	c.awaitAll(c.append(1, "both"))
	c.close(2)
	i := c.append(1, "alone, and flushed")
	if s := c.queue(1).Stats(); s.Single != 1 || s.Counted < i {
		t.Fatalf("%+v", s)
	}
	c.close(1)
	c.open(2)
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if _, err := c.queue(2).TakeOver(ctx, false); !errors.As(err, new(*replica.LockedError)) {
		t.Fatalf("take-over of a single queue: %v", err)
	}
	holds, err := c.queue(2).TakeOver(c.ctx(), true)
	if err != nil || len(holds) != 2 || holds[0].Reachable || !holds[1].Reachable {
		t.Fatalf("%+v %v", holds, err)
	}
	c.awaitSource(2)
	c.append(2, "by force")
	c.open(1)
	e, err := c.events.await(c.ctx(), kind(core.NoticeDiverged))
	if err != nil {
		t.Fatal(err)
	}
	t.Log(e.Text)
	ms := c.same(c.append(2, "end"))
	if len(ms) != 3 || ms[1].text != "by force" {
		t.Fatalf("%v", ms)
	}
}

// TestWithoutAcknowledgements entries count at the source alone.
func TestWithoutAcknowledgements(t *testing.T) {
	c := newCluster(t, 3, func(cfg *replica.Config) {
		cfg.Queues[0].Replica.Acknowledge, cfg.Queues[0].Replica.Strategy = false, core.Strategy{}
	})
	c.openAll()
	c.awaitSource(1)
	var ms []message
	for k := range 500 {
		ms = append(ms, message{c.append(1, fmt.Sprint(k)), fmt.Sprint(k)})
	}
	if got := c.same(ms[499].index); len(got) != 500 || got[499] != ms[499] {
		t.Fatalf("%d messages", len(got))
	}
}
