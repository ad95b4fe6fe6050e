package queue

import "github.com/pawl-go/pawl/queue/disk"

// FS is the seam between the queue and the file system. OS is the real one;
// package queue/memfs is one in memory that crashes.
type FS = disk.FS

// Dir is an open directory of an FS.
type Dir = disk.Dir

// File is an open file of an FS.
type File = disk.File
