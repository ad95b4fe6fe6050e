// Package stage starts the processes of a program in several languages: the command
// pawl, built for the run, and applications beside it, for which npm has installed
// what they need. Examples and benchmarks use it as it is, tests by package rig.
//
// Applications end their start-up with a line on standard output,
//
//	ready {"pid":4711,"app":40001,"runtime":40002}
//
// so that who has started them knows their ports without choosing them, and whom
// to kill. Only processes that were started here are ended.
package stage
