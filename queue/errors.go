package queue

import (
	"errors"
	"fmt"
	"time"
)

var (
	// ErrClosed is returned by every call on a queue, tailer or slot that has
	// been closed.
	ErrClosed = errors.New("queue is closed")
	// ErrReadOnly is returned by calls that append, flush or delete on a queue
	// of OpenReadOnly.
	ErrReadOnly = errors.New("queue is open for reading only")
	// ErrFull is wrapped by the error of an append that needed a new cycle
	// while the disk had no room for it. Nothing is harmed; a later append
	// tries again. See FullError.
	ErrFull = errors.New("disk is full")
	// ErrTooLarge is wrapped when an entry or a batch can never fit in a cycle.
	ErrTooLarge = errors.New("entry too large for a cycle")
	// ErrNotFound is wrapped when an index names no entry, or none yet.
	ErrNotFound = errors.New("no such entry")
	// ErrReleased is wrapped when an index lies before the first kept one.
	ErrReleased = errors.New("entry was released")
	// ErrTruncated is wrapped when a file is shorter than what it must hold:
	// somebody cut it under the reader.
	ErrTruncated = errors.New("file is truncated")
	// errSlotDone is returned by the second Commit of a slot.
	errSlotDone = errors.New("slot was committed or abandoned before")
)

// LockedError says that another process, or another Queue of this process, is
// appending. The holder's fields are zero when it could not be read.
type LockedError struct {
	Dir    string
	Holder Holder
}

// Holder describes who holds the lock of a queue, as it wrote itself down.
type Holder struct {
	PID     int       `json:"pid"`
	Host    string    `json:"host"`
	Command string    `json:"command"`
	Since   time.Time `json:"since"`
}

func (e *LockedError) Error() string {
	if e.Holder.PID == 0 {
		return fmt.Sprintf("lock queue %s: held by another process that has not named itself", e.Dir)
	}
	h := e.Holder
	return fmt.Sprintf("lock queue %s: held by process %d on %s (%s) since %s",
		e.Dir, h.PID, h.Host, h.Command, h.Since.Format(time.RFC3339))
}

// FlushError says that a flush failed. It is final: what the kernel did with
// the pages is unknown, and a second flush that succeeds would prove nothing.
// The queue takes no more entries and confirms none; close it, look at the
// disk, and open it again: recovery then says what is on it.
type FlushError struct {
	Path    string // the cycle file, or the directory
	Durable Index  // the last entry known to be flushed before the failure
	Err     error
}

func (e *FlushError) Error() string {
	return fmt.Sprintf("flush %s: %v (final: entries after %s may be lost; close the queue, check the disk and open it again)",
		e.Path, e.Err, e.Durable)
}

func (e *FlushError) Unwrap() error { return e.Err }

// FullError says that the disk had no room for a new cycle.
type FullError struct {
	Path string // the file that could not be allocated
	Need int64  // its size in bytes
	Err  error
}

func (e *FullError) Error() string {
	return fmt.Sprintf("allocate %s: %v: needs %d bytes (%v); free some space or release old cycles, then append again",
		e.Path, ErrFull, e.Need, e.Err)
}

// Unwrap matches ErrFull and the cause.
func (e *FullError) Unwrap() []error { return []error{ErrFull, e.Err} }

// CorruptError says that a file holds a bad entry, or lacks one, at a place
// that is known to have been flushed: the disk or somebody's hand, not a crash.
// Nothing is changed. Restore the cycle from a copy, or salvage what is readable
// with `pawl queue dump` and go on with a new queue.
type CorruptError struct {
	Path   string
	Cycle  uint32
	Offset int64 // of the entry in the file
	Index  Index // of the entry; 0 when the header of the cycle is bad
	Reason string
	Err    error // a cause such as ErrTruncated, or nil
}

func (e *CorruptError) Error() string {
	return fmt.Sprintf("read cycle %d (%s): corrupt at offset %d, index %s: %s; "+
		"restore the file from a copy, or salvage the rest with `pawl queue dump`",
		e.Cycle, e.Path, e.Offset, e.Index, e.Reason)
}

func (e *CorruptError) Unwrap() error { return e.Err }
