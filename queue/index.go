package queue

import (
	"fmt"
	"strconv"
	"strings"
)

// Index names one entry of a queue for ever: the number of its cycle in the
// high 32 bits, its sequence number in the cycle, from 0, in the low 32.
// Indexes rise over the whole queue and are dense inside a cycle; the entry
// behind the last one of a cycle is the first one of the next. Cycles are
// numbered from 1, so no entry has index 0, which stands for "none".
type Index uint64

// NewIndex makes the index of entry seq of a cycle.
func NewIndex(cycle, seq uint32) Index { return Index(uint64(cycle)<<32 | uint64(seq)) }

// Cycle is the number of the cycle that holds the entry, 1 and up.
func (i Index) Cycle() uint32 { return uint32(i >> 32) }

// Seq is the entry's place in its cycle, 0 and up.
func (i Index) Seq() uint32 { return uint32(i) }

// String writes the index as cycle:sequence, the form ParseIndex reads.
func (i Index) String() string {
	b := strconv.AppendUint(nil, uint64(i.Cycle()), 10)
	b = append(b, ':')
	return string(strconv.AppendUint(b, uint64(i.Seq()), 10))
}

// ParseIndex reads the form that String writes, or a plain number.
func ParseIndex(s string) (Index, error) {
	c, n, pair := strings.Cut(s, ":")
	if !pair {
		i, err := strconv.ParseUint(s, 10, 64)
		if err != nil {
			return 0, fmt.Errorf("parse index %q: want cycle:sequence or a number", s)
		}
		return Index(i), nil
	}
	cycle, err := strconv.ParseUint(c, 10, 32)
	if err != nil {
		return 0, fmt.Errorf("parse index %q: bad cycle: want cycle:sequence or a number", s)
	}
	seq, err := strconv.ParseUint(n, 10, 32)
	if err != nil {
		return 0, fmt.Errorf("parse index %q: bad sequence: want cycle:sequence or a number", s)
	}
	return NewIndex(uint32(cycle), uint32(seq)), nil
}

// MarshalText makes reports and JSON show the form of String.
func (i Index) MarshalText() ([]byte, error) { return []byte(i.String()), nil }

// UnmarshalText is ParseIndex.
func (i *Index) UnmarshalText(b []byte) error {
	v, err := ParseIndex(string(b))
	if err == nil {
		*i = v
	}
	return err
}
