package replica

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pawl-go/pawl/queue/replica/core"
	"github.com/pawl-go/pawl/queue/replica/wire"
)

// link is what keeps the connection to another host.
type link struct {
	h    *Host
	peer Peer
	// conn is the one that stands, for those who send.
	conn atomic.Pointer[conn]
	mu   struct {
		sync.Mutex
		core *core.Link
		up   *conn // that the core is told of
		// For reports: when something was heard last, on any connection, and why
		// there is none.
		heard time.Time
		why   string
	}
}

// heartbeat is the frame; it never changes.
var heartbeat, _ = wire.Append(nil, wire.Frame{Type: wire.Heartbeat})

func (l *link) tick() {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	if c := l.mu.up; c != nil && (c.heard.Swap(false) || c.delivering.Load()) {
		l.mu.heard = now
		l.step(core.LinkHeard{Conn: c.id})
	}
	l.step(core.LinkTick{Now: now})
}

// stand takes a connection into use.
func (l *link) stand(c *conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.h.ctx.Err() != nil {
		c.close()
		return
	}
	old := l.mu.up
	l.mu.up = nil
	if old != nil {
		defer old.close()
	}
	l.conn.Store(c)
	l.mu.up = c
	l.mu.heard, l.mu.why = time.Now(), ""
	l.step(core.LinkUp{Conn: c.id})
	l.h.tell.tell(Event{Kind: EventUp, Peer: c.peer, Text: "a connection stands"})
	l.h.owned.Go(c.write)
	l.h.owned.Go(c.read)
}

func (l *link) hang() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.mu.up != nil {
		l.mu.up.close()
	}
}

// step carries out what the core of the link wants. mu is held.
func (l *link) step(ev core.LinkEvent) {
	for _, e := range l.mu.core.Step(ev) {
		c := l.mu.up
		switch e := e.(type) {
		case core.Dial:
			l.h.owned.Go(l.dial)
		case core.Beat:
			c.send(frameOf(heartbeat))
		case core.Hang:
			if c != nil && c.id == e.Conn {
				l.h.tell.tell(Event{Kind: EventDown, Peer: l.peer.ID, Text: "the connection is dropped: " + e.Why})
				c.close()
				l.mu.up, l.mu.why = nil, "the connection was dropped: "+e.Why
			}
		case core.TellUp:
			c.shared(func(q *Queue) { q.deliver(core.PeerUp{Peer: l.peer.ID, Conn: e.Conn}) })
		case core.TellDown:
			for _, q := range l.h.queues {
				q.deliver(core.PeerDown{Peer: l.peer.ID, Conn: e.Conn})
			}
		}
	}
	if _, down := ev.(core.LinkDown); down {
		l.mu.up = nil
	}
}

// dial connects to the host.
func (l *link) dial() {
	ctx, cancel := context.WithTimeout(l.h.ctx, l.h.cfg.HeartbeatTimeout)
	defer cancel()
	raw, err := l.h.cfg.Dial(ctx, l.peer.Addr)
	var c *conn
	if err == nil {
		if c, err = l.h.meet(ctx, raw, l.peer.ID); err == nil {
			l.stand(c)
			return
		}
		l.h.refused(err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.mu.why = err.Error()
	l.step(core.DialFailed{})
}

// refused notes why there is no connection, if there is none.
func (l *link) refused(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.mu.up == nil {
		l.mu.why = err.Error()
	}
}
