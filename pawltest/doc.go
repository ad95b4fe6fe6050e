// Package pawltest tests actors: one method at a time without a runtime, a whole
// application on virtual time, and every way in which it can fail.
//
//	func TestTransfer(t *testing.T) {
//		pawltest.Explore(t, func(w *pawltest.World) {
//			w.Host(func(app *pawl.App) { pawl.Register[Account](app); pawl.Register[Transfer](app) })
//			got, err := pawl.Call(w.Context(), pawl.Actor[*Transfer]("rent"), (*Transfer).Begin, order)
//			if got != 130 || err != nil {
//				w.Errorf("the transfer gives %d, %v; want 130", got, err)
//			}
//		})
//	}
//
// # Three ways
//
//   - [Context] calls a method by hand: a plain Go call on a new actor. [Stub]
//     answers the calls that it makes, [Told] and [Tailed] tell what it asked for.
//   - [Run] runs a scenario once, in a [World]: Pawl's own runtime and engine, a
//     disk in memory, and time that passes only when all wait. Its components can
//     be killed, paused, drained and restarted.
//   - [Explore] runs a scenario with the process dying at each step that can fail
//     ([Step]), one failure a run and then two. It reports the first run that
//     fails a check as a timeline, with the line that runs it again and a hint.
//
// The guide is docs/testing.md.
//
// # How it works
//
// A run is a bubble of testing/synctest. The world holds every goroutine of a
// component at each step: before its method begins, after it has sent, around its
// outcome and its Sync. When nothing runs any more, it lets one of them go on, or
// one answer arrive, drawn by the seed; so all that happens has one order, and a
// schedule (the seed, and the steps at which something fails) is the same run each
// time. What it does not order are goroutines that a method starts by itself.
//
// A process that dies leaves what it has recorded on its disk, and nothing else:
// its goroutines are held for good. The next life opens an engine on that disk
// and starts the components again. The scenario is a client outside, and lives
// on: a call of its that was under way is asked for again by its id.
//
// # Defaults that find mistakes
//
// An actor is dropped from memory after each outcome ([KeepInstances] turns that
// off), so that a plain field taken for state is missed. The value of a cell that
// was changed in place fails the run. Every argument is encoded and decoded, also
// within a process. Those that are ready go on in an order of the world's choosing.
//
// # What it does not find
//
// What depends on the moment between two actions of one method on the outside
// world: name it with [MayFail] in the fake that stands for that world. What a
// real network, disk or power cut does to Pawl itself is not the subject: that is
// what its own tests are for.
package pawltest
