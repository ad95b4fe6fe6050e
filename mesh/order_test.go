package mesh_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pawl-go/pawl/mesh"
	"github.com/pawl-go/pawl/mesh/meshtest"
)

// witness checks what one actor gets: of each sender, numbers that only grow.
// A number that comes again, or late, is an error.
type witness struct {
	mu     sync.Mutex
	last   map[byte]uint64
	count  uint64
	wrongs []string
}

// A numbered message is its sender, a number from 1, and padding.
func numbered(sender byte, n uint64, size int) []byte {
	b := append(make([]byte, 0, 9+size), sender)
	b = binary.LittleEndian.AppendUint64(b, n)
	return append(b, make([]byte, size)...)
}

func (w *witness) handle(_ *mesh.Context, m []byte) error {
	n := binary.LittleEndian.Uint64(m[1:])
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.last == nil {
		w.last = map[byte]uint64{}
	}
	if n <= w.last[m[0]] && len(w.wrongs) < 10 {
		w.wrongs = append(w.wrongs, fmt.Sprintf("from %c: %d after %d", m[0], n, w.last[m[0]]))
	}
	w.last[m[0]] = n
	w.count++
	return nil
}

func (w *witness) check(t *testing.T) {
	t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, wrong := range w.wrongs {
		t.Error(wrong)
	}
}

// settled waits until what was sent on all nodes is accounted for:
// handled + refused + dropped = sent.
func settled(t *testing.T, c cluster) {
	t.Helper()
	var nodes []*mesh.Node
	for _, id := range c.Names() {
		nodes = append(nodes, c.Node(id))
	}
	settledOn(t, c, nodes)
}

// settledOn is settled for these nodes, of which some may have left.
func settledOn(t *testing.T, c cluster, nodes []*mesh.Node) {
	t.Helper()
	var last string
	if eventually(c, func() bool {
		var sent, handled, gone uint64
		for _, n := range nodes {
			k := n.Counters()
			sent += k.Sent
			handled += k.Handled
			for _, n := range k.Refused {
				gone += n
			}
			for _, n := range k.Dropped {
				gone += n
			}
		}
		last = fmt.Sprintf("sent %d, handled %d + refused and dropped %d = %d", sent, handled, gone, handled+gone)
		return sent == handled+gone
	}) {
		return
	}
	for _, n := range nodes {
		t.Logf("%s: %+v", n.ID(), n.Counters())
	}
	t.Error(last)
}

// Order of each sender, and at most once, while connections are killed at random.
func TestOrderUnderLoad(t *testing.T) {
	for _, lanes := range [][2]int{{1, 1}, {4, 4}, {16, 16}, {1, 16}, {16, 4}} {
		t.Run(fmt.Sprintf("%d and %d lanes", lanes[0], lanes[1]), func(t *testing.T) {
			run := func(t *testing.T, c cluster, random *rand.Rand) {
				a := c.Start("a", func(cfg *mesh.Config) { cfg.Lanes = lanes[0] })
				b := c.Start("b", func(cfg *mesh.Config) { cfg.Lanes = lanes[1] })
				c.WaitForMembers(2)
				killUnderLoad(t, c, random, a, b, 4000, 30*time.Millisecond)
			}
			t.Run("simulated", func(t *testing.T) {
				meshtest.Run(t, meshtest.Seed(t), func(t *testing.T, c *meshtest.Cluster) {
					c.Configure = messages
					run(t, c, c.Rand)
				})
			})
			t.Run("sockets", func(t *testing.T) {
				c := newSockets(t, messages)
				run(t, c, c.rand)
			})
		})
	}
}

