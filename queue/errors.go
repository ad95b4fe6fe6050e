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
	// ErrSetAside is wrapped when a tailer has read entries that were then taken
	// out of the queue, because they are not in the history that it follows now
	// (see SetAside). What is in the queue now can be read with a new tailer.
	ErrSetAside = errors.New("what was read has been set aside")
	// ErrTruncated is wrapped when a file is shorter than what it must hold:
	// somebody cut it under the reader.
	ErrTruncated = errors.New("file is truncated")
	// errNoQueue is returned for a directory without a cycle file.
	errNoQueue = fmt.Errorf("%w: there are no cycle files, so this is no queue; an engine has its own in the folder \"journal\" of its data", ErrNotFound)
	// ErrBadBlock is wrapped when a block does not prove itself.
	ErrBadBlock = errors.New("block does not check")
	// ErrPlace is wrapped when a block or a cycle is not the one that comes next.
	ErrPlace = errors.New("not the next one")
	// errNotBarred is returned by Apply and BeginCycle.
	errNotBarred = errors.New("the queue is not barred: it appends entries of its own")
	// errOrder is returned by Search over entries that are in no order.
	errOrder = errors.New("entries are not in order")
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

// LostError says that an entry was damaged and that Repair has given it up; its
// bytes are in a torn-* file. The entries around it are whole.
type LostError struct{ Index Index }

func (e *LostError) Error() string {
	return fmt.Sprintf("entry %s was damaged, and given up by a repair; its bytes are in a torn-* file beside the cycles", e.Index)
}

// PositionError says that the file of a position does not check. What it has seen
// is not known: remove it (Queue.RemovePosition, `pawl queue positions --remove`)
// and begin again from a place of your choice.
type PositionError struct {
	Path string
	Err  error
}

func (e *PositionError) Error() string {
	return fmt.Sprintf("read position %s: %v; remove it with `pawl queue positions --remove`, then begin again from a place that you choose",
		e.Path, e.Err)
}

func (e *PositionError) Unwrap() error { return e.Err }

// FileSystemError says that a queue lies on a file system on which a mapping may
// differ from what others see. See Config.AnyFileSystem.
type FileSystemError struct {
	Path string
	Kind string // such as "nfs"
}

func (e *FileSystemError) Error() string {
	return fmt.Sprintf("%s is on a file system (%s) that cannot be mapped safely: put the queue on a local disk, or set AnyFileSystem if only one host uses it",
		e.Path, e.Kind)
}

// BarredError says that nothing may be appended for now, by the order of whoever
// directs this copy of the queue. See Queue.Bar.
type BarredError struct{ Reason string }

func (e *BarredError) Error() string { return "queue takes no entries: " + e.Reason }

// CorruptError says that a file holds a bad entry, or lacks one, at a place
// that is known to have been flushed: the disk or somebody's hand, not a crash.
// Nothing is changed. Restore the cycle from a copy, or go past the damage with
// Repair, which is `pawl queue repair`.
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
		"restore the file from a copy, or go past the damage with `pawl queue repair`",
		e.Cycle, e.Path, e.Offset, e.Index, e.Reason)
}

func (e *CorruptError) Unwrap() error { return e.Err }
