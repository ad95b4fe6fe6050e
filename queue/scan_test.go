package queue

import (
	"sync/atomic"
	"testing"
)

// countingFS counts the bytes that are read of its files.
type countingFS struct {
	FS
	read *atomic.Int64
}

func (f countingFS) OpenDir(path string, create bool) (Dir, error) {
	d, err := f.FS.OpenDir(path, create)
	return countingDir{d, f.read}, err
}

type countingDir struct {
	Dir
	read *atomic.Int64
}

func (d countingDir) Open(name string, write bool) (File, error) {
	f, err := d.Dir.Open(name, write)
	if err != nil {
		return nil, err
	}
	return countingFile{f, d.read}, nil
}

type countingFile struct {
	File
	read *atomic.Int64
}

func (f countingFile) ReadAt(p []byte, off int64) (int, error) {
	n, err := f.File.ReadAt(p, off)
	f.read.Add(int64(n))
	return n, err
}

// TestOpenReadsLittle of a cycle of which most was only allocated, although the
// kernel reads ahead.
func TestOpenReadsLittle(t *testing.T) {
	dir := t.TempDir()
	if !knowsHoles(t, dir) {
		t.Skip("the file system does not tell data from what was only allocated")
	}
	var read atomic.Int64
	cfg := Config{CycleBytes: 256 << 20, FS: countingFS{OS(), &read}, Logger: quiet()}
	for range 2 { // the second time there is what the first has brought into memory
		q := mustOpen(t, dir, cfg)
		mustAppend(t, q, "an entry")
		if err := q.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if n := read.Load(); n == 0 || n > cfg.CycleBytes/4 {
		t.Errorf("%d bytes were read of a cycle of %d", n, cfg.CycleBytes)
	}
}

// knowsHoles says whether NextData finds nothing in a file that was only allocated.
func knowsHoles(t *testing.T, dir string) bool {
	t.Helper()
	d, err := OS().OpenDir(dir, false)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	f, err := d.Create("allocated")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := f.Allocate(1 << 20); err != nil {
		t.Fatal(err)
	}
	n, err := f.NextData(0)
	if err != nil {
		t.Fatal(err)
	}
	return n == 1<<20
}
