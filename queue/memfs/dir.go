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
	heldBy    map[string][]byte // by the name of the lock; nil: none was ever taken
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

type lock struct {
	d    *dir
	name string
}

func (l lock) Close() error { defer l.d.lock()(); delete(l.d.heldBy, l.name); return nil }

func (d *dir) Lock(name string, holder []byte) (io.Closer, []byte, error) {
	defer d.lock()()
	if by, held := d.heldBy[name]; held {
		return nil, by, nil
	}
	if d.heldBy == nil {
		d.heldBy = map[string][]byte{}
	}
	d.heldBy[name] = slices.Clone(holder)
	return lock{d, name}, nil, nil
}

func (d *dir) Locked(name string) (bool, []byte, error) {
	defer d.lock()()
	by, held := d.heldBy[name]
	return held, by, nil
}
