package queue

import (
	"fmt"
	"log/slog"
	"math"
	"time"
)

// Durability says when an appended entry is safe from what.
type Durability int

const (
	// Process: an entry is safe from the death of the process as soon as
	// Append returns, since the pages belong to the operating system. A flush
	// runs behind it every Config.FlushEvery, which is the most that a power
	// cut can cost. WaitDurable still works, for the few entries that need it.
	Process Durability = iota
	// Disk: Append returns as under Process; the caller waits with WaitDurable
	// before it relies on the entry, and concurrent waiters share one flush.
	Disk
	// EveryAppend: Append, AppendBatch and Commit return only when the entry
	// has been flushed. Concurrent ones share a flush.
	EveryAppend
)

// String is the name used in configuration files and reports.
func (d Durability) String() string {
	switch d {
	case Process:
		return "process"
	case Disk:
		return "disk"
	case EveryAppend:
		return "every-append"
	}
	return fmt.Sprintf("Durability(%d)", int(d))
}

// Limits and defaults of Config, all in bytes except the last.
const (
	// DefaultCycleBytes is the size of a cycle file when Config leaves it zero.
	DefaultCycleBytes = 64 << 20
	// MinCycleBytes and MaxCycleBytes bound Config.CycleBytes.
	MinCycleBytes = 8 << 10
	MaxCycleBytes = 4 << 30
	// DefaultFlushEvery is the pace of the flush in the background.
	DefaultFlushEvery = time.Second
)

// Config holds the settings of a queue. The zero value is ready for use.
type Config struct {
	// CycleBytes is the size to which each cycle file is preallocated, a
	// multiple of 4096; 0 means DefaultCycleBytes. It bounds the largest entry
	// (see MaxEntry). A queue may be reopened with another size: it counts
	// from the next cycle on.
	CycleBytes int64
	// Durability is Process unless set. It is a setting of the appender, not
	// of the files: it may differ from one opening to the next.
	Durability Durability
	// FlushEvery is the pace of the flush in the background, which bounds what
	// a power cut costs under Process and keeps the tail of an idle Disk queue
	// from staying unflushed. 0 means DefaultFlushEvery; below 0 is an error.
	FlushEvery time.Duration
	// Logger hears of what the queue does on its own: recovery, seals that
	// failed, a cycle that could not be prepared. nil means slog.Default.
	Logger *slog.Logger
	// FS is the file system, nil for the operating system's. Tests put
	// failing and crashing ones here.
	FS FS
	// AnyFileSystem also takes file systems on which a mapping may differ from
	// what others see, those of the network above all; without it they are a
	// *FileSystemError. On such one a queue may only be used by one host at a
	// time, and what flushes and locks are worth is that file system's affair.
	AnyFileSystem bool
	// Now is the clock that cycles are dated, rolled and retained by; nil means
	// time.Now. The time between two looks at it is taken from package time.
	Now func() time.Time
	// RollEvery begins a new cycle when a period of this length ends, in UTC: 24
	// hours roll at midnight, an hour on the hour, a week on Monday. It must be
	// a second at least; 0 means that cycles roll by size only, as they always
	// do besides. A cycle without an entry does not roll. The roll comes a moment
	// after the hour, so the last entries of a cycle may be that much late.
	RollEvery time.Duration
	// Retain says which sealed cycles are deleted. The zero value keeps all.
	Retain Retention
	// OnRoll, when set, is told of each cycle once it is closed, flushed and
	// trimmed. It runs on the queue's helper, one call at a time and in order;
	// while it runs nothing is touched ahead, so it must be short. It must not
	// call Close. For cycles that Close itself seals it runs inside Close.
	OnRoll func(sealed CycleInfo)
	// OnFile, when set, is told of cycle files that this process creates, lets
	// go and deletes. It runs on a goroutine of its own, one call at a time and
	// in order, and may use the queue but not close it; Close returns after the
	// last call.
	OnFile func(FileEvent)
}

// validate fills in the defaults and names the first setting that is wrong.
func (c *Config) validate() error {
	if c.CycleBytes == 0 {
		c.CycleBytes = DefaultCycleBytes
	}
	if c.FlushEvery == 0 {
		c.FlushEvery = DefaultFlushEvery
	}
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	if c.FS == nil {
		c.FS = OS()
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	for _, l := range []struct {
		name     string
		v        int64
		min, max int64
	}{
		{"CycleBytes", c.CycleBytes, MinCycleBytes, MaxCycleBytes},
		{"FlushEvery", int64(c.FlushEvery), 1, math.MaxInt64},
		{"Durability", int64(c.Durability), int64(Process), int64(EveryAppend)},
		{"RollEvery", int64(c.RollEvery), 0, math.MaxInt64},
		{"Retain.Age", int64(c.Retain.Age), 0, math.MaxInt64},
		{"Retain.Bytes", c.Retain.Bytes, 0, math.MaxInt64},
		{"Retain.Entries", c.Retain.Entries, 0, math.MaxInt64},
	} {
		if l.v < l.min || l.v > l.max {
			return fmt.Errorf("check config: %s is %d, want %d to %d", l.name, l.v, l.min, l.max)
		}
	}
	if c.RollEvery > 0 && c.RollEvery < time.Second {
		return fmt.Errorf("check config: RollEvery is %v, want a second at least, or 0 for none", c.RollEvery)
	}
	if c.CycleBytes%pageSize != 0 {
		return fmt.Errorf("check config: CycleBytes is %d, want a multiple of %d", c.CycleBytes, pageSize)
	}
	return nil
}

// MaxEntry is the largest entry, in bytes, that a cycle of the given size can
// hold, and equally the largest batch when 16 bytes are counted for each of its
// entries behind the first and each entry is rounded up to 8 bytes.
func MaxEntry(cycleBytes int64) int {
	return int(min(cycleBytes-dataStart-2*entryHeader, maxLength))
}
