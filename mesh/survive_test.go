package mesh_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pawl-go/pawl/mesh"
	"github.com/pawl-go/pawl/mesh/meshtest"
)

// A peer is killed and comes back on its address, 100 times. Nothing bound to an
// old life reaches a new one, and it is back at once.
func TestRestartedAHundredTimes(t *testing.T) {
	simulate(t, func(t *testing.T, w *world) {
		events := w.a.Subscribe()
		defer events.Close()
		to := on[number](w, "who")
		var stale mesh.ReplyTo
		for life := range 100 {
			release := make(chan struct{})
			spawn(t, w.b, "who", func(c *mesh.Context, _ number) error { return c.Reply(life) })
			spawn(t, w.b, "busy", busy[number](make(chan struct{}), release))
			got, err := mesh.Call[int](t.Context(), to, number{})
			if err != nil || got != life {
				t.Fatalf("life %d answers %d, %v", life, got, err)
			}
			monitor, err := to.Monitor(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			reply := make(chan error, 1)
			go func() { reply <- call(w, on[number](w, "busy"), number{}) }()
			askFrom(t, w, &stale, life)
			w.Sleep(100 * time.Millisecond)
			w.Crash("b")
			begun := time.Now()
			if err := <-reply; !errors.Is(err, mesh.ReplyDisconnected) {
				t.Errorf("life %d: a call to who was killed: %v", life, err)
			}
			if _, err := monitor.Exit(t.Context()); !errors.Is(err, mesh.ReplyDisconnected) {
				t.Errorf("life %d: a monitor on who was killed: %v", life, err)
			}
			if took := time.Since(begun); took > 500*time.Millisecond {
				t.Errorf("life %d: it took %v to say so", life, took)
			}
			close(release)
			w.b = w.Start("b")
			w.WaitForMembers(2)
			if took := time.Since(begun); took > time.Second {
				t.Errorf("life %d: back after %v", life, took)
			}
		}
		// Of each life but the last: up, then failed.
		for life := range 100 {
			for _, want := range []mesh.EventKind{mesh.MemberFailed, mesh.MemberUp} {
				e, err := nextOf(t, events, mesh.MemberFailed, mesh.MemberUp)
				if err != nil || e.Kind != want || e.Member.ID != "b" {
					t.Fatalf("life %d: %+v, %v; want %s", life, e, err, want)
				}
			}
		}
	})
}

// askFrom has b's actors call one on a, which keeps the reply handle; the one of the
// life before is answered, and must reach nobody.
func askFrom(t *testing.T, w *world, stale *mesh.ReplyTo, life int) {
	t.Helper()
	if life > 0 {
		if err := stale.Reply(w.a, 1); !errors.Is(err, mesh.SendUnreachable) {
			t.Errorf("life %d: a reply to the life before: %v", life, err)
		}
	} else {
		spawn(t, w.a, "keeper", func(c *mesh.Context, _ number) (err error) {
			*stale, err = c.ReplyTo()
			return err
		})
	}
	keeper := mesh.At(w.b, mesh.Address[number]{Node: "a", Name: "keeper"})
	go func() {
		if _, err := mesh.Call[int](context.Background(), keeper, number{}); err == nil {
			t.Errorf("life %d: a reply to another life", life)
		}
	}()
}

func nextOf(t *testing.T, events *mesh.Subscription, kinds ...mesh.EventKind) (mesh.Event, error) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for {
		e, err := events.Next(ctx)
		if err != nil {
			return e, err
		}
		if slices.Contains(kinds, e.Kind) {
			return e, nil
		}
	}
}

