// Package core is the copying of a queue to other hosts, as a pure state machine:
// events go in, effects come out as data. It has no clock, no goroutine, and no
// disk or network of its own, so what runs in production is what the simulation
// of its tests runs.
//
// # How it works
//
// A queue has n hosts. One of them, the source, may append; the others, the
// sinks, hold exact copies: the same bytes at the same indexes. Each host has a
// [Replica] for the queue, which hears of connections, messages and the ends of
// flushes, and says what to send, append and flush. [Link] keeps the connection
// between two hosts.
//
// An entry counts once w hosts hold it, the source included ([Strategy] says how
// many). A host becomes the source of a new epoch, (number, host), when
// q = n - w + 1 hosts have promised it: flushed, before they answer. Who has
// promised takes nothing from an older epoch. Any w hosts and any q hosts have
// one in common, from which follows everything:
//
//   - The candidate takes the best history of the q, the one with the greatest
//     (epoch of the last entry, index of the last entry), before it begins. A
//     host in common held each entry that counts when it promised, so the best
//     history has it. What the candidate has too much is set aside.
//   - Its first entry opens the epoch. Nothing counts in an epoch, and nothing
//     older counts by its acknowledgements, before w hosts hold that entry. So a
//     history that ends in a later epoch has everything that counted in earlier
//     ones, and the comparison of ends is sound.
//   - A source that was cut off or stopped can append to its own queue, and
//     nothing of it counts: fewer than w hosts take it. When it comes back the
//     fork is found, and what lies above it is set aside.
//
// Entries are held when they are appended, or, with FlushToCount, flushed. A host
// that may have lost what it acknowledged, or its promises, promises nothing
// ([Trust]) before it has caught up with a source; one that forgot its promises
// also waits for the source to find out that it still is one.
//
// # What it promises
//
// Nothing that counted is lost or contradicted as long as fewer than w hosts lose
// what they hold at a time; with FlushToCount a power cut loses nothing that is
// held. Take-overs by force, and allowLoss, give that up: they say what each host
// held, and mark their epoch as lossy, so that the others know why what counted
// is set aside.
//
// It does not promise progress: a new queue begins when all its hosts are there,
// a source begins when q hosts are, and counts when w are. Nothing here elects:
// somebody says TakeOver, or the last source comes back.
//
// A source that lives is not overtaken but by a person's command. A host that hears
// one, or has promised a candidate a moment ago, promises nobody else. Who comes back,
// or is elected, waits while a host says that it hears a source; and who comes back
// also waits for hosts that may be one, for a heartbeat timeout. A claim that is
// refused changes nothing at the host that made it, which follows the source then.
//
// A source that hears too few hosts for anything to count may begin nothing new
// ([Replica.LeaseEnd]), and is in nobody's way any more.
//
// # For the shell
//
// The shell owns the queue, the file of promises, the connections and the clock.
// It serializes Step, carries out the effects as [Effect] says, and answers. It
// finds the running checksum of any kept entry ([AskSum], [Chain]), so it keeps
// one at the start of each cycle. It writes Hard to a file of its own, with a
// check and the boot id of the machine, by writing a new one, flushing it, and
// renaming it. Retention deletes nothing above [Status].Keep.
//
// What stands on it meets it in few places: the configuration makes a [Config];
// a command line and an elected take-over say [TakeOver] and [Switch]; whoever
// waits for copies listens to [Counted], and tailers read up to it; gauges are
// [Status] and [Notice].
package core
