package wire

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// StatusVersion is the version of what is said in a Status. It is apart from
// Version: hosts copy for each other also when one cannot read the status of the
// other. The head of a Status is the same in all versions.
const StatusVersion = 1

const statusHead = 1 + 1 + 8

// MaxReport bounds the report in a Status: that of a queue with all the sinks that
// there can be is a tenth of it.
const MaxReport = 1 << 20

// ErrStatus is wrapped by the errors of what is no Status.
var ErrStatus = errors.New("bad status")

// The kinds of a Status.
const (
	statusAsk = iota + 1
	statusTold
)

// StatusMessage is the body of a Status, of the queue that its frame names.
//
//	0         1      2    10
//	│ version │ kind │ id │ report ...
//
// An ask has no report. What is told in answer has the id of the ask.
type StatusMessage struct {
	Version uint8
	Told    bool // else it asks
	ID      uint64
	Report  []byte // JSON, of package replica; shares the body it was read from
}

// AppendTo appends the body to b, in the version of this host.
func (m *StatusMessage) AppendTo(b []byte) []byte {
	kind := byte(statusAsk)
	if m.Told {
		kind = statusTold
	}
	b = append(b, StatusVersion, kind)
	b = binary.LittleEndian.AppendUint64(b, m.ID)
	return append(b, m.Report...)
}

// DecodeStatus reads the body of a Status of any version; the report of another
// version is not for this host to read. Its errors match ErrStatus.
func DecodeStatus(b []byte) (StatusMessage, error) {
	fail := func(format string, args ...any) (StatusMessage, error) {
		return StatusMessage{}, fmt.Errorf("read status: %w: %s", ErrStatus, fmt.Sprintf(format, args...))
	}
	if len(b) < statusHead {
		return fail("%d bytes, it is cut", len(b))
	}
	m := StatusMessage{Version: b[0], Told: b[1] == statusTold, ID: binary.LittleEndian.Uint64(b[2:]), Report: b[statusHead:]}
	switch {
	case m.Version == 0 || b[1] != statusAsk && b[1] != statusTold:
		return fail("version %d, kind %d", b[0], b[1])
	case len(m.Report) > MaxReport:
		return fail("a report of %d bytes, the limit is %d", len(m.Report), MaxReport)
	case !m.Told && len(m.Report) > 0 && m.Version == StatusVersion:
		return fail("an ask with a report")
	}
	return m, nil
}
