package service

import (
	"fmt"
	"reflect"
	"slices"
)

// Handler is a value whose methods take messages, ready for a service.
type Handler struct {
	name        string // of its Go type
	methods     map[string]*method
	opaque      func(*Context, Opaque) error // nil: none
	snapshotter Snapshotter                  // nil: none
}

// Snapshotter is implemented by handlers whose state can be written down. Both
// are called between two messages.
type Snapshotter interface {
	// Snapshot gives the whole state. The service does not keep the slice beyond
	// the next message.
	Snapshot() ([]byte, error)
	// Restore replaces the state, on a new handler, by that of Snapshot.
	Restore(state []byte) error
}

// method is one that takes a type.
type method struct {
	name    string
	fn      reflect.Value
	arg     reflect.Type // without the pointer
	pointer bool
}

var (
	contextType = reflect.TypeFor[*Context]()
	opaqueType  = reflect.TypeFor[Opaque]()
	errorType   = reflect.TypeFor[error]()
)

// Handle finds the methods of v that take messages: those of the form
//
//	func (h *Pricing) Order(c *service.Context, o Order) error
//
// The type of a message is the name of its Go type, without package and pointer,
// unless it is Typed. One method takes a type. A method that takes an Opaque gets
// what no other one takes. The error is a *ConfigError: a method whose first
// parameter is a *Context and that is not of the form, two for one type, or none
// at all.
func Handle(v any) (*Handler, error) {
	t := reflect.TypeOf(v)
	if t == nil {
		return nil, &ConfigError{"Handle", "needs a value with methods, not nil"}
	}
	h := &Handler{name: t.String(), methods: map[string]*method{}}
	h.snapshotter, _ = v.(Snapshotter)
	for k := range t.NumMethod() {
		if err := h.add(t.Method(k).Name, reflect.ValueOf(v).Method(k)); err != nil {
			return nil, err
		}
	}
	if len(h.methods) == 0 && h.opaque == nil {
		return nil, &ConfigError{h.name, "has no method of the form func(*service.Context, Message) error; is it a pointer?"}
	}
	return h, nil
}

// Types lists the types that methods take, in order; Opaque is not among them.
func (h *Handler) Types() []string {
	var ts []string
	for t := range h.methods {
		ts = append(ts, t)
	}
	slices.Sort(ts)
	return ts
}

func (h *Handler) add(name string, fn reflect.Value) error {
	t := fn.Type()
	if t.NumIn() == 0 || t.In(0) != contextType {
		return nil
	}
	bad := func(format string, a ...any) error {
		return &ConfigError{h.name + "." + name, fmt.Sprintf(format, a...)}
	}
	if t.NumIn() != 2 || t.NumOut() != 1 || t.Out(0) != errorType || t.IsVariadic() {
		return bad("takes a *Context, so it must be of the form func(*service.Context, Message) error; it is %s", t)
	}
	arg := t.In(1)
	if arg == opaqueType {
		if h.opaque != nil {
			return bad("is the second method that takes an Opaque")
		}
		h.opaque = fn.Interface().(func(*Context, Opaque) error)
		return nil
	}
	m := &method{name: name, fn: fn, arg: arg}
	if arg.Kind() == reflect.Pointer {
		m.arg, m.pointer = arg.Elem(), true
	}
	typ, err := typeName(m.arg)
	if err != nil {
		return bad("%v", err)
	}
	if other := h.methods[typ]; other != nil {
		return bad("takes type %q, which method %s takes", typ, other.name)
	}
	h.methods[typ] = m
	return nil
}

// typeName is the type of the messages that are of a Go type.
func typeName(t reflect.Type) (string, error) {
	name := t.Name()
	if v, ok := reflect.TypeAssert[Typed](reflect.New(t)); ok {
		name = v.MessageType()
	}
	switch {
	case t.Kind() == reflect.Interface || t.Kind() == reflect.Func || t.Kind() == reflect.Chan:
		return "", fmt.Errorf("a %s is no message", t)
	case name == "":
		return "", fmt.Errorf("type %s has no name: name it, or give it a MessageType method", t)
	}
	return name, nil
}

// call runs the handler on the input of the context. A panic is an error, and so
// is a Send that failed, whether the method has looked or not.
func (h *Handler) call(c *Context, skipUnknown bool) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = panicked(v)
		}
	}()
	m := h.methods[string(c.in.typ)]
	switch {
	case m != nil:
		err = m.call(c)
	case h.opaque != nil:
		err = h.opaque(c, Opaque{Type: string(c.in.typ), Payload: c.in.payload})
	case !skipUnknown:
		err = &UnknownTypeError{string(c.in.typ)}
	}
	if err == nil {
		err = c.broken
	}
	return err
}

func (m *method) call(c *Context) error {
	arg := reflect.New(m.arg)
	if err := c.codec.Decode(c.in.payload, arg.Interface()); err != nil {
		return fmt.Errorf("decode: %w", err)
	}
	if !m.pointer {
		arg = arg.Elem()
	}
	err, _ := reflect.TypeAssert[error](m.fn.Call([]reflect.Value{c.self, arg})[0])
	return err
}
