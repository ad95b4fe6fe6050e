// Package trace is what the runtime and an engine say of what they do: the
// vocabulary of events, and its form in a file. A trace is checked against the
// semantics by package spec/check, and shown as a timeline by pawltest. It
// imports nothing of ours, so that all parts can speak it. Recording is off
// unless a [Recorder] is given (engine.Options.Trace, or trace=FILE in the URL
// of an engine), and costs a comparison with nil then.
//
// # Order
//
// A trace is one list over all lives of an application's processes on one data
// directory. If x is before y in the trace, y did not cause x:
//
//   - The events of a record are recorded under the engine's lock, when the
//     record stands in the journal and before anything follows from it: before
//     a delivery, an answer, a wake-up. So they stand in the order of records.
//   - A runtime's events are recorded by the goroutine that is about to do, or
//     has done, what they say; each kind says which.
//
// # Records
//
// [Kind.Record] tells the events of records from the others. Every op of a
// record is one event; those of one record stand together, in the order in
// which they apply, with the same At, and all but the last have More. No
// record escapes: one whose process died before it was traced is traced by the
// next opening, which replays it (Replayed; who made it is not known then:
// Session, N and By are zero). The order within a record is: writes,
// reminders, requests, then begun or outcome.
//
//	epoch     an opening begins an epoch (Epoch): every session before it is over
//	join      a component (Name) with Types is the session Session
//	fail      the session Session has ended by failure; counted and cancel of the same record say what that does
//	leave     the session Session has ended of its own will, drained
//	counted   the invocation counts as begun N times, Lost of them lost, after a failure or at an opening
//	cancel    the rule cancel: the invocation, nested and never begun, is taken out of F; Hash and Code are its outcome
//	send      the rules call and tell: a request enters F at its end; with Scheduled it waits for its time (due)
//	due       a scheduled request enters F at its end
//	write     writes of By's actor (Actor), by Sync, at a re-entry (begun in the same record) or with an outcome; By is zero for an operator's
//	remind    a reminder (Name) of Actor is set; with Removed, removed
//	fire      a reminder (Name) of Actor was due and is scheduled anew; a send of the same record is its firing
//	begun     an attempt is recorded as begun: every one after the first, and one before which another's writes are flushed
//	outcome   the rules end, tail-other, tail-self: the step has the outcome End. The invocation leaves F, or with a tail
//	          stands there as step Step+1 on To: at the end of F, or InPlace. What is scheduled, parked or kept as
//	          failed is ended by one too
//	overrule  an operator has given the invocation an outcome, which takes the place of its code's when that has returned
//	park      the invocation leaves F, and is kept for an operator; a step entered in place keeps its actor. Hash and Code
//	          are what those get who wait for it
//	resume    a parked or failed one enters F at its end as an independent tell, or goes on in the place that it has kept
//	drop      a failed tell that was kept is forgotten
//	postpone  the request moves to the end of F
//	pause     nothing begins on Actor until unpause
//	unpause   and on again
//	purge     state and reminders of Actor are dropped
//
// Beside its fields each event of a record has Session (who had it recorded;
// 0: the engine itself) and where it is known Actor, the actor of the
// invocation's present step.
//
// # What is not in the journal
//
// By the engine:
//
//	open      once for each life of a process, when it has replayed and before it records anything: At is the newest
//	          record that it found. Every record above At is undone, and every attempt and session of before is lost.
//	          AtOnce: a record counts as soon as it is made, and there are no commit events
//	commit    every record up to At counts: what a crash finds at the next open is never below. Recorded by who has asked
//	          or waited, before it goes on
//	refuse    the engine refuses Op (send, begin, finish, park, postpone) of an attempt, or of a client, with Code:
//	          decided under the engine's lock, nothing was recorded. Not for overload and key reuse
//
// By the runtime, for the session Session:
//
//	begin     an attempt begins: it has the turn, what it must wait for is committed, begun is recorded; no code of it
//	          has run, nor an instance been made. Fresh: there is no instance, a load follows. Under is the attempt on
//	          the same actor that it re-enters. Cells are the writes in the instance that no record holds
//	load      the attempt's new instance was given the cells Cells, all flat ones of Actor: the state as of a record
//	          between At and the newest of the trace. With Op "read" the attempt is a read-only method on a copy
//	read      the attempt has read Cells (a Hash "" : nothing there) as recorded; the same for At
//	wait      the attempt gives its turn up and waits for the outcome of Callee; without Callee it is at its end and
//	          waits for all its nested calls (joined). Recorded with the turn
//	return    the attempt goes on with the outcome (Hash, Code) of Callee. Recorded with the turn. Without a wait
//	          before it the outcome was there already
//	goon      the attempt has taken the turn back without an outcome: its wait was ended by a deadline, or all it had to
//	          join has ended
//	retry     the attempt's code has returned and asked for another attempt; its writes are dropped. Recorded with the
//	          turn. The next begin on the instance is Fresh
//	gone      the code of an attempt has returned, and nothing of it counts: its Finish was refused, or its component ended
//	release   something leaves the process that a cut must never undo, and it was committed before: Op is answer (a client
//	          gets the outcome of the invocation: Hash, Code), ack (a client's request or reminder is accepted), read (the answer of a
//	          read-only method), sync (Sync returns to the method) or operator (an operator's act returns). At is the
//	          newest record that it rests on
//
// An attempt lives from begin to the outcome or park of its step, to retry, or
// until its session is over (fail, leave, epoch, open); with Forced its code may run on
// after the outcome, as a zombie. A zombie's events still come (begin, load,
// return, ...): their session is over, or their step has ended; only records count.
//
// # File
//
// A file holds one event a line, as a JSON object; fields that are zero are
// left out. Values stand there as short hashes ([Hash]), never in clear;
// names do, with bytes that are not UTF-8 escaped ([Text], [ActorName]).
//
//	{"kind":"send","at":4294967301,"session":2,"id":"2-1","step":1,"actor":"Main/m","method":"main","form":"call"}
//	{"kind":"begin","session":2,"id":"2-1","step":1,"n":1,"actor":"Main/m","method":"main","fresh":true}
package trace
