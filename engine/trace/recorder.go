package trace

import (
	"slices"
	"sync"
)

// Recorder takes the events of one life of a process. It is called with locks
// held, by many goroutines at once: it does not block for long, and calls
// nobody back.
type Recorder interface {
	// Record takes events that happen at once: those of one record, or a single
	// one. The slice stays the caller's, the events and what they point to are
	// the recorder's.
	Record(events ...Event)
	// Seen is the position of the newest record held that no open has cut.
	// Records above it are traced by an opening that replays them.
	Seen() uint64
}

// Source is an engine (engine.Engine) that records a trace: the runtimes that
// join it record into the same.
type Source interface {
	// Trace gives the recorder; nil if it is off.
	Trace() Recorder
}

// Of gives the recorder of an engine; nil if it has none or it is off.
func Of(engine any) Recorder {
	if s, ok := engine.(Source); ok {
		return s.Trace()
	}
	return nil
}

// seen follows what Recorder.Seen is.
type seen uint64

func (s *seen) note(e *Event) {
	switch {
	case e.Kind == Open:
		*s = min(*s, seen(e.At))
	case e.Kind.Record() && !e.More:
		*s = seen(e.At)
	}
}

// Memory keeps a trace in memory, over any number of lives. The zero Memory is
// empty. It is safe for concurrent use.
type Memory struct {
	mu     sync.Mutex
	events []Event
	seen   seen
}

// Record implements Recorder, for a life that does not end before the trace.
func (m *Memory) Record(events ...Event) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.record(events)
}

func (m *Memory) record(events []Event) {
	for i := range events {
		m.seen.note(&events[i])
	}
	m.events = append(m.events, events...)
}

// Seen implements Recorder.
func (m *Memory) Seen() uint64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return uint64(m.seen)
}

// Events gives what was recorded so far.
func (m *Memory) Events() []Event {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.events)
}

// Life gives a recorder for the first life of a process, which can be killed.
func (m *Memory) Life() *Life { return &Life{m: m} }

// Life records what one process does into a Memory, until it is killed.
type Life struct {
	m    *Memory
	dead bool // guarded by m.mu
}

// Kill ends the life, as far as the trace goes: what its process still does is
// not recorded. While snapshot runs nothing is recorded into the memory, so
// that nothing that would be recorded happens: what snapshot copies is what a
// process killed at this moment leaves behind. It returns the next life.
func (l *Life) Kill(snapshot func()) *Life {
	l.m.mu.Lock()
	defer l.m.mu.Unlock()
	l.dead = true
	snapshot()
	return l.m.Life()
}

// Record implements Recorder.
func (l *Life) Record(events ...Event) {
	l.m.mu.Lock()
	defer l.m.mu.Unlock()
	if !l.dead {
		l.m.record(events)
	}
}

// Seen implements Recorder.
func (l *Life) Seen() uint64 { return l.m.Seen() }
