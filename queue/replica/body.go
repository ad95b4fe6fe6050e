package replica

import (
	"encoding/binary"
	"fmt"

	"github.com/pawl-go/pawl/queue/replica/core"
	"github.com/pawl-go/pawl/queue/replica/wire"
)

// maxPieces bounds the pieces of an update: one with entries, and before it what
// ends cycles.
const maxPieces = 16

// appendMessage appends a frame with a message of core that brings no entries.
func appendMessage(b []byte, number uint16, m *core.Message) ([]byte, error) {
	start := len(b)
	return wire.End(m.AppendTo(wire.Begin(b)), start, wire.Message, number)
}

// decodeMessage reads the body of such a frame, and keeps nothing of it.
func decodeMessage(b []byte) (*core.Message, error) {
	m, err := core.DecodeMessage(b)
	if err == nil && len(m.Entries) > 0 {
		err = fmt.Errorf("%w: entries at the wrong place in %v", core.ErrMessage, m.Type)
	}
	if err != nil {
		return nil, err
	}
	return m, nil
}

// appendUpdate appends a frame with an update. Its entries are not in the message:
// they lie, as they are in the file, in the blocks of the pieces. The body is
//
//	│ length of the message, varint │ message │ head of a piece ...
//
// and the blocks are the bytes of the pieces.
func appendUpdate(b []byte, number uint16, m *core.Message, pieces []piece) ([]byte, error) {
	start := len(b)
	b = appendUpdateHead(wire.BeginUpdate(b), m, pieces)
	blocks := 0
	for k := range pieces {
		b = append(b, pieces[k].block.Bytes...)
		blocks += len(pieces[k].block.Bytes)
	}
	return wire.EndUpdate(b, start, blocks, number)
}

// appendUpdateHead appends the body of such a frame.
func appendUpdateHead(b []byte, m *core.Message, pieces []piece) []byte {
	var space [256]byte
	body := m.AppendTo(space[:0])
	b = binary.AppendUvarint(b, uint64(len(body)))
	b = append(b, body...)
	for k := range pieces {
		b = pieces[k].appendHead(b)
	}
	return b
}

// decodeUpdate reads such a frame, and proves the blocks. Message and pieces share
// their bytes.
func decodeUpdate(b, blocks []byte) (*core.Message, []piece, error) {
	n, k := binary.Uvarint(b)
	if k <= 0 || n > uint64(len(b)-k) {
		return nil, nil, fmt.Errorf("%w: it is cut", core.ErrMessage)
	}
	m, err := decodeMessage(b[k : k+int(n)])
	if err != nil {
		return nil, nil, err
	}
	if m.Type != core.MsgUpdate {
		return nil, nil, fmt.Errorf("%w: entries at the wrong place in %v", core.ErrMessage, m.Type)
	}
	b = b[k+int(n):]
	var pieces []piece
	for len(b) > 0 {
		var p piece
		if p, b, blocks, err = cutPiece(b, blocks); err != nil {
			return nil, nil, err
		}
		entries, err := p.prove()
		switch {
		case err != nil:
			return nil, nil, err
		case len(pieces) == maxPieces, len(m.Entries) > 0, len(entries) > core.MaxUpdateEntries:
			return nil, nil, fmt.Errorf("%w: too much in an update", core.ErrMessage)
		}
		m.Entries = entries
		pieces = append(pieces, p)
	}
	if len(blocks) > 0 {
		return nil, nil, fmt.Errorf("%w: %d bytes too many", errBlock, len(blocks))
	}
	return m, pieces, nil
}
