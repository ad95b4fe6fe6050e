package mesh

import (
	"context"
	"sync"
)

// Monitor tells when one life of an actor has ended; see [Ref.Monitor].
type Monitor struct {
	node   *Node
	target AnyAddress
	link   *link // to the actor's node; nil: it is on this one
	id     uint64
	core   *core // the actor, if it is on this node

	once sync.Once
	done chan struct{}
	exit Exit
	err  error
}

// Monitor watches the life that the actor is in. It passes the mailbox by. It
// fails with an [OpError]; that of an actor that does not exist is
// [RemoteNoSuchActor], or [SendClosed] on this node. It does not time out; ctx is
// for the time until the actor's node has answered.
func (r *Ref[M]) Monitor(ctx context.Context) (*Monitor, error) {
	return r.node.Monitor(ctx, r.addr.Any())
}

// Monitor is [Ref.Monitor] for an actor whose messages do not matter.
func (n *Node) Monitor(ctx context.Context, a AnyAddress) (*Monitor, error) {
	m := &Monitor{node: n, target: a, done: make(chan struct{})}
	if a.Node == n.id {
		actor := n.actors.find(a.Name)
		if actor == nil || !actor.base().watch(watcher{monitor: m}) {
			return nil, n.notSent(opMonitor, SendClosed, a)
		}
		m.core = actor.base()
		return m, nil
	}
	call, err := n.beginOp(a, opMonitor)
	if err != nil {
		return nil, err
	}
	m.link, m.id = call.link, call.id.Load()
	n.monitors.add(m)
	if _, err := n.finishOp(ctx, a, opMonitor, nil, call, 0); err != nil {
		m.Stop()
		return nil, err
	}
	return m, nil
}

// Done is closed when the monitor has something to say.
func (m *Monitor) Done() <-chan struct{} { return m.done }

// Exit waits for the end of the actor's life and says how it ended. It fails with
// a [ReplyError] of [ReplyDisconnected] when the actor's node was lost first, and
// when ctx ends.
func (m *Monitor) Exit(ctx context.Context) (Exit, error) {
	select {
	case <-m.done:
		return m.exit, m.err
	case <-ctx.Done():
		return Exit{}, ctx.Err()
	}
}

// Stop ends the monitor before its time.
func (m *Monitor) Stop() {
	if m.core != nil {
		m.core.unwatch(watcher{monitor: m})
		return
	}
	if m.node.monitors.take(m.id) != nil {
		m.link.say(appendOp(m.target, m.id, opUnmonitor, nil))
	}
}

func (m *Monitor) fire(e Exit, err error) {
	m.once.Do(func() {
		m.exit, m.err = e, err
		close(m.done)
	})
}

// monitorTable holds the monitors of this node on actors of others.
type monitorTable struct {
	mu   sync.Mutex
	byID map[uint64]*Monitor
}

// add keeps m, unless its link has ended: then it says so.
func (t *monitorTable) add(m *Monitor) {
	t.mu.Lock()
	if t.byID == nil {
		t.byID = map[uint64]*Monitor{}
	}
	t.byID[m.id] = m
	t.mu.Unlock()
	if m.link.isFailed() {
		t.disconnect(m.link)
	}
}

func (t *monitorTable) take(id uint64) *Monitor {
	t.mu.Lock()
	defer t.mu.Unlock()
	m := t.byID[id]
	delete(t.byID, id)
	return m
}

// disconnect ends all monitors over a link.
func (t *monitorTable) disconnect(l *link) {
	t.mu.Lock()
	var over []*Monitor
	for id, m := range t.byID {
		if m.link == l {
			over = append(over, m)
			delete(t.byID, id)
		}
	}
	t.mu.Unlock()
	for _, m := range over {
		m.fire(Exit{}, &ReplyError{Code: ReplyDisconnected, Node: m.target.Node, Actor: m.target.Name})
	}
}

// watcher is a monitor as the watched actor knows it.
type watcher struct {
	monitor *Monitor // on this node
	link    *link    // or of a peer,
	id      uint64   // by its number there
}

// watch adds a watcher, and reports whether the actor has not ended yet.
func (c *core) watch(w watcher) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.status == Exited {
		return false
	}
	if c.watchers == nil {
		c.watchers = map[watcher]struct{}{}
	}
	c.watchers[w] = struct{}{}
	return true
}

func (c *core) unwatch(w watcher) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.watchers, w)
}

// notify tells the watchers of the life that has ended.
func (c *core) notify(e Exit) {
	c.mu.Lock()
	watchers := c.watchers
	c.watchers = nil
	c.mu.Unlock()
	for w := range watchers {
		if w.monitor != nil {
			w.monitor.fire(e, nil)
		} else {
			w.link.tell(w.id, e)
		}
	}
}
