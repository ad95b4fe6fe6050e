package replica

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"github.com/pawl-go/pawl/queue/replica/core"
	"github.com/pawl-go/pawl/queue/replica/wire"
)

// maxPieces bounds the pieces of an update: one with entries, and before it what
// ends cycles.
const maxPieces = 16

// appendMessage appends a frame with a message of core to b. An update has no
// entries in the message: they lie, as they are in the file, in the pieces.
//
//	│ length of the message, varint │ message │ piece ...
func appendMessage(b []byte, number uint16, m *core.Message, pieces []piece) ([]byte, error) {
	start := len(b)
	b = wire.Begin(b)
	entries := m.Entries
	m.Entries = nil
	body := m.AppendTo(nil)
	m.Entries = entries
	b = binary.AppendUvarint(b, uint64(len(body)))
	b = append(b, body...)
	for k := range pieces {
		b = pieces[k].appendTo(b)
	}
	return wire.End(b, start, wire.Message, number)
}

// decodeMessage reads the body of such a frame. Message and pieces share b.
func decodeMessage(b []byte) (*core.Message, []piece, error) {
	n, k := binary.Uvarint(b)
	if k <= 0 || n > uint64(len(b)-k) {
		return nil, nil, fmt.Errorf("%w: it is cut", core.ErrMessage)
	}
	m, err := core.DecodeMessage(b[k : k+int(n)])
	if err != nil {
		return nil, nil, err
	}
	b = b[k+int(n):]
	if len(m.Entries) > 0 || len(b) > 0 && m.Type != core.MsgUpdate {
		return nil, nil, fmt.Errorf("%w: entries at the wrong place in %v", core.ErrMessage, m.Type)
	}
	var pieces []piece
	for len(b) > 0 {
		var p piece
		if p, b, err = cutPiece(b); err != nil {
			return nil, nil, err
		}
		entries, err := p.entries()
		switch {
		case err != nil:
			return nil, nil, err
		case len(pieces) == maxPieces, len(m.Entries) > 0, len(entries) > core.MaxUpdateEntries:
			return nil, nil, fmt.Errorf("%w: too much in an update", core.ErrMessage)
		}
		m.Entries = entries
		pieces = append(pieces, p)
	}
	return m, pieces, nil
}

// ownBody copies the body of a frame if what is decoded from it would share it.
func ownBody(b []byte) []byte {
	if n, k := binary.Uvarint(b); k > 0 && n < uint64(len(b)-k) {
		return bytes.Clone(b)
	}
	return b
}
