package queue

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"maps"
	"math/rand/v2"
	"sync"
	"syscall"
	"testing"
)

// memFS is a file system in memory that can fail, fill up, and crash: what was
// not flushed may then be lost, block by block.
type memFS struct {
	mu   sync.Mutex
	dirs map[string]*memDir
	room int64 // bytes that may be allocated; below 0: no limit
	// failSync, when set, is asked before each flush of a file or directory.
	failSync func(name string) error
	syncs    int
}

func newMemFS() *memFS { return &memFS{dirs: map[string]*memDir{}, room: -1} }

func (m *memFS) OpenDir(path string, create bool) (Dir, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	d := m.dirs[path]
	if d == nil {
		if !create {
			return nil, fs.ErrNotExist
		}
		d = &memDir{m: m, now: map[string]*memFile{}, kept: map[string]*memFile{}}
		m.dirs[path] = d
	}
	return d, nil
}

func (m *memFS) sync(name string) error {
	m.syncs++
	if m.failSync != nil {
		return m.failSync(name)
	}
	return nil
}

// memDir has two name spaces: the one seen, and the one on the disk.
type memDir struct {
	m         *memFS
	now, kept map[string]*memFile
	heldBy    []byte
}

func (d *memDir) lock() func() { d.m.mu.Lock(); return d.m.mu.Unlock }

func (d *memDir) List() ([]string, error) {
	defer d.lock()()
	var names []string
	for n := range d.now {
		names = append(names, n)
	}
	return names, nil
}

func (d *memDir) Create(name string) (File, error) {
	defer d.lock()()
	if d.now[name] != nil {
		return nil, fs.ErrExist
	}
	f := &memFile{m: d.m, name: name}
	d.now[name] = f
	return f, nil
}

func (d *memDir) Open(name string, _ bool) (File, error) {
	defer d.lock()()
	if f := d.now[name]; f != nil {
		return f, nil
	}
	return nil, fs.ErrNotExist
}

func (d *memDir) Rename(from, to string) error {
	defer d.lock()()
	if d.now[from] == nil {
		return fs.ErrNotExist
	}
	d.now[to] = d.now[from]
	delete(d.now, from)
	return nil
}

func (d *memDir) Remove(name string) error {
	defer d.lock()()
	f := d.now[name]
	if f == nil {
		return fs.ErrNotExist
	}
	delete(d.now, name)
	if d.m.room >= 0 {
		d.m.room += f.size
	}
	return nil
}

func (d *memDir) Sync() error {
	defer d.lock()()
	if err := d.m.sync("."); err != nil {
		return err
	}
	d.kept = maps.Clone(d.now)
	return nil
}

func (d *memDir) Close() error { return nil }

type memLock struct{ d *memDir }

func (l memLock) Close() error { defer l.d.lock()(); l.d.heldBy = nil; return nil }

func (d *memDir) Lock(_ string, holder []byte) (io.Closer, []byte, error) {
	defer d.lock()()
	if d.heldBy != nil {
		return nil, d.heldBy, nil
	}
	d.heldBy = holder
	return memLock{d}, nil, nil
}

func (d *memDir) Locked(string) (bool, []byte, error) {
	defer d.lock()()
	return d.heldBy != nil, d.heldBy, nil
}

// memFile has two images of one buffer's length: the page cache, which is also
// every mapping, and the disk.
type memFile struct {
	m         *memFS
	name      string
	buf, disk []byte
	size      int64
	diskSize  int64
}

// slack is room behind an allocated file, for a sealed cycle's index: mappings
// must not move.
const slack = 4 << 10

func (f *memFile) grow(n int64) {
	if n > int64(len(f.buf)) {
		b := make([]byte, n+slack)
		copy(b, f.buf)
		k := make([]byte, n+slack)
		copy(k, f.disk)
		f.buf, f.disk = b, k
	}
	f.size = max(f.size, n)
}

func (f *memFile) lock() func() { f.m.mu.Lock(); return f.m.mu.Unlock }

