package queue

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pawl-go/pawl/queue/memfs"
)

// A victim is a queue that was flushed in the middle and whose process then
// died, with what is known of each entry.
type victim struct {
	fsys  *memfs.FS
	is    []Index
	ps    []string
	start []int64 // offset of the entry, or of the batch it is in
	cycle []uint32
	end   int64 // of the entries in the last cycle
	marks []int64
}

func newVictim(t *testing.T) *victim {
	t.Helper()
	v := &victim{fsys: memfs.New()}
	q, err := Open("q", Config{CycleBytes: 8 << 10, FS: v.fsys, Logger: quiet(), FlushEvery: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	add := func(ps ...string) {
		var bs [][]byte
		for _, p := range ps {
			bs = append(bs, []byte(p))
		}
		off := q.w.off
		mark := q.w.seg.flushed.Load()
		first, err := q.AppendBatch(bs...)
		if err != nil {
			t.Fatal(err)
		}
		for k, p := range ps {
			v.is, v.ps = append(v.is, first+Index(k)), append(v.ps, p)
			v.start, v.cycle, v.marks = append(v.start, off), append(v.cycle, first.Cycle()), append(v.marks, mark)
		}
		v.end = q.w.off
	}
	add("one")
	add("two, a little longer")
	add("batch a", "batch b is longer", "batch c")
	if err := q.WaitDurable(t.Context(), q.Last()); err != nil {
		t.Fatal(err)
	}
	add("four")
	add("")
	add("batch d", "batch e")
	// kill -9: everything is in the page cache, no stamp was written.
	v.fsys = v.fsys.Kill()
	if err := q.Close(); err != nil {
		t.Fatal(err)
	}
	return v
}

// floor is the offset below which an entry must be whole, given that the entry
// or batch which begins at hit is damaged.
func (v *victim) floor(hit int64) int64 {
	var f int64
	for k := range v.is {
		if v.start[k] != hit {
			f = max(f, v.marks[k])
		}
	}
	return f
}

// TestBitFlips flips each bit-carrying byte of a small queue, in turn.
func TestBitFlips(t *testing.T) {
	v := newVictim(t)
	torn, refused := 0, 0
	for off := int64(0); off < 8<<10; off++ {
		off = v.skip(off)
		fsys := v.fsys.Kill()
		firstCycle(t, fsys)[off] ^= 1 << (off % 8)
		cfg := Config{CycleBytes: MinCycleBytes, FS: fsys, Logger: quiet(), FlushEvery: time.Hour}
		q, err := Open("q", cfg)
		switch wantErr, wantKept := v.afterFlip(off); {
		case wantErr >= 0:
			refused++
			var c *CorruptError
			if !errors.As(err, &c) || c.Cycle != 1 || c.Offset != wantErr || !strings.Contains(err.Error(), cycleName(1)) {
				t.Fatalf("flip at %d: %v, want damage at offset %d", off, err, wantErr)
			}
		case err != nil:
			t.Fatalf("flip at %d: %v", off, err)
		default:
			if q.Recovered() != nil {
				torn++
			}
			if n := v.kept(t, q); n != wantKept {
				t.Fatalf("flip at %d: %d entries kept, want %d (%+v)", off, n, wantKept, q.Recovered())
			}
			if wantKept < len(v.is) && q.Recovered() == nil {
				t.Fatalf("flip at %d: entries lost without a report", off)
			}
			mustAppend(t, q, "goes on")
			mustClose(t, q)
			q, err := Open("q", cfg)
			if err != nil || q.Recovered() != nil {
				t.Fatalf("flip at %d: second opening: %v", off, err)
			}
			if is, ps := all(t, q, 0); len(is) != wantKept+1 || ps[wantKept] != "goes on" {
				t.Fatalf("flip at %d: second opening: %q", off, ps)
			}
			mustClose(t, q)
		}
	}
	if torn == 0 || refused == 0 {
		t.Fatalf("%d torn, %d refused: the test tests nothing", torn, refused)
	}
}

// skip passes most of what was never written.
func (v *victim) skip(off int64) int64 {
	switch {
	case off > headerBytes && off < dataStart-8:
		return min(off+200, dataStart-8)
	case off > v.end+32:
		return min(off+200, 8<<10-1)
	}
	return off
}

// afterFlip says what a flipped byte must lead to: damage at an offset, or so
// many entries kept.
func (v *victim) afterFlip(off int64) (damage int64, kept int) {
	switch {
	case off < stampOffset:
		return 0, 0
	case off < dataStart:
		return -1, len(v.is) // an absent stamp, and unused bytes
	case off >= v.end:
		return -1, len(v.is) // garbage behind the end
	}
	hit := 0
	for k := range v.is {
		if v.start[k] <= off {
			hit = k
		}
	}
	for hit > 0 && v.start[hit-1] == v.start[hit] {
		hit-- // to the first of the batch
	}
	if v.start[hit] < v.floor(v.start[hit]) {
		return v.start[hit], 0
	}
	return -1, hit
}

func (v *victim) kept(t *testing.T, q *Queue) int {
	t.Helper()
	is, ps := all(t, q, 0)
	for k := range is {
		if is[k] != v.is[k] || ps[k] != v.ps[k] {
			t.Fatalf("entry %d: %s %q, want %s %q", k, is[k], ps[k], v.is[k], v.ps[k])
		}
	}
	return len(is)
}

// TestTruncations cuts the file at each length.
func TestTruncations(t *testing.T) {
	v := newVictim(t)
	for n := int64(0); n < 8<<10; n++ {
		n = v.skip(n)
		fsys := v.fsys.Kill()
		if err := cutFirstCycle(fsys, n); err != nil {
			t.Fatal(err)
		}
		q, err := Open("q", Config{CycleBytes: MinCycleBytes, FS: fsys, Logger: quiet(), FlushEvery: time.Hour})
		var c *CorruptError
		if n < headerBytes {
			if !errors.As(err, &c) || !strings.Contains(err.Error(), cycleName(1)) {
				t.Fatalf("cut at %d: %v, want damage", n, err)
			}
			continue
		}
		// Entries whose bytes, zeros at the end aside, are still there; and what
		// those say was flushed.
		kept := 0
		for kept < len(v.is) && v.wholeEnd(kept) <= n {
			kept++
		}
		var floor int64
		for k := range v.is {
			if v.endOf(k) <= n {
				floor = max(floor, v.marks[k])
			}
		}
		stop := v.end
		if kept < len(v.is) {
			stop = v.start[kept]
		}
		if stop < floor {
			if !errors.As(err, &c) || c.Offset != stop {
				t.Fatalf("cut at %d: %v, want damage at %d", n, err, stop)
			}
			continue
		}
		if err != nil {
			t.Fatalf("cut at %d: %v", n, err)
		}
		if got := v.kept(t, q); got != kept {
			t.Fatalf("cut at %d: %d entries, want %d", n, got, kept)
		}
		mustAppend(t, q, "goes on")
		mustClose(t, q)
	}
}

// endOf is where the last byte of entry k that is not zero lies, and wholeEnd
// that of the batch it belongs to.
func (v *victim) endOf(k int) int64 {
	off := v.start[k]
	for j := range k {
		if v.start[j] == v.start[k] {
			off += entrySize(len(v.ps[j]))
		}
	}
	end := off + entryHeader + int64(len(v.ps[k]))
	for b := v.fsys.Bytes("q", cycleName(v.cycle[k])); b[end-1] == 0; {
		end-- // the last byte of the check of an entry without payload may be zero
	}
	return end
}

func (v *victim) wholeEnd(k int) int64 {
	end := v.endOf(k)
	for j := range v.is {
		if v.start[j] == v.start[k] {
			end = max(end, v.endOf(j))
		}
	}
	return end
}

// TestDamageInAnEarlierCycle: a hole in a cycle is damage when a later cycle
// says that it was flushed, and else takes the later cycles with it.
func TestDamageInAnEarlierCycle(t *testing.T) {
	for _, flushed := range []bool{false, true} {
		t.Run(fmt.Sprintf("flushed=%t", flushed), func(t *testing.T) {
			fsys := memfs.New()
			// No helper: it would seal the cycle, and so flush it.
			q := newQueue("q", Config{CycleBytes: 8 << 10, FS: fsys, Logger: quiet(), FlushEvery: time.Hour, Now: func() time.Time { return someday }})
			d, err := fsys.OpenDir("q", true)
			if err != nil {
				t.Fatal(err)
			}
			q.dir = d
			if err := q.openForAppend(); err != nil {
				t.Fatal(err)
			}
			for range 3 {
				mustAppend(t, q, string(make([]byte, 1500)))
			}
			if flushed {
				q.lead()
			}
			mustAppend(t, q, "in the second cycle")
			dead := fsys.Kill()
			_ = q.Close()
			firstCycle(t, dead)[dataStart+entrySize(1500)+20] ^= 1
			got, err := Open("q", Config{CycleBytes: MinCycleBytes, FS: dead, Logger: quiet(), FlushEvery: time.Hour})
			var c *CorruptError
			if flushed {
				if !errors.As(err, &c) || c.Offset != dataStart+entrySize(1500) || c.Index != NewIndex(1, 1) {
					t.Fatalf("got %v, want damage at 1:1", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			r := got.Recovered()
			if r == nil || r.Last != NewIndex(1, 0) || len(r.Files) != 2 || r.Entries != 2 {
				t.Fatalf("recovery %+v", r)
			}
			if i := mustAppend(t, got, "goes on"); i != NewIndex(1, 1) {
				t.Fatalf("appended %s", i)
			}
			mustClose(t, got)
		})
	}
}

// TestVerifyClassifies: what Open would set aside and what it would refuse.
func TestVerifyClassifies(t *testing.T) {
	v := newVictim(t)
	r, err := Verify("q", CheckOptions{FS: v.fsys})
	if err != nil || len(r.Problems) != 0 || int(r.Entries) != len(v.is) || r.Last != v.is[len(v.is)-1] {
		t.Fatalf("whole queue: %+v %v", r, err)
	}
	for off := int64(0); off < v.end; off += 7 {
		fsys := v.fsys.Kill()
		firstCycle(t, fsys)[off] ^= 0x40
		r, err := Verify("q", CheckOptions{FS: fsys})
		if err != nil {
			t.Fatal(err)
		}
		r.Problems = slices.DeleteFunc(r.Problems, func(p Problem) bool { return p.Hint })
		damage, kept := v.afterFlip(off)
		switch {
		case damage >= 0 && (!r.Damaged() || r.Problems[0].Offset != damage):
			t.Fatalf("flip at %d: %+v, want damage at %d", off, r.Problems, damage)
		case damage < 0 && (r.Damaged() || int(r.Entries) != kept || (kept < len(v.is)) != (len(r.Problems) > 0)):
			t.Fatalf("flip at %d: %d entries, %+v, want %d kept", off, r.Entries, r.Problems, kept)
		}
	}
}
