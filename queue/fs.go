package queue

import "github.com/pawl-go/pawl/queue/disk"

// FS is the seam between the queue and the file system, Dir and File what it
// opens. OS is the real one; package queue/memfs is one in memory that crashes.
type (
	FS   = disk.FS
	Dir  = disk.Dir
	File = disk.File
)
