package memfs

import (
	"bytes"
	"maps"
	"math/rand/v2"
)

// Crash gives what a power cut at this moment leaves: each block that differs
// from the disk is there or not, and so is each name and each length. Blocks
// are of 64, 512 or 4096 bytes, the same for one crash; how many of them
// survive is drawn for each crash too. The old file system goes on unharmed.
func (m *FS) Crash(r *rand.Rand) *FS {
	m.mu.Lock()
	defer m.mu.Unlock()
	after := New()
	after.room = m.room
	block := []int{64, 512, 4096}[r.IntN(3)]
	keep := r.Float64()
	for _, path := range sorted(m.dirs) {
		d := m.dirs[path]
		nd := &dir{m: after, now: map[string]*file{}}
		names := d.survivors(r)
		seen := map[*file]bool{}
		for _, n := range sorted(names) {
			f := names[n]
			if seen[f] {
				continue // a rename that was half done: it has one name
			}
			seen[f] = true
			nd.now[n] = f.crash(r, after, n, block, keep)
		}
		nd.kept = maps.Clone(nd.now)
		after.dirs[path] = nd
	}
	return after
}

// survivors draws the names that are there after a power cut.
func (d *dir) survivors(r *rand.Rand) map[string]*file {
	names := map[string]*file{}
	for _, n := range sorted(d.kept) {
		if f := d.kept[n]; d.now[n] == f || r.IntN(2) == 0 {
			names[n] = f
		}
	}
	for _, n := range sorted(d.now) {
		if names[n] == nil && r.IntN(2) == 0 {
			names[n] = d.now[n]
		}
	}
	return names
}

// crash draws what is left of a file.
func (f *file) crash(r *rand.Rand, after *FS, name string, block int, keep float64) *file {
	nf := &file{m: after, name: name, buf: bytes.Clone(f.disk), size: f.diskSize}
	if f.size != f.diskSize && r.IntN(2) == 0 {
		nf.size = f.size
	}
	for off := 0; off < len(f.buf); off += block {
		end := min(off+block, len(f.buf))
		// Drawn for every block: whether one differs may depend on a salt.
		if r.Float64() < keep {
			copy(nf.buf[off:end], f.buf[off:end])
		}
	}
	clear(nf.buf[nf.size:])
	nf.disk, nf.diskSize = bytes.Clone(nf.buf), nf.size
	return nf
}

// Kill gives what the death of the process at this moment leaves: all that it
// has handed over, flushed or not, and still not flushed if it was not. Locks
// are free. The old file system goes on unharmed.
func (m *FS) Kill() *FS {
	m.mu.Lock()
	defer m.mu.Unlock()
	after := New()
	after.room = m.room
	for path, d := range m.dirs {
		made := map[*file]*file{}
		copied := func(names map[string]*file) map[string]*file {
			to := make(map[string]*file, len(names))
			for n, f := range names {
				if made[f] == nil {
					made[f] = &file{m: after, name: f.name, buf: bytes.Clone(f.buf), disk: bytes.Clone(f.disk), size: f.size, diskSize: f.diskSize}
				}
				to[n] = made[f]
			}
			return to
		}
		after.dirs[path] = &dir{m: after, now: copied(d.now), kept: copied(d.kept)}
	}
	return after
}
