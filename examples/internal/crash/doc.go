// Package crash runs a program as a child process, kills it with -9 at seeded
// moments in the midst of its work, starts it again, and goes on until all the
// work is answered. The examples, the demo, the soak and their tests share it.
//
// The work is a number of units, 0 to Units-1: flights, transfers, increments.
// A child is the same program, started again with a [Job] in its environment:
// [Main] sees that and runs the application's child function in place of the
// program. The child submits the units and reports each step as a line on its
// standard output, one write a line, so that a line read is a fact:
//
//	parent                                child (one life)
//	  | -- PAWL_CRASH_JOB={...} ----------> |  opens its data, joins
//	  | <------------------------- ready -- |
//	  | <------------------------ sent 17 - |  unit 17 is submitted
//	  | <----------------------- again 12 - |  an attempt of unit 12 after its first
//	  | <-------------------- answered 17 - |  the outcome of unit 17 has come
//	  | -- kill -9 -----------------------> X
//	  | -- PAWL_CRASH_JOB={...} ----------> |  the next life, from the lowest unit without answer
//	  | <-------------------------- end --- |  every unit is answered
//
// With [Run.Next] a life can have begun before, as a standby that is told where to go on
// when its turn has come: see package hosts.
//
// A later life also submits units again that were answered already: they carry
// idempotency keys, and the application must not do them twice. Whether it did
// is the application's to check, on its state, when the run is over.
//
// A kill waits until the life has given a new answer and has a unit sent and
// not answered, so it always lands in the midst of work; with [Run.Early] some
// land while the program still opens. Only processes that were started here are
// ended, by their own handle; a child ends by itself when its parent dies.
package crash
