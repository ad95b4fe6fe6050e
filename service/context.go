package service

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"runtime/debug"
	"sync"
	"time"
)

// Context is what a handler has besides its message and its state. It is good
// until the method returns and belongs to its goroutine.
type Context struct {
	ctx   context.Context
	self  reflect.Value
	codec Codec
	names *typeNames

	in        frame // the message
	cause     Hop
	replaying bool

	out     frame // of what is sent; the fields that depend on the cause are set
	arena   []byte
	ends    []int    // of the messages in the arena; those of one input follow each other
	scratch [][]byte // of entries
	sent    int      // for this input
	mute    bool     // there is no output queue
	broken  error    // of a Send that failed: the handler fails, whether it looks or not
}

// Context ends when the service does. Handlers that only compute do not need it.
func (c *Context) Context() context.Context { return c.ctx }

// Time is when the message was published, or the message that it comes from over
// all services: the only clock a handler has. It is zero if the publisher did not
// say.
func (c *Context) Time() time.Time {
	if c.in.time == 0 {
		return time.Time{}
	}
	return time.Unix(0, c.in.time).UTC()
}

// Replaying says that the input was dealt with before this start, and is handled
// again for the sake of the state. It is for effects outside, which must not come
// twice; the state, and what is sent, must not depend on it.
func (c *Context) Replaying() bool { return c.replaying }

// Input is where the message stands.
func (c *Context) Input() Hop { return c.cause }

// History is where the message comes from, newest first: Input, then what caused
// that, and so on. Do not change it; it is good until the method returns.
func (c *Context) History() []Hop { return c.out.history }

// Send puts a message on the output queue, if the method returns nil: all that it
// sends, or nothing. The order is that of the calls. It fails on what the codec
// refuses, and without an output queue; then the method fails too.
func (c *Context) Send(msg any) error {
	if err := c.send(msg); err != nil {
		c.broken = errors.Join(c.broken, err)
		return err
	}
	return nil
}

func (c *Context) send(msg any) error {
	if c.mute {
		return fmt.Errorf("send %T: the service has no output queue", msg)
	}
	c.out.ordinal = uint64(c.sent)
	if c.sent > 0 {
		c.out.flags = 0
	}
	start := len(c.arena)
	var err error
	if c.arena, err = appendMessage(c.arena, &c.out, msg, c.codec, c.names); err != nil {
		c.arena = c.arena[:start]
		return fmt.Errorf("send %T: %w", msg, err)
	}
	c.ends = append(c.ends, len(c.arena))
	c.sent++
	return nil
}

// appendMessage writes a frame with a message in it.
func appendMessage(b []byte, f *frame, msg any, codec Codec, names *typeNames) ([]byte, error) {
	if o, ok := msg.(Opaque); ok {
		if o.Type == "" {
			return b, errors.New("it has no Type")
		}
		f.typ = append(f.typ[:0], o.Type...)
		return append(f.append(b), o.Payload...), nil
	}
	typ, err := names.of(msg)
	if err != nil {
		return b, err
	}
	f.typ = append(f.typ[:0], typ...)
	return codec.Append(f.append(b), msg)
}

// typeNames keeps what typeName has said.
type typeNames struct{ known sync.Map } // reflect.Type -> string

func (n *typeNames) of(msg any) (string, error) {
	t := reflect.TypeOf(msg)
	if t == nil {
		return "", errors.New("nil is no message")
	}
	if name, ok := n.known.Load(t); ok {
		return name.(string), nil
	}
	elem := t
	if t.Kind() == reflect.Pointer {
		elem = t.Elem()
	}
	name, err := typeName(elem)
	if err == nil {
		n.known.Store(t, name)
	}
	return name, err
}

// begin makes the context that of an input.
func (c *Context) begin(cause Hop) {
	c.cause, c.sent, c.broken = cause, 0, nil
	c.out.time = c.in.time
	h := append(c.out.history[:0], cause)
	c.out.history = append(h, c.in.history[:min(len(c.in.history), MaxHops-1)]...)
	c.out.reason = nil
}

// mark is a place in the arena to which it can be cut back.
type mark struct{ bytes, messages int }

func (c *Context) mark() mark { return mark{len(c.arena), len(c.ends)} }

func (c *Context) cutTo(m mark) {
	c.arena, c.ends, c.sent = c.arena[:m.bytes], c.ends[:m.messages], 0
}

// put ends a frame in the arena with its payload.
func (c *Context) put(payload []byte) {
	c.arena = append(c.out.append(c.arena), payload...)
	c.ends = append(c.ends, len(c.arena))
}

// entries gives the entries between two marks; they are good until the arena
// grows, or the next call.
func (c *Context) entries(from, to mark) [][]byte {
	ps := c.scratch[:0]
	at := from.bytes
	for _, end := range c.ends[from.messages:to.messages] {
		ps = append(ps, c.arena[at:end:end])
		at = end
	}
	c.scratch = ps
	return ps
}

// panicked is the error of a handler that has panicked with v.
func panicked(v any) error { return &PanicError{Value: v, Stack: debug.Stack()} }
