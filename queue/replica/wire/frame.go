package wire

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
)

// Type says what a frame is.
type Type uint8

// The types of frames.
const (
	Hello Type = iota + 1
	Proof
	Refuse
	Heartbeat
	Message
	Election // of package elect
	Status   // how a queue stands: asked or told
	Update
	typeEnd
)

// String is the name of the type.
func (t Type) String() string {
	if t == 0 || t >= typeEnd {
		return fmt.Sprintf("frame %d", uint8(t))
	}
	return [...]string{"", "Hello", "Proof", "Refuse", "Heartbeat", "Message", "Election", "Status", "Update"}[t]
}

const (
	headerBytes = 12
	// UpdateHeader is what lies before the body of an Update.
	UpdateHeader = headerBytes + 4
	// MaxBody bounds the body of a frame: the largest entry of a queue, and room
	// for the message around it.
	MaxBody = 1<<28 + 1<<16
	// MaxHello bounds the body of a frame before both sides have proved who they
	// are: room for a Hello with a few thousand queues.
	MaxHello = 1 << 20
	// readStep is how much is allocated for a body before its bytes are there.
	readStep = 1 << 20
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// ErrFrame is wrapped by the errors of what is no frame. The connection is of no
// use any more.
var ErrFrame = errors.New("bad frame")

// Frame is one frame. Body and Blocks are good until the next call of Reader.Next.
type Frame struct {
	Type   Type
	Queue  uint16
	Body   []byte
	Blocks []byte // of an Update, behind Body: nobody has checked them
}

// Begin appends room for the header of a frame to b. Append the body behind it,
// then call End with what Begin was given the length of:
//
//	start := len(b)
//	b = wire.Begin(b)
//	b = m.AppendTo(b)
//	b, err = wire.End(b, start, wire.Message, queue)
func Begin(b []byte) []byte { return append(b, make([]byte, headerBytes)...) }

// End fills in the header of the frame that begins at start. The error matches
// ErrFrame when the body is longer than MaxBody.
func End(b []byte, start int, t Type, queue uint16) ([]byte, error) {
	h, body := b[start:start+headerBytes], b[start+headerBytes:]
	if err := putHeader(h, len(body), t, queue); err != nil {
		return b[:start], err
	}
	binary.LittleEndian.PutUint32(h[8:], checkOf(h, body))
	return b, nil
}

// putHeader writes all of a header but the check.
func putHeader(h []byte, length int, t Type, queue uint16) error {
	if length > MaxBody {
		return fmt.Errorf("write %v: %w: %d bytes, the limit is %d", t, ErrFrame, length, MaxBody)
	}
	binary.LittleEndian.PutUint32(h, uint32(length))
	h[4], h[5] = byte(t), 0
	binary.LittleEndian.PutUint16(h[6:], queue)
	return nil
}

// BeginUpdate is Begin for an Update: append its body and its blocks, and call
// EndUpdate.
func BeginUpdate(b []byte) []byte { return append(b, make([]byte, UpdateHeader)...) }

// EndUpdate is End for an Update of which the last bytes are blocks, so many.
func EndUpdate(b []byte, start, blocks int, queue uint16) ([]byte, error) {
	h := b[start : start+headerBytes]
	if err := putHeader(h, len(b)-start-headerBytes, Update, queue); err != nil {
		return b[:start], err
	}
	binary.LittleEndian.PutUint32(b[start+headerBytes:], uint32(blocks))
	binary.LittleEndian.PutUint32(h[8:], checkOf(h, b[start+headerBytes:len(b)-blocks]))
	return b, nil
}

// Append appends a whole frame to b; the body must not be longer than MaxBody.
func Append(b []byte, f Frame) ([]byte, error) {
	start := len(b)
	return End(append(Begin(b), f.Body...), start, f.Type, f.Queue)
}

func checkOf(h, body []byte) uint32 {
	return crc32.Update(crc32.Checksum(h[:8], castagnoli), castagnoli, body)
}

// Reader reads frames. It belongs to one goroutine.
type Reader struct {
	r      io.Reader
	max    int
	header [headerBytes]byte
	body   []byte
}

// NewReader makes a reader that takes bodies up to MaxHello, until Trust.
func NewReader(r io.Reader) *Reader { return &Reader{r: r, max: MaxHello} }

// Trust lets bodies up to MaxBody in, once the peer has proved who it is.
func (r *Reader) Trust() { r.max = MaxBody }

// Next reads a frame. It returns io.EOF at the end of the stream, and
// io.ErrUnexpectedEOF when that cuts a frame; a frame that is not right is an
// error that matches ErrFrame. Memory is taken as bytes come in, not by the length
// that a header claims.
func (r *Reader) Next() (Frame, error) {
	h := r.header[:]
	if _, err := io.ReadFull(r.r, h); err != nil {
		return Frame{}, err
	}
	length := int64(binary.LittleEndian.Uint32(h))
	f := Frame{Type: Type(h[4]), Queue: binary.LittleEndian.Uint16(h[6:])}
	switch {
	case f.Type == 0 || f.Type >= typeEnd || h[5] != 0:
		return Frame{}, fmt.Errorf("read frame: %w: type %d: no host of this version", ErrFrame, h[4])
	case length > int64(r.max):
		return Frame{}, fmt.Errorf("read %v: %w: %d bytes, the limit is %d", f.Type, ErrFrame, length, r.max)
	}
	if err := r.readBody(int(length)); err != nil {
		return Frame{}, err
	}
	checked, skip := r.body, 0
	if f.Type == Update {
		skip = UpdateHeader - headerBytes
		if len(r.body) < skip {
			return Frame{}, fmt.Errorf("read %v: %w: it is cut", f.Type, ErrFrame)
		}
		blocks := binary.LittleEndian.Uint32(r.body)
		if uint64(blocks) > uint64(len(r.body)-skip) {
			return Frame{}, fmt.Errorf("read %v: %w: %d bytes of blocks", f.Type, ErrFrame, blocks)
		}
		checked, f.Blocks = r.body[:len(r.body)-int(blocks)], r.body[len(r.body)-int(blocks):]
	}
	if checkOf(h, checked) != binary.LittleEndian.Uint32(h[8:]) {
		return Frame{}, fmt.Errorf("read %v: %w: it does not check", f.Type, ErrFrame)
	}
	f.Body = checked[skip:]
	return f, nil
}

// Own gives the memory of the last frame to the caller: what is read next has other
// memory, that of spare if it is large enough. Nil is no spare.
func (r *Reader) Own(spare []byte) (last []byte) {
	last, r.body = r.body, spare
	return last
}

// readBody fills the body, in steps so that a wild length costs nothing.
func (r *Reader) readBody(n int) error {
	r.body = r.body[:0]
	if cap(r.body) > 4*readStep && n < readStep {
		r.body = nil // a large frame does not hold its memory for ever
	}
	for len(r.body) < n {
		have := len(r.body)
		step := min(n-have, max(readStep, have))
		if cap(r.body) < have+step {
			r.body = append(make([]byte, 0, have+step), r.body...)
		}
		r.body = r.body[:have+step]
		if _, err := io.ReadFull(r.r, r.body[have:]); err != nil {
			if errors.Is(err, io.EOF) {
				return io.ErrUnexpectedEOF
			}
			return err
		}
	}
	return nil
}
