package wire

import (
	"encoding/binary"
	"errors"
)

// Kind says what a frame is.
type Kind uint8

// The kinds. Those below 16 travel in lanes, reply in both.
const (
	Cast     Kind = 1
	Call     Kind = 2
	Reply    Kind = 3
	Fragment Kind = 4
	Fin      Kind = 5

	Ready     Kind = 16
	Heartbeat Kind = 17
	Op        Kind = 18
	Notice    Kind = 19
	Refused   Kind = 20
	Goodbye   Kind = 21
	GoodbyeOK Kind = 22
	Parted    Kind = 23
)

// Sizes in bytes.
const (
	lengthSize = 4
	HeaderSize = lengthSize + 1 // of each frame: its length and its kind
	MaxName    = 255            // of a name of a node, an actor or a type

	// FragmentSize is the most of a large frame that one fragment carries, and
	// the size from which a frame is cut. It is what a small message can be late by.
	FragmentSize = 16 << 10
	fragmentHead = 8

	// MaxFrame bounds the length in front of a frame: nothing larger goes in one piece.
	MaxFrame = FragmentSize + fragmentHead + 1
)

// ErrMalformed says that the body of a frame is not what its kind says.
var ErrMalformed = errors.New("malformed frame")

// ErrBadLength says that the length in front of a frame is out of bounds, so the next
// frame cannot be found.
var ErrBadLength = errors.New("length of a frame out of bounds")

// begin appends a header whose length is filled in by end.
func begin(dst []byte, k Kind) []byte {
	return append(dst, 0, 0, 0, 0, byte(k))
}

// end fills in the length of the frame that begins at start.
func end(dst []byte, start int) []byte {
	binary.LittleEndian.PutUint32(dst[start:], uint32(len(dst)-start-lengthSize))
	return dst
}

// AppendEmpty appends a frame without a body.
func AppendEmpty(dst []byte, k Kind) []byte {
	return end(begin(dst, k), len(dst))
}

// Next cuts the first frame off buf: its kind, its body and the number of bytes
// it takes. n is 0 while the frame is incomplete. The body is a part of buf.
func Next(buf []byte) (k Kind, body []byte, n int, err error) {
	if len(buf) < HeaderSize {
		return 0, nil, 0, nil
	}
	length := int(binary.LittleEndian.Uint32(buf))
	if length < 1 || length > MaxFrame {
		return 0, nil, 0, ErrBadLength
	}
	n = lengthSize + length
	if len(buf) < n {
		return 0, nil, 0, nil
	}
	return Kind(buf[lengthSize]), buf[HeaderSize:n], n, nil
}

// Need returns how many bytes the frame at the start of buf takes, or 0 if that
// cannot be told yet.
func Need(buf []byte) int {
	if len(buf) < HeaderSize {
		return 0
	}
	return lengthSize + int(min(binary.LittleEndian.Uint32(buf), MaxFrame))
}

// Piece is the body of a fragment. Bytes is a part of the frame's body.
type Piece struct {
	Stream uint32 // tells apart the large frames under way in one lane
	Total  int    // length of the whole, kind included, length field not
	Bytes  []byte
}

// AppendFragment appends a fragment of a frame that is total bytes long.
func AppendFragment(dst []byte, stream uint32, total int, piece []byte) []byte {
	start := len(dst)
	dst = begin(dst, Fragment)
	dst = binary.LittleEndian.AppendUint32(dst, stream)
	dst = binary.LittleEndian.AppendUint32(dst, uint32(total))
	return end(append(dst, piece...), start)
}

// ParseFragment reads the body of a fragment.
func ParseFragment(body []byte) (Piece, error) {
	if len(body) <= fragmentHead {
		return Piece{}, ErrMalformed
	}
	return Piece{
		Stream: binary.LittleEndian.Uint32(body),
		Total:  int(binary.LittleEndian.Uint32(body[4:])),
		Bytes:  body[fragmentHead:],
	}, nil
}
