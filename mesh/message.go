package mesh

import (
	"fmt"
	"reflect"

	"github.com/pawl-go/pawl/mesh/internal/wire"
)

// MessageType registers a type of messages or replies under a stable name; see
// [Message] and [BinaryMessage]. It goes into Config.Messages.
type MessageType struct {
	name string
	typ  reflect.Type
	bind func(Codec) messageType
}

// Message registers M under name, encoded by the node's codec; []byte and string go
// as they are. Both nodes need the same name for it; the name is at
// most 255 bytes. M is a concrete type: an interface is no message, its
// implementations are.
func Message[M any](name string) MessageType {
	return MessageType{name, reflect.TypeFor[M](), func(c Codec) messageType {
		t := &messageOf[M]{name: name}
		switch t := any(t).(type) {
		case *messageOf[[]byte]:
			t.append = func(dst, m []byte) ([]byte, error) { return append(dst, m...), nil }
			t.parse = func(b []byte) ([]byte, error) {
				m := make([]byte, len(b))
				copy(m, b)
				return m, nil
			}
			t.adopt = func(b []byte) ([]byte, error) { return b, nil }
		case *messageOf[string]:
			t.append = func(dst []byte, m string) ([]byte, error) { return append(dst, m...), nil }
			t.parse = func(b []byte) (string, error) { return string(b), nil }
		}
		if t.append == nil {
			t.append = func(dst []byte, m M) ([]byte, error) { return c.Append(dst, m) }
			t.parse = func(b []byte) (m M, err error) { err = c.Decode(b, &m); return m, err }
		}
		return t
	}}
}

// BinaryMessage registers M under name with functions of its own instead of the
// codec: appendTo appends m to dst and returns it; parse reads what appendTo
// wrote, and must not keep data. Nothing is allocated for them, so this is the
// fast way.
func BinaryMessage[M any](name string, appendTo func(dst []byte, m M) ([]byte, error), parse func(data []byte) (M, error)) MessageType {
	return MessageType{name, reflect.TypeFor[M](), func(Codec) messageType {
		return &messageOf[M]{name: name, append: appendTo, parse: parse}
	}}
}

// messageType is a registered type whose Go type is not known at compile time.
type messageType interface {
	Name() string
	Type() reflect.Type
	appendAny(dst []byte, m any) ([]byte, error)
	parseAny(b []byte) (any, error)
}

// messageOf is a registered type.
type messageOf[M any] struct {
	name   string
	append func(dst []byte, m M) ([]byte, error)
	parse  func(b []byte) (M, error)
	adopt  func(b []byte) (M, error) // parse, if b is nobody else's; nil: no better
}

func (t *messageOf[M]) Name() string       { return t.name }
func (t *messageOf[M]) Type() reflect.Type { return reflect.TypeFor[M]() }

func (t *messageOf[M]) appendAny(dst []byte, m any) ([]byte, error) { return t.append(dst, m.(M)) }
func (t *messageOf[M]) parseAny(b []byte) (any, error)              { return t.parse(b) }

// registry is what a node knows of types. It does not change after Start.
type registry struct {
	codec  Codec
	byName map[string]messageType
	byType map[reflect.Type]messageType
}

func newRegistry(codec Codec, types []MessageType) (*registry, error) {
	r := &registry{codec, map[string]messageType{}, map[reflect.Type]messageType{}}
	for _, t := range types {
		switch {
		case t.bind == nil:
			return nil, fmt.Errorf("register message: the zero MessageType; use Message or BinaryMessage")
		case t.name == "" || len(t.name) > wire.MaxName:
			return nil, fmt.Errorf("register message %v: a name has 1 to %d bytes, not %d", t.typ, wire.MaxName, len(t.name))
		case t.typ.Kind() == reflect.Interface:
			return nil, fmt.Errorf("register message %q: %v is an interface; register the types that implement it", t.name, t.typ)
		}
		if other := r.byName[t.name]; other != nil {
			return nil, fmt.Errorf("register message %q: %v and %v have the same name", t.name, other.Type(), t.typ)
		}
		if other := r.byType[t.typ]; other != nil {
			return nil, fmt.Errorf("register message %v: it has two names, %q and %q", t.typ, other.Name(), t.name)
		}
		m := t.bind(codec)
		r.byName[t.name], r.byType[t.typ] = m, m
	}
	return r, nil
}

// replyForm says in which form a reply's value travels, and of which type it is.
func (r *registry) replyForm(v any) (form wire.Form, typ messageType) {
	switch v.(type) {
	case []byte:
		return wire.Bytes, nil
	case string:
		return wire.Text, nil
	}
	return wire.Coded, r.byType[reflect.TypeOf(v)]
}

// appendReply appends a reply's value, in its form.
func (r *registry) appendReply(dst []byte, v any, typ messageType) ([]byte, error) {
	switch v := v.(type) {
	case nil:
		return dst, nil
	case []byte:
		return append(dst, v...), nil
	case string:
		return append(dst, v...), nil
	}
	if typ != nil {
		return typ.appendAny(dst, v)
	}
	return r.codec.Append(dst, v)
}

// decodeReply reads a reply's value as R.
func decodeReply[R any](r *registry, form wire.Form, typ string, payload []byte) (out R, err error) {
	switch {
	case form == wire.Bytes:
		if b, ok := any(&out).(*[]byte); ok {
			*b = payload
			return out, nil
		}
		return replyAs[R](payload)
	case form == wire.Text:
		return replyAs[R](string(payload))
	case typ != "":
		t := r.byName[typ]
		if t == nil {
			return out, fmt.Errorf("a reply of type %q, which is not registered on this node", typ)
		}
		v, err := t.parseAny(payload)
		if err != nil {
			return out, err
		}
		return replyAs[R](v)
	case len(payload) == 0:
		return out, nil // nil
	}
	if t := r.byType[reflect.TypeFor[R]()]; t != nil {
		return out, fmt.Errorf("a reply of no registered type, want %q", t.Name())
	}
	err = r.codec.Decode(payload, &out)
	return out, err
}

// replyAs is for a value that is a Go value already.
func replyAs[R any](v any) (out R, err error) {
	if v == nil {
		return out, nil
	}
	out, ok := v.(R)
	if !ok {
		return out, fmt.Errorf("a reply of type %T, want %v", v, reflect.TypeFor[R]())
	}
	return out, nil
}
