// Package pair ties a child process to this one: the end of either, however it
// comes, ends the other.
//
//	this process ---- starts ----> the child, in a process group of its own
//	     |                            ^
//	     +-- pipe --> a watcher ------+ kills the group when the pipe ends
//
// The child ends first: [Process.Wait] says so, and what is left of its group is
// killed. This process ends first, by kill -9 too: the kernel closes the pipe, and the
// watcher, a second small process, kills the group; on Linux the child is
// killed by the kernel besides. What has left the group (setsid) is beyond reach.
package pair
