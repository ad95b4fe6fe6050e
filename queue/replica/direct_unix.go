//go:build unix

package replica

import "syscall"

// writeNow writes what there is room for, which may be nothing.
func writeNow(fd uintptr, b []byte) int {
	n, _ := syscall.Write(int(fd), b) // who writes the rest gets the error
	return max(n, 0)
}
