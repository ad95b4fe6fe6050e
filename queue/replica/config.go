package replica

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"time"

	"github.com/pawl-go/pawl/queue"
	"github.com/pawl-go/pawl/queue/replica/core"
	"github.com/pawl-go/pawl/queue/replica/wire"
)

// Peer is a host of the cluster, this one included.
type Peer struct {
	ID   HostID
	Name string // for reports, and for its certificate; empty: its id
	Addr string // host:port where it accepts; needed of hosts with a lower id than this one
}

// Config holds the settings of a Host.
type Config struct {
	// Self is the id of this host, which must be among Peers.
	Self  HostID
	Peers []Peer
	// Cluster must be the same at all hosts; it keeps hosts of different clusters
	// apart. It may be empty.
	Cluster string

	// Secret is shared by all hosts: each side proves that it knows it, with a
	// challenge that is good for one connection. It does not hide what is sent.
	Secret []byte
	// TLS, when set, is used on all connections, by both sides: it must have a
	// certificate, and RootCAs and ClientCAs to check those of others by. The
	// certificate of a host must be valid for its name, or the host part of its
	// address. With TLS, Secret may be empty.
	TLS *tls.Config
	// Insecure lets hosts connect with neither. Whoever reaches the port can then
	// read and replace the queues.
	Insecure bool

	// Listener is where hosts with a higher id connect; when nil, Listen is, an
	// address that may differ from this host's in Peers. When both are empty it is
	// the address in Peers, if there are hosts with a higher id. The Host closes it.
	Listener net.Listener
	Listen   string
	// Dial connects to a host; nil means TCP.
	Dial func(ctx context.Context, addr string) (net.Conn, error)

	// HeartbeatInterval and HeartbeatTimeout are those of the connections: each
	// side sends in every interval, and drops a connection on which nothing has
	// come in for the timeout, which must be longer. 0 means 2 and 3 seconds. They
	// are also the pace of queues that set none.
	HeartbeatInterval time.Duration
	HeartbeatTimeout  time.Duration
	// LeaseTimeout is for queues that set none: how long a source that does not hear
	// enough hosts goes on beginning new work. 0 means a second.
	LeaseTimeout time.Duration

	Queues []QueueConfig

	// Logger hears of all events; nil means slog.Default.
	Logger *slog.Logger
	// OnEvent, when set, is told of all events, one call at a time and in order.
	// It may use the Host but not close it.
	OnEvent func(Event)
	// BootID names this run of the machine's system, which decides whether what
	// was not flushed can have been lost; nil asks the system.
	BootID func() string

	// dies is for tests: whether the host dies instead of an effect.
	dies func(core.Effect) bool
}

// QueueConfig holds the settings of a replicated queue at this host.
type QueueConfig struct {
	// Name is what the hosts call the queue.
	Name string
	// Dir is its directory here, made if it is missing. The replica keeps files of
	// its own in it, replica.promises above all, which is no hint.
	Dir string
	// Replica says who copies it and when an entry counts; Self is filled in.
	Replica core.Config
	// Queue are the settings of the queue. Durability must not be EveryAppend: wait
	// with WaitDurable, or set FlushToCount. CycleBytes must be the same at all
	// hosts.
	Queue queue.Config
	// HoldForSinks keeps retention from deleting what a sink has not got yet,
	// connected or not: the disk fills up while one is away. Otherwise such a sink
	// starts from the oldest kept cycle when it comes back.
	HoldForSinks bool
	// Automatic lets the hosts elect one that takes over when the source has been
	// silent for HeartbeatTimeout; it takes three hosts or more, an entry must count
	// on two at least, and all hosts should set it. See package elect.
	Automatic bool
}

