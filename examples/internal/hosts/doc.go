// Package hosts runs a crash run on three hosts: three child processes on loopback
// that hold copies of one journal, with the durability "replicated". One of them, the
// source, does the work; the other two stand by and apply the journal as it comes.
//
//	run: kill -9 -> one (source)     two (standby)       three (standby)
//	                 X                 | <- take over      | promises
//	                 |                 v                   |
//	                 | started       source, from the lowest unit without answer
//	                 v anew            |                   |
//	               standby <-----------+-----------------> standby
//
// The parent asks for the take-over as a person would, by the host's control socket,
// which is also what `pawl queue replication` asks. The host that was killed comes back
// as a standby. The next one to take over is the one that has stood by for longest, so
// each host is the source in its turn, and what counts has to be at every one of them.
package hosts
