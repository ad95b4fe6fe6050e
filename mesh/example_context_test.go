package mesh_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/pawl-go/pawl/mesh"
)

// A handler answers calls; a cast has nobody to be answered.
func ExampleContext_Reply() {
	a := exampleNode("a")
	defer a.Close()
	handled := make(chan error, 2)
	r, err := mesh.Spawn(a, "x", func(c *mesh.Context, m string) error {
		handled <- c.Reply("got " + m)
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	fmt.Println(mesh.Call[string](ctx, r, "a call"))
	fmt.Println(<-handled)
	fmt.Println(r.Cast(ctx, "a cast"))
	fmt.Println(<-handled)
	// Output:
	// got a call <nil>
	// <nil>
	// <nil>
	// mesh: the message is a cast, nobody waits for a reply
}

// An actor ends itself: Stop drops what waits, Shutdown has it handled first.
func ExampleContext_Stop() {
	a := exampleNode("a")
	defer a.Close()
	ctx := context.Background()
	r, err := mesh.Spawn(a, "once", func(c *mesh.Context, m string) error {
		c.Stop()
		return c.Reply(m)
	})
	if err != nil {
		log.Fatal(err)
	}
	monitor, err := r.Monitor(ctx)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(mesh.Call[string](ctx, r, "first"))
	exit, err := monitor.Exit(ctx)
	fmt.Println(exit.Reason, err)
	_, err = mesh.Call[string](ctx, r, "second")
	fmt.Println(errors.Is(err, mesh.SendClosed))
	// Output:
	// first <nil>
	// normal <nil>
	// true
}

// The caller's deadline comes with the call, whatever the clocks say.
func ExampleContext_Deadline() {
	a, b, stop := examplePair()
	defer stop()
	_, err := mesh.Spawn(a, "x", func(c *mesh.Context, _ string) error {
		deadline, ok := c.Deadline()
		return c.Reply(fmt.Sprint(ok, time.Until(deadline) > time.Minute, " from ", c.From()))
	})
	if err != nil {
		log.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
	defer cancel()
	x := mesh.At(b, mesh.Address[string]{Node: "a", Name: "x"})
	fmt.Println(mesh.Call[string](ctx, x, "", mesh.Timeout(0))) // no timeout but the context's
	// Output: true true from b <nil>
}

// A reply handle that is not needed any more is dropped, so that nobody waits for it.
func ExampleReplyTo_Drop() {
	a := exampleNode("a")
	defer a.Close()
	r, err := mesh.Spawn(a, "x", func(c *mesh.Context, _ string) error {
		later, err := c.ReplyTo()
		if err != nil {
			return err
		}
		return later.Drop(c.Node())
	})
	if err != nil {
		log.Fatal(err)
	}
	_, err = mesh.Call[string](context.Background(), r, "")
	fmt.Println(errors.Is(err, mesh.RemoteNoReply))
	// Output: true
}
