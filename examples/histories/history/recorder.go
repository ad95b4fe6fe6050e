package history

import (
	"sync"
	"time"
)

// Recorder collects a history, by the monotonic clock of one process. Safe for
// concurrent use.
type Recorder struct {
	began time.Time

	mu      sync.Mutex
	history History
}

// NewRecorder begins a recording.
func NewRecorder() *Recorder { return &Recorder{began: time.Now()} }

// Now is the time since the beginning. It is taken before an operation leaves,
// and again when its answer is there.
func (r *Recorder) Now() time.Duration { return time.Since(r.began) }

// Operation records o, and returns how many there are.
func (r *Recorder) Operation(o Operation) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.history.Operations = append(r.history.Operations, o)
	return len(r.history.Operations)
}

// Event records that something happened just now.
func (r *Recorder) Event(what string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.history.Events = append(r.history.Events, Event{What: what, At: r.Now()})
}

// History gives what was recorded. Nothing may be recorded after it.
func (r *Recorder) History() *History {
	r.mu.Lock()
	defer r.mu.Unlock()
	return &r.history
}
