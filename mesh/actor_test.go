package mesh_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pawl-go/pawl/mesh"
)

func statusOf(t *testing.T, r interface {
	Status(context.Context) (mesh.ActorInfo, error)
},
) mesh.ActorInfo {
	t.Helper()
	info, err := r.Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return info
}

// The statuses of a life, as operations from another node see them.
func TestStatuses(t *testing.T) {
	simulate(t, func(t *testing.T, w *world) {
		ready, begun, release := make(chan struct{}), make(chan struct{}), make(chan struct{})
		_, err := mesh.SpawnNew(w.b, "x", func(*mesh.Context) (mesh.Handler[number], error) {
			<-ready
			return busy[number](begun, release), nil
		})
		if err != nil {
			t.Fatal(err)
		}
		x := on[number](w, "x")
		want := func(status mesh.Status, waiting int) {
			t.Helper()
			synctest.Wait()
			if info := statusOf(t, x); info.Status != status || info.Waiting != waiting {
				t.Errorf("%s with %d waiting, want %s with %d", info.Status, info.Waiting, status, waiting)
			}
		}
		cast := func() {
			t.Helper()
			if err := x.Cast(t.Context(), number{}); err != nil {
				t.Fatal(err)
			}
			w.Sleep(time.Second)
		}
		cast()
		want(mesh.Initialising, 1)
		close(ready)
		<-begun
		want(mesh.Running, 0)
		cast()
		want(mesh.Running, 1)
		if err := x.Suspend(t.Context()); err != nil {
			t.Fatal(err)
		}
		close(release)
		cast()
		want(mesh.Suspended, 2)
		if _, err := x.Ping(t.Context()); err != nil {
			t.Errorf("a suspended actor cannot be pinged: %v", err)
		}
		if err := x.Resume(t.Context()); err != nil {
			t.Fatal(err)
		}
		want(mesh.Running, 0)
		monitor, err := x.Monitor(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if err := x.Suspend(t.Context()); err != nil {
			t.Fatal(err)
		}
		cast()
		if err := x.Shutdown(t.Context()); err != nil { // what waits is handled
			t.Fatal(err)
		}
		if e, err := monitor.Exit(t.Context()); err != nil || e.Reason != mesh.ExitNormal {
			t.Errorf("%+v, %v", e, err)
		}
		if handled := w.b.Counters().Handled; handled != 4 {
			t.Errorf("%d messages handled, want 4", handled)
		}
		if _, err := x.Ping(t.Context()); !errors.Is(err, mesh.RemoteNoSuchActor) {
			t.Errorf("ping of who has exited: %v", err)
		}
	})
}

// How a life ends, and what its monitors hear, here and on another node.
func TestExits(t *testing.T) {
	for _, c := range []struct {
		want   mesh.ExitReason
		detail string
		end    func(c *mesh.Context) error
	}{
		{mesh.ExitError, "on purpose", func(*mesh.Context) error { return errors.New("on purpose") }},
		{mesh.ExitPanic, "on purpose", func(*mesh.Context) error { panic("on purpose") }},
		{mesh.ExitNormal, "", func(c *mesh.Context) error { c.Stop(); return nil }},
		{mesh.ExitNormal, "", func(c *mesh.Context) error { c.Shutdown(); return nil }},
		{mesh.ExitAborted, "", func(c *mesh.Context) error { <-c.Done(); return nil }},
	} {
		t.Run(string(c.want), func(t *testing.T) {
			simulate(t, func(t *testing.T, w *world) {
				var told mesh.Exit
				x := spawn(t, w.b, "x", func(ctx *mesh.Context, _ number) error { return c.end(ctx) }, mesh.OnExit(func(e mesh.Exit) { told = e }))
				var monitors []*mesh.Monitor
				for _, n := range []*mesh.Node{w.a, w.b} {
					m, err := n.Monitor(t.Context(), x.Address().Any())
					if err != nil {
						t.Fatal(err)
					}
					monitors = append(monitors, m)
				}
				failed := make(chan error, 1)
				go func() { failed <- call(w, on[number](w, "x"), number{}) }()
				w.Sleep(time.Second)
				if c.want == mesh.ExitAborted {
					if err := on[number](w, "x").Abort(t.Context()); err != nil {
						t.Fatal(err)
					}
				}
				want := mesh.Exit{Reason: c.want, Detail: c.detail}
				for _, m := range monitors {
					if e, err := m.Exit(t.Context()); err != nil || e != want {
						t.Errorf("%+v, %v; want %+v", e, err, want)
					}
				}
				if told != want {
					t.Errorf("OnExit: %+v, want %+v", told, want)
				}
				if err := <-failed; !errors.Is(err, mesh.RemoteNoReply) {
					t.Errorf("the call it was in: %v", err)
				}
				if _, err := mesh.Spawn(w.b, "x", ignore[number]); err != nil {
					t.Errorf("its name is not free: %v", err)
				}
			})
		})
	}
}

// A restarted actor has a new state and the old name, address and mailbox.
func TestRestart(t *testing.T) {
	simulate(t, func(t *testing.T, w *world) {
		lives := 0
		_, err := mesh.SpawnNew(w.b, "x", func(*mesh.Context) (mesh.Handler[number], error) {
			lives++
			total := 0
			return func(c *mesh.Context, m number) error {
				if m.N < 0 {
					return errors.New("negative")
				}
				if total += m.N; c.IsCall() {
					return c.Reply(total)
				}
				return nil
			}, nil
		}, mesh.Restart(mesh.RestartOnError, 2, time.Minute))
		if err != nil {
			t.Fatal(err)
		}
		x := on[number](w, "x")
		monitor, err := x.Monitor(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range []int{5, -1, 3} {
			if err := x.Cast(t.Context(), number{n}); err != nil {
				t.Fatal(err)
			}
		}
		if got, err := mesh.Call[int](t.Context(), x, number{1}); err != nil || got != 4 {
			t.Errorf("after a restart: %d, %v; want 3 + 1", got, err)
		}
		if e, err := monitor.Exit(t.Context()); err != nil || !e.Restarting || e.Reason != mesh.ExitError {
			t.Errorf("%+v, %v", e, err)
		}
		for range 2 { // the second is one too many
			call(w, x, number{-1})
		}
		w.Sleep(time.Second)
		if _, err := x.Ping(t.Context()); !errors.Is(err, mesh.RemoteNoSuchActor) || lives != 3 {
			t.Errorf("after %d lives: %v", lives, err)
		}
	})
}

func TestRestartWhen(t *testing.T) {
	for _, c := range []struct {
		when mesh.RestartWhen
		n    int // of the message: 0 stops, 1 fails
		want bool
	}{
		{mesh.RestartNever, 1, false},
		{mesh.RestartOnError, 0, false},
		{mesh.RestartOnError, 1, true},
		{mesh.RestartAlways, 0, true},
		{mesh.RestartAlways, 1, true},
	} {
		simulate(t, func(t *testing.T, w *world) {
			spawn(t, w.b, "x", func(c *mesh.Context, m number) error {
				if m.N == 1 {
					return errors.New("on purpose")
				}
				c.Stop()
				return nil
			}, mesh.Restart(c.when, 0, 0))
			x := on[number](w, "x")
			m, err := x.Monitor(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if err := x.Cast(t.Context(), number{c.n}); err != nil {
				t.Fatal(err)
			}
			if e, err := m.Exit(t.Context()); err != nil || e.Restarting != c.want {
				t.Errorf("when %d, message %d: %+v, %v", c.when, c.n, e, err)
			}
			if err := x.Shutdown(t.Context()); (err == nil) != c.want {
				t.Errorf("shutdown: %v", err)
			}
			w.Sleep(time.Second)
			if _, err := x.Ping(t.Context()); err == nil {
				t.Error("restarted after a shutdown")
			}
		})
	}
}

// What has expired is not begun; a deadline travels with the call.
func TestExpiredIsNotBegun(t *testing.T) {
	simulate(t, func(t *testing.T, w *world) {
		begun, release := make(chan struct{}), make(chan struct{})
		var handled atomic.Int64
		first := true
		x := spawn(t, w.b, "x", func(c *mesh.Context, _ number) error {
			handled.Add(1)
			if first {
				first = false
				if d, ok := c.Deadline(); !ok || time.Until(d) > time.Second {
					t.Errorf("deadline %v, %v", d, ok)
				}
				close(begun)
				<-c.Done() // the caller's deadline, on this node
				<-release
			}
			return nil
		})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		failed := make(chan error, 3)
		go func() { _, err := mesh.Call[int](ctx, on[number](w, "x"), number{}); failed <- err }()
		<-begun
		for _, r := range []*mesh.Ref[number]{x, on[number](w, "x")} {
			go func() { _, err := mesh.Call[int](ctx, r, number{}); failed <- err }()
		}
		for range 3 {
			if err := <-failed; !errors.Is(err, mesh.ReplyTimeout) || !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%v", err)
			}
		}
		w.Sleep(time.Second) // the time under way is not known to b, and is added
		close(release)
		w.Sleep(time.Second)
		if c := w.b.Counters(); handled.Load() != 1 || c.Dropped[mesh.ReasonExpired] != 2 {
			t.Errorf("%d handled, %v", handled.Load(), c.Dropped)
		}
		settled(t, w.cluster)
	})
}

// Of three timeouts the call's own comes first, then the reference's, then the
// node's; a local call has none.
func TestTimeouts(t *testing.T) {
	simulate(t, func(t *testing.T, w *world) {
		silent := func(c *mesh.Context, _ number) error { _, err := c.ReplyTo(); return err }
		local := spawn(t, w.a, "silent", silent)
		spawn(t, w.b, "silent", silent)
		remote := on[number](w, "silent")
		for _, c := range []struct {
			to   *mesh.Ref[number]
			with []mesh.CallOption
			want time.Duration
		}{
			{remote, nil, 30 * time.Second},
			{remote.WithTimeout(7 * time.Second), nil, 7 * time.Second},
			{remote.WithTimeout(7 * time.Second), []mesh.CallOption{mesh.Timeout(2 * time.Second)}, 2 * time.Second},
			{remote, []mesh.CallOption{mesh.Timeout(0)}, time.Hour}, // the context's
			{local, nil, time.Hour},
			{local.WithTimeout(7 * time.Second), nil, 7 * time.Second},
		} {
			ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
			begun := time.Now()
			_, err := mesh.Call[int](ctx, c.to, number{}, c.with...)
			if took := time.Since(begun); took != c.want || !errors.Is(err, mesh.ReplyTimeout) {
				t.Errorf("%v after %v, want %v", err, took, c.want)
			}
			cancel()
		}
		if p := w.a.Counters().Pending; p != 0 {
			t.Errorf("%d calls are still kept", p)
		}
	})
}

type forward struct {
	To    mesh.ReplyTo
	Reply mesh.Address[number]
}

// An address and a reply handle travel in a message: a asks b, b has c answer, and
// c also writes to an actor of a by the address it got.
func TestAddressAndReplyHandleTravel(t *testing.T) {
	simulate(t, func(t *testing.T, w *world) {
		withForward := func(cfg *mesh.Config) {
			messages(cfg)
			cfg.Messages = append(cfg.Messages, mesh.Message[forward]("forward"))
		}
		w.Leave("a")
		w.Leave("b")
		w.a, w.b = w.Start("a", withForward), w.Start("b", withForward)
		c := w.Start("c", withForward)
		w.WaitForMembers(3)
		got := make(chan int, 1)
		back := spawn(t, w.a, "", func(_ *mesh.Context, m number) error { got <- m.N; return nil })
		spawn(t, w.b, "broker", func(ctx *mesh.Context, m forward) (err error) {
			if m.To, err = ctx.ReplyTo(); err != nil {
				return err
			}
			if _, err := ctx.ReplyTo(); !errors.Is(err, mesh.ErrAnswered) {
				t.Errorf("a handle taken twice: %v", err)
			}
			return mesh.At(w.b, mesh.Address[forward]{Node: "c", Name: "worker"}).Cast(ctx, m)
		})
		spawn(t, c, "worker", func(ctx *mesh.Context, m forward) error {
			if err := mesh.At(c, m.Reply).Cast(ctx, number{9}); err != nil {
				return err
			}
			if err := ctx.Reply(1); !errors.Is(err, mesh.ErrNoCaller) {
				t.Errorf("a reply to a cast: %v", err)
			}
			if err := m.To.Reply(c, 42); err != nil {
				return err
			}
			return m.To.Reply(c, 43) // too late: it is dropped there
		})
		for _, from := range []*mesh.Node{w.a, w.b} { // b's own broker too
			broker := mesh.At(from, mesh.Address[forward]{Node: "b", Name: "broker"})
			answer, err := mesh.Call[int](t.Context(), broker, forward{Reply: back.Address()})
			if err != nil || answer != 42 {
				t.Errorf("%s: %d, %v", from.ID(), answer, err)
			}
			if n := <-got; n != 9 {
				t.Errorf("by the address: %d", n)
			}
		}
		w.Sleep(time.Second)
		if stale := w.a.Counters().RepliesStale + w.b.Counters().RepliesStale; stale != 2 {
			t.Errorf("%d stale replies, want 2", stale)
		}
	})
}

// An address reaches whoever has the name: another actor, on the same Ref.
func TestNamesResolveAtEachMessage(t *testing.T) {
	simulate(t, func(t *testing.T, w *world) {
		for _, from := range []*mesh.Node{w.a, w.b} {
			to := mesh.At(from, mesh.Address[number]{Node: "b", Name: "x"})
			for life := range 3 {
				r := spawn(t, w.b, "x", func(c *mesh.Context, _ number) error { return c.Reply(life) })
				if got, err := mesh.Call[int](t.Context(), to, number{}); err != nil || got != life {
					t.Errorf("%s: %d, %v, want %d", from.ID(), got, err, life)
				}
				m, err := r.Monitor(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				if err := r.Shutdown(t.Context()); err != nil {
					t.Fatal(err)
				}
				m.Exit(t.Context())
			}
		}
		if _, err := mesh.Spawn(w.b, "~x", ignore[number]); !errors.Is(err, mesh.ErrBadName) {
			t.Errorf("%v", err)
		}
		spawn(t, w.b, "y", ignore[number])
		if _, err := mesh.Spawn(w.b, "y", ignore[number]); !errors.Is(err, mesh.ErrNameTaken) {
			t.Errorf("%v", err)
		}
	})
}

// A local cast waits for room, and goes on when there is some, or the actor ends.
func TestLocalCastWaitsForRoom(t *testing.T) {
	simulate(t, func(t *testing.T, w *world) {
		w.Leave("b")
		w.b = w.Start("b", func(cfg *mesh.Config) { cfg.Limits.ActorMessages = 2 })
		step := make(chan struct{})
		x := spawn(t, w.b, "x", func(*mesh.Context, number) error { <-step; return nil })
		sent := make(chan error, 10)
		for i := range 10 {
			go func() { sent <- x.Cast(t.Context(), number{i}) }()
		}
		synctest.Wait()
		for handled := range 3 {
			if got := len(sent); got != handled+3 { // one is handled, two wait
				t.Errorf("%d casts are through after %d messages", got, handled)
			}
			step <- struct{}{}
			synctest.Wait()
		}
		if err := x.Abort(t.Context()); err != nil {
			t.Fatal(err)
		}
		step <- struct{}{}
		closed := 0
		for range 10 {
			if err := <-sent; errors.Is(err, mesh.SendClosed) {
				closed++
			} else if err != nil {
				t.Error(err)
			}
		}
		if closed != 4 {
			t.Errorf("%d casts failed as closed, want 4", closed)
		}
	})
}

// What a node drops, and what another says it has refused, is on its stream.
func TestDeadLetters(t *testing.T) {
	simulate(t, func(t *testing.T, w *world) {
		here, there := w.a.DeadLetters(10), w.b.DeadLetters(10)
		defer here.Close()
		defer there.Close()
		for range 3 {
			if err := on[number](w, "nobody").Cast(t.Context(), number{}); err != nil {
				t.Fatal(err)
			}
		}
		for range 3 {
			want := mesh.DeadLetter{
				Reason: mesh.ReasonNoSuchActor, Target: mesh.AnyAddress{Node: "b", Name: "nobody"}, From: "a", Type: "number", Count: 1,
			}
			if l, err := there.Next(t.Context()); err != nil || l != want {
				t.Errorf("%+v, %v", l, err)
			}
		}
		want := mesh.DeadLetter{
			Reason: mesh.ReasonNoSuchActor, Target: mesh.AnyAddress{Node: "b", Name: "nobody"}, From: "a", Count: 3, Reported: true,
		}
		if l, err := here.Next(t.Context()); err != nil || l != want {
			t.Errorf("%+v, %v", l, err)
		}
		w.Crash("b")
		w.Sleep(10 * time.Millisecond)
		if err := on[number](w, "x").Cast(t.Context(), number{}); err != nil {
			t.Fatal(err)
		}
		if l, err := here.Next(t.Context()); err != nil || l.Reason != mesh.ReasonReconnecting {
			t.Errorf("%+v, %v", l, err)
		}
	})
}

// Changes come without a gap after the snapshot.
func TestSubscribe(t *testing.T) {
	simulate(t, func(t *testing.T, w *world) {
		events := w.a.Subscribe()
		defer events.Close()
		if len(events.Snapshot) != 2 || events.Snapshot[0].ID != "a" || events.Snapshot[1].ID != "b" {
			t.Errorf("%+v", events.Snapshot)
		}
		w.Start("c")
		w.WaitForMembers(3)
		w.Leave("c")
		w.Partition([]string{"a"}, []string{"b"})
		w.Sleep(20 * time.Second)
		w.Heal()
		w.WaitForMembers(2)
		w.Crash("b")
		w.Sleep(time.Minute)
		for _, want := range []string{"up c", "left c", "unreachable b", "reachable b", "unreachable b", "failed b"} {
			e, err := events.Next(t.Context())
			if got := fmt.Sprint(e.Kind, " ", e.Member.ID); err != nil || got != want {
				t.Errorf("%s, %v; want %s", got, err, want)
			}
		}
		if m := w.a.Members(); len(m) != 1 {
			t.Errorf("members %+v", m)
		}
	})
}

// An observer looks in and is nobody's member.
func TestObserverInspects(t *testing.T) {
	simulate(t, func(t *testing.T, w *world) {
		spawn(t, w.b, "x1", ignore[number])
		spawn(t, w.b, "x2", ignore[number])
		spawn(t, w.b, "y", ignore[number])
		o := w.Start("o", func(cfg *mesh.Config) { cfg.Observer = true; cfg.Listen = "" })
		if err := o.WaitForMembers(t.Context(), 3); err != nil {
			t.Fatal(err)
		}
		info, err := o.Inspect(t.Context(), "b", "x")
		if err != nil {
			t.Fatal(err)
		}
		if info.ID != "b" || info.State != mesh.NodeUp || info.Matching != 2 || len(info.Actors) != 2 || info.Actors[0].Name != "x1" || len(info.Links) != 2 {
			t.Errorf("%+v", info)
		}
		for _, m := range info.Members {
			if m.ID == "o" {
				t.Error("the observer is a member")
			}
		}
		if _, err := o.Ping(t.Context(), mesh.AnyAddress{Node: "b"}); err != nil {
			t.Error(err)
		}
		if err := o.ShutdownActor(t.Context(), mesh.AnyAddress{Node: "b", Name: "y"}); err != nil {
			t.Error(err)
		}
	})
}
