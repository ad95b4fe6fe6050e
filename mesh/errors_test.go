package mesh_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/pawl-go/pawl/mesh"
	"github.com/pawl-go/pawl/mesh/meshtest"
)

type (
	number struct{ N int }
	query  struct{ Key string }
	// opaque cannot be encoded.
	opaque struct{ C chan int }
	// fragile is encoded, and cannot be decoded.
	fragile struct{}
	// modern is registered on a alone.
	modern struct{ N int }
)

func messages(cfg *mesh.Config) {
	cfg.Messages = []mesh.MessageType{
		mesh.Message[number]("number"), mesh.Message[query]("query"), mesh.Message[opaque]("opaque"),
		mesh.Message[[]byte]("bytes"), mesh.Message[string]("string"),
		mesh.BinaryMessage("fragile",
			func(dst []byte, _ fragile) ([]byte, error) { return append(dst, 1), nil },
			func([]byte) (fragile, error) { return fragile{}, errors.New("broken on purpose") }),
	}
	if cfg.ID == "a" {
		cfg.Messages = append(cfg.Messages, mesh.Message[modern]("modern"))
	}
}

// world is two linked nodes: tests send from a to b.
type world struct {
	cluster
	t    *testing.T
	a, b *mesh.Node
}

// simulate runs f in a simulated world.
func simulate(t *testing.T, f func(t *testing.T, w *world)) {
	t.Helper()
	meshtest.Run(t, meshtest.Seed(t), func(t *testing.T, c *meshtest.Cluster) {
		c.Configure = messages
		w := &world{cluster: c, t: t, a: c.Start("a"), b: c.Start("b")}
		c.WaitForMembers(2)
		f(t, w)
	})
}