// Two nodes monitor each other's actors in great numbers, both ways at once, while
// these end.
func TestCrossedMonitorStorms(t *testing.T) {
	everywhere(t, func(t *testing.T, w *world) {
		const each = 2000
		var storms sync.WaitGroup
		var notices atomic.Int64
		for _, way := range [][2]*mesh.Node{{w.a, w.b}, {w.b, w.a}} {
			from, to := way[0], way[1]
			for i := range each {
				name := fmt.Sprint("n", i)
				r := spawn(t, to, name, ignore[number])
				storms.Go(func() {
					m, err := from.Monitor(t.Context(), mesh.AnyAddress{Node: to.ID(), Name: name})
					if err != nil {
						t.Error(err)
						return
					}
					if err := r.Shutdown(t.Context()); err != nil {
						t.Error(err)
					}
					if e, err := m.Exit(t.Context()); err != nil || e.Reason != mesh.ExitNormal {
						t.Error(e, err)
					}
					notices.Add(1)
				})
			}
		}
		storms.Wait()
		if notices.Load() != 2*each {
			t.Errorf("%d notices", notices.Load())
		}
	})
}

// Many monitored actors end at once: each is heard of, and nothing else suffers.
func TestManyMonitoredEndAtOnce(t *testing.T) {
	everywhere(t, func(t *testing.T, w *world) {
		count := 20_000
		if _, overSockets := w.cluster.(*sockets); overSockets && !testing.Short() && !raceEnabled {
			count = 200_000
		}
		events := w.a.Subscribe()
		defer events.Close()
		monitors := make([]*mesh.Monitor, count)
		var asking sync.WaitGroup
		for part := range 8 {
			asking.Go(func() {
				for i := part; i < count; i += 8 {
					name := fmt.Sprint("n", i)
					spawn(t, w.b, name, ignore[number])
					m, err := w.a.Monitor(t.Context(), mesh.AnyAddress{Node: "b", Name: name})
					if err != nil {
						t.Error(err)
						return
					}
					monitors[i] = m
				}
			})
		}
		asking.Wait()
		if t.Failed() {
			return
		}
		for i := range count {
			if err := mesh.At(w.b, mesh.Address[number]{Node: "b", Name: fmt.Sprint("n", i)}).Abort(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		for _, m := range monitors {
			if e, err := m.Exit(t.Context()); err != nil || e.Reason != mesh.ExitAborted {
				t.Fatal(e, err)
			}
		}
		noEvents(t, w.cluster, events)
	})
}

// noEvents checks that membership has not changed.
func noEvents(t *testing.T, c cluster, events *mesh.Subscription) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if e, err := events.Next(ctx); err == nil {
		t.Errorf("membership flapped: %+v", e)
	}
}

// 64 messages of almost 4 MiB are in flight, both ways: nobody is taken for dead.
func TestLargeInFlightWithoutFlap(t *testing.T) {
	count := 64
	if raceEnabled {
		count = 8 // the detector looks at each byte
	}
	everywhere(t, func(t *testing.T, w *world) {
		events := w.a.Subscribe()
		defer events.Close()
		var calls sync.WaitGroup
		for i := range count {
			name := fmt.Sprint("n", i)
			spawn(t, w.b, name, func(c *mesh.Context, m []byte) error { return c.Reply(m) })
			calls.Go(func() {
				got, err := mesh.Call[[]byte](t.Context(), on[[]byte](w, name), make([]byte, 4<<20-100))
				if err != nil || len(got) != 4<<20-100 {
					t.Errorf("%d bytes, %v", len(got), err)
				}
			})
		}
		calls.Wait()
		noEvents(t, w.cluster, events)
	})
}

// 1 GiB is offered to an actor that does not take it: what is over 16 MiB is
// refused, counted here, and reported there; memory stays bounded.
func TestBlockedActorBoundsMemory(t *testing.T) {
	count := 1024
	if raceEnabled {
		count = 64 // see above
	}
	everywhere(t, func(t *testing.T, w *world) {
		begun, release := make(chan struct{}), make(chan struct{})
		defer close(release)
		spawn(t, w.b, "busy", busy[[]byte](begun, release))
		letters := w.a.DeadLetters(16)
		defer letters.Close()
		to := on[[]byte](w, "busy")
		m := make([]byte, 1<<20)
		var before, now runtime.MemStats
		runtime.ReadMemStats(&before)
		for i := range count {
			if err := to.Cast(t.Context(), m); err != nil {
				t.Fatal(err)
			}
			if i%128 == 127 {
				runtime.GC()
				if runtime.ReadMemStats(&now); now.HeapAlloc > before.HeapAlloc+128<<20 {
					t.Fatalf("after %d MiB: %d MiB of memory, %d before", i+1, now.HeapAlloc>>20, before.HeapAlloc>>20)
				}
			}
		}
		<-begun
		var refused, told uint64
		if !eventually(w, func() bool {
			refused = w.b.Counters().Refused[mesh.ReasonOverloaded]
			waits := uint64(count) - refused
			return waits == 16 || waits == 17
		}) {
			t.Errorf("%d of %d refused, want all but the one begun and 15 or 16 that wait", refused, count)
		}
		if !eventually(w, func() bool {
			refused = w.b.Counters().Refused[mesh.ReasonOverloaded]
			told = w.a.Counters().RefusedElsewhere[mesh.ReasonOverloaded]
			return told == refused
		}) {
			t.Errorf("%d reported of %d", told, refused)
		}
		l, err := letters.Next(t.Context())
		if err != nil || l.Reason != mesh.ReasonOverloaded || l.Target.Name != "busy" || !l.Reported {
			t.Errorf("%+v, %v", l, err)
		}
	})
}

// An actor stops itself in a handler while others send to it: who sends afterwards
// is refused, and each message is accounted for.
func TestStopsItselfUnderLoad(t *testing.T) {
	everywhere(t, func(t *testing.T, w *world) {
		var lives atomic.Int64
		stopper := func(c *mesh.Context, m number) error {
			if m.N == 500 {
				lives.Add(1)
				if c.IsCall() {
					c.Stop()
				} else {
					c.Shutdown()
				}
			}
			if c.IsCall() {
				return c.Reply(m.N)
			}
			return nil
		}
		var senders sync.WaitGroup
		for i := range 20 {
			spawn(t, w.b, fmt.Sprint("n", i), stopper)
			for _, from := range []*mesh.Node{w.a, w.b} {
				to := mesh.At(from, mesh.Address[number]{Node: "b", Name: fmt.Sprint("n", i)})
				senders.Go(func() {
					for n := range 1000 {
						if i%2 == 0 {
							to.Cast(t.Context(), number{n})
						} else {
							mesh.Call[int](t.Context(), to, number{n})
						}
					}
				})
			}
		}
		senders.Wait()
		if !eventually(w, func() bool { return w.b.Counters().Actors == 0 }) || lives.Load() < 20 {
			t.Errorf("%d actors live, %d have stopped", w.b.Counters().Actors, lives.Load())
		}
		settled(t, w.cluster)
	})
}

// Clocks that are minutes apart change nothing: deadlines travel as what is left.
func TestClocksApart(t *testing.T) {
	meshtest.Run(t, meshtest.Seed(t), func(t *testing.T, c *meshtest.Cluster) {
		c.Configure = messages
		c.SetClock("a", -5*time.Minute)
		a, b := c.Start("a"), c.Start("b")
		c.WaitForMembers(2)
		for _, way := range [][2]*mesh.Node{{a, b}, {b, a}} {
			spawn(t, way[1], "echo", func(c *mesh.Context, m number) error { return c.Reply(m.N) })
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			to := mesh.At(way[0], mesh.Address[number]{Node: way[1].ID(), Name: "echo"})
			if got, err := mesh.Call[int](ctx, to, number{7}); err != nil || got != 7 {
				t.Error(got, err)
			}
		}
	})
}

// A clock is set back between two lives. With an incarnation file the second life
// is the higher one, and is taken at once.
func TestClockSetBack(t *testing.T) {
	file := t.TempDir() + "/incarnation"
	meshtest.Run(t, meshtest.Seed(t), func(t *testing.T, c *meshtest.Cluster) {
		c.Configure = func(cfg *mesh.Config) {
			messages(cfg)
			if cfg.ID == "b" {
				cfg.IncarnationFile = file
			}
		}
		c.Start("a")
		first := c.Start("b").Incarnation()
		c.WaitForMembers(2)
		c.Crash("b")
		c.SetClock("b", -time.Hour)
		second := c.Start("b").Incarnation()
		if second <= first {
			t.Fatalf("incarnation %d after %d", second, first)
		}
		begun := time.Now()
		c.WaitForMembers(2)
		if took := time.Since(begun); took > time.Second {
			t.Errorf("it took %v", took)
		}
	})
}

// Without a file, the lower incarnation is refused while the old one may come back,
// and taken when that has failed.
func TestClockSetBackWithoutFile(t *testing.T) {
	meshtest.Run(t, meshtest.Seed(t), func(t *testing.T, c *meshtest.Cluster) {
		c.Configure = messages
		a := c.Start("a")
		c.Start("b")
		c.WaitForMembers(2)
		c.Crash("b")
		c.SetClock("b", -time.Hour)
		c.Start("b")
		c.Sleep(time.Second)
		if refused := a.Counters().HandshakesRefused; refused == 0 {
			t.Error("a lower incarnation is taken at once")
		}
		c.WaitForMembers(2)
	})
}

// 50 nodes join one after the other. What each sends grows with their number, not
// with its square.
func TestFiftyNodesJoin(t *testing.T) {
	traffic := func(t *testing.T, count int) (most float64) {
		meshtest.Run(t, meshtest.Seed(t), func(t *testing.T, c *meshtest.Cluster) {
			c.Configure = func(cfg *mesh.Config) { cfg.Lanes = 1; cfg.Timing.Heartbeat = time.Second }
			for i := range count {
				c.Start(fmt.Sprintf("n%02d", i))
			}
			c.WaitForMembers(count)
			for _, id := range c.Names() {
				most = max(most, float64(c.Traffic(id).Writes))
			}
		})
		return most
	}
	ten, fifty := traffic(t, 10), traffic(t, 50)
	t.Logf("most writes of one node: %v with 10 nodes, %v with 50", ten, fifty)
	if fifty > 5*ten*1.3 {
		t.Errorf("%v writes with 10 nodes, %v with 50: more than linear", ten, fifty)
	}
}

// 1,000 nodes join and leave, 200 of them over real sockets: goroutines and memory are
// back where they were.
func TestJoinsAndLeavesLeaveNothing(t *testing.T) {
	everywhere(t, func(t *testing.T, w *world) {
		rounds := 1000
		if _, overSockets := w.cluster.(*sockets); overSockets || testing.Short() || raceEnabled {
			rounds = 200
		}
		measure := func() (int, uint64) {
			runtime.GC()
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			return runtime.NumGoroutine(), m.HeapAlloc
		}
		visit := func(i int) {
			n := w.Start(fmt.Sprint("guest", i))
			w.WaitForMembers(3) // on both sides
			r := spawn(t, n, "echo", func(c *mesh.Context, m number) error { return c.Reply(m.N) })
			if _, err := mesh.Call[int](t.Context(), mesh.At(w.a, r.Address()), number{i}); err != nil {
				t.Fatal(err)
			}
			w.Leave(n.ID())
		}
		for i := range 20 {
			visit(i)
		}
		w.Sleep(time.Second)
		goroutines, heap := measure()
		for i := range rounds {
			visit(20 + i)
		}
		if !eventually(w, func() bool {
			goroutinesNow, heapNow := measure()
			return goroutinesNow <= goroutines && heapNow <= heap+heap/5+(1<<20)
		}) {
			goroutinesNow, heapNow := measure()
			t.Errorf("%d goroutines and %d KiB, before %d and %d", goroutinesNow, heapNow>>10, goroutines, heap>>10)
		}
	})
}
