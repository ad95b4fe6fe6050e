package core

import (
	"encoding/binary"
	"errors"
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/pawl-go/pawl/queue"
)

// MaxUpdateEntries is the largest number of entries in one Update.
const MaxUpdateEntries = 1 << 16

// maxEpoch bounds the numbers of epochs that a peer can make this host pass.
const maxEpoch = 1 << 60

// maxWhy bounds the text that a peer can make this host print.
const maxWhy = 1 << 10

// ErrMessage is wrapped by the errors of DecodeMessage.
var ErrMessage = errors.New("bad message")

// The flags of a message, by their bits in message.proto.
func (m *Message) flags() [8]*bool {
	return [8]*bool{&m.OK, &m.Force, &m.Newborn, &m.Donor, &m.Lossy, &m.Restart, &m.Want, &m.Command}
}

// AppendTo appends the encoding of the message to b, as message.proto draws it.
func (m *Message) AppendTo(b []byte) []byte {
	b = putUint(b, 1, uint64(m.Type))
	b = putEpoch(b, 2, m.Epoch)
	b = putUint(b, 4, m.Stream)
	b = putEpoch(b, 5, m.Promised)
	b = putEpoch(b, 7, m.Last.Epoch)
	b = putUint(b, 9, uint64(m.Last.Index))
	if m.Base != (Base{}) {
		b = protowire.AppendTag(b, 10, protowire.BytesType)
		b = protowire.AppendBytes(b, m.Base.appendTo(nil))
	}
	b = putUint(b, 11, uint64(m.Counted))
	b = putUint(b, 12, uint64(m.Trust))
	b = putUint(b, 13, uint64(m.Source))
	b = putUint(b, 14, uint64(m.Single))
	b = putFixed(b, 15, m.Config)
	var flags uint64
	for bit, set := range m.flags() {
		if *set {
			flags |= 1 << bit
		}
	}
	b = putUint(b, 16, flags)
	b = putUint(b, 17, uint64(m.Index))
	b = putFixed(b, 18, m.Sum)
	b = putUint(b, 19, m.Round)
	b = putUint(b, 20, uint64(m.Received))
	b = putUint(b, 21, uint64(m.Appended))
	b = putUint(b, 22, uint64(m.Flushed))
	for _, row := range m.Rows {
		b = protowire.AppendTag(b, 23, protowire.BytesType)
		b = protowire.AppendBytes(b, row.appendTo(nil))
	}
	if len(m.Entries) > 0 {
		b = putUint(b, 24, uint64(m.Entries[0].Index))
	}
	for _, e := range m.Entries {
		b = protowire.AppendTag(b, 25, protowire.BytesType)
		b = protowire.AppendVarint(b, uint64(len(e.Payload))+1)
		b = append(append(b, e.flags()), e.Payload...)
	}
	if m.Why != "" {
		b = protowire.AppendTag(b, 26, protowire.BytesType)
		b = protowire.AppendString(b, m.Why[:min(len(m.Why), maxWhy)])
	}
	return putEpoch(b, 27, m.Birth)
}

func (e Entry) flags() byte {
	var f byte
	if e.More {
		f |= 1
	}
	if e.Control {
		f |= 2
	}
	return f
}

func (x Base) appendTo(b []byte) []byte {
	b = putUint(b, 1, uint64(x.Index))
	b = putUint(b, 2, x.Count)
	b = putFixed(b, 3, x.Sum)
	return putEpoch(b, 4, x.Epoch)
}

func (x Row) appendTo(b []byte) []byte {
	b = putEpoch(b, 1, x.Epoch)
	b = putUint(b, 3, uint64(x.Index))
	return putUint(b, 4, uint64(x.Prev))
}

func putUint(b []byte, n protowire.Number, v uint64) []byte {
	if v == 0 {
		return b
	}
	return protowire.AppendVarint(protowire.AppendTag(b, n, protowire.VarintType), v)
}

func putFixed(b []byte, n protowire.Number, v uint64) []byte {
	if v == 0 {
		return b
	}
	return binary.LittleEndian.AppendUint64(protowire.AppendTag(b, n, protowire.Fixed64Type), v)
}

// putEpoch writes an epoch as two fields, n and n+1.
func putEpoch(b []byte, n protowire.Number, e Epoch) []byte {
	return putUint(putUint(b, n, e.Number), n+1, uint64(e.Host))
}

// field is one field as it stands in a message.
type field struct {
	num   protowire.Number
	typ   protowire.Type
	value uint64
	bytes []byte
}

// nextField cuts the first field off b.
func nextField(b []byte) (field, []byte, error) {
	num, typ, n := protowire.ConsumeTag(b)
	if n < 0 {
		return field{}, nil, fmt.Errorf("%w: bad tag: %w", ErrMessage, protowire.ParseError(n))
	}
	f := field{num: num, typ: typ}
	b = b[n:]
	switch typ {
	case protowire.VarintType:
		f.value, n = protowire.ConsumeVarint(b)
	case protowire.Fixed64Type:
		f.value, n = protowire.ConsumeFixed64(b)
	case protowire.BytesType:
		f.bytes, n = protowire.ConsumeBytes(b)
	default:
		n = protowire.ConsumeFieldValue(num, typ, b)
	}
	if n < 0 {
		return field{}, nil, fmt.Errorf("%w: bad field %d: %w", ErrMessage, num, protowire.ParseError(n))
	}
	return f, b[n:], nil
}

// each calls set for every field of a body.
func each(b []byte, set func(field) error) error {
	for len(b) > 0 {
		f, rest, err := nextField(b)
		if err != nil {
			return err
		}
		if err := set(f); err != nil {
			return err
		}
		b = rest
	}
	return nil
}

