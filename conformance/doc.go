// Package conformance runs the published kar-sdk (npm, 1.3.10), unchanged, and
// holds both sides of the wire to what it expects.
//
// Directory js holds two applications on the SDK: actors.js, whose actors and
// service the cases call, and suite.js, which runs the cases, one function of the
// SDK after the other. What happens is told to a witness in the Go test, which
// outlives all that a test kills. Cases that allow for a fault of the SDK say so.
//
// The tests of application_test.go play the runtime and need none: they pin what
// the SDK answers to a runtime and asks of it. Those of suite_test.go run the cases
// on pawl run, alone and across processes, and kill either of a pair. Those of
// defects_test.go show that KAR's defects are not ours (docs/sidecar.md has the table), those of
// faults_test.go kill and stop the server, runtimes and applications, and hold what the
// engine has traced meanwhile to the semantics (spec/check).
package conformance
