package mesh_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"log/slog"
	"time"

	"github.com/pawl-go/pawl/mesh"
)

// A Say is what somebody says.
type Say struct {
	Who, Text string
}

// exampleNode starts a node on loopback.
func exampleNode(id string, peers ...mesh.Peer) *mesh.Node {
	n, err := mesh.Start(mesh.Config{
		ID: id, Listen: "127.0.0.1:0",
		Messages: []mesh.MessageType{mesh.Message[Say]("chat.say"), mesh.Message[string]("text")},
		Members:  mesh.Static(peers...),
		Logger:   slog.New(slog.NewTextHandler(io.Discard, nil)),
	})
	if err != nil {
		log.Fatal(err)
	}
	return n
}

// examplePair starts two nodes that know each other.
func examplePair() (a, b *mesh.Node, stop func()) {
	a = exampleNode("a")
	b = exampleNode("b", mesh.Peer{ID: "a", Addr: a.Addr()})
	for _, n := range []*mesh.Node{a, b} {
		if err := n.WaitForMembers(context.Background(), 2); err != nil {
			log.Fatal(err)
		}
	}
	return a, b, func() { a.Close(); b.Close() }
}

// Two nodes in one process; the second knows where the first is.
func Example() {
	ctx := context.Background()
	a := exampleNode("a")
	defer a.Close()
	b := exampleNode("b", mesh.Peer{ID: "a", Addr: a.Addr()})
	defer b.Close()
	if err := b.WaitForMembers(ctx, 2); err != nil {
		log.Fatal(err)
	}

	lines := 0
	_, err := mesh.Spawn(a, "room", func(c *mesh.Context, m Say) error {
		lines++
		if c.IsCall() {
			return c.Reply(fmt.Sprintf("%d: %s said %q", lines, m.Who, m.Text))
		}
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}

	room := mesh.At(b, mesh.Address[Say]{Node: "a", Name: "room"})
	if err := room.Cast(ctx, Say{"ann", "hello"}); err != nil { // no reply
		log.Fatal(err)
	}
	answer, err := mesh.Call[string](ctx, room, Say{"bob", "hi"}) // waits for it
	fmt.Println(answer, err)
	// Output: 2: bob said "hi" <nil>
}

// A new life has a new state; the name and the mailbox stay.
func ExampleSpawnNew() {
	a := exampleNode("a")
	defer a.Close()
	ref, err := mesh.SpawnNew(a, "counter", func(*mesh.Context) (mesh.Handler[string], error) {
		count := 0 // of this life
		return func(c *mesh.Context, m string) error {
			if m == "fail" {
				return errors.New("as told")
			}
			count++
			return c.Reply(count)
		}, nil
	}, mesh.Restart(mesh.RestartOnError, 3, time.Minute))
	if err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	for _, m := range []string{"x", "x", "fail", "x"} {
		n, err := mesh.Call[int](ctx, ref, m)
		fmt.Println(n, errors.Is(err, mesh.RemoteNoReply))
	}
	// Output:
	// 1 false
	// 2 false
	// 0 true
	// 1 false
}

// What an error means decides what to do.
func ExampleOutcomeUnknown() {
	a, b, stop := examplePair()
	defer stop()
	if _, err := mesh.Spawn(a, "silent", func(*mesh.Context, string) error { return nil }); err != nil {
		log.Fatal(err)
	}
	for _, name := range []string{"silent", "nobody"} {
		_, err := mesh.Call[string](context.Background(), mesh.At(b, mesh.Address[string]{Node: "a", Name: name}), "x")
		fmt.Printf("%v; may have been handled: %v\n", err, mesh.OutcomeUnknown(err))
	}
	// Output:
	// call silent on a: refused: the actor dropped the request; may have been handled: true
	// call nobody on a: refused: no actor holds that name; may have been handled: false
}

// Resolve checks that there is such an actor, and that it takes these messages.
func ExampleResolve() {
	a, b, stop := examplePair()
	defer stop()
	if _, err := mesh.Spawn(a, "texts", func(*mesh.Context, string) error { return nil }); err != nil {
		log.Fatal(err)
	}
	_, err := mesh.Resolve[string](context.Background(), b, "a", "texts")
	fmt.Println(err)
	_, err = mesh.Resolve[Say](context.Background(), b, "a", "texts")
	fmt.Println(err)
	// Output:
	// <nil>
	// resolve texts on a: the actor does not take these messages
}

// A monitor tells how an actor on another node has ended.
func ExampleRef_Monitor() {
	a, b, stop := examplePair()
	defer stop()
	ctx := context.Background()
	if _, err := mesh.Spawn(a, "worker", func(*mesh.Context, string) error { return errors.New("no paper") }); err != nil {
		log.Fatal(err)
	}
	worker := mesh.At(b, mesh.Address[string]{Node: "a", Name: "worker"})
	monitor, err := worker.Monitor(ctx)
	if err != nil {
		log.Fatal(err)
	}
	if err := worker.Cast(ctx, "print"); err != nil {
		log.Fatal(err)
	}
	exit, err := monitor.Exit(ctx)
	fmt.Println(exit.Reason, exit.Detail, err)
	// Output: error no paper <nil>
}

// A reply handle answers later, from anywhere.
func ExampleContext_ReplyTo() {
	a, b, stop := examplePair()
	defer stop()
	waiting := make(chan mesh.ReplyTo, 1)
	_, err := mesh.Spawn(a, "desk", func(c *mesh.Context, _ string) error {
		handle, err := c.ReplyTo()
		waiting <- handle
		return err
	})
	if err != nil {
		log.Fatal(err)
	}
	go func() {
		handle := <-waiting
		if err := handle.Reply(a, "your turn"); err != nil {
			log.Print(err)
		}
	}()
	answer, err := mesh.Call[string](context.Background(), mesh.At(b, mesh.Address[string]{Node: "a", Name: "desk"}), "ticket")
	fmt.Println(answer, err)
	// Output: your turn <nil>
}

// TryCast never waits.
func ExampleRef_TryCast() {
	a := exampleNode("a")
	defer a.Close()
	err := mesh.At(a, mesh.Address[string]{Node: "b", Name: "x"}).TryCast("hello")
	fmt.Println(errors.Is(err, mesh.SendNotAMember), err)
	// Output: true send to x on b: no such member
}

// Operations pass the mailbox by.
func ExampleRef_Suspend() {
	a, b, stop := examplePair()
	defer stop()
	ctx := context.Background()
	if _, err := mesh.Spawn(a, "x", func(*mesh.Context, string) error { return nil }); err != nil {
		log.Fatal(err)
	}
	x := mesh.At(b, mesh.Address[string]{Node: "a", Name: "x"})
	for _, op := range []func(context.Context) error{x.Suspend, x.Resume, x.Shutdown} {
		if err := op(ctx); err != nil {
			fmt.Println(err)
		}
	}
	_, err := x.Ping(ctx)
	fmt.Println(errors.Is(err, mesh.RemoteNoSuchActor) || err == nil)
	// Output: true
}

// Changes of membership come without a gap after the snapshot.
func ExampleNode_Subscribe() {
	ctx := context.Background()
	a := exampleNode("a")
	defer a.Close()
	events := a.Subscribe()
	defer events.Close()
	fmt.Println(len(events.Snapshot), "member")

	b := exampleNode("b", mesh.Peer{ID: "a", Addr: a.Addr()})
	if err := b.WaitForMembers(ctx, 2); err != nil {
		log.Fatal(err)
	}
	if err := b.Leave(ctx); err != nil {
		log.Fatal(err)
	}
	for range 2 {
		e, err := events.Next(ctx)
		fmt.Println(e.Member.ID, e.Kind, err)
	}
	// Output:
	// 1 member
	// b up <nil>
	// b left <nil>
}

// What is refused on another node is reported to the one that sent it.
func ExampleNode_DeadLetters() {
	_, b, stop := examplePair()
	defer stop()
	ctx := context.Background()
	letters := b.DeadLetters(16)
	defer letters.Close()
	for range 3 {
		if err := mesh.At(b, mesh.Address[string]{Node: "a", Name: "nobody"}).Cast(ctx, "hello?"); err != nil {
			log.Fatal(err)
		}
	}
	var lost uint64
	for lost < 3 {
		l, err := letters.Next(ctx)
		if err != nil {
			log.Fatal(err)
		}
		lost += l.Count
		if lost == 3 {
			fmt.Println(lost, l.Reason, l.Target)
		}
	}
	// Output: 3 no_such_actor nobody@a
}

// Join links a node with peers that it did not know when it started.
func ExampleNode_Join() {
	ctx := context.Background()
	a, b := exampleNode("a"), exampleNode("b")
	defer a.Close()
	defer b.Close()
	if err := b.Join(ctx, mesh.Peer{ID: "a", Addr: a.Addr()}); err != nil {
		log.Fatal(err)
	}
	for _, m := range b.Members() {
		fmt.Println(m.ID, m.Reachable)
	}
	// Output:
	// b true
	// a true
}

// Inspect is what an operator's tool asks a node.
func ExampleNode_Inspect() {
	a, b, stop := examplePair()
	defer stop()
	if _, err := mesh.Spawn(a, "room/1", func(*mesh.Context, string) error { return nil }); err != nil {
		log.Fatal(err)
	}
	info, err := b.Inspect(context.Background(), "a", "room/")
	fmt.Println(info.ID, info.State, len(info.Members), info.Actors[0].Name, err)
	// Output: a up 2 room/1 <nil>
}
