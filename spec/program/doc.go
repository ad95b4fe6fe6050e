// Package program holds small programs, written as transitions as the paper
// does, and the language they are written in. A method is a list of
// instructions; a running method is a point in it (spec.Point: a program
// counter, the argument V and two local variables X and Y). An instruction
// gives, for a point and what its actor's state looks like from there, the next
// transitions, as events of package spec:
//
//	"incr": body(
//		call("store", "get", none), await(X), // x = store.get()
//		tailSelf("set", plus(X, 1)),          // return tailCall(this.set(x + 1))
//	),
//
// Nothing here says when a transition is taken: package walk tries them all.
// [All] lists the programs. Most are right, and hold with any failures; some
// are wrong, and are there to be refuted.
package program
