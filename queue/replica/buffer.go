package replica

import (
	"sync"

	"github.com/pawl-go/pawl/queue/replica/core"
	"github.com/pawl-go/pawl/queue/replica/wire"
)

const (
	// headRoom is what lies before the bytes of a block in a frame: enough for the
	// message and the place of one block.
	headRoom = 512
	// maxKept bounds the buffers that are used again.
	maxKept = 1 << 20
)

// frame is a frame that is to be sent. Its memory is used again once it is written.
type frame struct {
	buf []byte // all of its memory
	b   []byte // what is sent, in buf
}

var frames = sync.Pool{New: func() any { return new(frame) }}

func newFrame() *frame { return frames.Get().(*frame) }

// frameOf is a frame with a copy of what is sent.
func frameOf(b []byte) *frame {
	f := newFrame()
	f.buf = append(f.buf[:0], b...)
	f.b = f.buf
	return f
}

// done gives the memory back.
func (f *frame) done() {
	if cap(f.buf) > maxKept {
		return
	}
	f.b = nil
	frames.Put(f)
}

// message makes the frame one with a message that brings no entries.
func (f *frame) message(number uint16, m *core.Message) (err error) {
	f.buf, err = appendMessage(f.buf[:0], number, m)
	f.b = f.buf
	return err
}

// room is where a block is read to, so that it need not be moved.
func (f *frame) room(n int) []byte {
	if cap(f.buf) < headRoom+n {
		f.buf = make([]byte, headRoom+n)
	}
	f.buf = f.buf[:cap(f.buf)]
	return f.buf[headRoom:]
}

// update makes the frame one with a message and blocks. A single block that lies in
// room stays where it is.
func (f *frame) update(number uint16, m *core.Message, pieces []piece) (err error) {
	last := pieces[len(pieces)-1].block.Bytes
	if len(pieces) > 1 || len(f.buf) <= headRoom || &last[0] != &f.buf[headRoom] {
		f.buf, err = appendUpdate(nil, number, m, pieces)
		f.b = f.buf
		return err
	}
	var space [headRoom]byte
	head := appendUpdateHead(wire.BeginUpdate(space[:0]), m, pieces)
	if len(head) > headRoom { // no message of ours is so long
		f.buf, err = appendUpdate(nil, number, m, pieces)
		f.b = f.buf
		return err
	}
	at := headRoom - len(head)
	copy(f.buf[at:], head)
	f.b, err = wire.EndUpdate(f.buf[at:headRoom+len(last)], 0, len(last), number)
	return err
}

// bodies are the memory of updates that were received.
var bodies sync.Pool

// spareBody is memory for an update; nil if there is none.
func spareBody() []byte {
	if b, ok := bodies.Get().(*[]byte); ok {
		return (*b)[:0]
	}
	return nil
}

// giveBody gives it back, once the update is dealt with.
func giveBody(b []byte) {
	if cap(b) > 0 && cap(b) <= maxKept {
		bodies.Put(&b)
	}
}
