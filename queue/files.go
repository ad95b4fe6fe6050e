package queue

import "sync"

// FileEvent says what this process has done with a cycle file.
type FileEvent struct {
	Kind  FileEventKind
	Cycle uint32
	Path  string
}

// FileEventKind is the kind of a FileEvent.
type FileEventKind int

const (
	// FileCreated: the file has its name, and its space. Nothing may ever be
	// written to it: a prepared cycle that is not needed is deleted on Close.
	FileCreated FileEventKind = iota
	// FileReleased: the cycle is sealed, and this queue has it neither open nor
	// mapped. Reading it again opens it again.
	FileReleased
	// FileDeleted: the file is gone, and durably so.
	FileDeleted
)

// String is the name for logs.
func (k FileEventKind) String() string {
	switch k {
	case FileCreated:
		return "created"
	case FileReleased:
		return "released"
	case FileDeleted:
		return "deleted"
	}
	return "unknown"
}

// fileTeller hands events to Config.OnFile, away from the queue's locks.
type fileTeller struct {
	mu struct {
		sync.Mutex
		list []FileEvent
	}
	kick chan struct{} // one slot
}

// tell notes an event for the listener.
func (q *Queue) tell(kind FileEventKind, s *segment) {
	if q.cfg.OnFile == nil {
		return
	}
	t := &q.teller
	t.mu.Lock()
	t.mu.list = append(t.mu.list, FileEvent{Kind: kind, Cycle: s.cycle, Path: q.filePath(s.name)})
	t.mu.Unlock()
	select {
	case t.kick <- struct{}{}:
	default:
	}
}

// tellFiles calls the listener until the queue closes; Close tells the rest.
func (q *Queue) tellFiles() {
	for {
		select {
		case <-q.quit:
			return
		case <-q.teller.kick:
		}
		q.tellNoted()
	}
}

func (q *Queue) tellNoted() {
	t := &q.teller
	t.mu.Lock()
	list := t.mu.list
	t.mu.list = nil
	t.mu.Unlock()
	for _, e := range list {
		q.cfg.OnFile(e)
	}
}

// release gives back a reference to a cycle.
func (q *Queue) release(s *segment) {
	closed, err := s.release()
	q.closedFile(s, closed, err)
}

// letGo closes a cycle as soon as nobody uses it.
func (q *Queue) letGo(s *segment) {
	closed, err := s.letGo()
	q.closedFile(s, closed, err)
}

func (q *Queue) closedFile(s *segment, closed bool, err error) {
	if closed && s.sealed.Load() {
		q.tell(FileReleased, s)
	}
	q.warn("close cycle", s.name, err)
}
