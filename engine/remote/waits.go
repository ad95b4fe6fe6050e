package remote

import "sync"

// waits are those who wait for numbered answers. The zero value is ready.
type waits[T any] struct {
	mu    sync.Mutex
	n     uint64
	chans map[uint64]chan T
	ended bool
}

// add draws a number. The channel gets one answer, or is closed by end.
func (w *waits[T]) add() (uint64, <-chan T) {
	w.mu.Lock()
	defer w.mu.Unlock()
	ch := make(chan T, 1)
	if w.ended {
		close(ch)
		return 0, ch
	}
	if w.chans == nil {
		w.chans = map[uint64]chan T{}
	}
	w.n++
	w.chans[w.n] = ch
	return w.n, ch
}

func (w *waits[T]) drop(n uint64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.chans, n)
}

// answer hands v to who waits for number n, if it is still waited for.
func (w *waits[T]) answer(n uint64, v T) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if ch := w.chans[n]; ch != nil {
		ch <- v
		delete(w.chans, n)
	}
}

// end lets everyone go who waits, or will.
func (w *waits[T]) end() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ended = true
	for _, ch := range w.chans {
		close(ch)
	}
	w.chans = nil
}
