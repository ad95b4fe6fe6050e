// Package bench measures Pawl on the machine at hand, through its public SDK:
//
//   - [Call] is the durable counter: "add to a durable counter by its key and
//     return the new value", beside a bare probe of the same job.
//   - [Size] is what memory calls and actors take.
//   - [Reopen] is the time from a restart after kill -9 to the first answer.
//   - [Mesh] is messages between actors of package mesh, beside bare TCP and a Go
//     channel (package messages).
//   - [Checkpoint] is what calls see of a checkpoint.
//
// Every job prints a report for people or as JSON. None passes or fails: the
// goals are in the design's page on benchmarks. The command is pawl bench;
// directory dbos does the job of Call with another system, side by side.
package bench
