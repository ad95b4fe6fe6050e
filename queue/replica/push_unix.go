//go:build unix

package replica

import "golang.org/x/sys/unix"

// pushOn writes to the file descriptor of the connection, and is done whether that
// takes all or not: the writer finds out what is wrong.
func (c *conn) pushOn(fd uintptr) bool {
	n, err := unix.Write(int(fd), c.pushed)
	if err == nil {
		c.taken = n
	}
	return true
}
