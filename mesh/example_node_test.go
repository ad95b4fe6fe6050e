package mesh_test

import (
	"context"
	"fmt"
	"log"

	"github.com/pawl-go/pawl/mesh"
)

// A node that leaves has its actors finish, and is seen to leave and not to fail.
func ExampleNode_Leave() {
	a, b, stop := examplePair()
	defer stop()
	ctx := context.Background()
	changes := a.Subscribe()
	defer changes.Close()
	fmt.Println(b.Leave(ctx), b.State())
	e, err := changes.Next(ctx)
	fmt.Println(e.Member.ID, e.Kind, err)
	// Output:
	// <nil> defunct
	// b left <nil>
}

// This node comes first, the others by name.
func ExampleNode_Members() {
	a, _, stop := examplePair()
	defer stop()
	for _, m := range a.Members() {
		fmt.Println(m.ID, m.Reachable)
	}
	// Output:
	// a true
	// b true
}

// With an empty name it is the node itself that answers. An actor that is looked at by
// name needs no type.
func ExampleNode_Ping() {
	a, b, stop := examplePair()
	defer stop()
	exampleEcho(a)
	ctx := context.Background()
	took, err := b.Ping(ctx, mesh.AnyAddress{Node: "a"})
	fmt.Println(took > 0, err)
	info, err := b.ActorStatus(ctx, mesh.AnyAddress{Node: "a", Name: "echo"})
	fmt.Println(info.Status, err)
	fmt.Println(b.ShutdownActor(ctx, mesh.AnyAddress{Node: "a", Name: "echo"}))
	// Output:
	// true <nil>
	// running <nil>
	// <nil>
}

// A monitor by name, for whoever does not know what the actor takes.
func ExampleNode_Monitor() {
	a, b, stop := examplePair()
	defer stop()
	echo := exampleEcho(a)
	ctx := context.Background()
	monitor, err := b.Monitor(ctx, echo.Address().Any())
	if err != nil {
		log.Fatal(err)
	}
	defer monitor.Stop() // it does nothing once the monitor has ended
	if err := echo.Shutdown(ctx); err != nil {
		log.Fatal(err)
	}
	<-monitor.Done()
	exit, err := monitor.Exit(ctx)
	fmt.Println(exit.Reason, err)
	// Output: normal <nil>
}
