// Package local is the embedded engine: a journal, and the state that it
// amounts to, in one directory of one process. Importing it registers the URL
// scheme "local":
//
//	local:./data?durability=disk&checkpoint=32MiB&cycle=32MiB&retain=10m&retain_bytes=1GiB&trace=FILE
//
//	durability    disk (default): a record counts once it is flushed;
//	              process: once it is handed to the operating system;
//	              replicated: once as many hosts hold it as must
//	replication, host, queue   of replicated: the file of the hosts (package replica/config),
//	              which of them this is, by name or id, and which queue is the journal
//	              (journal); the path of the queue in the file is not used
//	standby       of replicated, what Open does while another host is the source: refuse
//	              (default), or wait, applying the journal, until this host takes over
//	checkpoint    journal between two checkpoints; bounds the time to open
//	cycle         size of one file of the journal; bounds the largest record
//	retain, retain_bytes   how long ended invocations are kept, for duplicates
//	              and for looking back: up to a time or a size, whichever is less
//	trace         a file into which all that happens is recorded, to be checked or
//	              looked at (package trace); off by default. Hosts with copies share one, in
//	              which the source writes; it must have ended before the next one takes over
//
// # How it works
//
//	Send, Finish, ...            one record: ops in their order    record.go, codec.go, journal.proto
//	   | encoded without the lock
//	   v
//	mu: append to the journal -> apply to the flow -> Deliver, Respond
//	   |                           flow.go, waits.go, kept.go, placement.go, failure.go, reminders.go, state.go
//	   v every 32 MiB
//	checkpoint: changed state and the rows of the flow into an LSM store   checkpoint.go, rows.go, store.go
//
// The journal (package queue) is the only thing that is ever waited for. Under
// one mutex a record is appended, applied and handed on, so the order of the
// journal is the order in which it takes effect and the order of deliveries. A
// handler is called with the mutex held: it neither blocks nor calls back.
//
// The [flow] is pure: records in, deliveries out, the same code when a record
// has just been made and when it is read back at opening. What the code decides
// (what a failure costs, who is cancelled, when a reminder is due again) is
// decided before the record and stands in it, so that a journal means the same
// to any later version.
//
//	DIR/journal/          the queue; a cycle goes when a checkpoint covers it and its retention is over
//	DIR/journal-index/    per cycle: which invocations ended where; made again if lost
//	DIR/state/            the store, of the newest checkpoint or newer; never ahead of the flushed journal
//
// Opening reads the checkpoint, applies the journal behind it, decides what the
// death of the last process has cost, and begins a new epoch.
//
// # What it promises
//
// The guarantees of the semantics for all components in this process; a record
// counts by the chosen durability; after kill -9 nothing acknowledged is lost;
// after a power cut that holds for durability disk, while process may lose up
// to a second. A full disk refuses what is new and recovers by itself. A failed
// flush, or a store that cannot write what it must, ends the engine: it says
// so, fences every session, and the next opening tells what is there.
//
// Memory follows what is pending and which actors are live or have changed since
// the last checkpoint, not the number of calls.
package local
