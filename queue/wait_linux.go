package queue

import (
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

const (
	futexWait = 0
	futexWake = 1
)

// SleepOn sleeps on the futex of that place, which is the same one in every
// process that maps the file, for reading too.
func (f *osFile) SleepOn(m []byte, off int64, d time.Duration) {
	ts := unix.NsecToTimespec(int64(d))
	// Any result is a reason to look again: woken, not zero, timed out,
	// interrupted, or a page that is gone.
	_, _, _ = unix.Syscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(&m[off])), futexWait, 0, uintptr(unsafe.Pointer(&ts)), 0, 0)
}

// WakeOn wakes all who sleep there.
func (f *osFile) WakeOn(m []byte, off int64) {
	_, _, _ = unix.Syscall(unix.SYS_FUTEX, uintptr(unsafe.Pointer(&m[off])), futexWake, 1<<30)
}
