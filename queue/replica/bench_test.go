package replica_test

import (
	"fmt"
	"testing"

	"github.com/pawl-go/pawl/queue/replica"
	"github.com/pawl-go/pawl/queue/replica/core"
)

// BenchmarkAppend appends 128 bytes at the source of two hosts: one at a time until
// the other host has it, and in a window of 1,024.
func BenchmarkAppend(b *testing.B) {
	for _, window := range []int{1, 1024} {
		b.Run(fmt.Sprint("window ", window), func(b *testing.B) {
			c := newCluster(b, 2, func(cfg *replica.Config) {
				cfg.Queues[0].Queue.CycleBytes = 64 << 20
				if window > 1 {
					cfg.Queues[0].Replica.Strategy = core.MaxGap(core.Limit{Messages: uint64(window)})
				}
			})
			c.openAll()
			c.awaitSource(1)
			c.awaitAll(c.append(1, "warm"))
			q, p, ctx := c.queue(1), make([]byte, 128), c.ctx()
			b.SetBytes(int64(len(p)))
			for b.Loop() {
				if _, err := q.Append(ctx, p); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
