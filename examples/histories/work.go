package main

import (
	"math/rand/v2"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/pawl-go/pawl/examples/histories/history"
)

const (
	perKey   = 60 // operations on a key, about: what keeps the check short
	keys     = 3  // of each type at a time; then come new ones
	couriers = 3
)

// work is what the clients of a round share. Safe for concurrent use.
type work struct {
	seed     uint64
	deeds    []deed
	types    int // of keys, in the deeds
	limit    int // operations
	lives    *lives
	recorder *history.Recorder

	begun, names          atomic.Int64
	interrupted, repeated atomic.Int64

	mu    sync.Mutex
	seen  map[string]int64 // the last number that was seen under a key
	kills []int            // operations recorded at which the next kills are due
	due   chan<- struct{}  // has room for all of them
}

// next counts the operations; false: there were enough.
func (w *work) next() (n int, ok bool) {
	n = int(w.begun.Add(1)) - 1
	return n, n < w.limit
}

func (w *work) newName() int { return int(w.names.Add(1)) - 1 }

// idOf draws the actor of the nth operation. Every now and then there are others.
func (w *work) idOf(n int, r *rand.Rand) string {
	generation := n / (perKey * keys * w.types)
	return strconv.Itoa(generation*keys + r.IntN(keys))
}

func (w *work) lastSeen(key string) int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.seen[key]
}

// done records an operation, and says when a kill is due.
func (w *work) done(o *history.Operation) {
	n := w.recorder.Operation(*o)
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case o.Open:
	case o.Kind == history.Write, o.Kind == history.CompareAndSet && o.Set:
		w.seen[o.Key] = o.Arg
	case o.Kind == history.Read, o.Kind == history.Add:
		w.seen[o.Key] = o.Value
	}
	if len(w.kills) > 0 && n >= w.kills[0] {
		w.kills = w.kills[1:]
		w.due <- struct{}{}
	}
}

// points draws when the kills are due: one in each of as many equal parts.
func points(r *rand.Rand, kills, operations int) []int {
	all := make([]int, kills)
	for i := range all {
		all[i] = 1 + int((float64(i)+r.Float64())*0.95*float64(operations)/float64(kills))
	}
	return all
}

// types counts the types of keys in deeds.
func types(deeds []deed) int {
	seen := map[string]bool{}
	for i := range deeds {
		seen[deeds[i].on] = true
	}
	return len(seen)
}
