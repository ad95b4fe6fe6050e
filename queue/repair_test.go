package queue

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pawl-go/pawl/queue/memfs"
)

// A patient is a queue of three cycles that was closed, so all of it was flushed.
type patient struct {
	fsys *memfs.FS
	is   []Index
	ps   []string
}

func newPatient(t testing.TB) *patient {
	t.Helper()
	v := &patient{fsys: memfs.New()}
	q, err := Open("q", Config{CycleBytes: 8 << 10, FS: v.fsys, Logger: quiet(), FlushEvery: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	for k := 0; q.Last().Cycle() < 3; k++ {
		p := fmt.Sprintf("%d:%s", k, strings.Repeat(string(rune('a'+k%26)), k*61%700))
		v.is, v.ps = append(v.is, mustAppend(t, q, p)), append(v.ps, p)
	}
	first, err := q.AppendBatch([]byte("x"), []byte("yy"), []byte("zzz"))
	if err != nil {
		t.Fatal(err)
	}
	v.is, v.ps = append(v.is, first, first+1, first+2), append(v.ps, "x", "yy", "zzz")
	v.is, v.ps = append(v.is, mustAppend(t, q, "")), append(v.ps, "")
	mustClose(t, q)
	return v
}

func (v *patient) options(fsys *memfs.FS) CheckOptions {
	return CheckOptions{FS: fsys, Logger: quiet()}
}

// repaired opens a queue after Repair and says which entries are whole; no index
// may hold anything but what it held.
func (v *patient) repaired(fsys *memfs.FS) (whole map[Index]bool, q *Queue, err error) {
	q, err = Open("q", Config{CycleBytes: MinCycleBytes, FS: fsys, Logger: quiet(), FlushEvery: time.Hour})
	if err != nil {
		return nil, nil, err
	}
	held := map[Index]string{}
	for k, i := range v.is {
		held[i] = v.ps[k]
	}
	whole = map[Index]bool{}
	for e, err := range q.Entries(0) {
		if lost := new(LostError); errors.As(err, &lost) {
			if _, was := held[e.Index]; !was {
				return nil, q, fmt.Errorf("%s is lost and never was there", e.Index)
			}
			continue
		}
		if err != nil {
			return nil, q, err
		}
		if p, was := held[e.Index]; !was || p != string(e.Payload) {
			return nil, q, fmt.Errorf("%s holds %q, want %q", e.Index, e.Payload, p)
		}
		whole[e.Index] = true
	}
	return whole, q, nil
}

// TestRepairBitFlips flips a bit of every 23rd byte of each cycle, and of every
// byte when PAWL_QUEUE_ROUNDS is set: repaired, the queue
// opens, has lost at most the entry that was hit (or, in the cycle that has no
// seal yet, those behind it there), and appends where nothing was.
func TestRepairBitFlips(t *testing.T) {
	v := newPatient(t)
	mended, step := 0, 23
	if rounds(t, 0) > 0 {
		step = 1
	}
	for c := uint32(1); c <= 3; c++ {
		size := len(v.fsys.Bytes("q", cycleName(c)))
		for off := 0; off < size; off += step {
			if off > headerBytes+8 && off < dataStart-8 {
				off = dataStart - 8
			}
			fsys := v.fsys.Kill()
			b := fsys.Bytes("q", cycleName(c))
			if off > dataStart+64 && c == 3 && bytes.Equal(b[off:], make([]byte, len(b)-off)) {
				break
			}
			b[off] ^= 1 << (off % 8)
			dry, err := Repair("q", CheckOptions{FS: fsys, Logger: quiet(), DryRun: true})
			if err != nil {
				t.Fatalf("flip at %d of cycle %d: dry: %v", off, c, err)
			}
			rep, err := Repair("q", v.options(fsys))
			if err != nil {
				t.Fatalf("flip at %d of cycle %d: %v", off, c, err)
			}
			if len(dry.Mends) != len(rep.Mends) || len(rep.Mends) > 1 {
				t.Fatalf("flip at %d of cycle %d: would do %+v, did %+v", off, c, dry.Mends, rep.Mends)
			}
			whole, q, err := v.repaired(fsys)
			if err != nil {
				t.Fatalf("flip at %d of cycle %d: %v\n%+v", off, c, err, rep.Mends)
			}
			lost := len(v.is) - len(whole)
			limit := 1
			if len(rep.Mends) > 0 {
				mended++
				if rep.Mends[0].Lost < 0 {
					limit = 1 + rep.Mends[0].Whole
				}
			}
			if rep.Recovery != nil {
				limit = 4 // the end of the last cycle looks torn: the batch and what follows
			}
			if lost > limit || c < 3 && lost > 1 {
				t.Fatalf("flip at %d of cycle %d: %d entries lost\n%+v", off, c, lost, rep.Mends)
			}
			if i := mustAppend(t, q, "new"); i <= v.is[len(v.is)-1] && rep.Recovery == nil {
				t.Fatalf("flip at %d of cycle %d: the next entry is %s", off, c, i)
			}
			mustClose(t, q)
			if after, err := Verify("q", v.options(fsys)); err != nil || after.Damaged() {
				t.Fatalf("flip at %d of cycle %d: verify: %+v %v", off, c, after.Problems, err)
			}
		}
	}
	if mended < 1000/step {
		t.Fatalf("%d mends: the test tests nothing", mended)
	}
}

// TestRepairWounds overwrites, cuts off and removes more than a bit.
func TestRepairWounds(t *testing.T) {
	for name, seed := range map[string]uint64{
		"random": rand.Uint64(),
		"a batch that is cut off begins with a gap": 3699499858074984680, // in round 45
	} {
		t.Run(name, func(t *testing.T) { repairWounds(t, seed) })
	}
}

func repairWounds(t *testing.T, seed uint64) {
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 7))
	v := newPatient(t)
	for k := range rounds(t, 100) {
		fsys := v.fsys.Kill()
		for range 1 + r.IntN(3) {
			name := cycleName(uint32(1 + r.IntN(3)))
			d, err := fsys.OpenDir("q", false)
			if err != nil {
				t.Fatal(err)
			}
			b := fsys.Bytes("q", name)
			switch r.IntN(6) {
			case 0:
				if err := d.Remove(name); err != nil && !isMissing(err) {
					t.Fatal(err)
				}
			case 1:
				if f, err := d.Open(name, true); err == nil {
					_ = f.Truncate(r.Int64N(9 << 10))
				}
			default:
				if b == nil {
					continue
				}
				n := min(r.IntN(600), len(b))
				at := r.IntN(len(b) - n + 1)
				for j := range b[at : at+n] {
					b[at+j] = byte(r.Uint32()) * byte(r.IntN(2))
				}
			}
		}
		rep, err := Repair("q", v.options(fsys))
		if errors.Is(err, ErrNotFound) {
			continue // all three were removed
		}
		if err != nil {
			t.Fatalf("round %d: %v\n%+v", k, err, rep.Mends)
		}
		_, q, err := v.repaired(fsys)
		if err != nil {
			t.Fatalf("round %d: %v\n%+v", k, err, rep.Mends)
		}
		mustAppend(t, q, "goes on")
		mustClose(t, q)
		again, err := Repair("q", v.options(fsys))
		if err != nil || len(again.Mends) > 0 {
			t.Fatalf("round %d: a second repair does %+v, %v", k, again.Mends, err)
		}
	}
}

