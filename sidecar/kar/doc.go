// Package kar is KAR's REST API over a component: the routes under /kar/v1, so
// that published KAR clients and applications run here unchanged.
//
// It is one file a topic: calls.go (calls, tells, promises), services.go, state.go,
// reminders.go, system.go; [Handler] routes. Answers and their statuses are
// KAR's, as docs/sidecar.md tells them; where KAR has a defect ours differ.
//
// State is written at once, as KAR's is: a write is recorded and committed when
// it is answered, in one record each, and as part of the attempt that runs on the
// actor here, so that a late one of an ended attempt is refused.
package kar
