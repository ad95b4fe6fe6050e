package pair

import "syscall"

// attributes puts the child into a group of its own, and has the kernel kill it
// when the thread that starts it ends.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
