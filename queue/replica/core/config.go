package core

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"slices"
	"time"

	"github.com/pawl-go/pawl/queue"
)

// Defaults of Config.
const (
	DefaultHeartbeatInterval = 2 * time.Second
	DefaultHeartbeatTimeout  = 3 * time.Second
	DefaultLeaseTimeout      = time.Second
	DefaultChunkBytes        = 256 << 10
)

// Config holds the settings of a Replica. They must be the same at all hosts
// but for Self, LeaseTimeout and ChunkBytes; hosts notice when those that matter differ, and
// then do not copy to each other.
type Config struct {
	Self  HostID
	Hosts []HostID // all hosts of the queue's replica sets, Self included, in any order
	// Master becomes the source of a queue that has never had one. 0: nobody
	// does before a TakeOver. It does not seize a queue that has moved on.
	Master HostID
	// Acknowledge makes sinks confirm what they hold. Without it an entry counts
	// once the source has it (w = 1), and Strategy is not used.
	Acknowledge bool
	Strategy    Strategy
	// FlushToCount counts a host for an entry only once the entry is on its
	// disk; otherwise once it is readable there.
	FlushToCount bool
	// AllowLoss lets starts and take-overs go on, after HeartbeatTimeout, with
	// the hosts that are there, though fewer than needed promise.
	AllowLoss bool
	// HeartbeatInterval and HeartbeatTimeout are the paces of starting, retrying
	// and giving up here. 0 means the default. The timeout must be the longer.
	HeartbeatInterval time.Duration
	HeartbeatTimeout  time.Duration
	// LeaseTimeout is how long a source that does not hear enough hosts for an entry
	// to count goes on beginning new work: see LeaseEnd. 0 means the default. It may
	// differ between hosts.
	LeaseTimeout time.Duration
	// ChunkBytes is about how much a sink is sent at a time. 0 means the default.
	ChunkBytes int
}

func (c *Config) validate() error {
	if c.HeartbeatInterval == 0 {
		c.HeartbeatInterval = DefaultHeartbeatInterval
	}
	if c.HeartbeatTimeout == 0 {
		c.HeartbeatTimeout = max(DefaultHeartbeatTimeout, c.HeartbeatInterval*3/2)
	}
	if c.LeaseTimeout == 0 {
		c.LeaseTimeout = DefaultLeaseTimeout
	}
	if c.ChunkBytes == 0 {
		c.ChunkBytes = DefaultChunkBytes
	}
	c.Hosts = slices.Clone(c.Hosts)
	slices.Sort(c.Hosts)
	switch n := len(c.Hosts); {
	case n == 0 || n > MaxHosts:
		return fmt.Errorf("replica of %d hosts: want 1 to %d", n, MaxHosts)
	case c.Hosts[0] == 0 || c.Hosts[n-1] > MaxHosts:
		return fmt.Errorf("host ids %v: want 1 to %d", c.Hosts, MaxHosts)
	case len(slices.Compact(slices.Clone(c.Hosts))) != n:
		return fmt.Errorf("host ids %v: one is there twice", c.Hosts)
	case !slices.Contains(c.Hosts, c.Self):
		return fmt.Errorf("host %d is not among the hosts %v of the queue", c.Self, c.Hosts)
	case c.Master != 0 && !slices.Contains(c.Hosts, c.Master):
		return fmt.Errorf("master %d is not among the hosts %v of the queue", c.Master, c.Hosts)
	case c.HeartbeatInterval < 0 || c.HeartbeatTimeout <= c.HeartbeatInterval:
		return fmt.Errorf("heartbeat timeout %v must exceed the interval %v", c.HeartbeatTimeout, c.HeartbeatInterval)
	case c.LeaseTimeout < 0:
		return fmt.Errorf("lease timeout %v is negative", c.LeaseTimeout)
	case c.ChunkBytes < 0:
		return fmt.Errorf("chunk of %d bytes", c.ChunkBytes)
	case !c.Acknowledge:
		return nil
	}
	return c.Strategy.validate(len(c.Hosts))
}

// counting is w, the number of hosts that must hold an entry before it counts.
func (c *Config) counting() int {
	if !c.Acknowledge {
		return 1
	}
	return c.Strategy.counting(len(c.Hosts))
}

// promising is q, the number of hosts that must promise an epoch: any q and any
// w have a host in common. A queue that may count on its source alone has w = 1.
func (c *Config) promising() int {
	w := c.counting()
	if c.Acknowledge && c.Strategy.over == overFlush {
		w = 1
	}
	return len(c.Hosts) - w + 1
}

// CheckAutomatic says why no automatic take-over can ever succeed, if so: nobody
// elects among two hosts, and one may not need the promise of the source that is
// gone.
func (c Config) CheckAutomatic() error {
	switch n := len(c.Hosts); {
	case n < 3:
		return fmt.Errorf("automatic take-over among %d hosts: it takes 3 at least", n)
	case c.promising() >= n:
		return errors.New("automatic take-over needs acknowledge, a strategy by which entries count on two hosts at least, and not whenOver: flush: otherwise a take-over needs the promise of the source that is gone")
	}
	return nil
}

// digest sums up what must be the same at all hosts.
func (c *Config) digest() uint64 {
	h := fnv.New64a()
	for _, id := range c.Hosts {
		h.Write([]byte{byte(id)})
	}
	b := binary.AppendUvarint([]byte{0, byte(c.Master)}, uint64(c.counting()))
	b = binary.AppendUvarint(b, uint64(c.promising()))
	for _, set := range []bool{c.Acknowledge, c.FlushToCount, c.AllowLoss} {
		if set {
			b = append(b, 1)
		} else {
			b = append(b, 0)
		}
	}
	h.Write(b)
	return h.Sum64()
}

// Start is what the shell has found when it makes a Replica.
type Start struct {
	// Hard as it was last written. When there is no such file, or it is damaged,
	// set Hard to Hard{Trust: Lost}.
	Hard Hard
	// Log is what the queue holds.
	Log Log
	// Flushed is the last entry known to be on the disk.
	Flushed queue.Index
	// Survived: no entry can have been lost since Hard was written, for the
	// machine has not gone down (its boot id is the one that was noted when Hard
	// was written) and opening the queue set nothing aside.
	Survived bool
	// Now is where Ticks begin.
	Now time.Time
}

// Check reports what is wrong with the configuration, as New would.
func (c Config) Check() error { return c.validate() }
