// Package runtime is one component's dispatcher: it decides what begins on
// which actor, and runs it. It knows no engine but by its contract (package
// engine), and no programming language but by the seam in host.go.
//
// # The path of a call, as far as it lies here
//
//	client.go, call.go   Component.Call, Invocation.Call: make the request, Send it
//	deliver.go           Component.Deliver: into the actor's mailbox
//	mailbox.go           mailbox.next: who may begin or go on (pure)
//	run.go               Component.run: activate, begin, invoke
//	finish.go            Component.finish: record the outcome, or retry
//	deliver.go           Component.Respond: to whoever waits
//	pending.go           Pending.Wait: the waiting call goes on
//
// # The actor lock, turns and goroutines
//
// The requests of an actor stand in one line (package chain). Those that hold
// the actor form its chain: the oldest, and what is nested in it. At most one
// invocation of the chain has the turn, which is the right to run code on the
// instance; one that waits for a nested call gives the turn up, and takes it
// back before it goes on. The line keeps a place through tail calls to self
// and through retries, and so the lock.
//
// An idle actor has no goroutine, channel or timer: it is a table entry and an
// instance. A request for an idle actor runs on the goroutine of the caller
// who waits for it, if there is one; else a runner is started, which goes on
// with what stands behind it in the line.
//
// # Locks
//
// Component.mu guards the table, the mailboxes and the waits. It is held for
// short, never across a call of the session, the host or a channel. An engine
// may hold its own locks when it calls the handler, so the order is: the
// engine's locks, then Component.mu.
package runtime
