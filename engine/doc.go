// Package engine is the contract between a runtime and what keeps the flow:
// the ordered list of pending requests, the actors' recorded state and the
// membership of components. See docs: the semantics name the flow F and the
// state S; an engine is what keeps both through failures.
//
// # Who does what
//
// The engine owns durability and the commit index, membership and failure
// detection, placement, fencing, reconciliation (which requests of a failed
// component go where, and which callees each must wait for), deduplication by
// id, reminders, deadlock detection and retention. A runtime owns everything
// that happens inside one component: mailboxes, the actor lock, reentrancy,
// turns, the order of retries, activation.
//
//	runtime                                 engine
//	  | Join(component, handler)  ------------> |   a Session
//	  | Session.Send(by, effects) ------------> |   one record: writes, reminders, requests
//	  | <------------ Handler.Deliver(delivery) |   in flow order for each actor
//	  | Session.Finish(by, effects, outcome) -> |   one record: effects, then the outcome
//	  | <------------ Handler.Respond(response) |   to whoever waits for the id
//
// # Records and positions
//
// What happens is numbered in one order: a [Position] is the number of a
// record. A record counts when it is committed ([Session.Committed],
// [Session.Wait]): handed to the operating system, flushed, or held by other
// hosts, by the engine's durability. Nothing leaves the process before its
// record is committed, and everything begins only when its request is
// committed, except the first attempt of step 1 of a nested call
// ([Delivery.StartsAtOnce]). An engine that commits before it delivers
// (Kafka, a server reached over a connection) simply answers Wait at once.
//
// # What makes an engine right
//
// Package enginetest is the conformance suite: an engine is one that passes.
package engine
