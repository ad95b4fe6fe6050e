package main

import "golang.org/x/sys/unix"

// freeSpace is how many bytes are free for us on the disk of dir.
func freeSpace(dir string) (uint64, error) {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return 0, err
	}
	return st.Bavail * uint64(st.Bsize), nil //nolint:gosec // a size
}

// inodes are how many files can be made still on the disk of dir, and how many it can have.
func inodes(dir string) (free, all uint64, err error) {
	var st unix.Statfs_t
	err = unix.Statfs(dir, &st)
	return st.Ffree, st.Files, err
}

// openFiles is how many files a process may have open.
func openFiles() (uint64, error) {
	var l unix.Rlimit
	err := unix.Getrlimit(unix.RLIMIT_NOFILE, &l)
	return l.Cur, err
}
