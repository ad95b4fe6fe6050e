package replica

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pawl-go/pawl/queue"
	"github.com/pawl-go/pawl/queue/replica/core"
)

// maxStrangers bounds the connections that have not proved who they are.
const maxStrangers = 64

// Host is a host of a cluster, with its queues open. All methods may be called
// concurrently.
type Host struct {
	cfg      Config
	tell     *teller
	queues   map[string]*Queue
	links    map[HostID]*link
	listener net.Listener
	conns    atomic.Uint64 // numbers given so far

	strangers chan struct{} // as many slots as may be taken
	ctx       context.Context
	cancel    context.CancelFunc
	owned     sync.WaitGroup
	told      sync.WaitGroup
	quit      chan struct{} // of the teller
	ending    sync.Once
}

// Open opens the queues of a host, and connects it with the others. It returns
// before any connection stands: a queue is locked until it has a source. An error
// of a queue is that of queue.Open, and nothing is left open.
func Open(cfg Config) (*Host, error) {
	if err := cfg.validate(); err != nil {
		return nil, fmt.Errorf("open host: %w", err)
	}
	h := &Host{
		cfg: cfg, tell: newTeller(cfg.Logger, cfg.OnEvent), queues: map[string]*Queue{}, links: map[HostID]*link{},
		strangers: make(chan struct{}, maxStrangers), quit: make(chan struct{}),
	}
	h.ctx, h.cancel = context.WithCancel(context.Background())
	h.told.Go(func() { h.tell.run(h.quit) })
	err := h.open()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open host %d: %w", cfg.Self, err), h.Close())
	}
	return h, nil
}

func (h *Host) open() error {
	h.listener = h.cfg.Listener
	if err := h.listen(); err != nil {
		return err
	}
	for _, qc := range h.cfg.Queues {
		q, err := openQueue(h, qc)
		if err != nil {
			return err
		}
		h.queues[qc.Name] = q
	}
	for _, p := range h.cfg.Peers {
		if p.ID == h.cfg.Self || len(h.shared(p.ID)) == 0 {
			continue
		}
		l := &link{h: h, peer: p}
		var err error
		l.mu.core, err = core.NewLink(h.cfg.Self, p.ID, h.cfg.HeartbeatInterval, h.cfg.HeartbeatTimeout, uint64(time.Now().UnixNano()))
		if err != nil {
			return err
		}
		h.links[p.ID] = l
	}
	for _, q := range h.queues {
		q.start()
	}
	if h.listener != nil {
		h.owned.Go(h.accept)
	}
	h.owned.Go(h.tick)
	return nil
}

// listen opens the listener, if this host is to be connected to.
func (h *Host) listen() error {
	addr := h.cfg.Listen
	if h.listener != nil {
		return nil
	}
	if addr == "" {
		higher := slices.ContainsFunc(h.cfg.Peers, func(p Peer) bool { return p.ID > h.cfg.Self })
		if addr = h.peer(h.cfg.Self).Addr; addr == "" || !higher {
			return nil
		}
	}
	var lc net.ListenConfig
	ln, err := lc.Listen(h.ctx, "tcp", addr)
	if err != nil {
		return fmt.Errorf("listen for other hosts: %w", err)
	}
	h.listener = ln
	return nil
}

// Queue gives a queue by its name; nil if the host has none of that name.
func (h *Host) Queue(name string) *Queue { return h.queues[name] }

// Queues lists the queues by name.
func (h *Host) Queues() []*Queue {
	qs := make([]*Queue, 0, len(h.queues))
	for _, q := range h.queues {
		qs = append(qs, q)
	}
	slices.SortFunc(qs, func(a, b *Queue) int { return compare(a.Name(), b.Name()) })
	return qs
}

// Self is the id of the host.
func (h *Host) Self() HostID { return h.cfg.Self }

