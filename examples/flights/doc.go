// Package flights is an airline on a bad day: twenty thousand real flights, each
// an actor, over 224 airports, each an actor, in a program that is killed with
// -9 again and again.
//
// A flight is one invocation, a chain of tail calls from actor to actor. Each
// step commits what it wrote together with the request for the next, so each
// happens exactly once, whenever the program dies:
//
//	Flight.Depart -> origin's Airport.Departed -> Flight.Fly -> destination's Airport.Arrived -> Flight.Done
//	                                                 |
//	                                                 +- nested, Once: destination's Airport.Clear
//
// [Run] runs the airline as a child process through the kills; [Audit] then
// adds up the file anew and holds the sums, airport by airport and flight by
// flight, against what the actors have.
package flights
