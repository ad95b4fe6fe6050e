// Package memfs is a file system in memory for a queue, that can fail, fill up,
// and crash: what was not flushed may then be lost, block by block. Everything
// random in it comes from the generator that the caller hands in.
//
//	fsys := memfs.New()
//	q, err := queue.Open("q", queue.Config{FS: fsys})
//	...
//	after := fsys.Crash(rand.New(rand.NewPCG(seed, 0)))    // a power cut
//	q, err = queue.Open("q", queue.Config{FS: after})
//
// # How it works
//
// A file has two images, the page cache and the disk; a directory has two name
// spaces, the one that is seen and the one on the disk. A write, or a store to a
// mapping, changes the first; a flush copies to the second. [FS.Crash] and
// [FS.Kill] make a new file system and leave the old one to those who still have
// it open: what they write there goes nowhere.
//
// All methods may be called concurrently, but for stores to a mapping: nobody
// may be making one while the file system crashes.
package memfs

import (
	"io/fs"
	"maps"
	"slices"
	"sync"

	"github.com/pawl-go/pawl/queue/disk"
)

// FS is the file system. It implements queue.FS.
type FS struct {
	mu    sync.Mutex
	dirs  map[string]*dir
	room  int64 // bytes that may be allocated; below 0: no limit
	fail  func(name string) error
	syncs int
}

// New makes an empty file system without a limit on its size.
func New() *FS { return &FS{dirs: map[string]*dir{}, room: -1} }

// SetRoom limits the bytes that can be allocated from now on; below 0 there is
// no limit. What goes beyond fails with ENOSPC; what is removed gives room back.
func (m *FS) SetRoom(bytes int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.room = bytes
}

// FailSync has f asked before each flush of a file, by its name, and of a
// directory, by the name "."; an error of f is that of the flush, which then
// does nothing. Nil asks nobody. f is called with the file system locked.
func (m *FS) FailSync(f func(name string) error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.fail = f
}

// Syncs counts the flushes so far, those that failed included.
func (m *FS) Syncs() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.syncs
}

// Bytes gives the content of a file as it is seen, shared with every mapping:
// changing it damages the file. Nil if there is no such file.
func (m *FS) Bytes(dir, name string) []byte {
	m.mu.Lock()
	defer m.mu.Unlock()
	if d := m.dirs[dir]; d != nil && d.now[name] != nil {
		return d.now[name].buf
	}
	return nil
}

// OpenDir implements queue.FS.
func (m *FS) OpenDir(path string, create bool) (disk.Dir, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	d := m.dirs[path]
	if d == nil {
		if !create {
			return nil, fs.ErrNotExist
		}
		d = &dir{m: m, now: map[string]*file{}, kept: map[string]*file{}}
		m.dirs[path] = d
	}
	return d, nil
}

// sync counts a flush and asks whether it fails. mu is held.
func (m *FS) sync(name string) error {
	m.syncs++
	if m.fail != nil {
		return m.fail(name)
	}
	return nil
}

// sorted gives the keys of a map in order: what is random must not depend on
// that of the map.
func sorted[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