// DecodeMessage reads what AppendTo has written. The payloads of entries share b.
// Its errors match ErrMessage. It allocates in proportion to len(b) only.
func DecodeMessage(b []byte) (*Message, error) {
	d := decoder{m: &Message{}}
	if err := each(b, d.set); err != nil {
		return nil, err
	}
	m := d.m
	for _, e := range []Epoch{m.Epoch, m.Promised, m.Last.Epoch, m.Base.Epoch, m.Birth} {
		if e.Host > MaxHosts || e.Number > maxEpoch {
			return nil, fmt.Errorf("%w: epoch %v", ErrMessage, e)
		}
	}
	switch {
	case m.Type == 0 || m.Type >= msgEnd:
		return nil, fmt.Errorf("%w: unknown type %d", ErrMessage, m.Type)
	case m.Source > MaxHosts, m.Single > MaxHosts:
		return nil, fmt.Errorf("%w: host ids %d and %d", ErrMessage, m.Source, m.Single)
	case m.Trust > Lost:
		return nil, fmt.Errorf("%w: trust %d", ErrMessage, m.Trust)
	case len(m.Entries) > 0 && m.Type != MsgUpdate:
		return nil, fmt.Errorf("%w: entries in %v", ErrMessage, m.Type)
	}
	return m, d.place()
}

type decoder struct {
	m     *Message
	first queue.Index
}

// place gives the entries their indexes.
func (d *decoder) place() error {
	n := uint64(len(d.m.Entries))
	if n == 0 {
		return nil
	}
	if d.first.Cycle() == 0 || uint64(d.first.Seq())+n-1 > 1<<32-1 {
		return fmt.Errorf("%w: %d entries from %v", ErrMessage, n, d.first)
	}
	for k := range d.m.Entries {
		d.m.Entries[k].Index = d.first + queue.Index(k)
	}
	return nil
}

// host reads a host id; what is too large for one stays too large.
func host(v uint64) HostID { return HostID(min(v, 255)) }

func (d *decoder) set(f field) error {
	m := d.m
	switch f.num {
	case 1:
		m.Type = MessageType(min(f.value, uint64(msgEnd)))
	case 2:
		m.Epoch.Number = f.value
	case 3:
		m.Epoch.Host = host(f.value)
	case 4:
		m.Stream = f.value
	case 5:
		m.Promised.Number = f.value
	case 6:
		m.Promised.Host = host(f.value)
	case 7:
		m.Last.Epoch.Number = f.value
	case 8:
		m.Last.Epoch.Host = host(f.value)
	case 9:
		m.Last.Index = queue.Index(f.value)
	case 10:
		return each(f.bytes, m.Base.set)
	case 11:
		m.Counted = queue.Index(f.value)
	case 12:
		m.Trust = Trust(min(f.value, 255))
	case 13:
		m.Source = host(f.value)
	case 14:
		m.Single = host(f.value)
	case 15:
		m.Config = f.value
	case 16:
		for bit, flag := range m.flags() {
			*flag = f.value&(1<<bit) != 0
		}
	default:
		return d.setMore(f)
	}
	return nil
}

func (d *decoder) setMore(f field) error {
	m := d.m
	switch f.num {
	case 17:
		m.Index = queue.Index(f.value)
	case 18:
		m.Sum = f.value
	case 19:
		m.Round = f.value
	case 20:
		m.Received = queue.Index(f.value)
	case 21:
		m.Appended = queue.Index(f.value)
	case 22:
		m.Flushed = queue.Index(f.value)
	case 23:
		return d.row(f.bytes)
	case 24:
		d.first = queue.Index(f.value)
	case 25:
		return d.entry(f.bytes)
	case 26:
		m.Why = string(f.bytes[:min(len(f.bytes), maxWhy)])
	case 27:
		m.Birth.Number = f.value
	case 28:
		m.Birth.Host = host(f.value)
	}
	return nil
}

func (d *decoder) row(b []byte) error {
	if len(d.m.Rows) == maxRows {
		return fmt.Errorf("%w: more than %d epochs", ErrMessage, maxRows)
	}
	row := Row{Control: Control{Kind: EpochBegins}}
	if err := each(b, row.set); err != nil {
		return err
	}
	d.m.Rows = append(d.m.Rows, row)
	return nil
}

func (d *decoder) entry(b []byte) error {
	switch {
	case len(d.m.Entries) == MaxUpdateEntries:
		return fmt.Errorf("%w: more than %d entries", ErrMessage, MaxUpdateEntries)
	case len(b) == 0 || b[0] > 3:
		return fmt.Errorf("%w: entry with bad flags", ErrMessage)
	}
	d.m.Entries = append(d.m.Entries, Entry{More: b[0]&1 != 0, Control: b[0]&2 != 0, Payload: b[1:]})
	return nil
}

func (x *Base) set(f field) error {
	switch f.num {
	case 1:
		x.Index = queue.Index(f.value)
	case 2:
		x.Count = f.value
	case 3:
		x.Sum = f.value
	case 4:
		x.Epoch.Number = f.value
	case 5:
		x.Epoch.Host = host(f.value)
	}
	return nil
}

func (x *Row) set(f field) error {
	switch f.num {
	case 1:
		x.Epoch.Number = f.value
	case 2:
		x.Epoch.Host = host(f.value)
	case 3:
		x.Index = queue.Index(f.value)
	case 4:
		x.Prev = queue.Index(f.value)
	}
	return nil
}
