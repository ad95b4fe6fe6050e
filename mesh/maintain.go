package mesh

import (
	"context"
	"time"

	"github.com/pawl-go/pawl/mesh/internal/roster"
)

// maintain is the goroutine that does what is due: dials, failures, heartbeats.
func (n *Node) maintain() {
	beat := time.NewTicker(n.cfg.Timing.Heartbeat)
	defer beat.Stop()
	due := time.NewTimer(0)
	defer due.Stop()
	for {
		select {
		case <-n.ctx.Done():
			return
		case <-n.kick:
		case <-due.C:
		case <-beat.C:
			for _, l := range n.upLinks() {
				l.beat()
			}
			continue
		}
		if at, ok := n.doDue(); ok {
			due.Reset(max(time.Until(at), 0))
		} else {
			due.Stop()
		}
	}
}

// doDue begins the dials that are due, and says when the next are.
func (n *Node) doDue() (at time.Time, ok bool) {
	var dials []roster.Dial
	n.mu.Lock()
	var e roster.Effects
	if n.State() == NodeUp {
		dials, e = n.roster.Due(n.now())
	}
	over := n.apply(e)
	for _, d := range dials {
		n.peerOf(d.ID)
		ctx, cancel := context.WithCancel(n.ctx)
		n.dials[d.ID] = cancel
		n.background.Go(func() {
			defer cancel()
			n.dial(ctx, d)
		})
	}
	at, ok = n.roster.Next()
	ok = ok && n.State() == NodeUp
	n.mu.Unlock()
	for _, l := range over {
		l.fail(errReplaced)
	}
	return at, ok
}

// upLinks returns the links that are up.
func (n *Node) upLinks() []*link {
	n.mu.Lock()
	defer n.mu.Unlock()
	var all []*link
	for _, l := range n.links {
		if !l.isFailed() {
			all = append(all, l)
		}
	}
	return all
}
