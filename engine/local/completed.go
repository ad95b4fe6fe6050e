package local

import (
	"iter"
	"slices"
	"sync"

	"github.com/pawl-go/pawl/engine"
	"github.com/pawl-go/pawl/queue"
)

// completions finds the record of the outcome of an invocation that has ended,
// as long as the journal keeps it.
type completions struct {
	e  *Engine
	mu struct {
		sync.Mutex
		cycles []*completedCycle // oldest first
	}
}

// completedCycle are the invocations whose outcomes stand in one cycle of the
// journal: all in chunks, in the order of the journal; derived ids in a map
// too, since they are looked up while calls wait.
type completedCycle struct {
	cycle   uint32
	chunks  [][]completed
	derived map[engine.ID]engine.Position
}

type completed struct {
	id engine.ID
	at engine.Position
}

const completedChunk = 4096

func newCompletions(e *Engine) *completions { return &completions{e: e} }

// add notes an outcome. Positions rise.
func (c *completions) add(id engine.ID, at engine.Position) {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := len(c.mu.cycles)
	if cy := queue.Index(at).Cycle(); n == 0 || c.mu.cycles[n-1].cycle != cy {
		c.mu.cycles = append(c.mu.cycles, &completedCycle{cycle: cy})
		n++
	}
	c.mu.cycles[n-1].add(id, at)
}

func (y *completedCycle) add(id engine.ID, at engine.Position) {
	n := len(y.chunks)
	if n == 0 || len(y.chunks[n-1]) == completedChunk {
		y.chunks = append(y.chunks, make([]completed, 0, completedChunk))
		n++
	}
	y.chunks[n-1] = append(y.chunks[n-1], completed{id, at})
	if id.Derived() {
		if y.derived == nil {
			y.derived = map[engine.ID]engine.Position{}
		}
		y.derived[id] = at
	}
}

// find gives the position of the outcome of id, 0 if it is not known.
func (c *completions) find(id engine.ID) (engine.Position, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := len(c.mu.cycles) - 1; i >= 0; i-- {
		y := c.mu.cycles[i]
		if id.Derived() {
			if at, ok := y.derived[id]; ok {
				return at, nil
			}
			continue
		}
		for _, ch := range y.chunks {
			for _, x := range ch {
				if x.id == id {
					return x.at, nil
				}
			}
		}
	}
	return 0, nil
}

// newestFirst yields all, the last ended first.
func (c *completions) newestFirst() iter.Seq2[completed, error] {
	return func(yield func(completed, error) bool) {
		c.mu.Lock()
		cycles := slices.Clone(c.mu.cycles)
		c.mu.Unlock()
		for _, y := range slices.Backward(cycles) {
			c.mu.Lock()
			chunks := slices.Clone(y.chunks)
			c.mu.Unlock()
			for _, ch := range slices.Backward(chunks) {
				for _, x := range slices.Backward(ch) {
					if !yield(x, nil) {
						return
					}
				}
			}
		}
	}
}

// recent reports whether a derived id is among those in memory.
func (c *completions) recent(id engine.ID) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, y := range c.mu.cycles {
		if _, ok := y.derived[id]; ok {
			return true
		}
	}
	return false
}
