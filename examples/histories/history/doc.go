// Package history records what clients asked of a number under a key and what
// they were told, and checks that some order explains it: that the history is
// linearizable.
//
// A key holds a number, 0 at first. There are four operations, and their meaning
// one after the other is all that is known here ([Operation.Apply]):
//
//	read                   tells the number
//	write v                the number is v
//	compare-and-set o, v   if the number is o it is v; tells whether it was o
//	add n                  adds n, tells the sum
//
// A register is a key that is read, written, and compared-and-set; a counter one
// that is read and added to. Clients overlap:
//
//	client 1   |--- write 5 -------|
//	client 2        |-- read: 5 --|
//	client 3                           |-- read: 0 --|   no order explains this
//
// Each operation must seem to happen at one moment between its call and its
// return, and all in one order that gives every answer. One that was never
// answered is open: it may have happened at any moment after its call, or not at
// all. Each key is checked by itself, which is sound: a history is linearizable
// if it is for each object alone.
//
// [Check] looks for that order, with porcupine, within a time for each key: the
// problem is NP-hard, and a verdict may be [Unknown], with how far it came. Of a
// key for which there is no order, [Explain] finds the shortest beginning for
// which there is none, and writes it as a timeline and as a page for a browser.
package history
