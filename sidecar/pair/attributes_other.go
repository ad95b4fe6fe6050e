//go:build unix && !linux

package pair

import "syscall"

// attributes puts the child into a group of its own.
func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
