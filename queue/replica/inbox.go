package replica

import (
	"sync"

	"github.com/pawl-go/pawl/queue/replica/core"
)

// inboxBytes is how much of other hosts may wait to be dealt with before their
// connections are read no further.
const inboxBytes = 4 << 20

// envelope is an event on its way to the core, with what belongs to it.
type envelope struct {
	event  core.Event
	pieces []piece // of an update that was received
	body   []byte  // the memory of the pieces
	// Of a Streamed: the frame, which goes out before the core hears of it, so
	// that nothing overtakes it and no acknowledgement is ahead of it.
	conn  *conn
	frame *frame
	bytes int
	life  uint64 // of the queue that the event is about; 0: of any
}

// inbox holds the events of a queue until somebody takes them.
type inbox struct {
	mu struct {
		sync.Mutex
		list   []envelope
		bytes  int
		closed bool
		room   *sync.Cond
	}
	kicked chan struct{} // one slot
}

func newInbox() *inbox {
	b := &inbox{kicked: make(chan struct{}, 1)}
	b.mu.room = sync.NewCond(&b.mu)
	return b
}

// put adds an event, and wakes the queue's goroutine.
func (b *inbox) put(e envelope) {
	b.add(e)
	b.kick()
}

// add adds an event; one that counts bytes waits for room.
func (b *inbox) add(e envelope) {
	b.mu.Lock()
	for e.bytes > 0 && b.mu.bytes > inboxBytes && !b.mu.closed {
		b.mu.room.Wait()
	}
	if !b.mu.closed {
		b.mu.list = append(b.mu.list, e)
		b.mu.bytes += e.bytes
	}
	b.mu.Unlock()
}

func (b *inbox) kick() {
	select {
	case b.kicked <- struct{}{}:
	default:
	}
}

// take gives everything that is there; spare is used for what comes next.
func (b *inbox) take(spare []envelope) []envelope {
	b.mu.Lock()
	defer b.mu.Unlock()
	list := b.mu.list
	b.mu.list = spare[:0]
	b.mu.bytes = 0
	b.mu.room.Broadcast()
	return list
}

// close drops what comes from now on.
func (b *inbox) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.mu.closed = true
	b.mu.list = nil
	b.mu.room.Broadcast()
}
