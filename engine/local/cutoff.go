package local

// A source that has not heard enough hosts for its lease cannot know whether another
// has taken over: see replica.Tenure.Leased. Until it hears them again
//
//   - nothing is delivered, so that no step begins, nested or not (resumeDeliveries);
//   - nothing counts as committed, so that what was delivered does not begin either, and
//     nobody is answered, not even from what counted before (Engine.committed);
//   - requests from outside are refused (session.sender).
//
// What runs goes on, and what it does is recorded: it may count yet.

// holdDeliveries has the flow hold back what may not begin.
func (e *Engine) holdDeliveries() {
	held := make(chan struct{}, 1)
	e.copied.held = held
	e.mu.f.may = func() bool {
		if e.copied.tenure.Leased() {
			return true
		}
		select {
		case held <- struct{}{}:
		default:
		}
		return false
	}
}

// resumeDeliveries delivers what was held back, once the lease is there again.
func (e *Engine) resumeDeliveries() {
	for {
		select {
		case <-e.copied.held:
		case <-e.quit:
			return
		}
		if err := e.copied.tenure.WaitLease(e.copied.patience); err != nil {
			return // the tenure is over, or the engine closes
		}
		e.mu.Lock()
		e.mu.f.deliverHeld()
		e.mu.Unlock()
	}
}
