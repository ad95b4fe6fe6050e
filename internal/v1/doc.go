// Package v1 is the HTTP face of an application: the routes under /v1, by
// which the command line, an operator or a program in another language reaches
// the actors of a running process.
//
//	/v1/actors/{type}/{id}       call, tell, state, reminders, subscriptions, pause, deactivate, purge
//	/v1/invocations              list, one, outcome (a long poll), tree; cancel, answer, resume, skip
//	/v1/invocations:cancel       all that a filter selects
//	/v1/topics/{topic}           publish
//	/v1/events                   what the application does, as it does it
//	/v1/components, /v1/types, /v1/health/live, /v1/health/ready
//	/v1/openapi.json, /metrics
//
// The one table of routes is table.go: the router and the OpenAPI description are
// made of it. docs/http.md is for who uses them.
//
// Segments are percent-encoded and arrive intact, slashes included, and may be
// empty; a client encodes the segments "." and ".." too ([Segment] does). A call takes an
// Idempotency-Key, and Prefer: wait=30 or respond-async (RFC 7240); its answer
// carries the id of the invocation in Pawl-Invocation, but for a read-only
// method, which leaves none.
//
// An error is a problem (RFC 9457) with its code, whether the request may be
// sent again, and whether it may have had effects; [Lookup] is the one table
// from codes to HTTP statuses and to exit codes of the command line. An error
// of the application is 422, never 5xx, since proxies repeat those.
//
// Nothing is answered before the records that it reflects are committed.
//
// A write of state drops the cells cached in a live instance. If-Match compares
// with what is recorded; a method that runs meanwhile may still come between.
//
// [Handler] is the face over a [Runtime]; [Server] serves it; [ListenTCP] keeps to
// loopback unless there is mutual TLS or a token, for which [Protect] asks; [ServeShared]
// serves at the socket in a data directory. Package client is the other end.
package v1
