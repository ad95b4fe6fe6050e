// Package wire is what a component and the server of its engine say to each
// other: frames, and the messages in them.
//
// A connection begins with [Preface], from the component. Then each side sends
// frames: a header of 21 bytes and a body, which is one message in CBOR.
//
//	length  4 bytes, big endian: of the body
//	kind    1 byte
//	seq     8 bytes: the number of the frame in its session, from 1; 0: not numbered
//	ack     8 bytes: the newest numbered frame that the sender has taken
//
// The first frame of each side is a [Hello] and a [Welcome] or [Refusal].
// Numbered frames outlive a connection: what was not acknowledged is sent again
// over the next one, and taken once.
package wire

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// Preface begins a connection. No HTTP request begins so, so that both can
// share a port.
const Preface = "\x00pawl\x01"

// Version is that of the messages. Both sides must have the same.
const Version = 1

// The limits of a body, in bytes: before and after the handshake.
const (
	HelloLimit = 1 << 20
	BodyLimit  = 64 << 20
)

// Kind says which message a frame holds.
type Kind uint8

// The kinds of frames. Those from Call on are numbered.
const (
	KindHello   Kind = 1 // component: Hello
	KindWelcome Kind = 2 // server: Welcome
	KindRefusal Kind = 3 // server: Refusal; the connection ends
	KindBeat    Kind = 4 // both: empty; carries an ack, and says that its sender lives
	KindFenced  Kind = 5 // server: Fenced; the session has ended
	KindCall    Kind = 6 // component: Call
	KindReply   Kind = 7 // server: Reply
	KindEvent   Kind = 8 // server: Event
	KindTrace   Kind = 9 // component: Trace
)

// ErrMalformed matches the error of a frame that breaks the rules.
var ErrMalformed = errors.New("malformed frame")

// Frame is a frame as it was read.
type Frame struct {
	Kind     Kind
	Seq, Ack uint64
	Body     []byte
}

const headerBytes = 21

// Append appends a frame to b.
func Append(b []byte, f Frame) []byte {
	b = binary.BigEndian.AppendUint32(b, uint32(len(f.Body)))
	b = append(b, byte(f.Kind))
	b = binary.BigEndian.AppendUint64(b, f.Seq)
	b = binary.BigEndian.AppendUint64(b, f.Ack)
	return append(b, f.Body...)
}

// Read reads a frame whose body has at most limit bytes. Memory is taken as
// the body comes, not as its length says. An end before the first byte is
// io.EOF.
func Read(r io.Reader, limit int) (Frame, error) {
	var h [headerBytes]byte
	if _, err := io.ReadFull(r, h[:]); err != nil {
		return Frame{}, err
	}
	f := Frame{Kind: Kind(h[4]), Seq: binary.BigEndian.Uint64(h[5:]), Ack: binary.BigEndian.Uint64(h[13:])}
	n := binary.BigEndian.Uint32(h[:])
	switch {
	case f.Kind < KindHello || f.Kind > KindTrace:
		return Frame{}, fmt.Errorf("%w: kind %d", ErrMalformed, f.Kind)
	case int64(n) > int64(limit):
		return Frame{}, fmt.Errorf("%w: a body of %d bytes, the limit is %d", ErrMalformed, n, limit)
	case (f.Seq != 0) != (f.Kind >= KindCall):
		return Frame{}, fmt.Errorf("%w: number %d on a frame of kind %d", ErrMalformed, f.Seq, f.Kind)
	}
	const chunk = 256 << 10
	for len(f.Body) < int(n) {
		from := len(f.Body)
		f.Body = append(f.Body, make([]byte, min(chunk, int(n)-from))...)
		if _, err := io.ReadFull(r, f.Body[from:]); err != nil {
			return Frame{}, io.ErrUnexpectedEOF
		}
	}
	return f, nil
}
