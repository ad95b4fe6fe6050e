// Package v1 is the HTTP face of an application: the routes under /v1, by
// which the command line, an operator or a program in another language reaches
// the actors of a running process.
//
//	POST   /v1/actors/{type}/{id}/call/{method}    200 the result, 204 none, 202 the wait ended first
//	POST   /v1/actors/{type}/{id}/tell/{method}    202; ?delay=5s or ?at=2026-01-02T15:04:05Z
//	POST   /v1/invocations                         both, with the target in the body
//	GET    /v1/invocations                         ?type= id= method= status= root= key= since= limit= cursor=
//	GET    /v1/invocations/{inv}                   one
//	GET    /v1/invocations/{inv}/outcome           ?wait=30s, a long poll: 200, 204, 202, 404, 410
//	POST   /v1/invocations/{inv}/cancel            {"reason": "...", "force": false}
//	POST   /v1/invocations/{inv}/answer            {"value": ...} or {"error": {"code", "message", "detail"}}
//	POST   /v1/invocations/{inv}/resume, /skip
//	GET    /v1/actors                              ?type= limit= cursor=
//	GET    /v1/actors/{type}/{id}/state            its cells; /state/{key} and /state/{key}/{subkey} one
//	POST   /v1/actors/{type}/{id}/pause, /unpause
//	DELETE /v1/actors/{type}/{id}                  purge
//	GET    /v1/components, /v1/types
//	GET    /v1/health/live, /v1/health/ready
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
// [Handler] is the face over a [Runtime]; [Server] serves it; [Listen] opens
// the socket in a data directory, and [Dial] reaches it. Package client is the
// other end.
package v1
