// Package soak kills hosts for a living: three processes copy a queue to each other
// over a network that fails, and are killed with -9, stopped and woken, switched and
// taken over at random, from a seed. At the end all three hold the same entries at
// the same indexes, and every append that returned is among them, once, where its
// index said.
//
//	queuesoak --kills 1000 --seed 7     (make soak-queue)
//
// The parent starts each host as a child of the same program: Child, when the
// environment says so. A child appends whenever it is the source, and writes a line
// for every append that has returned; what stands in the pipe survives its death.
package soak
