package wire

import (
	"encoding/binary"
	"math"
	"time"
)

// Message is the body of a cast or a call. Parsed, its slices are parts of the
// frame.
type Message struct {
	Target  []byte // name of the actor
	Type    []byte // name of the message's type
	Call    bool
	ID      uint64        // of a call
	Timeout time.Duration // of a call: what is left of it; 0 is none
	Payload []byte
}

// AppendCast appends a cast up to its payload; FinishMessage completes it.
func AppendCast(dst []byte, target, typ string) []byte {
	dst = begin(dst, Cast)
	return appendName(appendName(dst, target), typ)
}

// AppendCall appends a call up to its payload; FinishMessage completes it.
func AppendCall(dst []byte, target, typ string, id uint64, timeout time.Duration) []byte {
	dst = begin(dst, Call)
	dst = appendName(appendName(dst, target), typ)
	dst = binary.LittleEndian.AppendUint64(dst, id)
	return binary.AppendUvarint(dst, uint64(max(timeout, 0)))
}

// FinishMessage fills in the length of the cast, call or reply that begins at
// start, once the payload has been appended.
func FinishMessage(dst []byte, start int) []byte { return end(dst, start) }

// ParseMessage reads the body of a cast or a call. Of a call that is cut into
// fragments the first one is enough to read all but the payload.
func ParseMessage(k Kind, body []byte) (Message, error) {
	r := reader{b: body}
	m := Message{Target: r.name(), Type: r.name(), Call: k == Call}
	if m.Call {
		m.ID = r.u64()
		t := r.uvarint()
		if t > math.MaxInt64 {
			r.bad = true
		}
		m.Timeout = time.Duration(t)
	}
	m.Payload = r.b
	if r.bad || len(m.Target) == 0 || len(m.Type) == 0 {
		return Message{}, ErrMalformed
	}
	return m, nil
}

// Form says how a reply's payload is encoded.
type Form uint8

// The forms of a reply.
const (
	Coded Form = 0 // by the node's codec, or the type's own if it has a name
	Bytes Form = 1 // a []byte as it is
	Text  Form = 2 // a string as it is
)

// Answer is the body of a reply. Parsed, its slices are parts of the frame.
type Answer struct {
	ID      uint64
	Code    uint8 // 0: a value; else why there is none
	Form    Form
	Type    []byte // name of the value's type, if it has one
	Payload []byte // the value, or a text if Code is not 0
}

// AppendReply appends a reply up to its payload; FinishMessage completes it.
func AppendReply(dst []byte, id uint64, code uint8, form Form, typ string) []byte {
	dst = begin(dst, Reply)
	dst = binary.LittleEndian.AppendUint64(dst, id)
	dst = append(dst, code, byte(form))
	return appendName(dst, typ)
}

// ParseReply reads the body of a reply.
func ParseReply(body []byte) (Answer, error) {
	r := reader{b: body}
	a := Answer{ID: r.u64(), Code: r.u8(), Form: Form(r.u8()), Type: r.name()}
	a.Payload = r.b
	if r.bad || a.Form > Text {
		return Answer{}, ErrMalformed
	}
	return a, nil
}

// appendName appends s, which is at most MaxName long: who accepts a name from
// outside checks that.
func appendName(dst []byte, s string) []byte {
	return append(append(dst, byte(len(s))), s...)
}

// reader takes fields off the front of b. Once bad, it returns zero values.
type reader struct {
	b   []byte
	bad bool
}

func (r *reader) take(n int) []byte {
	if r.bad || len(r.b) < n {
		r.bad = true
		return nil
	}
	p := r.b[:n:n]
	r.b = r.b[n:]
	return p
}

func (r *reader) u8() uint8 {
	if p := r.take(1); p != nil {
		return p[0]
	}
	return 0
}

func (r *reader) u16() uint16 {
	if p := r.take(2); p != nil {
		return binary.LittleEndian.Uint16(p)
	}
	return 0
}

func (r *reader) u64() uint64 {
	if p := r.take(8); p != nil {
		return binary.LittleEndian.Uint64(p)
	}
	return 0
}

func (r *reader) uvarint() uint64 {
	v, n := binary.Uvarint(r.b)
	if r.bad || n <= 0 {
		r.bad = true
		return 0
	}
	r.b = r.b[n:]
	return v
}

func (r *reader) name() []byte { return r.take(int(r.u8())) }