// Addr is where other hosts connect; nil if none does.
func (h *Host) Addr() net.Addr {
	if h.listener == nil {
		return nil
	}
	return h.listener.Addr()
}

// peer is the configuration of a host; its ID is 0 if there is none.
func (h *Host) peer(id HostID) Peer {
	k := slices.IndexFunc(h.cfg.Peers, func(p Peer) bool { return p.ID == id })
	if k < 0 {
		return Peer{}
	}
	return h.cfg.Peers[k]
}

// shared lists the queues that this host offers another.
func (h *Host) shared(to HostID) []string {
	var names []string
	for name, q := range h.queues {
		if slices.Contains(q.cfg.Replica.Hosts, to) && !q.over.Load() {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// Close closes the queues in good order: what was appended is flushed, and written
// down as safe. Appends and waits that are under way end with queue.ErrClosed. It
// returns what went wrong with the queues.
func (h *Host) Close() error {
	err := queue.ErrClosed
	h.ending.Do(func() { err = h.close() })
	return err
}

func (h *Host) close() error {
	var errs []error
	for _, q := range h.queues {
		q.beginClose()
	}
	for _, q := range h.queues {
		errs = append(errs, q.awaitClose())
	}
	h.cancel()
	if h.listener != nil {
		_ = h.listener.Close()
	}
	for _, l := range h.links {
		l.hang()
	}
	h.owned.Wait()
	for _, q := range h.queues {
		errs = append(errs, q.stop())
	}
	close(h.quit)
	h.told.Wait()
	return errors.Join(errs...)
}

// accept takes connections of hosts with higher ids.
func (h *Host) accept() {
	for {
		raw, err := h.listener.Accept()
		if err != nil {
			if h.ctx.Err() != nil || errors.Is(err, net.ErrClosed) {
				return
			}
			h.tell.tell(Event{Kind: EventRefuse, Text: "a connection could not be accepted", Err: err})
			select { // too many open files, for example: that may pass
			case <-time.After(h.cfg.HeartbeatInterval / 4):
			case <-h.ctx.Done():
			}
			continue
		}
		select {
		case h.strangers <- struct{}{}:
		default: // somebody connects and says nothing
			_ = raw.Close()
			continue
		}
		h.owned.Go(func() {
			c, err := h.meet(h.ctx, raw, 0)
			<-h.strangers
			if err != nil {
				h.refused(err)
				return
			}
			h.links[c.peer].stand(c)
		})
	}
}

// refused tells of a handshake that failed.
func (h *Host) refused(err error) {
	e := Event{Kind: EventRefuse, Text: "a connection was refused", Err: err}
	if pe, ok := errors.AsType[*PeerError](err); ok {
		e.Peer = pe.Host
		if l := h.links[pe.Host]; l != nil {
			l.refused(err)
		}
	}
	if h.ctx.Err() == nil {
		h.tell.tell(e)
	}
}

// tick drives the links.
func (h *Host) tick() {
	t := time.NewTicker(h.cfg.HeartbeatInterval / 4)
	defer t.Stop()
	for {
		for _, l := range h.links {
			l.tick()
		}
		select {
		case <-t.C:
		case <-h.ctx.Done():
			return
		}
	}
}

// ended hears that a connection is of no use any more.
func (h *Host) ended(c *conn, err error) {
	l := h.links[c.peer]
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.mu.up == c {
		l.mu.why = "the connection has ended: " + whyEnded(err)
		h.tell.tell(Event{Kind: EventDown, Peer: c.peer, Text: l.mu.why})
		l.step(core.LinkDown{Conn: c.id})
	}
	c.close()
}

// dropQueue makes all connections anew, without a queue that has ended.
func (h *Host) dropQueue() {
	for _, l := range h.links {
		l.mu.Lock()
		if c := l.mu.up; c != nil {
			l.step(core.LinkDown{Conn: c.id})
			c.close()
		}
		l.mu.Unlock()
	}
}
