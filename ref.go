package pawl

import (
	"context"
	"reflect"
	"sync"

	"github.com/pawl-go/pawl/engine"
)

// Ref names an actor: a type and an id. It is a plain value that can be
// compared, sent and kept. A is the Go type by whose methods it is called: that
// of the implementation (*Account), or an interface with some of its methods,
// for callers that do not import the implementation ([Kind]). Every byte string
// is legal in both parts; a type name has at most 128 bytes, an id 1 KiB.
type Ref[A any] struct {
	Type string `json:"type"`
	ID   string `json:"id"`
}

// Actor names an actor of the type A, a registered one: its name is what its
// method ActorType() string returns, or else its name in Go.
func Actor[A any](id string) Ref[A] {
	return Ref[A]{Type: typeName(reflect.TypeFor[A]()), ID: id}
}

// Self is the actor on which the method with this ctx runs; a is the method's
// receiver and gives the reference its type. It panics with ErrNotInMethod
// outside of methods.
func Self[A any](ctx context.Context, _ A) Ref[A] {
	self := inMethod(ctx, "Self").Self()
	return Ref[A]{Type: self.Type, ID: self.ID}
}

// String gives "Type/ID", for messages; it is not parsed.
func (r Ref[A]) String() string { return r.actor().String() }

// IsZero reports whether r names nothing.
func (r Ref[A]) IsZero() bool { return r.Type == "" && r.ID == "" }

func (r Ref[A]) actor() engine.Actor { return engine.Actor{Type: r.Type, ID: r.ID} }

// Kind is an actor type by its name, called by the methods of the contract A:
//
//	const Rooms pawl.Kind[RoomAPI] = "Room"
//	pawl.Call(ctx, Rooms.Actor("lobby"), RoomAPI.Join, Guest{"Ada"})
type Kind[A any] string

// Actor names an actor of the kind.
func (k Kind[A]) Actor(id string) Ref[A] { return Ref[A]{Type: string(k), ID: id} }

// typeNames caches typeName by the Go type.
var typeNames sync.Map // reflect.Type -> string

// typeName is the name of an actor type: ActorType(), or its name in Go.
func typeName(t reflect.Type) string {
	if name, ok := typeNames.Load(t); ok {
		return name.(string)
	}
	name := nameType(t)
	typeNames.Store(t, name)
	return name
}

func nameType(t reflect.Type) string {
	base := t
	if t.Kind() == reflect.Pointer {
		base = t.Elem()
	}
	if base.Kind() != reflect.Interface {
		// A zero actor: ActorType must not depend on its receiver.
		if named, ok := reflect.TypeAssert[interface{ ActorType() string }](reflect.New(base)); ok {
			return named.ActorType()
		}
	}
	return base.Name()
}
