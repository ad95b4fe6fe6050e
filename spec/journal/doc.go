// Package journal is the second machine of the semantics: the first one
// (package spec), kept in a log of which a crash may lose the end. It says when
// a record counts, and what may happen before it does.
//
//	log        r1 r2 r3 | r4 r5      records, in one order
//	                    ^ commit index: a crash cuts somewhere behind it
//
// The rules of the first machine that change F or S make a record each. To them
// come two rules: [Machine.Commit] moves the commit index on by one record,
// [Machine.Crash] cuts the log, and every attempt in the engine's process is
// lost. Attempts on actors of other processes ([Machine.Outside]) live on, if
// nothing that they did is cut.
//
// # Edges
//
// What crosses the edge of the engine's process waits for the commit index, and
// so does a begin, but for one: the first attempt of step 1 of a nested call
// begins at once, and its result returns at once, if both run in the process of
// the engine. The same crash loses caller and callee.
//
// # Refinement
//
// A path of this machine, with the records left out that a crash has cut, is a
// path of the first one. [Machine.Crash] shows it each time: it takes the path
// again from where all was committed, by the rules of the first machine, without
// what was cut. What begins at once may be left out as well (the rule preempt says
// so: its caller is lost), and so may what only attempts know (steps, waits,
// returns). All else has been seen: a begin that the first machine refuses then
// is a [Refuted], and so is a record, or an answer that has left. F and S must be
// what the rest of the log says.
package journal
