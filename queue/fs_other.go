//go:build !linux

package queue

import (
	"errors"
	"fmt"
	"runtime"
)

// OS is the file system of the operating system. Only Linux has one so far.
func OS() FS { return noFS{} }

type noFS struct{}

func (noFS) OpenDir(string, bool) (Dir, error) {
	return nil, fmt.Errorf("open queue on %s: %w", runtime.GOOS, errors.ErrUnsupported)
}
