package local

import (
	"slices"
	"sync"

	"github.com/pawl-go/pawl/engine"
	"github.com/pawl-go/pawl/engine/trace"
)

// standbyTrace keeps the events of the last record that a standby has applied. The hosts
// share one file, in which only the source writes: a standby opens it when it takes
// over. Its predecessor has traced each record before it made the next, so all that can
// be missing in the file is the last one.
type standbyTrace struct {
	mu     sync.Mutex
	last   []trace.Event
	before uint64 // the record before the last
}

// Record implements trace.Recorder, for the events of a record.
func (s *standbyTrace) Record(events ...trace.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.before, s.last = s.at(), slices.Clone(events)
}

func (s *standbyTrace) at() uint64 {
	if len(s.last) == 0 {
		return s.before
	}
	return s.last[0].At
}

// Seen implements trace.Recorder: every record is new here.
func (s *standbyTrace) Seen() uint64 { return 0 }

// continueTrace opens the file that the standby's predecessor has written, and adds what
// that one did not come to. A file that lacks more is refused by who replays next.
func (e *Engine) continueTrace(marker engine.Position) error {
	standby, ok := e.trace.Recorder.(*standbyTrace)
	if !ok {
		return nil
	}
	w, err := trace.Create(e.set.traceFile)
	if err != nil {
		return err
	}
	e.trace = &tracer{Recorder: w, file: w}
	if seen := w.Seen(); max(standby.before, uint64(marker)) <= seen && standby.at() > seen {
		w.Record(standby.last...)
	}
	return nil
}
