package main

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// listenerOn finds the process that listens on a TCP port, of those whose files this one
// may see.
func listenerOn(port uint16) (pid int, command string, ok bool) {
	inodes := map[string]bool{}
	for _, table := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		listening(table, port, inodes)
	}
	if len(inodes) == 0 {
		return 0, "", false
	}
	files, err := filepath.Glob("/proc/[0-9]*/fd/*")
	if err != nil {
		return 0, "", false
	}
	for _, f := range files {
		to, err := os.Readlink(f)
		if inode, isSocket := strings.CutPrefix(to, "socket:["); err == nil && isSocket && inodes[strings.TrimSuffix(inode, "]")] {
			process := filepath.Dir(filepath.Dir(f))
			name, _ := os.ReadFile(filepath.Join(process, "comm")) // nameless if it has just ended
			pid, err = strconv.Atoi(filepath.Base(process))
			return pid, strings.TrimSpace(string(name)), err == nil
		}
	}
	return 0, "", false
}

// listening adds the inodes of the sockets in a table of the kernel that listen on a port.
// Its lines are: number, local address (hexadecimal, with the port behind a colon), remote
// address, state, queues, timer, retransmits, user, timeout, inode.
func listening(table string, port uint16, inodes map[string]bool) {
	const listens = "0A"
	b, err := os.ReadFile(table) //nolint:gosec // one of two
	if err != nil {
		return
	}
	for line := range strings.Lines(string(b)) {
		fields := strings.Fields(line)
		if len(fields) < 10 || fields[3] != listens {
			continue
		}
		_, hex, _ := strings.Cut(fields[1], ":")
		if p, err := strconv.ParseUint(hex, 16, 16); err == nil && uint16(p) == port {
			inodes[fields[9]] = true
		}
	}
}
