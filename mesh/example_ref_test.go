package mesh_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/pawl-go/pawl/mesh"
)

// exampleEcho starts an actor that answers what it is sent.
func exampleEcho(n *mesh.Node, options ...mesh.SpawnOption) *mesh.Ref[string] {
	ref, err := mesh.Spawn(n, "echo", func(c *mesh.Context, m string) error { return c.Reply(m) }, options...)
	if err != nil {
		log.Fatal(err)
	}
	return ref
}

// An address is a value that may be kept and sent. It reaches whoever has the name.
func ExampleAt() {
	a, b, stop := examplePair()
	defer stop()
	address := exampleEcho(a).Address()
	fmt.Println(address.Any())
	echo := mesh.At(b, address)
	fmt.Println(mesh.Call[string](context.Background(), echo, "hello"))
	// Output:
	// echo@a
	// hello <nil>
}

// A name is taken as long as its actor lives. Without a name an actor gets one that is
// never used again.
func ExampleSpawn() {
	a := exampleNode("a")
	defer a.Close()
	exampleEcho(a)
	_, err := mesh.Spawn(a, "echo", func(*mesh.Context, string) error { return nil })
	fmt.Println(err)
	_, err = mesh.Spawn(a, "", func(*mesh.Context, string) error { return nil })
	fmt.Println(err)
	// Output:
	// spawn "echo": mesh: the name is taken
	// <nil>
}

// A handler that only computes may be run by the caller, or by who reads the connection.
func ExampleQuick() {
	a, b, stop := examplePair()
	defer stop()
	echo := exampleEcho(a, mesh.Quick())
	fmt.Println(mesh.Call[string](context.Background(), mesh.At(b, echo.Address()), "at once"))
	// Output: at once <nil>
}

// Cast says whether a message left, and not what became of it.
func ExampleRef_Cast() {
	a, b, stop := examplePair()
	defer stop()
	ctx := context.Background()
	got := make(chan string)
	if _, err := mesh.Spawn(a, "sink", func(_ *mesh.Context, m string) error { got <- m; return nil }); err != nil {
		log.Fatal(err)
	}
	err := mesh.At(b, mesh.Address[string]{Node: "a", Name: "sink"}).Cast(ctx, "hello")
	fmt.Println(<-got, err)
	err = mesh.At(b, mesh.Address[string]{Node: "nobody", Name: "sink"}).Cast(ctx, "hello")
	fmt.Println(errors.Is(err, mesh.SendNotAMember))
	// Output:
	// hello <nil>
	// true
}

// A reference has a timeout of its own for its calls.
func ExampleRef_WithTimeout() {
	a, b, stop := examplePair()
	defer stop()
	_, err := mesh.Spawn(a, "silent", func(c *mesh.Context, _ string) error { _, err := c.ReplyTo(); return err })
	if err != nil {
		log.Fatal(err)
	}
	silent := mesh.At(b, mesh.Address[string]{Node: "a", Name: "silent"}).WithTimeout(10 * time.Millisecond)
	_, err = mesh.Call[string](context.Background(), silent, "anybody?")
	fmt.Println(err)
	// Output: call silent on a: no reply in time, the outcome is unknown: context deadline exceeded
}

// Status and Ping do not wait for the actor.
func ExampleRef_Status() {
	a, b, stop := examplePair()
	defer stop()
	ctx := context.Background()
	echo := mesh.At(b, exampleEcho(a).Address())
	if _, err := mesh.Call[string](ctx, echo, "hello"); err != nil {
		log.Fatal(err)
	}
	info, err := echo.Status(ctx)
	fmt.Println(info.Name, info.Status, info.Taken, err)
	took, err := echo.Ping(ctx)
	fmt.Println(took > 0, err)
	// Output:
	// echo running 1 <nil>
	// true <nil>
}

// Shutdown has what waits handled; Abort drops it.
func ExampleRef_Shutdown() {
	a, b, stop := examplePair()
	defer stop()
	ctx := context.Background()
	for _, end := range []func(*mesh.Ref[string]) error{
		func(r *mesh.Ref[string]) error { return r.Shutdown(ctx) },
		func(r *mesh.Ref[string]) error { return r.Abort(ctx) },
	} {
		echo := mesh.At(b, exampleEcho(a).Address())
		monitor, err := echo.Monitor(ctx)
		if err != nil {
			log.Fatal(err)
		}
		if err := end(echo); err != nil {
			log.Fatal(err)
		}
		exit, err := monitor.Exit(ctx)
		fmt.Println(exit.Reason, err)
	}
	// Output:
	// normal <nil>
	// aborted <nil>
}
