package mesh_test

import (
	"errors"
	"fmt"
	"hash/fnv"
	"sync"
	"testing"
	"time"

	"github.com/pawl-go/pawl/mesh"
)

// A small message passes a large one to another actor, on one lane: it arrives when
// half of that is not there yet. The reader is held back until both are queued, and again
// before it has all.
func TestSmallPassesLarge(t *testing.T) {
	c := newSockets(t, func(cfg *mesh.Config) { messages(cfg); cfg.Lanes = 1 })
	w := &world{cluster: c, t: t, a: c.Start("a"), b: c.Start("b")}
	c.WaitForMembers(2)
	arrived := make(chan string, 3)
	spawn(t, w.b, "large", func(_ *mesh.Context, m []byte) error { arrived <- fmt.Sprint(len(m)); return nil })
	spawn(t, w.b, "small", func(*mesh.Context, number) error { arrived <- "small"; return nil })
	c.Partition()
	for _, size := range []int{3 << 20, 1} { // the second follows the first, whatever its size
		if err := on[[]byte](w, "large").TryCast(make([]byte, size)); err != nil {
			t.Fatal(err)
		}
	}
	if err := on[number](w, "small").TryCast(number{}); err != nil {
		t.Fatal(err)
	}
	c.healFor(3 << 19)
	for _, want := range []string{"small", fmt.Sprint(3 << 20), "1"} {
		select {
		case got := <-arrived:
			if got != want {
				t.Errorf("%s arrives, want %s", got, want)
			}
		case <-time.After(time.Minute):
			t.Fatalf("%s does not arrive", want)
		}
		c.Heal()
	}
}

// laneOf is the lane, of 4, that a message to an actor of this name takes.
func laneOf(name string) uint32 {
	h := fnv.New32a()
	h.Write([]byte(name))
	return h.Sum32() % 4
}

// busyActor is sent numbers without a pause, and does not answer the one call to it.
type busyActor struct {
	witness
	name string
	sent uint64
	err  error // of the call
}

func (x *busyActor) got() uint64 {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.count
}

// send sends ten numbers each millisecond until stop is closed.
func (x *busyActor) send(t *testing.T, to *mesh.Ref[[]byte], stop <-chan struct{}) {
	for {
		select {
		case <-stop:
			return
		case <-time.After(time.Millisecond):
		}
		for range 10 {
			x.sent++
			if err := to.Cast(t.Context(), numbered('a', x.sent, int(x.sent%100))); err != nil {
				t.Errorf("%s: %v", x.name, err)
				return
			}
		}
	}
}

// A lane's socket is killed under load. The calls on that lane end at once; on the
// others calls go on, and no message is lost. The lane comes back without a change of
// membership, and what is sent then arrives.
func TestLaneSocketIsKilled(t *testing.T) {
	c := newSockets(t, messages)
	w := &world{cluster: c, t: t, a: c.Start("a"), b: c.Start("b")}
	c.WaitForMembers(2)
	events := w.a.Subscribe()
	defer events.Close()
	const count = 32
	var begun, senders sync.WaitGroup
	stop, ended := make(chan struct{}), make(chan *busyActor, count)
	var actors []*busyActor
	for i := range count {
		x := &busyActor{name: fmt.Sprint("n", i)}
		actors = append(actors, x)
		begun.Add(1)
		spawn(t, w.b, x.name, func(ctx *mesh.Context, m []byte) error {
			if !ctx.IsCall() {
				return x.handle(ctx, m)
			}
			begun.Done()
			_, err := ctx.ReplyTo()
			return err
		})
		to := on[[]byte](w, x.name).WithTimeout(0)
		go func() { x.err = call(w, to, nil); ended <- x }()
		senders.Go(func() { x.send(t, to, stop) })
	}
	begun.Wait()
	open := c.between("a", "b")
	open[1+c.rand.IntN(len(open)-1)].reset() // the first that was dialled is the control stream

	next := func() *busyActor {
		t.Helper()
		select {
		case x := <-ended:
			return x
		case <-time.After(time.Minute):
			t.Fatal("the calls on the lane do not end")
			return nil
		}
	}
	first := next()
	killed := laneOf(first.name)
	var onLane []*busyActor
	for _, x := range actors {
		if laneOf(x.name) == killed {
			onLane = append(onLane, x)
		}
	}
	for x := first; ; x = next() {
		if laneOf(x.name) != killed || !errors.Is(x.err, mesh.ReplyDisconnected) {
			t.Fatalf("the call of %s on lane %d ends, and lane %d was killed: %v", x.name, laneOf(x.name), killed, x.err)
		}
		if onLane = onLane[1:]; len(onLane) == 0 {
			break
		}
	}
	for _, x := range actors {
		if before := x.got(); !eventually(c, func() bool { return x.got() >= before+100 }) {
			t.Errorf("%s on lane %d gets nothing any more; lane %d was killed", x.name, laneOf(x.name), killed)
		}
	}
	close(stop)
	senders.Wait()
	settled(t, c)
	for _, x := range actors {
		x.check(t)
		if lane := laneOf(x.name); lane != killed && x.count != x.sent {
			t.Errorf("%s on lane %d got %d of %d; lane %d was killed", x.name, lane, x.count, x.sent, killed)
		}
	}
	if len(ended) > 0 {
		t.Error("calls on the other lanes have ended too")
	}
	noEvents(t, c, events)
}