// killUnderLoad has a and b send to five actors on each other while connections are
// killed, at most so much time apart, and checks what comes of it.
func killUnderLoad(t *testing.T, c cluster, random *rand.Rand, a, b *mesh.Node, each int, apart time.Duration) {
	t.Helper()
	witnesses := map[string]*witness{}
	for _, n := range []*mesh.Node{a, b} {
		for i := range 5 {
			w := &witness{}
			witnesses[fmt.Sprint(n.ID(), i)] = w
			var options []mesh.SpawnOption
			if i%2 == 0 {
				options = append(options, mesh.Quick())
			}
			spawn(t, n, fmt.Sprint("w", i), w.handle, options...)
		}
	}
	var senders sync.WaitGroup
	for _, way := range [][2]*mesh.Node{{a, b}, {b, a}} {
		for i := range 5 {
			to := mesh.At(way[0], mesh.Address[[]byte]{Node: way[1].ID(), Name: fmt.Sprint("w", i)})
			senders.Go(func() { sendNumbered(t, to, way[0].ID()[0], each) })
		}
	}
	done := make(chan struct{})
	go func() { senders.Wait(); close(done) }()
	cuts := 0
	for ended := false; !ended; {
		c.Sleep(time.Duration(random.Int64N(int64(apart))))
		if random.IntN(4) == 0 {
			cuts += c.CutAll("a", "b")
		} else if c.Cut("a", "b") {
			cuts++
		}
		select {
		case <-done:
			ended = true
		default:
		}
	}
	c.WaitForMembers(2)
	settled(t, c)
	var got uint64
	for _, name := range slices.Sorted(maps.Keys(witnesses)) {
		witnesses[name].check(t)
		got += witnesses[name].count
	}
	if cuts < 3 || got == 0 || got > uint64(10*each) {
		t.Errorf("%d cuts, %d of %d messages: was anything tried?", cuts, got, 10*each)
	}
	t.Logf("%d cuts, %d of %d messages handled", cuts, got, 10*each)
}

// Ten million messages: for who asks for it, since it takes minutes.
func TestTenMillion(t *testing.T) {
	if os.Getenv("PAWL_MESH_SOAK") == "" {
		t.Skip("set PAWL_MESH_SOAK to send ten million messages")
	}
	meshtest.Run(t, meshtest.Seed(t), func(t *testing.T, c *meshtest.Cluster) {
		c.Configure = messages
		a, b := c.Start("a"), c.Start("b")
		c.WaitForMembers(2)
		killUnderLoad(t, c, c.Rand, a, b, 1_000_000, 2*time.Second)
	})
}

func sendNumbered(t *testing.T, to *mesh.Ref[[]byte], sender byte, count int) {
	for n := range count {
		size := n % 100
		if n%997 == 0 {
			size = 50_000 // in fragments
		}
		for {
			var err error
			m := numbered(sender, uint64(n+1), size)
			if n%200 == 199 { // a call among them, that nobody answers
				_, err = mesh.Call[int](t.Context(), to, m, mesh.Timeout(100*time.Millisecond))
			} else {
				err = to.Cast(t.Context(), m)
			}
			if _, left := errors.AsType[*mesh.ReplyError](err); left || err == nil {
				break
			}
			if !errors.Is(err, mesh.SendUnreachable) && !errors.Is(err, mesh.SendNotAMember) {
				t.Error(err)
				return
			}
			time.Sleep(10 * time.Millisecond)
		}
		if n%10 == 0 {
			time.Sleep(time.Millisecond)
		}
	}
}

