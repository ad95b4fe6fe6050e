// Package queue is a persisted message queue: a directory of preallocated,
// memory-mapped files, one process that appends, and any number of tailers in
// any number of processes. It needs nothing else of this module. docs/queue.md is
// the guide for its users.
//
// # How it works
//
// A queue is a directory of cycle files, 0000000001.cycle and up. An appender
// takes one mutex, gives the entry its place and its Index, copies it into the
// mapping and stores its first word last, so that a reader in any process sees a
// whole entry or none. A helper goroutine keeps the pages in front of the
// appender present, prepares the next cycle before it is needed, and seals the
// cycles that are over. Flushes are shared: see WaitDurable.
//
//	cycle file   0 ┬ header page      magic, version, number, size, salt, created, CRC32C
//	               │                  since version 2: count of cuts, flag "copied"
//	               │   at 64: stamp   closed or sealed; bytes used, entries, sparse index, CRC32C
//	          4096 ┼ entry            every entry begins at a multiple of 8
//	               │ entry ...
//	               │ end entry        the cycle is over; room for it is always kept
//	               ┴ sparse index     of a sealed cycle: sequence << 32 | offset / 8, per page
//
//	entry        0       4        8       12        16
//	             │ word  │ check  │ mark  │ hcheck  │ payload ... │ zeros to a multiple of 8
//
//	word     bit 31 present, bit 30 the batch goes on, bits 28-29 kind (0 data, 1
//	         padding, 2 end, 3 no message but indexed: its first byte is 0 for a
//	         lost entry, 1 for a note), bits 0-27 length; 0 where nothing was published
//	check    CRC32C of the payload, mixed with salt, offset, word and mark
//	mark     offset / 8 below which this cycle, and all of every cycle before it,
//	         was known to be flushed when the entry was written; 0: not known. In
//	         a copied cycle it speaks of another disk and counts for nothing
//	hcheck   hash of salt, offset, word and mark: the header proves itself
//
// All numbers are little endian. The salt is random and new with each file, and
// both checks depend on it and on the offset, so an old or misplaced entry never
// passes for a new one.
//
// Beside the cycles lie the lock of the appender, a NAME.tailer file and a lock for
// each named position, and torn-* files with what was set aside.
//
// # Where to find what
//
//	append, slots, flushing   append.go slot.go note.go flush.go
//	cycles: made, sealed      helper.go segment.go sparse.go format.go
//	rolling, retention        tend.go retain.go files.go
//	reading                   tailer.go cursor.go read.go back.go search.go cycles.go
//	named tailers             named.go position.go positions.go positionfile.go
//	waiting                   tailer.go wait.go wait_linux.go replaced.go
//	opening after a crash     recover.go scan.go
//	damage                    verify.go survey.go repair.go
//	copies on other hosts     bar.go block.go copy.go setaside.go
//	the file system           fs.go fs_linux.go fskind.go, package disk
//
// # What it promises
//
//   - An entry whose Append has returned survives the death of the process. One
//     whose WaitDurable has returned survives a power cut.
//   - Opening after a death at any moment keeps every entry up to the first that
//     is not whole; what lies behind it is set aside in torn-* files with a
//     report, never dropped. A batch is kept whole or not at all.
//   - A bad entry below the highest mark of any whole entry, even of one behind
//     it, is damage and not a torn tail: Open refuses with a *CorruptError that
//     says where, and changes nothing.
//   - A flush that fails is final (*FlushError). A full disk is an error of the
//     append that needed a new file (ErrFull), and of nothing else; a later
//     append tries again. Space is allocated before it is mapped, so no store can
//     fail for want of it (on file systems where allocating means that: not on
//     those that copy on write).
//   - A file that is cut under a reader is an error (ErrTruncated). A queue of
//     OpenReadOnly writes nothing.
//   - Stamps and sparse indexes are hints; losing them loses only time.
//   - Retention deletes nothing that a position which holds back has not passed. A
//     position is never behind the end of the queue.
//   - No index ever gets another entry, by Repair neither; SetAside, which takes
//     entries out of a copy, and a torn tail are the exceptions.
//
// # What it does not promise
//
// Rolling by time comes a moment after the hour: entries of that moment are in the
// cycle before.
//
// Entries flushed but followed by no other entry and by no Close carry no mark
// yet: damage to exactly those looks like a torn tail, and is set aside as one.
// Sealed cycles are not read when the queue is opened; damage in them shows when
// they are read, or by Verify. A file cut under the appender kills its process.
//
// # Limits
//
// An entry is at most MaxEntry(CycleBytes), 64 MiB less 4128 bytes by default and
// 256 MiB in any case; a cycle at most 4 GiB; a queue 2^32-1 cycles. An idle queue
// takes the disk space of one cycle, a busy one of two more than it holds.
package queue
