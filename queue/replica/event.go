package replica

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/pawl-go/pawl/queue"
	"github.com/pawl-go/pawl/queue/replica/core"
)

// Event is something that an operator may want to know.
type Event struct {
	At    time.Time  `json:"at"`
	Queue string     `json:"queue,omitempty"` // empty: it concerns the host
	Kind  EventKind  `json:"kind"`
	Peer  HostID     `json:"peer,omitempty"` // 0: none in particular
	Text  string     `json:"text,omitempty"`
	Err   error      `json:"-"`
	Holds []HostHold `json:"holds,omitempty"` // of EventForced: what each host holds
}

// HostHold is what a host holds, as it said when it was asked to promise.
type HostHold struct {
	Host      HostID      `json:"host"`
	Reachable bool        `json:"reachable"` // else nothing is known of it
	Promises  bool        `json:"promises"`
	Epoch     string      `json:"epoch"` // of its last entry, as number.host
	Last      queue.Index `json:"last"`
	Counted   queue.Index `json:"counted"`
	Trust     string      `json:"trust"`
}

func holdsOf(reports []core.HostReport) []HostHold {
	var holds []HostHold
	for _, r := range reports {
		holds = append(holds, HostHold{
			Host: r.Host, Reachable: r.Reachable, Promises: r.Promises, Epoch: r.Last.Epoch.String(), Last: r.Last.Index,
			Counted: r.Counted, Trust: r.Trust.String(),
		})
	}
	return holds
}

// EventKind says what an Event is about: those of package core, and the ones here.
type EventKind = core.NoticeKind

// The events of connections and of the replica itself; see core for the others,
// NoticeRole to NoticeSumFailed.
const (
	EventUp      EventKind = "up"      // a connection to a host stands
	EventDown    EventKind = "down"    // it is gone
	EventRefuse  EventKind = "refuse"  // a host was not let in, or did not let this one in
	EventFailed  EventKind = "failed"  // the replica of a queue has ended
	EventLock    EventKind = "lock"    // the queue is locked for appending
	EventElected EventKind = "elected" // the host takes over by itself
	EventUnlock  EventKind = "unlock"  // it is unlocked, and this host its source
)

// level is how an event is logged.
func (e *Event) level() slog.Level {
	switch e.Kind {
	case EventFailed, core.NoticeForced, core.NoticeRefused, core.NoticeDamaged:
		return slog.LevelError
	case core.NoticeDiverged, core.NoticeRestarted, core.NoticeMismatch, core.NoticeStorage, core.NoticeSingle, core.NoticeLease,
		core.NoticeProtocol, core.NoticeSumFailed, EventRefuse, EventDown:
		return slog.LevelWarn
	}
	return slog.LevelInfo
}

// teller logs events and hands them to the listener, away from all locks.
type teller struct {
	log    *slog.Logger
	listen func(Event)
	mu     struct {
		sync.Mutex
		list []Event
	}
	kick chan struct{} // one slot
}

func newTeller(log *slog.Logger, listen func(Event)) *teller {
	return &teller{log: log, listen: listen, kick: make(chan struct{}, 1)}
}

func (t *teller) tell(e Event) {
	e.At = time.Now()
	t.mu.Lock()
	t.mu.list = append(t.mu.list, e)
	t.mu.Unlock()
	select {
	case t.kick <- struct{}{}:
	default:
	}
}

// run hands events on until quit is closed, and then the rest.
func (t *teller) run(quit <-chan struct{}) {
	for {
		select {
		case <-t.kick:
			t.flush()
		case <-quit:
			t.flush()
			return
		}
	}
}

func (t *teller) flush() {
	t.mu.Lock()
	list := t.mu.list
	t.mu.list = nil
	t.mu.Unlock()
	for _, e := range list {
		attrs := []slog.Attr{slog.String("kind", string(e.Kind))}
		if e.Queue != "" {
			attrs = append(attrs, slog.String("queue", e.Queue))
		}
		if e.Peer != 0 {
			attrs = append(attrs, slog.Int("host", int(e.Peer)))
		}
		if e.Err != nil {
			attrs = append(attrs, slog.Any("error", e.Err))
		}
		if len(e.Holds) > 0 {
			attrs = append(attrs, slog.Any("holds", e.Holds))
		}
		t.log.LogAttrs(context.Background(), e.level(), "replica: "+e.Text, attrs...)
		if t.listen != nil {
			t.listen(e)
		}
	}
}
