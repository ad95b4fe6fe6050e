package main

import "sync"

// group shares calls that flush: who comes while one is under way goes into the next.
type group struct {
	save func(ms [][]byte) error // one call at a time

	mu   sync.Mutex
	next *batch // that the next call takes
	busy bool
}

// batch is what one call saves.
type batch struct {
	ms   [][]byte
	done chan struct{}
	err  error
}

func newGroup(save func(ms [][]byte) error) *group {
	return &group{save: save, next: newBatch()}
}

func newBatch() *batch { return &batch{done: make(chan struct{})} }

// durable returns when m has been saved.
func (g *group) durable(m []byte) error {
	g.mu.Lock()
	b := g.next
	b.ms = append(b.ms, m)
	if !g.busy {
		g.busy = true
		go g.serve()
	}
	g.mu.Unlock()
	<-b.done
	return b.err
}

// serve saves batches until nobody waits.
func (g *group) serve() {
	for {
		g.mu.Lock()
		b := g.next
		if len(b.ms) == 0 {
			g.busy = false
			g.mu.Unlock()
			return
		}
		g.next = newBatch()
		g.mu.Unlock()
		b.err = g.save(b.ms)
		close(b.done)
	}
}
