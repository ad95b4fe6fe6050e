package replica_test

import (
	"fmt"
	"testing"

	"github.com/pawl-go/pawl/queue/replica"
)

func TestHostsHoldTheSame(t *testing.T) {
	for _, n := range []int{2, 3} {
		t.Run(fmt.Sprintf("%d hosts", n), func(t *testing.T) {
			c := newCluster(t, n, nil)
			c.openAll()
			c.awaitSource(1)
			for k := range 300 {
				c.append(1, fmt.Sprintf("message %d of some length, so that cycles roll", k))
			}
			first, err := c.queue(1).AppendBatch(c.ctx(), []byte("a"), []byte(""), []byte("c"))
			if err != nil {
				t.Fatal(err)
			}
			last := first + 2
			ms := c.same(last)
			if len(ms) != 303 || ms[302] != (message{last, "c"}) {
				t.Fatalf("%d messages, the last %v", len(ms), ms[len(ms)-1])
			}
		})
	}
}

func TestTakeOverAfterADeath(t *testing.T) {
	c := newCluster(t, 3, nil)
	c.openAll()
	c.awaitSource(1)
	c.append(1, "one")
	c.kill(1)
	if _, err := c.queue(2).TakeOver(c.ctx(), false); err != nil {
		t.Fatalf("%v\n%s", err, c.events)
	}
	c.awaitSource(2)
	c.append(2, "two")
	c.open(1)
	last := c.append(2, "three")
	ms := c.same(last)
	if len(ms) != 3 || ms[0].text != "one" || ms[2].text != "three" {
		t.Fatalf("%v", ms)
	}
}

func TestSwitch(t *testing.T) {
	c := newCluster(t, 3, nil)
	c.openAll()
	c.awaitSource(1)
	last := c.append(1, "from 1")
	from := replica.HostID(1)
	for round := range 9 {
		to := from%3 + 1
		c.awaitAll(last)
		if err := c.queue(from).Switch(c.ctx(), to); err != nil {
			t.Fatalf("round %d: %v\n%s", round, err, c.events)
		}
		c.awaitSource(to)
		last = c.append(to, fmt.Sprintf("from %d", to))
		from = to
	}
	if ms := c.same(last); len(ms) != 10 {
		t.Fatalf("%v", ms)
	}
}
