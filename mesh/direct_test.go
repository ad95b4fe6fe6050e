package mesh

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"runtime/debug"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pawl-go/pawl/mesh/internal/wire"
)

// socketPair returns both ends of a connection whose kernel keeps little.
func socketPair(t *testing.T) (ours, theirs net.Conn) {
	t.Helper()
	l, err := tcp{4 << 10}.Listen(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if ours, err = (tcp{4 << 10}).Dial(t.Context(), l.Addr().String()); err != nil {
		t.Fatal(err)
	}
	if theirs, err = l.Accept(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ours.Close(); theirs.Close() })
	return ours, theirs
}

// What is written by who sends it, and has no room, goes out ahead of what is queued
// meanwhile; nothing waits for it.
func TestDirectWriteWithoutRoom(t *testing.T) {
	a, _ := pair(t)
	s := acceptedLink(t, a).lanes[0]
	ours, theirs := socketPair(t)
	s.mu.Lock()
	s.conn, s.direct = ours, newDirect(ours)
	s.mu.Unlock()
	var want []byte
	push := func(i, size int) {
		frame := wire.AppendCast(nil, "x", "bytes")
		frame = wire.FinishMessage(append(frame, bytes.Repeat([]byte{byte(i)}, size)...), 0)
		want = append(want, frame...)
		if err := s.push(t.Context(), "x", &buffer{frame}, true, true); err != nil {
			t.Fatal(err)
		}
	}
	full := func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.flushing
	}
	for i := 0; !full(); i++ {
		if i == 10_000 {
			t.Fatal("there is always room")
		}
		push(i, 10_000)
	}
	for i := range 10 {
		push(i, 100)
	}
	got := make([]byte, len(want))
	if err := theirs.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(theirs, got); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Error("what arrives is not what was sent, in its order")
	}
}

// A quick actor's calls are handled by who brings them: behind all that was sent before,
// one at a time, whoever else sends to it.
func TestQuick(t *testing.T) {
	a, b := pair(t)
	total, inside := 0, false
	r, err := Spawn(a, "counter", func(c *Context, m addOrGet) error {
		if inside {
			t.Error("two messages at a time")
		}
		inside = true
		defer func() { inside = false }()
		return counter(c, &total, m)
	}, Quick())
	if err != nil {
		t.Fatal(err)
	}
	const each = 3000
	var senders sync.WaitGroup
	for _, from := range []*Node{a, b, b} {
		to := At(from, r.Address())
		senders.Go(func() {
			for n := 1; n <= each; n++ {
				if err := to.Cast(t.Context(), add{1}); err != nil {
					t.Error(err)
				}
				if n%7 != 0 {
					continue
				}
				if sum, err := Call[int, addOrGet](t.Context(), to, get{}); err != nil || sum < n {
					t.Errorf("%s: %d, %v after %d", from.ID(), sum, err, n)
				}
			}
		})
	}
	senders.Wait()
	if sum, err := Call[int, addOrGet](t.Context(), At(b, r.Address()), get{}); err != nil || sum != 3*each {
		t.Error(sum, err)
	}
}

// On its own node a quick actor that is idle is run by its caller, and another one never.
func TestQuickHere(t *testing.T) {
	a, _ := pair(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	byCaller := func(name string, options ...SpawnOption) func() bool {
		r, err := Spawn(a, name, func(c *Context, _ get) error {
			return c.Reply(strings.Contains(string(debug.Stack()), "TestQuickHere(")) // the caller's frame
		}, options...)
		if err != nil {
			t.Fatal(err)
		}
		return func() bool {
			is, err := Call[bool](ctx, r, get{})
			if err != nil {
				t.Fatal(err)
			}
			return is
		}
	}
	quick, other := byCaller("quick", Quick()), byCaller("other")
	for !quick() { // it is busy until it has begun
	}
	for range 100 {
		if other() {
			t.Fatal("who is not quick is run by the caller")
		}
	}
}

// A quick actor that fails ends its life as any other does, and the lane goes on.
func TestQuickFails(t *testing.T) {
	a, b := pair(t)
	for name, from := range map[string]*Node{"by the caller": a, "by the reader": b} {
		t.Run(name, func(t *testing.T) { quickFails(t, a, from) })
	}
}

func quickFails(t *testing.T, a, from *Node) {
	makeHandler := func(*Context) (Handler[add], error) {
		lives := 0
		return func(c *Context, m add) error {
			if m.N == 0 {
				panic("on purpose")
			}
			if m.N == 1 {
				c.Shutdown()
			}
			lives += m.N
			return c.Reply(lives)
		}, nil
	}
	if _, err := SpawnNew(a, "x", makeHandler, Quick(), Restart(RestartOnError, 100, time.Second)); err != nil {
		t.Fatal(err)
	}
	to := At(from, Address[add]{"a", "x"})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	life := func() *Monitor {
		t.Helper()
		m, err := to.Monitor(ctx)
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	for range 3 {
		monitor := life()
		if got, err := Call[int](ctx, to, add{7}); err != nil || got != 7 {
			t.Fatal(got, err)
		}
		if _, err := Call[int](ctx, to, add{0}); !errors.Is(err, RemoteNoReply) {
			t.Fatal(err)
		}
		if e, err := monitor.Exit(ctx); err != nil || e.Reason != ExitPanic || !e.Restarting {
			t.Error(e, err)
		}
	}
	monitor := life()
	if got, err := Call[int](ctx, to, add{1}); err != nil || got != 1 {
		t.Fatal(got, err)
	}
	if e, err := monitor.Exit(ctx); err != nil || e.Reason != ExitNormal {
		t.Error(e, err)
	}
	_, err := Call[int](ctx, to, add{7})
	if !errors.Is(err, RemoteNoSuchActor) && !errors.Is(err, RemoteClosed) && !errors.Is(err, SendClosed) {
		t.Error(err)
	}
}
