package gossip

import (
	"context"
	"crypto/hkdf"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"strconv"
	"sync"
	"time"

	"github.com/hashicorp/memberlist"

	"github.com/pawl-go/pawl/mesh"
)

// Config says where gossip is heard. Only Listen is required.
type Config struct {
	// Listen is the address for gossip, UDP and TCP: an IP address or localhost, and
	// a port, which differs from the mesh's; port 0 picks one. An address that is
	// not loopback needs Secret.
	Listen string
	// Advertise is the address at which others reach it. Empty: the one it listens
	// on, or with 0.0.0.0 the first private address of this machine.
	Advertise string
	// Seeds are gossip addresses of nodes to ask who there is; a host name may stand
	// for several. None: this node waits to be asked, or for Node.Join.
	Seeds []string
	// Secret is known to all nodes of the mesh, and encrypts. It may be the mesh's.
	Secret []byte
	// Logger takes what an operator should know: slog.Default() if nil.
	Logger *slog.Logger

	transport memberlist.Transport // for tests
}

// How often the seeds are asked while none answers, and how often one that is no
// member is asked, and the node told of all members again.
const (
	seedRetry  = 500 * time.Millisecond
	retellTime = 5 * time.Second
)

// Members is a [mesh.Membership] for one node. Make it with [New], and give it to
// one [mesh.Config]. [mesh.Node.Join] takes peers with the address of their gossip,
// and with their name if the join is to wait until they are linked.
type Members struct {
	cfg   Config
	list  *memberlist.Memberlist
	addr  string
	stop  context.CancelFunc
	ended chan struct{} // closed when tend has returned
	joins sync.WaitGroup

	mu      sync.Mutex // guards what follows
	leaving bool
	stopped bool // joins gets no more
}

// New makes a membership; the node starts it.
func New(cfg Config) *Members { return &Members{cfg: cfg} }

// Start begins to gossip. It fails when the configuration is wrong, or the address
// cannot be listened on; not when no seed answers, which may come later.
func (m *Members) Start(self mesh.Member, sink mesh.MemberSink) error {
	conf, err := m.cfg.memberlist()
	if err != nil {
		return fmt.Errorf("gossip: %w", err)
	}
	conf.Name = self.ID
	told := &teller{self: self.ID, sink: sink, log: m.cfg.Logger.With("node", self.ID), meta: appendMeta(nil, self), known: map[string]life{}}
	conf.Events, conf.Delegate, conf.Conflict = told, told, told
	conf.Logger = newLog(told.log)
	if m.list, err = memberlist.Create(conf); err != nil {
		return fmt.Errorf("gossip on %s: %w", m.cfg.Listen, err)
	}
	m.addr = m.list.LocalNode().Address()
	ctx, stop := context.WithCancel(context.Background())
	m.stop, m.ended = stop, make(chan struct{})
	go m.tend(ctx, told)
	return nil
}

// Addr is the address at which others reach this node's gossip: a seed for them.
// It is known once the node has started.
func (m *Members) Addr() string { return m.addr }

// Join asks nodes at their gossip addresses who there is. It fails if none of them
// answers, or when ctx ends.
func (m *Members) Join(ctx context.Context, peers []mesh.Peer) error {
	addrs := make([]string, 0, len(peers))
	for _, p := range peers {
		if p.Addr == "" {
			return fmt.Errorf("gossip: join %q: the address of its gossip is missing", p.ID)
		}
		addrs = append(addrs, p.Addr)
	}
	return m.ask(ctx, addrs)
}

var errStopped = errors.New("gossip: the node has stopped")

// ask is Join of memberlist, which does not know contexts: it ends at the latest
// with its time for a connection, and Close waits for it.
func (m *Members) ask(ctx context.Context, addrs []string) error {
	if len(addrs) == 0 {
		return nil
	}
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("gossip: join: %w", err)
	}
	answered := make(chan error, 1) // nobody may be waiting any more
	m.mu.Lock()
	stopped := m.stopped
	if !stopped {
		m.joins.Go(func() {
			_, err := m.list.Join(addrs)
			answered <- err
		})
	}
	m.mu.Unlock()
	if stopped {
		return errStopped
	}
	select {
	case err := <-answered:
		if err != nil {
			return fmt.Errorf("gossip: no seed answers (is it the address of gossip, and the secret the same?): %w", err)
		}
		return nil
	case <-ctx.Done():
		return fmt.Errorf("gossip: join: %w", ctx.Err())
	}
}

