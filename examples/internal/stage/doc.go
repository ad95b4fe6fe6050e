// Package stage starts the processes of an example that is written in several
// languages: the command pawl, built for the run, and applications beside it, for
// which npm has installed what they need.
//
// Applications end their start-up with a line on standard output,
//
//	ready {"pid":4711,"app":40001,"runtime":40002}
//
// Only processes that were started here are ended.
package stage
