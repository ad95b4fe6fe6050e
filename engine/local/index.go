package local

import (
	"bufio"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"slices"
	"sort"
	"sync"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/pawl-go/pawl/engine"
)

// An index file, all numbers little-endian:
//
//	magic "pawlidx1" | cycle u32 | entries u32 | bloom bytes u32 | crc32c u32 of
//	the header with 0 here | upto u64 | least and greatest drawn id, 16 B each
//	bloom filter of the derived ids
//	entries: id (hi u64, lo u64), position u64, by id, then by position
//
// Upto is the record up to which the outcomes of the cycle are in it.
const (
	indexMagic  = "pawlidx1"
	indexHeader = 8 + 4*4 + 8 + 32
	indexEntry  = 24
	bloomBits   = 10 // per derived id
	bloomHashes = 7
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// indexFile is an index file that is open for reading.
type indexFile struct {
	upto        engine.Position
	n           int
	bloom       []byte
	least, most engine.ID // of the drawn ids; most is zero if there are none
	base        int64     // offset of the entries
	// The last user closes the file: a look-up may run when the cycle goes.
	mu struct {
		sync.RWMutex
		f vfs.File
	}
}

func writeIndex(fs vfs.FS, path string, cycle uint32, all []completed, upto engine.Position) (_ *indexFile, err error) {
	fail := func(err error) (*indexFile, error) {
		return nil, errors.Join(fmt.Errorf("write index %s: %w", path, err), fs.Remove(path+".tmp"))
	}
	slices.SortFunc(all, func(x, y completed) int {
		if x.id == y.id {
			return cmp.Compare(x.at, y.at)
		}
		return x.id.Compare(y.id)
	})
	x := &indexFile{upto: upto, n: len(all)}
	drawn := sort.Search(len(all), func(i int) bool { return all[i].id.Derived() })
	x.makeBloom(all[drawn:])
	if drawn > 0 {
		x.least, x.most = all[0].id, all[drawn-1].id
	}
	f, err := fs.Create(path+".tmp", vfs.WriteCategoryUnspecified)
	if err != nil {
		return nil, fmt.Errorf("write index %s: %w", path, err)
	}
	w := bufio.NewWriterSize(f, 256<<10)
	h := x.header(cycle)
	_, _ = w.Write(h) // the writer keeps the first error for Flush
	_, _ = w.Write(x.bloom)
	var b [indexEntry]byte
	for _, c := range all {
		binary.LittleEndian.PutUint64(b[:], c.id.Hi)
		binary.LittleEndian.PutUint64(b[8:], c.id.Lo)
		binary.LittleEndian.PutUint64(b[16:], uint64(c.at))
		_, _ = w.Write(b[:])
	}
	if err := errors.Join(w.Flush(), f.Sync()); err != nil {
		return fail(errors.Join(err, f.Close()))
	}
	if err := fs.Rename(path+".tmp", path); err != nil {
		return fail(errors.Join(err, f.Close()))
	}
	x.base = int64(len(h) + len(x.bloom))
	x.mu.f = f
	return x, nil
}

func (x *indexFile) header(cycle uint32) []byte {
	h := append(make([]byte, 0, indexHeader), indexMagic...)
	le := binary.LittleEndian
	h = le.AppendUint32(h, cycle)
	h = le.AppendUint32(h, uint32(x.n))
	h = le.AppendUint32(h, uint32(len(x.bloom)))
	h = le.AppendUint32(h, 0)
	h = le.AppendUint64(h, uint64(x.upto))
	for _, id := range []engine.ID{x.least, x.most} {
		h = le.AppendUint64(le.AppendUint64(h, id.Hi), id.Lo)
	}
	le.PutUint32(h[20:], crc32.Checksum(h, castagnoli))
	return h
}

func openIndex(fs vfs.FS, path string, cycle uint32) (_ *indexFile, err error) {
	f, err := fs.Open(path)
	if err != nil {
		return nil, fmt.Errorf("open index: %w", err)
	}
	x := &indexFile{}
	x.mu.f = f
	if err := x.read(cycle); err != nil {
		return nil, errors.Join(fmt.Errorf("open index %s: %w", path, err), f.Close())
	}
	return x, nil
}

var errBadIndex = errors.New("not an index of this cycle")

func (x *indexFile) read(cycle uint32) error {
	h := make([]byte, indexHeader)
	if _, err := x.mu.f.ReadAt(h, 0); err != nil {
		return err
	}
	le := binary.LittleEndian
	crc := le.Uint32(h[20:])
	le.PutUint32(h[20:], 0)
	if string(h[:8]) != indexMagic || le.Uint32(h[8:]) != cycle || crc32.Checksum(h, castagnoli) != crc {
		return errBadIndex
	}
	x.n = int(le.Uint32(h[12:]))
	x.bloom = make([]byte, le.Uint32(h[16:]))
	x.upto = engine.Position(le.Uint64(h[24:]))
	x.least = engine.ID{Hi: le.Uint64(h[32:]), Lo: le.Uint64(h[40:])}
	x.most = engine.ID{Hi: le.Uint64(h[48:]), Lo: le.Uint64(h[56:])}
	x.base = int64(indexHeader + len(x.bloom))
	st, err := x.mu.f.Stat()
	if err != nil {
		return err
	}
	if st.Size() != x.base+int64(x.n)*indexEntry {
		return errBadIndex
	}
	_, err = x.mu.f.ReadAt(x.bloom, indexHeader)
	return err
}

func (x *indexFile) makeBloom(derived []completed) {
	if len(derived) == 0 {
		return
	}
	x.bloom = make([]byte, (len(derived)*bloomBits+7)/8)
	for _, c := range derived {
		for i := range uint64(bloomHashes) {
			bit := x.bit(c.id, i)
			x.bloom[bit/8] |= 1 << (bit % 8)
		}
	}
}

// bit is the i-th of an id: derived ids are hashes already.
func (x *indexFile) bit(id engine.ID, i uint64) uint64 {
	return (id.Hi + i*(id.Lo|1)) % uint64(len(x.bloom)*8)
}

// may reports whether the id can be in the file.
func (x *indexFile) may(id engine.ID) bool {
	if !id.Derived() {
		return !x.most.IsZero() && id.Compare(x.least) >= 0 && id.Compare(x.most) <= 0
	}
	if len(x.bloom) == 0 {
		return false
	}
	for i := range uint64(bloomHashes) {
		if bit := x.bit(id, i); x.bloom[bit/8]&(1<<(bit%8)) == 0 {
			return false
		}
	}
	return true
}

// find gives the newest position of an id, 0 if it is not there.
func (x *indexFile) find(id engine.ID) (at engine.Position, err error) {
	if !x.may(id) {
		return 0, nil
	}
	x.mu.RLock()
	defer x.mu.RUnlock()
	if x.mu.f == nil {
		return 0, nil // the cycle has gone
	}
	var b [indexEntry]byte
	// The first entry behind those of the id.
	i := sort.Search(x.n, func(i int) bool {
		if err == nil {
			_, err = x.mu.f.ReadAt(b[:], x.base+int64(i)*indexEntry)
		}
		return err != nil || decodeEntry(b[:]).id.Compare(id) > 0
	})
	if err == nil && i > 0 {
		_, err = x.mu.f.ReadAt(b[:], x.base+int64(i-1)*indexEntry)
	}
	if err != nil {
		return 0, fmt.Errorf("read index: %w", err)
	}
	if c := decodeEntry(b[:]); i > 0 && c.id == id {
		return c.at, nil
	}
	return 0, nil
}

func decodeEntry(b []byte) completed {
	le := binary.LittleEndian
	return completed{engine.ID{Hi: le.Uint64(b), Lo: le.Uint64(b[8:])}, engine.Position(le.Uint64(b[16:]))}
}

// all reads every entry.
func (x *indexFile) all() ([]completed, error) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	if x.mu.f == nil {
		return nil, nil
	}
	r := bufio.NewReaderSize(io.NewSectionReader(x.mu.f, x.base, int64(x.n)*indexEntry), 256<<10)
	all := make([]completed, x.n)
	var b [indexEntry]byte
	for i := range all {
		if _, err := io.ReadFull(r, b[:]); err != nil {
			return nil, fmt.Errorf("read index: %w", err)
		}
		all[i] = decodeEntry(b[:])
	}
	return all, nil
}

func (x *indexFile) close() error {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.mu.f == nil {
		return nil
	}
	f := x.mu.f
	x.mu.f = nil
	return f.Close()
}
