package core

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"

	"github.com/pawl-go/pawl/queue"
)

// Entry is one entry of a queue as it is copied, byte for byte.
type Entry struct {
	Index queue.Index
	// More: the next entry belongs to the same batch.
	More bool
	// Control: the entry belongs to replication; tailers skip it, though it has
	// an index like any other.
	Control bool
	Payload []byte
	// Check is the CRC32C of Payload, from who has it already; 0: it is not known.
	Check uint32
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Chain is the running checksum of a history: given that of everything before e,
// it returns that of everything up to e. The checksum of an empty history is 0.
// It covers the index, the flags and the payload.
func Chain(sum uint64, e Entry) uint64 {
	check := e.Check
	if check == 0 {
		check = crc32.Checksum(e.Payload, castagnoli)
	}
	x := sum ^ uint64(check)<<32 ^ uint64(len(e.Payload))<<2
	if e.More {
		x ^= 1
	}
	if e.Control {
		x ^= 2
	}
	x = stir(x + uint64(e.Index)*0x9E3779B97F4A7C15)
	return stir(x + sum)
}

// stir is a bijection of 64 bits in which each bit of x reaches all others.
func stir(x uint64) uint64 {
	x ^= x >> 30
	x *= 0xBF58476D1CE4E5B9
	x ^= x >> 27
	x *= 0x94D049BB133111EB
	return x ^ x>>31
}

// ControlKind says what a control entry records.
type ControlKind uint8

const (
	// EpochBegins is the first entry of a source in its epoch.
	EpochBegins ControlKind = 1
	// SingleBegins says that from here on entries count once they are flushed
	// at the source alone.
	SingleBegins ControlKind = 2
	// SingleEnds says that enough hosts hold everything again.
	SingleEnds ControlKind = 3
)

// String is the name of the kind in reports.
func (k ControlKind) String() string {
	switch k {
	case EpochBegins:
		return "epoch begins"
	case SingleBegins:
		return "single begins"
	case SingleEnds:
		return "single ends"
	}
	return fmt.Sprintf("control %d", uint8(k))
}

// Control is what a control entry holds.
//
//	0      1       2      3       4        12
//	│ kind │ flags │ host │ zero  │ number │
//
// The number is little endian. Flag 1 is Lossy.
type Control struct {
	Kind  ControlKind
	Epoch Epoch // in which the entry was written
	// Lossy: the epoch began without enough promises (--force, or allowLoss),
	// so entries that counted before may be missing from its history.
	Lossy bool
}

const controlBytes = 12

// Encode returns the payload of the control entry.
func (c Control) Encode() []byte {
	b := make([]byte, controlBytes)
	b[0] = byte(c.Kind)
	if c.Lossy {
		b[1] = 1
	}
	b[2] = byte(c.Epoch.Host)
	binary.LittleEndian.PutUint64(b[4:], c.Epoch.Number)
	return b
}

// DecodeControl reads the payload of a control entry.
func DecodeControl(b []byte) (Control, error) {
	if len(b) != controlBytes {
		return Control{}, fmt.Errorf("decode control entry: %d bytes, want %d", len(b), controlBytes)
	}
	c := Control{
		Kind:  ControlKind(b[0]),
		Lossy: b[1] == 1,
		Epoch: Epoch{Number: binary.LittleEndian.Uint64(b[4:]), Host: HostID(b[2])},
	}
	switch {
	case c.Kind < EpochBegins || c.Kind > SingleEnds:
		return Control{}, fmt.Errorf("decode control entry: unknown kind %d: written by a newer version", b[0])
	case b[1] > 1, b[3] != 0, c.Epoch.Host == 0, c.Epoch.Host > MaxHosts, c.Epoch.Number == 0:
		return Control{}, fmt.Errorf("decode control entry: bad epoch or flags in % x", b)
	}
	return c, nil
}
