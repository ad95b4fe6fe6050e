package mesh

import (
	"context"
	"errors"
	"fmt"
	"sync"
)

// Leave takes the node out of the mesh in good order: its actors are shut down and
// handle what waits for them, what they send goes out, and the peers are told, so
// that they see it leave and not fail. Then it is closed. When ctx ends before,
// Leave closes the node at once and returns the context's error.
//
// An actor that is busy for ever, or suspended for ever by its own doing, is
// waited for until ctx ends. A handler must not call Leave: it would wait for itself.
func (n *Node) Leave(ctx context.Context) error {
	if !n.state.CompareAndSwap(up, leaving) {
		return fmt.Errorf("leave: %w", SendNotRunning)
	}
	err := n.leave(ctx)
	n.Close()
	if err != nil {
		return fmt.Errorf("leave: %w", err)
	}
	return nil
}

func (n *Node) leave(ctx context.Context) error {
	emptied := n.actors.close()
	for _, a := range n.actors.all() {
		a.base().shutdown()
	}
	select {
	case <-emptied:
	case <-ctx.Done():
		return fmt.Errorf("actors are still busy: %w", ctx.Err())
	}
	membership := n.cfg.Members.Leave(ctx)
	var all sync.WaitGroup
	var mu sync.Mutex
	var errs []error
	for _, l := range n.upLinks() {
		all.Go(func() {
			if err := l.sayGoodbye(ctx); err != nil {
				mu.Lock()
				defer mu.Unlock()
				errs = append(errs, fmt.Errorf("say goodbye to %s: %w", l.peer.id, err))
			}
		})
	}
	all.Wait()
	return errors.Join(append(errs, membership)...)
}

// Close stops the node at once: actors are aborted after the message they are in,
// which it waits for, and connections are closed. Peers see it as lost. Closing it
// again does nothing. A handler must not call it: it would wait for itself.
func (n *Node) Close() {
	n.closing.Do(func() {
		n.state.Store(defunct)
		if n.listener != nil {
			_ = n.listener.Close() // nobody is there to be told
		}
		if err := n.cfg.Members.Close(); err != nil {
			n.log.Warn("close membership", "err", err)
		}
		n.cancel()
		emptied := n.actors.close()
		for _, a := range n.actors.all() {
			a.base().abort()
		}
		n.closeLinks()
		n.calls.disconnect(func(*pendingCall) bool { return true })
		<-emptied
		n.background.Wait()
		n.mu.Lock()
		for _, id := range n.peerNames() {
			n.forget(id)
		}
		n.mu.Unlock()
		n.calls.disconnect(func(*pendingCall) bool { return true })
		close(n.defunct)
	})
	<-n.defunct
}

func (n *Node) closeLinks() {
	n.mu.Lock()
	var all []*link
	for _, l := range n.links {
		all = append(all, l)
	}
	for _, l := range n.pending {
		all = append(all, l)
	}
	n.mu.Unlock()
	for _, l := range all {
		l.fail(errClosed)
	}
}

var errClosed = errors.New("this node is closed")

// peerNames returns the names of all peers; n.mu is held.
func (n *Node) peerNames() (names []string) {
	n.peers.Range(func(key, _ any) bool {
		names = append(names, key.(string))
		return true
	})
	return names
}
