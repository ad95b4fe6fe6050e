package replica_test

import (
	"fmt"
	"testing"

	"github.com/pawl-go/pawl/queue/replica"
)

// TestNewsNeedNoFurtherAppend: after a burst, of which each update brought the news of
// the one before, the sinks hear that the last entry counts too.
func TestNewsNeedNoFurtherAppend(t *testing.T) {
	c := newCluster(t, 3, nil)
	c.openAll()
	c.awaitSource(1)
	for round := range 20 {
		last := c.append(1, "begins")
		for k := range 20 {
			last = c.append(1, fmt.Sprintf("round %d, message %d", round, k))
		}
		for id := replica.HostID(1); id <= 3; id++ {
			c.await(id, "knows what counts", func(s replica.Stats) bool { return s.Counted >= last })
		}
	}
}