// TestRepairKeepsWhatItGivesUp in files, and touches nothing when told so.
func TestRepairKeepsWhatItGivesUp(t *testing.T) {
	dir := t.TempDir()
	q := mustOpen(t, dir, small())
	for k := range 10 {
		mustAppend(t, q, fmt.Sprintf("entry %d", k))
	}
	if _, err := Repair(dir, CheckOptions{}); !errors.As(err, new(*LockedError)) {
		t.Fatalf("of a queue that is open: %v", err)
	}
	mustClose(t, q)
	path := filepath.Join(dir, cycleName(1))
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	at := dataStart + 4*entrySize(7)
	for k := range entryHeader {
		b[int(at)+k] = 0xff
	}
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(dir, small()); !errors.As(err, new(*CorruptError)) || !strings.Contains(err.Error(), "pawl queue repair") {
		t.Fatalf("opening: %v", err)
	}
	before := snapshotDir(t, dir)
	dry, err := Repair(dir, CheckOptions{DryRun: true, Logger: quiet()})
	if err != nil || len(dry.Mends) != 1 || dry.Mends[0].Whole != 5 || dry.Mends[0].First != NewIndex(1, 4) {
		t.Fatalf("%+v %v", dry, err)
	}
	if after := snapshotDir(t, dir); len(after) != len(before) || after[cycleName(1)] != before[cycleName(1)] {
		t.Fatal("a dry run changes something")
	}
	rep, err := Repair(dir, CheckOptions{Logger: quiet()})
	if err != nil || len(rep.Files) != 2 {
		t.Fatalf("%+v %v", rep, err)
	}
	var lines []byte
	for _, f := range rep.Files {
		b, err := os.ReadFile(filepath.Join(dir, f))
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(f, ".entries") {
			lines = b
		}
	}
	dec := json.NewDecoder(bytes.NewReader(lines))
	for k := 5; k < 10; k++ {
		var e struct {
			Offset  int64
			Payload []byte
		}
		if err := dec.Decode(&e); err != nil || string(e.Payload) != fmt.Sprintf("entry %d", k) {
			t.Fatalf("entry %d in the file is %q, %v", k, e.Payload, err)
		}
	}
	q = mustOpen(t, dir, small())
	if i := mustAppend(t, q, "next"); i != NewIndex(2, 0) {
		t.Fatalf("the next entry is %s: an index got a second entry", i)
	}
	if _, err := Repair(t.TempDir(), CheckOptions{}); !errors.Is(err, ErrNotFound) {
		t.Fatalf("of no queue: %v", err)
	}
}

