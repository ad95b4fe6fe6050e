package local

import (
	"context"
	"fmt"
	"testing"

	"github.com/pawl-go/pawl/engine"
	"github.com/pawl-go/pawl/queue"
)

// flushCounter is a journal that counts who waits for its flushes.
type flushCounter struct {
	journal
	waits int
}

func (c *flushCounter) WaitDurable(ctx context.Context, i queue.Index) error {
	c.waits++
	return c.journal.WaitDurable(ctx, i)
}

// A checkpoint costs two flushes of the journal at most, however many actors it saves:
// it would never catch up with many callers else.
func TestCheckpointFlushesTheJournalOnce(t *testing.T) {
	w := newWorld(t, "durability=process&checkpoint=1GiB")
	s, _ := w.join("c", "A")
	name := func(i int) engine.Actor { return engine.Actor{Type: "A", ID: fmt.Sprint(i)} }
	const n = 3*savedPerHold + 1
	for i := range n {
		if err := s.Operator().Write(t.Context(), name(i), []engine.Write{put("n", fmt.Sprint(i))}); err != nil {
			t.Fatal(err)
		}
	}
	c := &flushCounter{journal: w.e.log}
	w.e.log = c
	err := w.e.checkpoint()
	w.e.log = c.journal
	if err != nil || c.waits > 2 {
		t.Errorf("checkpoint of %d actors: %d flushes, %v", n, c.waits, err)
	}
	if left := w.e.mu.f.actors.Len(); left != 0 {
		t.Errorf("%d actors are still in memory", left)
	}
	for _, i := range []int{0, n - 1} {
		if v, _, err := s.Lookup(t.Context(), name(i), put("n", "").Key); string(v) != fmt.Sprint(i) || err != nil {
			t.Errorf("actor %d: %q, %v", i, v, err)
		}
	}
}