// A lane's connection is lost: calls bound to it end at once, the other lanes go on,
// and it comes back without a change of membership.
func TestOneLaneIsKilled(t *testing.T) {
	simulate(t, func(t *testing.T, w *world) {
		var handled atomic.Int64
		for i := range 40 {
			spawn(t, w.b, fmt.Sprint("n", i), func(c *mesh.Context, _ number) error {
				handled.Add(1)
				return nil
			})
		}
		replies := make(chan error, 40)
		for i := range 40 {
			spawn(t, w.b, fmt.Sprint("silent", i), func(c *mesh.Context, _ number) error { _, err := c.ReplyTo(); return err })
		}
		for len(replies) == 0 || len(replies) == 40 { // 40: it was the control stream's, and all have ended
			for len(replies) > 0 {
				<-replies
			}
			w.WaitForMembers(2)
			for i := range 40 {
				to := on[number](w, fmt.Sprint("silent", i)).WithTimeout(0)
				go func() { replies <- call(w, to, number{}) }()
			}
			w.Sleep(time.Second)
			w.Cut("a", "b")
			w.Sleep(10 * time.Millisecond)
		}
		events := w.a.Subscribe()
		defer events.Close()
		ended := len(replies)
		for range ended {
			if err := <-replies; !errors.Is(err, mesh.ReplyDisconnected) {
				t.Errorf("a call on the lane: %v", err)
			}
		}
		for i := range 40 {
			if err := on[number](w, fmt.Sprint("n", i)).Cast(t.Context(), number{}); err != nil {
				t.Error(err)
			}
		}
		w.Sleep(time.Second)
		if got := handled.Load(); got < 20 {
			t.Errorf("%d of 40 messages on all lanes arrived", got)
		}
		before := handled.Load()
		for i := range 40 {
			if err := on[number](w, fmt.Sprint("n", i)).Cast(t.Context(), number{}); err != nil {
				t.Error(err)
			}
		}
		w.Sleep(time.Second)
		if got := handled.Load() - before; got != 40 {
			t.Errorf("%d of 40 arrive once the lane is back", got)
		}
		settled(t, w.cluster)
		if got := len(replies); got+ended == 40 {
			t.Error("calls on the other lanes have ended too")
		}
		noEvents(t, w.cluster, events)
	})
}

// 5 MiB among 2,000 small ones: it is refused at home, and they all arrive.
func TestTooLargeAmongSmall(t *testing.T) {
	everywhere(t, func(t *testing.T, w *world) {
		seen := &witness{}
		spawn(t, w.b, "w", seen.handle)
		to := on[[]byte](w, "w")
		for n := range 2000 {
			if err := to.Cast(t.Context(), numbered('a', uint64(n+1), 10)); err != nil {
				t.Fatal(err)
			}
			if n == 1000 {
				if err := to.Cast(t.Context(), make([]byte, 5<<20)); !errors.Is(err, mesh.SendTooLarge) {
					t.Fatal(err)
				}
			}
		}
		if !eventually(w, func() bool { return w.b.Counters().Handled == 2000 }) {
			t.Errorf("%d of 2000", w.b.Counters().Handled)
		}
		settled(t, w)
		seen.check(t)
	})
}

// A small call to another actor does not wait for a large message, on one lane.
func TestSmallBehindLarge(t *testing.T) {
	meshtest.Run(t, meshtest.Seed(t), func(t *testing.T, c *meshtest.Cluster) {
		c.Configure = func(cfg *mesh.Config) { messages(cfg); cfg.Lanes = 1 }
		w := &world{cluster: c, t: t, a: c.Start("a"), b: c.Start("b")}
		c.WaitForMembers(2)
		c.Latency(time.Millisecond, time.Millisecond)
		var large time.Time
		spawn(t, w.b, "large", func(*mesh.Context, []byte) error { large = time.Now(); return nil })
		spawn(t, w.b, "small", func(c *mesh.Context, _ number) error { return c.Reply(1) })
		if err := on[[]byte](w, "large").Cast(t.Context(), make([]byte, 4<<20-100)); err != nil {
			t.Fatal(err)
		}
		if err := call(w, on[number](w, "small"), number{}); err != nil {
			t.Fatal(err)
		}
		small := time.Now()
		c.Sleep(time.Second)
		// The window is 256 KiB: the large one takes 16 round trips and more.
		if large.IsZero() || !small.Before(large) {
			t.Errorf("the reply came at %v, the large message was there at %v", small, large)
		}
	})
}