// TestLostEntriesAreSaid to tailers in both directions, to Read and to Search,
// and none of them ends there.
func TestLostEntriesAreSaid(t *testing.T) {
	v := newPatient(t)
	b := v.fsys.Bytes("q", cycleName(1))
	b[dataStart+entrySize(len(v.ps[0]))+entryHeader] ^= 1 // payload of 1:1
	if rep, err := Repair("q", v.options(v.fsys)); err != nil || len(rep.Mends) != 1 || rep.Mends[0].Lost != 1 {
		t.Fatalf("%+v %v", rep, err)
	}
	q, err := Open("q", Config{CycleBytes: MinCycleBytes, FS: v.fsys, Logger: quiet()})
	if err != nil {
		t.Fatal(err)
	}
	lost := new(LostError)
	if _, err := q.Read(NewIndex(1, 1)); !errors.As(err, &lost) || lost.Index != NewIndex(1, 1) {
		t.Fatalf("Read: %v", err)
	}
	tl := q.NewTailer(0)
	defer tl.Close()
	for _, want := range []Index{NewIndex(1, 0), 0, NewIndex(1, 2)} {
		i, _, _, err := tl.TryNext()
		if i != want || (want == 0) != errors.As(err, &lost) {
			t.Fatalf("forwards: %s %v, want %s", i, err, want)
		}
	}
	for _, want := range []Index{NewIndex(1, 2), 0, NewIndex(1, 0)} {
		i, _, _, err := tl.TryPrev()
		if i != want || (want == 0) != errors.As(err, &lost) {
			t.Fatalf("backwards: %s %v, want %s", i, err, want)
		}
	}
	i, found, err := q.Search(func(i Index, _ []byte) int { return compareInt(int(i), int(NewIndex(1, 2))) })
	if err != nil || !found || i != NewIndex(1, 2) {
		t.Fatalf("search: %s %t %v", i, found, err)
	}
	mustClose(t, q)
}
