// Package philosophers lays the table for five philosophers, written in JavaScript
// on the published kar-sdk (philosophers.js), kills their processes at random while
// they dine, and tells in the end whether all was right: each has eaten all their
// meals, no fork was in two hands, and no dinner was lost or held twice.
//
//	driver (Go): waiter, killer, judge
//	  |                                       pawl serve
//	  +-- CallRaw Philosopher.dine ------------> |  |  |
//	  |                     pawl run -- node <---+  |  |
//	  | <---- begins, ends ---- pawl run -- node <--+  |
//	  | -- kill -9 ----------------> pawl run -- node <+
//
// A kill takes either process of a pair, the runtime or node, while somebody eats
// or is about to. The other one ends too, and the pair is started anew.
package philosophers
