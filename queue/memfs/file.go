package memfs

import (
	"errors"
	"io"
	"syscall"
)

// file has two images of one length: the page cache, which is also every
// mapping, and the disk.
type file struct {
	m         *FS
	name      string
	buf, disk []byte
	size      int64
	diskSize  int64
}

// slack is room behind an allocated file, for a sealed cycle's index: mappings
// must not move.
const slack = 4 << 10

func (f *file) grow(n int64) {
	if n > int64(len(f.buf)) {
		b := make([]byte, n+slack)
		copy(b, f.buf)
		k := make([]byte, n+slack)
		copy(k, f.disk)
		f.buf, f.disk = b, k
	}
	f.size = max(f.size, n)
}

func (f *file) lock() func() { f.m.mu.Lock(); return f.m.mu.Unlock }

func (f *file) ReadAt(p []byte, off int64) (int, error) {
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

func (f *file) WriteAt(p []byte, off int64) (int, error) {
	defer f.lock()()
	f.grow(off + int64(len(p)))
	return copy(f.buf[off:], p), nil
}

func (f *file) Close() error { return nil }

func (f *file) Size() (int64, error) { defer f.lock()(); return f.size, nil }

func (f *file) Allocate(n int64) error {
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

func (f *file) Truncate(n int64) error {
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

func (f *file) Sync() error {
	defer f.lock()()
	if err := f.m.sync(f.name); err != nil {
		return err
	}
	copy(f.disk, f.buf)
	f.diskSize = f.size
	return nil
}

func (f *file) NextData(off int64) (int64, error) { return off, nil }

func (f *file) Map(n int64, _ bool) ([]byte, error) {
	defer f.lock()()
	return f.buf[:n:n], nil
}

// Touch has nothing to do; as it says so, the queue does not flush what it
// touched, which a race detector would hold against the appender in front.
func (f *file) Touch([]byte, int64, int64) error { return errors.ErrUnsupported }

func (f *file) Drop([]byte, int64, int64) error { return nil }

func (f *file) Flush(m []byte, off, n int64) error {
	defer f.lock()()
	if err := f.m.sync(f.name); err != nil {
		return err
	}
	copy(f.disk[off:off+n], m[off:off+n])
	return nil
}

func (f *file) Unmap([]byte) error { return nil }
