// Package bench measures Pawl on the machine at hand, through its public SDK:
//
//   - [Call] is the durable counter: "add to a durable counter by its key and
//     return the new value", beside a bare probe of the same job.
//   - [Size] is what memory calls and actors take.
//   - [Reopen] is the time from a restart after kill -9 to the first answer.
//   - [Mesh] is messages between actors of package mesh, beside bare TCP and a Go
//     channel (package messages).
//   - [Queue] is package queue on one host, beside a bare mapped log (packages
//     journals and rounds); [Replica] is the same on two and three hosts, beside
//     bare TCP.
//   - [HTTP] is calls over HTTP to an application behind pawl run, beside bare HTTP.
//   - [Recovery] is the time from the failure of a component, or of the server, to the
//     next answer.
//   - [Checkpoint] is what calls see of a checkpoint.
//
// Every job prints a report for people or as JSON. None passes or fails: the
// goals are in the design's page on benchmarks. The command is pawl bench;
// directories dbos, protoactor and wals do jobs with other systems, side by side.
package bench