// tend asks the seeds that are no members, and tells the node of all who are.
func (m *Members) tend(ctx context.Context, told *teller) {
	defer close(m.ended)
	defer told.close()
	delay, joined := seedRetry, false
	for {
		err := m.ask(ctx, m.missing(ctx, told))
		switch {
		case err == nil && len(m.cfg.Seeds) > 0 && !joined:
			joined = true
			told.log.Info("gossip joined", "members", m.list.NumMembers())
		case err != nil && ctx.Err() == nil && !joined:
			told.log.Warn("gossip not joined yet", "err", err)
		}
		if joined || len(m.cfg.Seeds) == 0 {
			delay = retellTime
		}
		wait := time.NewTimer(delay - time.Duration(rand.Int64N(int64(delay/4)))) // not all at once
		select {
		case <-wait.C:
		case <-ctx.Done():
			wait.Stop()
			return
		}
		delay = min(2*delay, retellTime)
		told.retell()
	}
}

// missing returns the seeds that are not known to be members.
func (m *Members) missing(ctx context.Context, told *teller) (addrs []string) {
	known := told.heard()
	known[m.addr] = true
	for _, seed := range m.cfg.Seeds {
		for _, addr := range resolve(ctx, seed) {
			if !known[addr] {
				addrs = append(addrs, addr)
			}
		}
	}
	return addrs
}

// resolve looks a host name up; who cannot be found is left to memberlist, which
// says so.
func resolve(ctx context.Context, seed string) (addrs []string) {
	host, port, err := net.SplitHostPort(seed)
	if err != nil || net.ParseIP(host) != nil {
		return []string{seed}
	}
	ips, err := net.DefaultResolver.LookupHost(ctx, host)
	if err != nil {
		return []string{seed}
	}
	for _, ip := range ips {
		addrs = append(addrs, net.JoinHostPort(ip, port))
	}
	return addrs
}

// Leave has Close say that the node has left. Until then it says goodbye on its
// links, which must not be cut before.
func (m *Members) Leave(context.Context) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.leaving = true
	return nil
}

// leaveTime is how long Close waits until it has told that the node leaves.
const leaveTime = time.Second

// Close ends it. A node that has left says so first; another one is missed.
func (m *Members) Close() error {
	if m.list == nil {
		return nil
	}
	m.mu.Lock()
	m.stopped = true
	leaving := m.leaving
	m.mu.Unlock()
	m.stop()
	<-m.ended
	var err error
	if leaving {
		err = m.list.Leave(leaveTime)
	}
	err = errors.Join(err, m.list.Shutdown())
	m.joins.Wait()
	return err
}

// memberlist is the configuration as memberlist has it; it fills defaults in, and
// says what is wrong.
func (c *Config) memberlist() (*memberlist.Config, error) {
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	host, port, err := split("Listen", c.Listen)
	if err != nil {
		return nil, err
	}
	conf := memberlist.DefaultLANConfig()
	if host.IsLoopback() {
		conf.GossipInterval = 100 * time.Millisecond
		conf.ProbeTimeout = 200 * time.Millisecond
		conf.PushPullInterval = 15 * time.Second
	} else if len(c.Secret) == 0 {
		return nil, fmt.Errorf("config: Listen %q can be reached from other machines: set Secret", c.Listen)
	}
	conf.BindAddr, conf.BindPort, conf.AdvertisePort = host.String(), port, port
	if c.Advertise != "" {
		host, port, err := split("Advertise", c.Advertise)
		if err != nil {
			return nil, err
		}
		conf.AdvertiseAddr, conf.AdvertisePort = host.String(), port
	}
	if len(c.Secret) > 0 {
		if conf.SecretKey, err = hkdf.Key(sha256.New, c.Secret, nil, "pawl mesh gossip 1", 32); err != nil {
			return nil, err
		}
	}
	conf.Label = "pawl mesh"          // whoever else gossips here is not heard
	conf.DeadNodeReclaimTime = 1      // a name that is dead may come back at another address at once
	conf.TCPTimeout = 3 * time.Second // Close may wait for it
	conf.DelegateProtocolMin, conf.DelegateProtocolMax, conf.DelegateProtocolVersion = 1, 1, 1
	conf.Transport = c.transport
	return conf, nil
}

// split parses an address of the configuration.
func split(field, addr string) (net.IP, int, error) {
	host, service, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, 0, fmt.Errorf("config: %s %q: write IP:PORT: %w", field, addr, err)
	}
	if host == "localhost" {
		host = "127.0.0.1"
	}
	ip := net.ParseIP(host)
	port, err := strconv.ParseUint(service, 10, 16)
	if ip == nil || err != nil {
		return nil, 0, fmt.Errorf("config: %s %q: write IP:PORT, with the address in numbers", field, addr)
	}
	return ip, int(port), nil
}
