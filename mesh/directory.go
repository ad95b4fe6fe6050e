package mesh

import (
	"fmt"
	"sync"
)

// directory finds a node's actors by name.
type directory struct {
	node   *Node
	shards [16]struct {
		mu            sync.RWMutex
		byName        map[string]anyActor
		sent, handled uint64 // messages of actors that have ended
	}

	mu      sync.Mutex
	count   int
	closed  bool          // takes no more
	emptied chan struct{} // closed when closed and count is 0
}

func (d *directory) add(a anyActor) error {
	c := a.base()
	d.mu.Lock()
	if d.closed {
		d.mu.Unlock()
		return &SendError{Code: SendNotRunning, Node: d.node.id, Actor: c.name}
	}
	d.count++
	d.mu.Unlock()
	s := &d.shards[hashName(c.name)%16]
	s.mu.Lock()
	if s.byName == nil {
		s.byName = map[string]anyActor{}
	}
	_, taken := s.byName[c.name]
	if !taken {
		s.byName[c.name] = a
	}
	s.mu.Unlock()
	if taken {
		d.less()
		return fmt.Errorf("spawn %q: %w", c.name, ErrNameTaken)
	}
	return nil
}

// find returns the actor that has a name now, or nil.
func (d *directory) find(name string) anyActor {
	s := &d.shards[hashName(name)%16]
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.byName[name]
}

// remove takes an actor out that has ended; what it has counted stays. Its name is
// free; the directory is not empty before less has been called for it too.
func (d *directory) remove(a anyActor) {
	c := a.base()
	s := &d.shards[hashName(c.name)%16]
	s.mu.Lock()
	sent, handled := c.counted()
	s.sent += sent
	s.handled += handled
	delete(s.byName, c.name)
	s.mu.Unlock()
}

// less is for an actor of which nothing is left to be done.
func (d *directory) less() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.count--
	if d.closed && d.count == 0 {
		close(d.emptied)
	}
}

// close takes no more actors; the channel is closed when there are none.
func (d *directory) close() <-chan struct{} {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return d.emptied
	}
	d.closed = true
	d.emptied = make(chan struct{})
	if d.count == 0 {
		close(d.emptied)
	}
	return d.emptied
}

// counted returns how many messages of this node were sent to actors here so far, how
// many were begun, and how many actors there are. One that ends is counted once.
func (d *directory) counted() (sent, handled uint64, actors int) {
	for i := range d.shards {
		s := &d.shards[i]
		s.mu.RLock()
		sent += s.sent
		handled += s.handled
		for _, a := range s.byName {
			sentTo, begun := a.base().counted()
			sent += sentTo
			handled += begun
		}
		actors += len(s.byName)
		s.mu.RUnlock()
	}
	return sent, handled, actors
}

// all returns the actors, in no order.
func (d *directory) all() []anyActor {
	var all []anyActor
	for i := range d.shards {
		s := &d.shards[i]
		s.mu.RLock()
		for _, a := range s.byName {
			all = append(all, a)
		}
		s.mu.RUnlock()
	}
	return all
}
