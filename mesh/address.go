package mesh

import (
	"context"
	"errors"
	"reflect"
	"sync/atomic"
	"time"
)

// Address names an actor that takes messages of type M. It is a plain value: it can
// be compared, kept, and sent in a message, and used on any node through [At]. It is
// resolved by name at each message, so it reaches whichever actor has the name
// then; a restarted one by old addresses.
type Address[M any] struct {
	Node string // the node's name
	Name string // the actor's
}

// Any forgets the type.
func (a Address[M]) Any() AnyAddress { return AnyAddress(a) }

// AnyAddress names an actor, whatever its messages.
type AnyAddress struct {
	Node string
	Name string
}

func (a AnyAddress) String() string { return a.Name + "@" + a.Node }

// Ref is an address bound to the node that uses it: through it messages and
// operations are sent. It costs one lookup to make and may be kept for ever; it is
// safe for concurrent use.
type Ref[M any] struct {
	addr    Address[M]
	node    *Node
	timeout time.Duration // of calls; 0: none
	hash    uint32        // of the actor's name: picks the lane
	types   *messageOf[M] // nil: M is an interface, or not registered
	cell    *cell[M]      // the actor, if it was on this node and takes just M
	peer    *peer         // the node, if it was known; of use while it has a link
	large   atomic.Int32  // messages more to another node of which one may be large
}

// At binds an address to the node it is used on. It sends and checks nothing; see
// [Resolve].
func At[M any](n *Node, a Address[M]) *Ref[M] {
	r := &Ref[M]{addr: a, node: n, hash: hashName(a.Name)}
	r.types, _ = n.types.byType[reflect.TypeFor[M]()].(*messageOf[M])
	if r.isLocal() {
		r.cell, _ = n.actors.find(a.Name).(*cell[M])
		return r
	}
	r.timeout = n.cfg.CallTimeout
	if p, ok := n.peers.Load(a.Node); ok {
		r.peer = p.(*peer)
	}
	return r
}

// hashName is FNV-1a.
func hashName(s string) uint32 {
	h := uint32(2166136261)
	for i := range len(s) {
		h = (h ^ uint32(s[i])) * 16777619
	}
	return h
}

// Address returns the address, to be kept or sent.
func (r *Ref[M]) Address() Address[M] { return r.addr }

// WithTimeout returns a reference whose calls end after d, on whatever node the
// actor is; 0 is never. A call's own [Timeout] comes before it.
func (r *Ref[M]) WithTimeout(d time.Duration) *Ref[M] {
	with := At(r.node, r.addr)
	with.timeout = max(d, 0)
	return with
}

func (r *Ref[M]) isLocal() bool { return r.addr.Node == r.node.id }

// Resolve finds the actor with a name on a node, and checks that it takes messages
// of type M; of an interface, all registered types that implement it. It fails
// with an [AddressError].
func Resolve[M any](ctx context.Context, n *Node, node, name string) (*Ref[M], error) {
	r := At(n, Address[M]{node, name})
	if r.isLocal() {
		a := n.actors.find(name)
		if a == nil {
			return nil, &AddressError{Code: AddressNoSuchActor, Node: node, Actor: name}
		}
		if !a.accepts(reflect.TypeFor[M]()) && !acceptsAll(a, n.types.implementing(reflect.TypeFor[M]())) {
			return nil, &AddressError{Code: AddressTypeMismatch, Node: node, Actor: name}
		}
		return r, nil
	}
	var names []string
	for _, t := range n.types.implementing(reflect.TypeFor[M]()) {
		names = append(names, t.Name())
	}
	_, err := n.operate(ctx, r.addr.Any(), opResolve, appendNames(nil, names))
	code := AddressRemote
	switch {
	case err == nil:
		return r, nil
	case errors.Is(err, RemoteNoSuchActor):
		code, err = AddressNoSuchActor, nil
	case errors.Is(err, RemoteNotAccepted), errors.Is(err, RemoteUnknownMessage):
		code, err = AddressTypeMismatch, nil
	}
	return nil, &AddressError{Code: code, Node: node, Actor: name, Err: err}
}

// implementing returns the registered types that can be sent as a t.
func (r *registry) implementing(t reflect.Type) []messageType {
	if m := r.byType[t]; m != nil {
		return []messageType{m}
	}
	var all []messageType
	if t.Kind() == reflect.Interface {
		for typ, m := range r.byType {
			if typ.Implements(t) {
				all = append(all, m)
			}
		}
	}
	return all
}

// acceptsAll reports whether an actor takes each of some types; of none, no.
func acceptsAll(a anyActor, types []messageType) bool {
	for _, t := range types {
		if !a.accepts(t.Type()) {
			return false
		}
	}
	return len(types) > 0
}
