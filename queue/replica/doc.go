// Package replica copies queues between hosts: one of them, the source, appends, and
// the others, the sinks, hold the same bytes at the same indexes and take over when
// the source is gone. Package core decides everything; this package is the shell
// around it, with the disk, the network and the clock.
//
//	host, err := replica.Open(replica.Config{Self: 1, Peers: peers, Secret: secret, Queues: queues})
//	...
//	q := host.Queue("orders")
//	i, err := q.Append(ctx, order)      // at the source; returns as the strategy says
//	err = q.WaitReplicated(ctx, i)      // as many hosts have it as must
//
// # How it works
//
//	        Append                                             tailers
//	          │ noted                                             ▲
//	          ▼                                                   │ what counts
//	inbox ──► run ──► core: events in, effects out ──► the queue of this host
//	  ▲                      │
//	  │                      ├──► keep     the file of promises
//	  │ answers              ├──► flush    WaitDurable
//	  ├──────────────────────┼──► sum      checksums of cycles that are over
//	  │                      └──► stream, one for each peer: reads blocks
//	  │                                  │
//	  └── read ◄── connection ◄── write ◄┘    one connection for each pair of hosts
//
// Each queue has a goroutine, run, that takes what comes and drives the core; what comes
// alone is dealt with by the goroutine that has it already. An update on the wire holds
// blocks as they lie in the files of the source; a sink proves every byte of one
// before it applies it, whole or not at all. All that waits to be written to a
// connection goes out in one call.
//
// How the whole set stands (Overview) a host asks the others on the same connections.
//
// Beside the cycles of a queue lie replica.promises, which is no hint: a host that
// has lost it promises nothing until it has caught up; and replica.chain, which is
// one: without it cycles are read again.
//
// # What it promises
//
// What package core promises, for what it calls counting; and:
//
//   - A tailer of NewTailer never has to take back what it has read, unless a
//     take-over by force goes past it; one of Latest is told when it must.
//   - Entries that are set aside are in torn-* files beside the cycles, with a
//     report, and an Event says how many, and which.
//   - A disk that fails ends the replica of that queue (*FailedError), not the
//     host. A full disk ends nothing: the source refuses appends, a sink says so and
//     tries again.
//   - A stranger, a peer that speaks nonsense and a replayed handshake change
//     nothing: the connection ends, an Event says why.
//
// # What it does not promise
//
// A shared secret says who connects; it does not hide or protect what follows, TLS
// does. A batch has at most core.MaxUpdateEntries entries, and slots (queue.Reserve)
// are not to be had: an open one would hold up a switch. A queue that has grown alone
// can be replicated if it has no notes of others.
package replica
