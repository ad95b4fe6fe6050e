// Package service runs deterministic handlers between queues: it reads messages
// from one or several input queues, calls a Go method for each, and writes what
// the method sends to an output queue. Each input has its outputs there exactly
// once, over any crash, without a file of positions. docs/services.md is the guide
// for its users.
//
// # How it works
//
// Every message on an output queue carries its history: the source (a queue, by
// its number) and index of the input that caused it, and of the input that caused
// that one. The outputs of one input are one batch, which is on the queue whole or
// not at all. So the output queue says how far the service has come: a start reads
// it backwards to its last record, brings the state to exactly there, and goes on
// behind it.
//
//	input 1 ──┐  take: up to 64 of each in turn
//	input 2 ──┼─▶ handler ─▶ arena ─▶ wait until the inputs are acknowledged
//	input 3 ──┘                        └─▶ append ─▶ output queue
//
// Inputs are merged as they come. What makes that order reproducible is that it is
// written down before anything of it can be seen: the first output of an input
// carries the runs of inputs that were handled since the record before it. An
// order that no record shows has had no effect outside the process; after a crash
// those inputs may be merged in another order, and nobody can tell. Replay reads
// the output queue forwards and feeds the inputs to the handler in the recorded
// order.
//
//	record on the output queue     inputs handled           what it says
//	Message   cause 1@3            1@1 1@2 1@3              runs: none besides its own
//	Message   cause 2@1            1@4 2@1                  runs: 1 through 4
//	Message   cause 2@1, second
//	Order     cause 1@9            2@2 1@5 1@6 ... 1@9      runs: 2 through 2; nothing sent
//
// Record is the word for what one input has left on the output queue: one or
// several messages, an Order or a Dead entry. Entries that are no messages are for
// the service itself, and are passed over by services that read the queue:
//
//   - Begin: the state is empty here, and the inputs stand at these positions; or,
//     when it names an earlier Begin, inputs were added, and these begin here.
//   - Order: how far the service has come, when that would be long untold.
//   - Dead: this input went to the queue of dead letters, for this reason.
//
// # Format of a message
//
// The fields that the flags name follow in the order of their bits. Numbers are
// unsigned varints unless said otherwise; the shortest form is the only one.
//
//	0      1      2       3
//	┌──────┬──────┬───────┬─────────┬─────────┐
//	│ 0xB1 │ kind │ flags │ fields  │ payload │
//	└──────┴──────┴───────┴─────────┴─────────┘
//	kind   0 message, 1 order, 2 begin, 3 dead
//	flags  1   time       Unix nanoseconds, zigzag varint, not 0
//	       2   history    count of 1 to 16, then source and index of each; the cause first
//	       4   ordinal    among the outputs of its input, above 0
//	       8   order      CRC32C of the cause as it stands on its queue, 4 bytes little
//	                      endian; count; source and last index of each run before its own
//	       16  positions  index of the Begin that counts (0: this entry); count; source
//	                      and index of the last handled input of each, with this one; an
//	                      index one below the first entry where none was handled yet
//	       32  type       length, bytes; not empty
//	       64  reason     length, bytes; not empty
//
// # Where to find what
//
//	the format                       envelope.go frame.go
//	registration, calls              handler.go context.go codec.go
//	the loop                         service.go input.go output.go
//	starts and replay                start.go replay.go
//	snapshots                        snapshot.go snapshotfile.go
//	dead letters                     dead.go
//	from outside, to outside         publisher.go messages.go
//
// # Invariants
//
//  1. No entry is appended before the inputs that it depends on (all handled up to
//     its cause) are acknowledged, where Input.Acknowledged asks for it.
//  2. The runs on the output queue, from a Begin on, are the whole order in which
//     inputs were handled up to the last record.
//  3. A snapshot is the state at a record, not between two, and is written after
//     that record is committed. It is used only if that record is still there.
//  4. A Dead entry is committed before its letter is appended, and the letter is
//     committed before anything else is appended: at most the last record can lack
//     its letter.
//
// # Limits
//
// A handler must be deterministic: the same state and message give the same state
// and outputs. It has no clock: Context.Time is the time of the message. It runs on
// one goroutine. An output queue, and a queue of dead letters, belong to one
// service. The outputs of one input must fit into one cycle of the output queue
// (see queue.MaxEntry).
package service