func (f *memFile) ReadAt(p []byte, off int64) (int, error) {
	defer f.lock()()
	if off >= f.size {
		return 0, io.EOF
	}
	n := copy(p, f.buf[off:f.size])
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

func (f *memFile) WriteAt(p []byte, off int64) (int, error) {
	defer f.lock()()
	f.grow(off + int64(len(p)))
	return copy(f.buf[off:], p), nil
}

func (f *memFile) Close() error { return nil }

func (f *memFile) Size() (int64, error) { defer f.lock()(); return f.size, nil }

func (f *memFile) Allocate(n int64) error {
	defer f.lock()()
	if add := n - f.size; f.m.room >= 0 && add > 0 {
		if add > f.m.room {
			return syscall.ENOSPC
		}
		f.m.room -= add
	}
	f.grow(n)
	return nil
}

func (f *memFile) Truncate(n int64) error {
	defer f.lock()()
	if f.m.room >= 0 && n < f.size {
		f.m.room += f.size - n
	}
	if n < f.size {
		clear(f.buf[n:f.size])
	}
	f.grow(n)
	f.size = n
	return nil
}

func (f *memFile) Sync() error {
	defer f.lock()()
	if err := f.m.sync(f.name); err != nil {
		return err
	}
	copy(f.disk, f.buf)
	f.diskSize = f.size
	return nil
}

func (f *memFile) NextData(off int64) (int64, error) { return off, nil }

func (f *memFile) Map(n int64, _ bool) ([]byte, error) {
	defer f.lock()()
	return f.buf[:n:n], nil
}

// Touch has nothing to do; as it says so, the helper does not flush what it
// touched, which a race detector would hold against the appender in front.
func (f *memFile) Touch([]byte, int64, int64) error { return errors.ErrUnsupported }

func (f *memFile) Drop([]byte, int64, int64) error { return nil }

func (f *memFile) Flush(m []byte, off, n int64) error {
	defer f.lock()()
	if err := f.m.sync(f.name); err != nil {
		return err
	}
	copy(f.disk[off:off+n], m[off:off+n])
	return nil
}

func (f *memFile) Unmap([]byte) error { return nil }

// crash gives what a power cut leaves: each block that differs from the disk is
// there or not, and so is each name and each length. Nobody may be writing.
func (m *memFS) crash(r *rand.Rand) *memFS {
	m.mu.Lock()
	defer m.mu.Unlock()
	after := newMemFS()
	block := []int{64, 512, 4096}[r.IntN(3)]
	keep := r.Float64()
	for path, d := range m.dirs {
		nd := &memDir{m: after, now: map[string]*memFile{}}
		names := map[string]*memFile{}
		for n, f := range d.kept {
			if d.now[n] == f || r.IntN(2) == 0 {
				names[n] = f
			}
		}
		for n, f := range d.now {
			if names[n] == nil && r.IntN(2) == 0 {
				names[n] = f
			}
		}
		seen := map[*memFile]bool{}
		for n, f := range names {
			if seen[f] {
				continue // a rename that was half done: it has one name
			}
			seen[f] = true
			nf := &memFile{m: after, name: n, buf: bytes.Clone(f.disk), size: f.diskSize}
			if f.size != f.diskSize && r.IntN(2) == 0 {
				nf.size = f.size
			}
			for off := 0; off < len(f.buf); off += block {
				end := min(off+block, len(f.buf))
				if r.Float64() < keep {
					copy(nf.buf[off:end], f.buf[off:end])
				}
			}
			clear(nf.buf[nf.size:])
			nf.disk, nf.diskSize = bytes.Clone(nf.buf), nf.size
			nd.now[n] = nf
		}
		nd.kept = maps.Clone(nd.now)
		after.dirs[path] = nd
	}
	return after
}

// clone copies everything as it is seen: what kill -9 leaves.
func (m *memFS) clone() *memFS {
	m.mu.Lock()
	defer m.mu.Unlock()
	after := newMemFS()
	for path, d := range m.dirs {
		nd := &memDir{m: after, now: map[string]*memFile{}, kept: map[string]*memFile{}}
		for n, f := range d.now {
			nf := &memFile{m: after, name: n, buf: bytes.Clone(f.buf), disk: bytes.Clone(f.buf), size: f.size, diskSize: f.size}
			nd.now[n], nd.kept[n] = nf, nf
		}
		after.dirs[path] = nd
	}
	return after
}

func (m *memFS) file(t testing.TB, name string) *memFile {
	t.Helper()
	m.mu.Lock()
	defer m.mu.Unlock()
	f := m.dirs["q"].now[name]
	if f == nil {
		t.Fatalf("no file %s", name)
	}
	return f
}

var errDisk = errors.New("the disk says no")
