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
// the component. Run in a bubble of testing/synctest nothing waits for real
// time.
package sim