func (c *Config) validate() error {
	if c.HeartbeatInterval == 0 {
		c.HeartbeatInterval = core.DefaultHeartbeatInterval
	}
	if c.HeartbeatTimeout == 0 {
		c.HeartbeatTimeout = max(core.DefaultHeartbeatTimeout, c.HeartbeatInterval*3/2)
	}
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	if c.Dial == nil {
		c.Dial = func(ctx context.Context, addr string) (net.Conn, error) {
			var d net.Dialer
			return d.DialContext(ctx, "tcp", addr)
		}
	}
	if c.BootID == nil {
		c.BootID = bootID
	}
	if len(c.Cluster) > wire.MaxName {
		return fmt.Errorf("check config: the name of the cluster has %d bytes, the limit is %d", len(c.Cluster), wire.MaxName)
	}
	if err := c.validatePeers(); err != nil {
		return fmt.Errorf("check config: %w", err)
	}
	if c.TLS == nil && len(c.Secret) == 0 && !c.Insecure {
		return errors.New("check config: hosts must prove who they are: set Secret or TLS (secretFile or tls in the file), or say Insecure")
	}
	if t := c.TLS; t != nil && (len(t.Certificates) == 0 && t.GetCertificate == nil || t.RootCAs == nil || t.ClientCAs == nil) {
		return errors.New("check config: TLS needs a certificate, RootCAs and ClientCAs: both sides check each other")
	}
	if len(c.Queues) == 0 {
		return fmt.Errorf("check config: host %d has no queue", c.Self)
	}
	return c.validateQueues()
}

func (c *Config) validatePeers() error {
	seen := map[HostID]bool{}
	for k := range c.Peers {
		p := &c.Peers[k]
		if p.Name == "" {
			p.Name = fmt.Sprintf("host-%d", p.ID)
		}
		switch {
		case p.ID == 0 || p.ID > core.MaxHosts:
			return fmt.Errorf("host id %d, want 1 to %d", p.ID, core.MaxHosts)
		case seen[p.ID]:
			return fmt.Errorf("host %d is there twice", p.ID)
		case p.ID < c.Self && p.Addr == "":
			return fmt.Errorf("host %d has no address, and this host must dial it", p.ID)
		}
		seen[p.ID] = true
	}
	if !seen[c.Self] {
		return fmt.Errorf("this host, %d, is not among the hosts", c.Self)
	}
	return nil
}

func (c *Config) validateQueues() error {
	names, dirs := map[string]bool{}, map[string]bool{}
	for k := range c.Queues {
		q := &c.Queues[k]
		fail := func(format string, args ...any) error {
			return fmt.Errorf("check config: queue %q: %w", q.Name, fmt.Errorf(format, args...))
		}
		if q.Replica.Self == 0 {
			q.Replica.Self = c.Self
		}
		if q.Replica.HeartbeatInterval == 0 && q.Replica.HeartbeatTimeout == 0 {
			q.Replica.HeartbeatInterval, q.Replica.HeartbeatTimeout = c.HeartbeatInterval, c.HeartbeatTimeout
		}
		if q.Replica.LeaseTimeout == 0 {
			q.Replica.LeaseTimeout = cmp.Or(c.LeaseTimeout, core.DefaultLeaseTimeout)
		}
		switch {
		case q.Name == "" || len(q.Name) > wire.MaxName:
			return fail("its name has %d bytes, want 1 to %d", len(q.Name), wire.MaxName)
		case names[q.Name], dirs[q.Dir]:
			return fail("name or directory is there twice")
		case q.Replica.Self != c.Self:
			return fail("it is of host %d, and this is host %d", q.Replica.Self, c.Self)
		case q.Queue.Durability == queue.EveryAppend:
			return fail("durability %v: wait with WaitDurable, or set FlushToCount", q.Queue.Durability)
		}
		for _, id := range q.Replica.Hosts {
			if !slices.ContainsFunc(c.Peers, func(p Peer) bool { return p.ID == id }) {
				return fail("host %d is not among the hosts of the cluster", id)
			}
		}
		if err := q.Replica.Check(); err != nil {
			return fail("%w", err)
		}
		if q.Automatic {
			if err := q.Replica.CheckAutomatic(); err != nil {
				return fail("%w", err)
			}
		}
		if q.Queue.Logger == nil {
			q.Queue.Logger = c.Logger
		}
		names[q.Name], dirs[q.Dir] = true, true
	}
	return nil
}
