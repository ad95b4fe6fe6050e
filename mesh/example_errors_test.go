package mesh_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/pawl-go/pawl/mesh"
)

// It never left: the error says why, whom it was for, and how much is allowed.
func ExampleSendError() {
	_, b, stop := examplePair()
	defer stop()
	x := mesh.At(b, mesh.Address[string]{Node: "a", Name: "x"})
	err := x.TryCast(string(make([]byte, 5<<20)))
	if e, ok := errors.AsType[*mesh.SendError](err); ok && errors.Is(err, mesh.SendTooLarge) {
		fmt.Println(e.Actor, e.Node, e.Size > e.Limit)
	}
	// Output: x a true
}

// It left, and the other node said no; whether it was handled is known.
func ExampleReplyError() {
	_, b, stop := examplePair()
	defer stop()
	_, err := mesh.Call[string](context.Background(), mesh.At(b, mesh.Address[string]{Node: "a", Name: "x"}), "")
	if e, ok := errors.AsType[*mesh.ReplyError](err); ok {
		fmt.Println(e.Code == mesh.ReplyRemote, e.Err)
	}
	if e, ok := errors.AsType[*mesh.RemoteError](err); ok {
		fmt.Println(e.Code == mesh.RemoteNoSuchActor)
	}
	// Output:
	// true no actor holds that name
	// true
}

// A name that leads nowhere.
func ExampleAddressError() {
	_, b, stop := examplePair()
	defer stop()
	_, err := mesh.Resolve[string](context.Background(), b, "a", "x")
	e, ok := errors.AsType[*mesh.AddressError](err)
	fmt.Println(ok && e.Code == mesh.AddressNoSuchActor, e)
	// Output: true resolve x on a: no actor holds that name
}

// An operation says on which side of the wire it failed.
func ExampleOpError() {
	_, b, stop := examplePair()
	defer stop()
	for _, node := range []string{"nobody", "a"} {
		err := mesh.At(b, mesh.Address[string]{Node: node, Name: "x"}).Shutdown(context.Background())
		fmt.Println(errors.Is(err, mesh.OpNotSent), errors.Is(err, mesh.OpReply))
	}
	// Output:
	// true false
	// false true
}
