package wire

import "encoding/binary"

// ReadySize is the length of a ready frame, in bytes.
const ReadySize = HeaderSize + 8

// AppendReady appends a ready frame: what the sender itself has dialled up to this dial
// is given up for the link.
func AppendReady(dst []byte, dial uint64) []byte {
	start := len(dst)
	return end(binary.LittleEndian.AppendUint64(begin(dst, Ready), dial), start)
}

// ParseReady reads the body of a ready frame.
func ParseReady(body []byte) (dial uint64, err error) { return parseNumber(body) }

// parseNumber reads a body that is one number.
func parseNumber(body []byte) (uint64, error) {
	r := reader{b: body}
	n := r.u64()
	if r.bad {
		return 0, ErrMalformed
	}
	return n, nil
}

// AppendHeartbeat appends a heartbeat: received counts the messages taken from
// the link so far.
func AppendHeartbeat(dst []byte, received uint64) []byte {
	start := len(dst)
	return end(binary.LittleEndian.AppendUint64(begin(dst, Heartbeat), received), start)
}

// ParseHeartbeat reads the body of a heartbeat.
func ParseHeartbeat(body []byte) (received uint64, err error) { return parseNumber(body) }

// Operation is the body of an op. Parsed, its slices are parts of the frame.
type Operation struct {
	Target []byte // name of the actor; empty: the node itself
	ID     uint64 // of the reply; for a monitor also of its notice
	Op     uint8
	Arg    []byte
}

// AppendOp appends an operation.
func AppendOp(dst []byte, target string, id uint64, op uint8, arg []byte) []byte {
	start := len(dst)
	dst = appendName(begin(dst, Op), target)
	dst = binary.LittleEndian.AppendUint64(dst, id)
	dst = append(dst, op)
	return end(append(dst, arg...), start)
}

// ParseOp reads the body of an operation.
func ParseOp(body []byte) (Operation, error) {
	r := reader{b: body}
	o := Operation{Target: r.name(), ID: r.u64(), Op: r.u8()}
	o.Arg = r.b
	if r.bad {
		return Operation{}, ErrMalformed
	}
	return o, nil
}

// AppendNotice appends the end of an actor that was monitored under id.
func AppendNotice(dst []byte, id uint64, reason uint8, text string) []byte {
	start := len(dst)
	dst = binary.LittleEndian.AppendUint64(begin(dst, Notice), id)
	dst = append(dst, reason)
	return end(append(dst, text...), start)
}

// ParseNotice reads the body of a notice.
func ParseNotice(body []byte) (id uint64, reason uint8, text []byte, err error) {
	r := reader{b: body}
	id, reason = r.u64(), r.u8()
	if r.bad {
		return 0, 0, nil, ErrMalformed
	}
	return id, reason, r.b, nil
}

// Refusal counts casts to one actor that were refused for one reason.
type Refusal struct {
	Target string
	Code   uint8
	Count  uint64
}

// AppendRefused appends a summary of refused casts. What does not fit in one
// frame goes in the next; all frames are appended.
func AppendRefused(dst []byte, all []Refusal) []byte {
	const room = MaxFrame - MaxName - 16
	for len(all) > 0 {
		start := len(dst)
		dst = begin(dst, Refused)
		for len(all) > 0 && len(dst)-start < room {
			dst = append(appendName(dst, all[0].Target), all[0].Code)
			dst = binary.AppendUvarint(dst, all[0].Count)
			all = all[1:]
		}
		dst = end(dst, start)
	}
	return dst
}

// ParseRefused reads the body of a summary.
func ParseRefused(body []byte) ([]Refusal, error) {
	r := reader{b: body}
	var all []Refusal
	for len(r.b) > 0 && !r.bad {
		all = append(all, Refusal{Target: string(r.name()), Code: r.u8(), Count: r.uvarint()})
	}
	if r.bad {
		return nil, ErrMalformed
	}
	return all, nil
}
