// Package check holds a recorded trace (package engine/trace) to the semantics:
// it drives the rules of package spec with the events, and reports the first
// one that no rule allows. The prefix that ends with it is the shortest that is
// not allowed, since every event before it was.
//
// # What is checked
//
// A record or a begin, wait or return in the trace is a rule that the program
// took. The rule's condition must hold in the state that the events before have
// led to; then its effect is applied. So the checker knows F, E and S as they
// must be, not as the engine says they are. Programs are not known: what a
// method computes is free, and its steps are not in the trace.
//
// Beside the rules, each event is held to the properties of the semantics that
// a rule alone does not see:
//
//	2   one final outcome for an id, and all who wait see the same
//	4   when a retry begins nothing of its earlier attempts' calls is left
//	7   nothing is recorded by a session that is over
//	8   no opening finds less than what was committed
//	9   an error records no writes, and sends nothing
//	10  what an instance loads or reads is the recorded state; nobody begins on
//	    an instance with writes that no record holds
//	12  an answer leaves after its record counts, and is its outcome
//
// and to the edges: what is to begin only when its record counts does (a tell,
// a later step, a retry), and so does what follows from a failure.
//
// # A crash
//
// An opening says how far the journal reached. What was recorded behind that is
// undone here as well, and every attempt and session is lost: so the trace with
// the undone records left out is checked to be one of the first machine too.
//
// # Not checked
//
// Whether a request is delivered at all: a trace that ends early ends with
// requests pending. Options.Settled says that it ended when nothing was left.
package check
