// Package sim runs the real runtime and the real local engine on a simulated
// disk, in virtual time, with every failure where a seed puts it.
//
//	disk := sim.NewDisk(seed)
//	eng, err := sim.Open(disk, sim.Options{Options: engine.Options{App: "bank"}})
//	eng = sim.Watch(eng, func(p sim.Point) error { ... })      // before and after every step that can fail
//	...
//	disk = disk.Crash()                                         // the process dies; what eng still does goes nowhere
//	eng, err = sim.Open(disk, ...)                              // the next life
//
// [Watch] tells of each [Point] in the goroutine concerned, which goes on when
// the function returns: it may hold it up, and an error of it is the death of
// the component. [Gates] hold everybody up and let one go on at a time. In a
// bubble of testing/synctest nothing waits for real time, and whoever opens the
// gates by a seed, when all others are blocked, gets the same run every time:
// package program does so with random programs.
//
// # What makes a run repeat
//
// At most one goroutine that is let go, and those that it wakes, run between two
// choices, and each stops at its next gate. What the code under test draws comes
// from seeds (backoffs: runtime.Config.Jitter; crashes: the disk), and nothing
// that is recorded depends on the order of a map. What is left to chance are the
// salts of the journal's cycles and the stacks of panics: they decide nothing.
package sim
