package main

import (
	"encoding/binary"
	"fmt"
	"slices"
	"sync"

	"github.com/pawl-go/pawl/mesh"
)

// witness checks what one actor is sent by its one sender: numbers that only grow.
// One that comes again, or late, is wrong.
type witness struct {
	mu     sync.Mutex
	last   uint64
	wrongs []string
}

// numbered is a message: its number, from 1, and padding. 0 is a question.
func numbered(n uint64) []byte {
	size := 8 + n%92
	if n%997 == 996 {
		size = 50_000 // in fragments
	}
	b := make([]byte, size)
	binary.LittleEndian.PutUint64(b, n)
	return b
}

func (w *witness) handle(c *mesh.Context, m []byte) error {
	n := binary.LittleEndian.Uint64(m)
	if n == 0 { // is anybody there?
		return c.Reply(n)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if n <= w.last && len(w.wrongs) < 10 {
		w.wrongs = append(w.wrongs, fmt.Sprintf("%d after %d", n, w.last))
	}
	w.last = n
	return nil
}

func (w *witness) seen() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.wrongs)
}
