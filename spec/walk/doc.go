// Package walk takes every path of a small program (package program) under the
// rules of package spec: every interleaving of its attempts, its clients and
// its operator, with failures of every set of actors at every point, up to a
// number of failures. Each step is judged by all properties; final states are
// judged by the program's own check, and must have left no request in F.
//
// States are walked breadth first and told apart by a hash of 128 bits of
// their canonical encoding, ghost state included, so that the path to the
// first wrong one is a shortest. Paths are counted over the graph of states.
//
// # Reduction
//
// A step that changes nothing but its own process (a step of code, a held
// tell, giving up the turn), the reading of a response when nothing else is
// out for the caller, an answer that leaves, and a response forgotten commute
// with whatever else may happen: in either order the same state is reached.
// It is enough to take such a step at once, alone. A failure in front of it
// loses the same attempt as one behind it. Config.NoReduction takes all orders;
// a test compares the two.
//
// What a zombie tries is refused in every order, so it tries at once, and is
// gone with the refusal. Only what is accepted (a mutant) is taken at all times.
package walk
