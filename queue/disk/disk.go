// Package disk is the seam between a queue and the file system: what a queue
// needs of a disk, which is little, so that tests can stand in for one that
// fails, fills up, or loses what was not flushed (package queue/memfs). It is
// apart from package queue, which has the same types by name, so that such a
// disk needs nothing of the queue.
package disk

import "io"

// FS is the seam between the queue and the file system. The queue needs
// little of it, so that tests can stand in for a disk that fails, fills up, or
// loses what was not flushed.
type FS interface {
	// OpenDir opens a directory; when create is set it is made, with its
	// parents, if it is missing.
	OpenDir(path string, create bool) (Dir, error)
}

// Dir is an open directory; names are of files directly in it. All methods may
// be called concurrently.
type Dir interface {
	// List gives the names in the directory, in no order.
	List() ([]string, error)
	// Create makes a new file for reading and writing; it must not exist.
	Create(name string) (File, error)
	// Open opens a file, for reading only unless write is set. A missing file
	// gives an error that matches fs.ErrNotExist.
	Open(name string, write bool) (File, error)
	Rename(from, to string) error
	Remove(name string) error
	// Sync makes creations, renames and removals durable.
	Sync() error
	// Lock takes the exclusive lock on the named file, made if missing, and
	// writes holder into it; closing the result releases it. When somebody
	// else holds it the result is nil with what the holder wrote.
	Lock(name string, holder []byte) (lock io.Closer, heldBy []byte, err error)
	// Locked says whether somebody holds the lock, and who, without taking it
	// and without writing.
	Locked(name string) (held bool, heldBy []byte, err error)
	Close() error
}

// File is an open file. ReadAt past the end returns io.EOF.
type File interface {
	io.ReaderAt
	io.WriterAt
	io.Closer
	Size() (int64, error)
	// Allocate makes the file n bytes long with all of them physically there,
	// reading zero where nothing was written.
	Allocate(n int64) error
	Truncate(n int64) error
	// Sync makes the content and the length durable.
	Sync() error
	// NextData is the first offset at or after off that may hold something
	// else than zeros, or the file's length when none does.
	NextData(off int64) (int64, error)
	// Map maps the first n bytes, shared with everyone who has the file.
	Map(n int64, write bool) ([]byte, error)
	// Touch makes the mapped pages of [off, off+n) present and writable, so
	// that a later store to them does not fault.
	Touch(m []byte, off, n int64) error

	// Drop takes the mapped pages of [off, off+n), whole pages, out of the memory
	// of the process. What was stored there stays in the file, and comes back
	// when it is read.
	Drop(m []byte, off, n int64) error
	// Flush makes the mapped bytes of [off, off+n) durable.
	Flush(m []byte, off, n int64) error
	Unmap(m []byte) error
}
