package mesh

import (
	"context"
	"errors"
	"io"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pawl-go/pawl/mesh/internal/wire"
)

// acceptedLink returns a's link to b, which b has dialled.
func acceptedLink(t *testing.T, a *Node) *link {
	t.Helper()
	l := a.peerOf("b").link.Load()
	if l == nil || l.dialed {
		t.Fatalf("no link, or not the peer's: %+v", l)
	}
	return l
}

// A lane that is dialled again when its link is over is refused: what it has lost was
// counted with the link, and is not counted twice.
func TestLaneDialledAfterItsLink(t *testing.T) {
	a, b := pair(t)
	sink, err := Spawn(b, "sink", func(*Context, add) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	l := acceptedLink(t, a)
	s := l.lane(hashName("sink"))
	if err := At(a, sink.Address()).Cast(t.Context(), add{1}); err != nil {
		t.Fatal(err)
	}
	b.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	select {
	case <-l.over:
	case <-ctx.Done():
		t.Fatal("the link is not over")
	}
	before := a.Counters().Dropped[ReasonLost]
	ours, theirs := net.Pipe()
	defer ours.Close()
	defer theirs.Close()
	var verdict wire.Verdict
	err = l.reattach(s, ours, wire.Identity{Dial: 1}, func(v wire.Verdict, _ uint64, _ wire.LinkID, _ uint64) error {
		verdict = v
		return nil
	})
	if err != nil || verdict != wire.NoSuchLink {
		t.Errorf("verdict %v, %v", verdict, err)
	}
	if lost := a.Counters().Dropped[ReasonLost]; lost != before {
		t.Errorf("%d lost before, %d after", before, lost)
	}
}

// Of two dials of one lane that are answered at the same time one has it.
func TestLaneDialledTwice(t *testing.T) {
	a, _ := pair(t)
	l := acceptedLink(t, a)
	s := l.lanes[0]
	s.mu.Lock()
	had := s.conn
	s.mu.Unlock()
	ours, theirs := net.Pipe()
	defer theirs.Close()
	if err := theirs.SetReadDeadline(time.Now().Add(10 * time.Second)); err != nil {
		t.Fatal(err)
	}
	l.resume(s, ours)
	s.mu.Lock()
	has := s.conn
	s.mu.Unlock()
	if has != had {
		t.Error("the lane has two connections, and its messages two readers")
	}
	if _, err := theirs.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		t.Errorf("the other one is open: %v", err)
	}
}

// A dial that its peer has given up for a later one, and that is answered after that,
// changes nothing: what it says has arrived was right before the lane went on.
func TestStaleDialOfALane(t *testing.T) {
	a, _ := pair(t)
	l := acceptedLink(t, a)
	s := l.lanes[0]
	dial := func(number uint64) (verdict wire.Verdict, theirs net.Conn) {
		ours, theirs := net.Pipe()
		t.Cleanup(func() { ours.Close(); theirs.Close() })
		err := l.reattach(s, ours, wire.Identity{Dial: number}, func(v wire.Verdict, _ uint64, _ wire.LinkID, _ uint64) error {
			verdict = v
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		return verdict, theirs
	}
	if v, _ := dial(2); v != wire.Welcome {
		t.Fatalf("the later dial: %v", v)
	}
	s.mu.Lock()
	has := s.conn
	s.sent += 7 // on it, and handled
	s.mu.Unlock()
	before := a.Counters().Dropped[ReasonLost]
	if v, _ := dial(1); v != wire.NoSuchLink {
		t.Errorf("the stale dial: %v", v)
	}
	s.mu.Lock()
	if s.conn != has {
		t.Error("the stale dial has taken the lane")
	}
	s.sent -= 7
	s.mu.Unlock()
	if lost := a.Counters().Dropped[ReasonLost]; lost != before {
		t.Errorf("%d lost before, %d after", before, lost)
	}
}

// A lane that comes when its link has been given up is closed: nobody else would.
func TestLaneOfALinkThatHasFailed(t *testing.T) {
	a, _ := pair(t)
	l := newLink(a, &peer{id: "z"}, wire.LinkID{1}, wire.Identity{Node: "z", Incarnation: 1, Lanes: 1}, false)
	l.fail(errGivenUp)
	ours, theirs := net.Pipe()
	defer theirs.Close()
	if err := theirs.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	l.attachLane(0, ours)
	if _, err := theirs.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		t.Errorf("it is open: %v", err)
	}
}

// readCounter is a connection on which nothing comes, and that counts its readers.
type readCounter struct {
	net.Conn
	readers atomic.Int32
}

func (c *readCounter) Read(b []byte) (int, error) {
	c.readers.Add(1)
	return c.Conn.Read(b)
}

// A lane comes back before its link has begun to be read: what it brings has one reader,
// or it would lose its order.
func TestLaneThatComesBackEarlyHasOneReader(t *testing.T) {
	a, _ := pair(t)
	l := newLink(a, &peer{id: "z"}, wire.LinkID{1}, wire.Identity{Node: "z", Incarnation: 1, Lanes: 1}, false)
	ours, theirs := net.Pipe()
	defer theirs.Close()
	conn := &readCounter{Conn: ours}
	l.resume(l.lanes[0], conn)
	l.start()
	l.fail(errReplaced)
	<-l.over // its readers have ended
	if n := conn.readers.Load(); n != 1 {
		t.Errorf("%d readers", n)
	}
}
