package memfs

import (
	"io"
	"io/fs"
	"maps"
	"slices"

	"github.com/pawl-go/pawl/queue/disk"
)

// dir has two name spaces: the one seen, and the one on the disk.
type dir struct {
	m         *FS
	now, kept map[string]*file
	heldBy    []byte
}

func (d *dir) lock() func() { d.m.mu.Lock(); return d.m.mu.Unlock }

func (d *dir) List() ([]string, error) {
	defer d.lock()()
	return sorted(d.now), nil
}

func (d *dir) Create(name string) (disk.File, error) {
	defer d.lock()()
	if d.now[name] != nil {
		return nil, fs.ErrExist
	}
	f := &file{m: d.m, name: name}
	d.now[name] = f
	return f, nil
}

func (d *dir) Open(name string, _ bool) (disk.File, error) {
	defer d.lock()()
	if f := d.now[name]; f != nil {
		return f, nil
	}
	return nil, fs.ErrNotExist
}

func (d *dir) Rename(from, to string) error {
	defer d.lock()()
	if d.now[from] == nil {
		return fs.ErrNotExist
	}
	d.now[to] = d.now[from]
	delete(d.now, from)
	return nil
}

func (d *dir) Remove(name string) error {
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

func (d *dir) Sync() error {
	defer d.lock()()
	if err := d.m.sync("."); err != nil {
		return err
	}
	d.kept = maps.Clone(d.now)
	return nil
}

func (d *dir) Close() error { return nil }

type lock struct{ d *dir }

func (l lock) Close() error { defer l.d.lock()(); l.d.heldBy = nil; return nil }

func (d *dir) Lock(_ string, holder []byte) (io.Closer, []byte, error) {
	defer d.lock()()
	if d.heldBy != nil {
		return nil, d.heldBy, nil
	}
	d.heldBy = slices.Clone(holder)
	return lock{d}, nil, nil
}

func (d *dir) Locked(string) (bool, []byte, error) {
	defer d.lock()()
	return d.heldBy != nil, d.heldBy, nil
}