func spawn[M any](t *testing.T, n *mesh.Node, name string, h mesh.Handler[M], options ...mesh.SpawnOption) *mesh.Ref[M] {
	t.Helper()
	r, err := mesh.Spawn(n, name, h, options...)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// on is a reference from a to an actor of b.
func on[M any](w *world, name string) *mesh.Ref[M] {
	return mesh.At(w.a, mesh.Address[M]{Node: "b", Name: name})
}

func call[M any](w *world, to *mesh.Ref[M], m M) error {
	_, err := mesh.Call[any](w.t.Context(), to, m)
	return err
}

func ignore[M any](*mesh.Context, M) error { return nil }

// busy is a handler that is in its first message until release is closed.
func busy[M any](begun chan<- struct{}, release <-chan struct{}) mesh.Handler[M] {
	first := true
	return func(c *mesh.Context, _ M) error {
		if first {
			first = false
			close(begun)
			<-release
		}
		if c.IsCall() {
			return c.Reply(1)
		}
		return nil
	}
}

// TestErrors makes the condition of each row of the table of errors happen.
func TestErrors(t *testing.T) {
	for _, c := range []struct {
		want    error
		unknown bool // OutcomeUnknown
		make    func(w *world) error
	}{
		{mesh.SendNotRunning, false, func(w *world) error {
			w.a.Close()
			return call(w, on[number](w, "x"), number{})
		}},
		{mesh.SendNotAMember, false, func(w *world) error {
			return mesh.At(w.a, mesh.Address[number]{Node: "nobody", Name: "x"}).Cast(w.t.Context(), number{})
		}},
		{mesh.SendUnreachable, false, func(w *world) error {
			w.Crash("b")
			return whenUnreachable(w, func() error { return on[number](w, "x").Cast(w.t.Context(), number{}) })
		}},
		{mesh.SendEncode, false, func(w *world) error { return call(w, on[opaque](w, "x"), opaque{}) }},
		{mesh.SendEncode, false, func(w *world) error { return call(w, on[struct{ X int }](w, "x"), struct{ X int }{1}) }},
		{mesh.SendTooLarge, false, func(w *world) error { return call(w, on[[]byte](w, "x"), make([]byte, 5<<20)) }},
		{mesh.SendFull, false, fillLane},
		{mesh.SendFull, false, fillMailbox},
		{mesh.SendClosed, false, func(w *world) error {
			return call(w, mesh.At(w.a, mesh.Address[number]{Node: "a", Name: "nobody"}), number{})
		}},
		{mesh.SendNotAccepted, false, func(w *world) error {
			spawn(w.t, w.a, "numbers", ignore[number])
			return call(w, mesh.At(w.a, mesh.Address[any]{Node: "a", Name: "numbers"}), any("a string"))
		}},
		{mesh.SendCanceled, false, func(w *world) error {
			w.Partition()
			ctx, cancel := context.WithTimeout(w.t.Context(), time.Second)
			defer cancel()
			for {
				if err := on[[]byte](w, "x").Cast(ctx, make([]byte, 10_000)); err != nil {
					return err
				}
			}
		}},
		{mesh.ReplyDisconnected, true, func(w *world) error {
			begun, release := make(chan struct{}), make(chan struct{})
			defer close(release)
			spawn(w.t, w.b, "busy", busy[number](begun, release))
			failed := make(chan error, 1)
			go func() { failed <- call(w, on[number](w, "busy"), number{}) }()
			<-begun
			w.Crash("b")
			return <-failed
		}},
		{mesh.ReplyTimeout, true, func(w *world) error {
			release := make(chan struct{})
			defer close(release)
			spawn(w.t, w.b, "busy", busy[number](make(chan struct{}), release))
			return call(w, on[number](w, "busy").WithTimeout(time.Second), number{})
		}},
		{mesh.ReplyDecode, true, func(w *world) error {
			spawn(w.t, w.b, "texts", func(c *mesh.Context, _ number) error { return c.Reply("text") })
			_, err := mesh.Call[int](w.t.Context(), on[number](w, "texts"), number{})
			return err
		}},
		{mesh.RemoteUnknownMessage, false, func(w *world) error {
			spawn(w.t, w.b, "any", ignore[any])
			return call(w, on[modern](w, "any"), modern{})
		}},
		{mesh.RemoteNoSuchActor, false, func(w *world) error { return call(w, on[number](w, "nobody"), number{}) }},
		{mesh.RemoteNotAccepted, false, func(w *world) error {
			spawn(w.t, w.b, "numbers", ignore[number])
			return call(w, on[string](w, "numbers"), "a string")
		}},
		{mesh.RemoteClosed, false, func(w *world) error {
			begun, release := make(chan struct{}), make(chan struct{})
			defer close(release)
			r := spawn(w.t, w.b, "busy", busy[number](begun, release))
			if err := r.Cast(w.t.Context(), number{}); err != nil {
				return err
			}
			<-begun
			if err := on[number](w, "busy").Shutdown(w.t.Context()); err != nil {
				return err
			}
			return call(w, on[number](w, "busy"), number{})
		}},
		{mesh.RemoteOverloaded, false, func(w *world) error {
			begun, release := make(chan struct{}), make(chan struct{})
			defer close(release)
			spawn(w.t, w.b, "busy", busy[[]byte](begun, release))
			to := on[[]byte](w, "busy")
			for range 6 { // the first is begun; of the rest, 16 MiB wait
				if err := to.Cast(w.t.Context(), make([]byte, 3<<20)); err != nil {
					return err
				}
			}
			<-begun
			if !eventually(w, func() bool {
				s, err := to.Status(w.t.Context())
				return err == nil && s.Waiting == 5
			}) {
				return errors.New("they do not arrive")
			}
			return call(w, to, make([]byte, 3<<20))
		}},
		{mesh.RemoteNoReply, true, func(w *world) error {
			spawn(w.t, w.b, "silent", ignore[number])
			return call(w, on[number](w, "silent"), number{})
		}},
		{mesh.RemoteNoReply, true, func(w *world) error { // the same on one node
			return call(w, spawn(w.t, w.a, "silent", ignore[number]), number{})
		}},
		{mesh.RemoteDecode, false, func(w *world) error {
			spawn(w.t, w.b, "fragile", ignore[fragile])
			return call(w, on[fragile](w, "fragile"), fragile{})
		}},
		{mesh.RemoteEncode, true, func(w *world) error {
			spawn(w.t, w.b, "opaque", func(c *mesh.Context, _ number) error { c.Reply(opaque{}); return nil })
			return call(w, on[number](w, "opaque"), number{})
		}},
		{mesh.RemoteTooLarge, true, func(w *world) error {
			spawn(w.t, w.b, "large", func(c *mesh.Context, _ number) error { c.Reply(make([]byte, 5<<20)); return nil })
			return call(w, on[number](w, "large"), number{})
		}},
		{mesh.AddressNoSuchActor, false, func(w *world) error {
			_, err := mesh.Resolve[number](w.t.Context(), w.a, "b", "nobody")
			return err
		}},
		{mesh.AddressTypeMismatch, false, func(w *world) error {
			spawn(w.t, w.b, "numbers", ignore[number])
			_, err := mesh.Resolve[string](w.t.Context(), w.a, "b", "numbers")
			return err
		}},
		{mesh.AddressRemote, false, func(w *world) error {
			_, err := mesh.Resolve[string](w.t.Context(), w.a, "nobody", "numbers")
			if !errors.Is(err, mesh.OpNotSent) || !errors.Is(err, mesh.SendNotAMember) {
				return fmt.Errorf("the cause is lost: %w", errors.Unwrap(err))
			}
			return err
		}},
		{mesh.OpNotSent, false, func(w *world) error {
			return mesh.At(w.a, mesh.Address[number]{Node: "nobody", Name: "x"}).Shutdown(w.t.Context())
		}},
		{mesh.OpReply, false, func(w *world) error {
			err := on[number](w, "nobody").Shutdown(w.t.Context())
			if !errors.Is(err, mesh.RemoteNoSuchActor) {
				return fmt.Errorf("the cause is lost: %w", errors.Unwrap(err))
			}
			return err
		}},
	} {
		t.Run(c.want.Error(), func(t *testing.T) {
			everywhere(t, func(t *testing.T, w *world) {
				err := c.make(w)
				if !errors.Is(err, c.want) {
					t.Fatalf("%v, want %v", err, c.want)
				}
				if got := mesh.OutcomeUnknown(err); got != c.unknown {
					t.Errorf("OutcomeUnknown(%v) = %v", err, got)
				}
				for _, code := range allCodes {
					if errors.Is(err, code) && !errors.Is(code, c.want) && !hasBesides(c.want, code) {
						t.Errorf("%v is also %v", err, code)
					}
				}
			})
		})
	}
}

var allCodes = []error{
	mesh.SendNotRunning, mesh.SendNotAMember, mesh.SendUnreachable, mesh.SendFull, mesh.SendTooLarge, mesh.SendEncode,
	mesh.SendClosed, mesh.SendNotAccepted, mesh.SendCanceled,
	mesh.ReplyRemote, mesh.ReplyDisconnected, mesh.ReplyTimeout, mesh.ReplyDecode,
	mesh.RemoteUnknownMessage, mesh.RemoteNoSuchActor, mesh.RemoteNotAccepted, mesh.RemoteClosed, mesh.RemoteOverloaded,
	mesh.RemoteNoReply, mesh.RemoteDecode, mesh.RemoteEncode, mesh.RemoteTooLarge, mesh.RemoteUnknown,
	mesh.AddressNoSuchActor, mesh.AddressTypeMismatch, mesh.AddressRemote,
	mesh.OpNotSent, mesh.OpReply,
}

// wrapped lists, by the code an error is made for, the codes of what it wraps.
var wrapped = map[error][]error{
	mesh.AddressRemote: {mesh.OpNotSent, mesh.SendNotAMember},
	mesh.OpNotSent:     {mesh.SendNotAMember},
	mesh.OpReply:       {mesh.ReplyRemote, mesh.RemoteNoSuchActor},
}

// hasBesides reports whether an error made for want has code too, by design.
func hasBesides(want, code error) bool {
	_, remote := errors.AsType[mesh.RemoteCode](want)
	return remote && errors.Is(code, mesh.ReplyRemote) || slices.Contains(wrapped[want], code)
}

// whenUnreachable tries to send until the peer is known to be unreachable.
func whenUnreachable(w *world, send func() error) (err error) {
	eventually(w, func() bool { err = send(); return errors.Is(err, mesh.SendUnreachable) })
	return err
}

// fillLane fills a lane to a peer that does not answer; trying never blocks.
func fillLane(w *world) error {
	w.Partition()
	to := on[[]byte](w, "x")
	for range 100_000 {
		begun := time.Now()
		if err := to.TryCast(make([]byte, 10_000)); err != nil {
			return err
		}
		if _, simulated := w.cluster.(*meshtest.Cluster); simulated && time.Since(begun) > 0 {
			return fmt.Errorf("TryCast took %v of virtual time", time.Since(begun))
		}
	}
	return errors.New("it is never full")
}

func fillMailbox(w *world) error {
	begun, release := make(chan struct{}), make(chan struct{})
	defer close(release)
	to := spawn(w.t, w.a, "busy", busy[number](begun, release))
	if err := to.Cast(w.t.Context(), number{}); err != nil {
		return err
	}
	<-begun
	for i := range 100_001 {
		if err := to.TryCast(number{}); err != nil {
			if i != 100_000 {
				return fmt.Errorf("%d messages have room: %w", i, err)
			}
			return err
		}
	}
	return errors.New("it is never full")
}

// The order of checks: running, member, connection, encoding, size, queue.
func TestOrderOfChecks(t *testing.T) {
	everywhere(t, func(t *testing.T, w *world) {
		nobody := mesh.At(w.a, mesh.Address[opaque]{Node: "nobody", Name: "x"})
		if err := nobody.Cast(t.Context(), opaque{}); !errors.Is(err, mesh.SendNotAMember) {
			t.Errorf("not a member comes before encode: %v", err)
		}
		fill := fillLane(w)
		if !errors.Is(fill, mesh.SendFull) {
			t.Fatal(fill)
		}
		if err := on[[]byte](w, "x").TryCast(make([]byte, 5<<20)); !errors.Is(err, mesh.SendTooLarge) {
			t.Errorf("too large comes before full: %v", err)
		}
		w.Crash("b")
		w.Heal()
		err := whenUnreachable(w, func() error { return on[number](w, "x").Cast(t.Context(), number{}) })
		if !errors.Is(err, mesh.SendUnreachable) {
			t.Fatal(err)
		}
		if err := on[opaque](w, "x").Cast(t.Context(), opaque{}); !errors.Is(err, mesh.SendUnreachable) {
			t.Errorf("unreachable comes before encode: %v", err)
		}
		w.a.Close()
		if err := nobody.Cast(t.Context(), opaque{}); !errors.Is(err, mesh.SendNotRunning) {
			t.Errorf("not running comes first: %v", err)
		}
	})
}

// The text says whom, what and how much.
func TestErrorText(t *testing.T) {
	everywhere(t, func(t *testing.T, w *world) {
		err := on[[]byte](w, "x").Cast(t.Context(), make([]byte, 5<<20))
		want := "send to x on b: the message is too large: 5242893 bytes, at most 4194304"
		if err == nil || err.Error() != want {
			t.Errorf("%v\nwant %s", err, want)
		}
		tooLarge, ok := errors.AsType[*mesh.SendError](err)
		if !ok || tooLarge.Size != 5242893 || tooLarge.Limit != mesh.MaxMessage {
			t.Errorf("%+v", tooLarge)
		}
	})
}

// What is cast to a peer that is gone returns at once, whatever is known of it yet.
func TestCastToDeadPeerReturns(t *testing.T) {
	simulate(t, func(t *testing.T, w *world) {
		w.Crash("b")
		to := on[number](w, "x")
		for range 300 {
			begun := time.Now()
			err := to.Cast(t.Context(), number{})
			if err != nil && !errors.Is(err, mesh.SendUnreachable) {
				t.Fatal(err)
			}
			if took := time.Since(begun); took >= 10*time.Millisecond {
				t.Fatalf("a cast took %v", took)
			}
			w.Sleep(10 * time.Millisecond)
		}
	})
}
