package mesh

import "slices"

// waitlist holds who waits for room, first come first served. Its owner's mutex
// guards it.
type waitlist struct{ all []chan struct{} }

// join adds somebody: the channel is closed when it is their turn to try again.
func (w *waitlist) join() chan struct{} {
	turn := make(chan struct{})
	w.all = append(w.all, turn)
	return turn
}

// wake lets the first n try again.
func (w *waitlist) wake(n int) {
	n = min(n, len(w.all))
	for _, turn := range w.all[:max(n, 0)] {
		close(turn)
	}
	if n == len(w.all) {
		w.all = nil
	} else if n > 0 {
		w.all = w.all[n:]
	}
}

// leave is for one who gives up; if it was their turn, the next has it.
func (w *waitlist) leave(turn chan struct{}) {
	if i := slices.Index(w.all, turn); i >= 0 {
		w.all = slices.Delete(w.all, i, i+1)
		return
	}
	w.wake(1)
}

func (w *waitlist) len() int { return len(w.all) }
