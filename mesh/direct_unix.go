//go:build unix

package mesh

import (
	"errors"
	"syscall"
)

// writeNow writes what there is room for, which may be nothing.
func writeNow(fd uintptr, b []byte) (n int, err error) {
	n, err = syscall.Write(int(fd), b)
	if errors.Is(err, syscall.EAGAIN) || errors.Is(err, syscall.EINTR) {
		return 0, nil
	}
	return max(n, 0), err
}
