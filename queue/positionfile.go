package queue

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// The file of a position is a page: a header, and two slots that are written in
// turn, each in a sector of its own, so that a crash in the middle of a write
// leaves the other one.
//
//	   0 ┬ header   magic, version, flags (1: holds back), created, CRC32C
//	 512 ┼ slot     count, next, at, CRC32C; the one with the higher count is valid
//	1024 ┼ slot
//	4096 ┴
const (
	positionSuffix = ".tailer"
	positionLock   = ".tailer-lock"
	positionMagic  = "PAWLPOS\n"
	positionBytes  = 4096
	positionHold   = 1 // flag
	slotBytes      = 32
)

func slotOffset(n int) int64 { return 512 * int64(1+n%2) }

type positionHeader struct {
	holdBack bool
	created  int64 // Unix nanoseconds
}

func (h positionHeader) encode() []byte {
	b := make([]byte, 64)
	copy(b, positionMagic)
	le := binary.LittleEndian
	le.PutUint32(b[8:], version)
	if h.holdBack {
		le.PutUint32(b[12:], positionHold)
	}
	le.PutUint64(b[16:], uint64(h.created))
	le.PutUint32(b[60:], checksum(b[:60]))
	return b
}

func decodePositionHeader(b []byte) (positionHeader, error) {
	le := binary.LittleEndian
	switch {
	case string(b[:8]) != positionMagic:
		return positionHeader{}, errors.New("not the file of a position")
	case le.Uint32(b[60:]) != checksum(b[:60]):
		return positionHeader{}, errors.New("the check of the header does not match")
	case le.Uint32(b[8:]) != version:
		return positionHeader{}, fmt.Errorf("format version %d, want %d", le.Uint32(b[8:]), version)
	}
	return positionHeader{holdBack: le.Uint32(b[12:])&positionHold != 0, created: int64(le.Uint64(b[16:]))}, nil
}

// positionSlot is one writing of a position.
type positionSlot struct {
	count uint64 // of writings; 0: none
	next  Index
	at    int64 // Unix nanoseconds
}

func (s positionSlot) encode() []byte {
	b := make([]byte, slotBytes)
	le := binary.LittleEndian
	le.PutUint64(b, s.count)
	le.PutUint64(b[8:], uint64(s.next))
	le.PutUint64(b[16:], uint64(s.at))
	le.PutUint32(b[28:], checksum(b[:28]))
	return b
}

// decodePositionSlot reads a slot; written is false where there never was one.
func decodePositionSlot(b []byte) (s positionSlot, written, ok bool) {
	le := binary.LittleEndian
	s = positionSlot{count: le.Uint64(b), next: Index(le.Uint64(b[8:])), at: int64(le.Uint64(b[16:]))}
	written = string(b) != string(zeros[:slotBytes])
	return s, written, written && le.Uint32(b[28:]) == checksum(b[:28]) && s.count > 0
}

// positionState is what the file of a position says.
type positionState struct {
	header positionHeader
	slot   positionSlot
	newest int  // place of slot
	torn   bool // the other slot does not check
}

// readPosition reads the file of a position. That the newer slot does not check
// cannot be told from a crash while it was written: the older one counts then.
func readPosition(f io.ReaderAt, path string) (positionState, error) {
	b := make([]byte, slotOffset(1)+slotBytes)
	if _, err := f.ReadAt(b, 0); err != nil {
		if errors.Is(err, io.EOF) {
			err = ErrTruncated
		}
		return positionState{}, &PositionError{Path: path, Err: err}
	}
	h, err := decodePositionHeader(b)
	if err != nil {
		return positionState{}, &PositionError{Path: path, Err: err}
	}
	st := positionState{header: h, newest: -1}
	for n := range 2 {
		s, written, ok := decodePositionSlot(b[slotOffset(n):][:slotBytes])
		switch {
		case ok && s.count > st.slot.count:
			st.slot, st.newest = s, n
		case written && !ok:
			st.torn = true
		}
	}
	if st.newest < 0 {
		return positionState{}, &PositionError{Path: path, Err: errors.New("neither of its slots checks")}
	}
	return st, nil
}
