package core

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/pawl-go/pawl/queue"
)

// HostID names a host of a replica set, from 1 to MaxHosts; 0 stands for none.
// Of two hosts the one with the higher id dials.
type HostID uint8

// MaxHosts is the largest number of hosts that a queue can be copied to, the
// source included, and the highest host id.
const MaxHosts = 127

// Epoch is the term of one source: a number and the host that is the source in
// it. Since a host flushes its own promise of an epoch before it becomes the source in
// it, and asks for none that it has promised, no epoch is ever used twice. The zero
// Epoch stands for what was appended before the queue was replicated.
type Epoch struct {
	Number uint64
	Host   HostID
}

// Compare orders epochs by number, then by host.
func (e Epoch) Compare(o Epoch) int {
	return cmp.Or(cmp.Compare(e.Number, o.Number), cmp.Compare(e.Host, o.Host))
}

// Less reports whether e is the older of two epochs.
func (e Epoch) Less(o Epoch) bool { return e.Compare(o) < 0 }

// IsZero reports whether e is no epoch at all.
func (e Epoch) IsZero() bool { return e == Epoch{} }

// String writes the epoch as number.host.
func (e Epoch) String() string { return fmt.Sprintf("%d.%d", e.Number, e.Host) }

// ParseEpoch reads the form that String writes.
func ParseEpoch(s string) (Epoch, error) {
	number, host, _ := strings.Cut(s, ".")
	n, err := strconv.ParseUint(number, 10, 64)
	if err == nil {
		var h uint64
		if h, err = strconv.ParseUint(host, 10, 8); err == nil && h <= MaxHosts {
			return Epoch{n, HostID(h)}, nil
		}
	}
	return Epoch{}, fmt.Errorf("parse epoch %.50q: want number.host", s)
}

// Mark is the end of a history: its last entry, and the epoch of that entry. Of
// two histories the better has the greater mark.
type Mark struct {
	Epoch Epoch
	Index queue.Index
}

// Compare orders marks by epoch, then by index.
func (m Mark) Compare(o Mark) int {
	return cmp.Or(m.Epoch.Compare(o.Epoch), cmp.Compare(m.Index, o.Index))
}

// String writes the mark as epoch/index.
func (m Mark) String() string { return m.Epoch.String() + "/" + m.Index.String() }
