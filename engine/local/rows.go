package local

// rowState is what the store has of a request.
type rowState struct{}

// rowTracker notes what the next checkpoint has to write of the flow.
type rowTracker struct{}

func (*rowTracker) changed(*pending)   {}
func (*rowTracker) gone(*pending)      {}
func (*rowTracker) reminder(*reminder) {}
func (*rowTracker) paused(*actor)      {}
