package queue

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"testing"
	"time"

	"github.com/pawl-go/pawl/queue/memfs"
)

// follow applies everything that the source has to the copy, in blocks of up to n
// bytes, each through a buffer of its own.
func follow(q *Queue, r *BlockReader, source *Queue, n int) error {
	for {
		b, ok, err := r.TryNext(n)
		if err != nil || !ok {
			return err
		}
		if err := begin(q, source, b.Cycle); err != nil {
			return err
		}
		if b.End {
			if err := begin(q, source, b.Cycle+1); err != nil {
				return err
			}
		}
		b.Bytes = bytes.Clone(b.Bytes)
		if err := q.Apply(b); err != nil {
			return err
		}
	}
}

func begin(q, source *Queue, cycle uint32) error {
	h, err := source.Head(cycle)
	if err != nil {
		return err
	}
	return q.BeginCycle(h)
}

func mustBar(t testing.TB, q *Queue) {
	t.Helper()
	if err := q.Bar(t.Context(), "it is a copy"); err != nil {
		t.Fatal(err)
	}
}

// sameBytes compares all that is published of two queues, byte for byte.
func sameBytes(t *testing.T, a, b *Queue) {
	t.Helper()
	others := b.Cycles()
	for k, c := range a.Cycles() {
		x, err := os.ReadFile(c.Path)
		if err != nil {
			t.Fatal(err)
		}
		y, err := os.ReadFile(others[k].Path)
		if err != nil {
			t.Fatal(err)
		}
		if c.Bytes <= dataStart || c.Bytes != others[k].Bytes || !bytes.Equal(x[dataStart:c.Bytes], y[dataStart:c.Bytes]) {
			t.Fatalf("cycle %d differs: %d and %d bytes", c.Number, c.Bytes, others[k].Bytes)
		}
	}
}

// TestACopyIsTheSame: entry for entry, byte for byte, while the source goes on,
// also when the copy is closed and opened in between; local tailers follow it.
func TestACopyIsTheSame(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 5))
	from, to := t.TempDir(), t.TempDir()
	src := mustOpen(t, from, small())
	if err := src.OpenCyclesWith([]byte("epoch 1")); err != nil {
		t.Fatal(err)
	}
	q := mustOpen(t, to, small())
	mustBar(t, q)
	tl := q.NewTailer(0)
	defer tl.Close()
	if _, _, ok, err := tl.TryNext(); ok || err != nil {
		t.Fatalf("in an empty copy: %t %v", ok, err)
	}
	seen := 0
	var is []Index
	var ps []string
	for round := range 8 {
		i, p := mixed(t, src, r, 100)
		is, ps = append(is, i...), append(ps, p...)
		br := src.NewBlockReader(q.Place())
		if err := follow(q, br, src, 1+r.IntN(20<<10)); err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
		br.Close()
		for ; seen < len(is); seen++ {
			i, p, ok, err := tl.TryNext()
			if err != nil || !ok || i != is[seen] || string(p) != ps[seen] {
				t.Fatalf("tailer of the copy: entry %d is %s %t %v, want %s", seen, i, ok, err, is[seen])
			}
		}
		if _, err := q.Append([]byte("x")); !errors.As(err, new(*BarredError)) {
			t.Fatalf("append to a copy: %v", err)
		}
		if q.Place() != src.Place() || q.Last() != src.Last() {
			t.Fatalf("the copy ends at %s and %v, the source at %s and %v", q.Last(), q.Place(), src.Last(), src.Place())
		}
		if round%3 == 2 {
			tl.Close()
			mustClose(t, q)
			q = mustOpen(t, to, small())
			mustBar(t, q)
			tl = q.NewTailer(is[seen-1] + 1)
			defer tl.Close()
			if q.Recovered() != nil {
				t.Fatalf("round %d: recovered %+v", round, q.Recovered())
			}
		}
	}
	if err := q.WaitDurable(t.Context(), q.Last()); err != nil {
		t.Fatal(err)
	}
	sameBytes(t, src, q)
	at, note, err := q.LastNote(q.Last())
	if err != nil || at > q.Last() || string(note) != "a note" && string(note) != "epoch 1" {
		t.Fatalf("last note %s %q %v", at, note, err)
	}
	if at, note, err := q.LastNote(NewIndex(3, 0)); err != nil || at != NewIndex(3, 0) || string(note) != "epoch 1" {
		t.Fatalf("the note that cycle 3 begins with: %s %q %v", at, note, err)
	}
	// It takes over: its own entries go into a cycle of its own.
	end := q.Last().Cycle()
	if err := q.Unbar(); err != nil {
		t.Fatal(err)
	}
	if i := mustAppend(t, q, "mine"); i != NewIndex(end+1, 0) {
		t.Fatalf("appended as %s behind cycle %d", i, end)
	}
	mustClose(t, q)
	for _, dir := range []string{from, to} {
		if rep, err := Verify(dir, CheckOptions{}); err != nil || rep.Damaged() || rep.Cycles[0].Notes == 0 {
			t.Fatalf("verify %s: %+v %v", dir, rep.Problems, err)
		}
	}
}

// TestBlocksThatAreRefused change nothing.
func TestBlocksThatAreRefused(t *testing.T) {
	src := mustOpen(t, t.TempDir(), small())
	for k := range 20 {
		mustAppend(t, src, content(k))
	}
	if _, err := src.AppendBatch([]byte("first"), []byte("second")); err != nil {
		t.Fatal(err)
	}
	br := src.NewBlockReader(Place{})
	defer br.Close()
	whole, ok, err := br.TryNext(100 << 10)
	if err != nil || !ok {
		t.Fatal(ok, err)
	}
	q := mustOpen(t, t.TempDir(), small())
	if err := q.Apply(whole); !errors.Is(err, errNotBarred) {
		t.Fatalf("on a queue that is not barred: %v", err)
	}
	if err := begin(q, src, 1); !errors.Is(err, errNotBarred) {
		t.Fatalf("begin on a queue that is not barred: %v", err)
	}
	mustBar(t, q)
	if err := q.Apply(whole); !errors.Is(err, ErrBadBlock) {
		t.Fatalf("without the head of its cycle: %v", err)
	}
	if err := begin(q, src, 1); err != nil {
		t.Fatal(err)
	}
	if err := q.BeginCycle(CycleHead{Cycle: 5, Bytes: 32 << 10}); err != nil {
		t.Fatalf("an empty queue begins anywhere: %v", err)
	}
	if err := begin(q, src, 1); err != nil {
		t.Fatal(err)
	}
	refused := func(what string, want error, change func(b *Block)) {
		t.Helper()
		b := whole
		b.Bytes = bytes.Clone(whole.Bytes)
		change(&b)
		if err := q.Apply(b); !errors.Is(err, want) {
			t.Fatalf("%s: %v", what, err)
		}
		if q.Last() != 0 {
			t.Fatalf("%s: the queue ends at %s", what, q.Last())
		}
	}
	for off := 0; off < len(whole.Bytes); off += 37 {
		refused("a bit", ErrBadBlock, func(b *Block) { b.Bytes[off] ^= 1 << (off % 8) })
	}
	refused("an entry too few", ErrBadBlock, func(b *Block) { b.Entries-- })
	refused("no end", ErrPlace, func(b *Block) { b.End = true })
	refused("another place", ErrPlace, func(b *Block) { b.Offset += 8 })
	refused("another entry", ErrPlace, func(b *Block) { b.Seq++ })
	refused("another cycle", ErrPlace, func(b *Block) { b.Cycle++ })
	refused("half a batch", ErrBadBlock, func(b *Block) { b.Bytes = b.Bytes[:len(b.Bytes)-24]; b.Entries-- })
	refused("half an entry", ErrBadBlock, func(b *Block) { b.Bytes = b.Bytes[:len(b.Bytes)-8] })
	refused("nothing", ErrBadBlock, func(b *Block) { b.Bytes = nil })
	head, err := src.Head(1)
	if err != nil {
		t.Fatal(err)
	}
	proved, err := whole.Prove(head, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, other := range []CycleHead{{Salt: head.Salt + 1, Bytes: head.Bytes}, {Salt: head.Salt, Bytes: head.Bytes * 2}} {
		foreign := *proved
		foreign.head = other
		if err := q.ApplyProved(&foreign); !errors.Is(err, ErrBadBlock) || q.Last() != 0 {
			t.Fatalf("a proof for another cycle: %v, the queue ends at %s", err, q.Last())
		}
	}
	if err := q.Apply(whole); err != nil {
		t.Fatal(err)
	}
	if err := q.Apply(whole); !errors.Is(err, ErrPlace) {
		t.Fatalf("the same again: %v", err)
	}
	if err := q.BeginCycle(CycleHead{Cycle: 5, Bytes: 32 << 10}); !errors.Is(err, ErrPlace) {
		t.Fatalf("a cycle out of turn: %v", err)
	}
	if err := q.BeginCycle(CycleHead{Cycle: 2, Bytes: 12345}); err == nil {
		t.Fatal("a head that is none")
	}
}

// TestASnapshotBeginsAnywhere: an empty copy begins with the oldest kept cycle.
func TestASnapshotBeginsAnywhere(t *testing.T) {
	src := mustOpen(t, t.TempDir(), small())
	fillCycles(t, src, 5)
	dir := t.TempDir()
	q := mustOpen(t, dir, small())
	mustBar(t, q)
	tl := q.NewTailer(0)
	defer tl.Close()
	if _, _, ok, err := tl.TryNext(); ok || err != nil {
		t.Fatal(ok, err)
	}
	br := src.NewBlockReader(Place{Index: NewIndex(3, 0)})
	defer br.Close()
	if err := follow(q, br, src, 8<<10); err != nil {
		t.Fatal(err)
	}
	if q.First() != NewIndex(3, 0) || q.Last() != src.Last() {
		t.Fatalf("the copy has %s to %s", q.First(), q.Last())
	}
	if i, _, ok, err := tl.TryNext(); err != nil || !ok || i != NewIndex(3, 0) {
		t.Fatalf("a tailer from before: %s %t %v", i, ok, err)
	}
	mustClose(t, q)
	if q = mustOpen(t, dir, small()); q.First() != NewIndex(3, 0) {
		t.Fatalf("First %s after reopening", q.First())
	}
}

// TestTheNoteOfACycleTakesRoom from the largest entry, which is refused and not
// tried in one cycle after the other.
func TestTheNoteOfACycleTakesRoom(t *testing.T) {
	q := mustOpen(t, t.TempDir(), small())
	note := []byte("epoch 7")
	if err := q.OpenCyclesWith(note); err != nil {
		t.Fatal(err)
	}
	mustAppend(t, q, "x")
	largest := MaxEntry(small().CycleBytes)
	for _, appendOne := range []func([]byte) (Index, error){q.Append, q.AppendNote} {
		if i, err := appendOne(make([]byte, largest-1)); !errors.Is(err, ErrTooLarge) {
			t.Fatalf("the largest entry and a note: %s %v", i, err)
		}
	}
	if i := mustAppend(t, q, string(make([]byte, largest-int(entrySize(len(note)+1))))); i.Seq() != 1 || i.Cycle() > 3 {
		t.Fatalf("what fits behind a note is %s", i)
	}
	if err := q.OpenCyclesWith(make([]byte, 8<<10)); !errors.Is(err, ErrTooLarge) {
		t.Fatalf("a note of 8 KiB: %v", err)
	}
}

// TestASuccessorBeginsCyclesOfItsOwn: what the old source had begun is dropped.
func TestASuccessorBeginsCyclesOfItsOwn(t *testing.T) {
	src := mustOpen(t, t.TempDir(), small())
	mustAppend(t, src, "x")
	dir := t.TempDir()
	q := mustOpen(t, dir, small())
	mustBar(t, q)
	br := src.NewBlockReader(Place{})
	defer br.Close()
	if err := follow(q, br, src, 8<<10); err != nil {
		t.Fatal(err)
	}
	begun := CycleHead{Cycle: 2, Bytes: 32 << 10, Salt: 12345, Created: someday}
	if err := errors.Join(q.BeginCycle(begun), q.BeginCycle(begun)); err != nil {
		t.Fatal(err)
	}
	for q.Last().Cycle() < 2 {
		if _, err := q.AppendNote(make([]byte, 5000)); err != nil {
			t.Fatal(err)
		}
	}
	if h, err := q.Head(2); err != nil || h.Salt == begun.Salt {
		t.Fatalf("it goes on in %+v, %v", h, err)
	}
	if err := q.Unbar(); err != nil {
		t.Fatal(err)
	}
	mustAppend(t, q, "y")
	mustClose(t, q)
	if rep, err := Verify(dir, CheckOptions{}); err != nil || rep.Damaged() {
		t.Fatalf("verify: %+v %v", rep.Problems, err)
	}
}

// TestUnbarWithAFullDisk: the queue stays barred, so it goes on as the copy that it was.
func TestUnbarWithAFullDisk(t *testing.T) {
	src := mustOpen(t, t.TempDir(), small())
	mustAppend(t, src, "x")
	cfg := small()
	fsys := memfs.New()
	cfg.FS = fsys
	q := mustOpen(t, "copy", cfg)
	mustBar(t, q)
	br := src.NewBlockReader(Place{})
	defer br.Close()
	if err := follow(q, br, src, 8<<10); err != nil {
		t.Fatal(err)
	}
	fsys.SetRoom(0)
	if err := q.Unbar(); !errors.As(err, new(*FullError)) {
		t.Fatalf("unbarred on a full disk: %v", err)
	}
	if _, err := q.Append([]byte("mine")); !errors.As(err, new(*BarredError)) {
		t.Fatalf("appended: %v", err)
	}
	mustAppend(t, src, "y")
	if err := follow(q, br, src, 8<<10); err != nil {
		t.Fatalf("it copies no more: %v", err)
	}
	fsys.SetRoom(-1)
	if err := q.Unbar(); err != nil {
		t.Fatal(err)
	}
	if i := mustAppend(t, q, "mine"); i != NewIndex(2, 0) {
		t.Fatalf("appended as %s", i)
	}
	mustClose(t, q)
}

// TestBarWaitsForOpenSlots and lets nobody in meanwhile.
func TestBarWaitsForOpenSlots(t *testing.T) {
	q := mustOpen(t, t.TempDir(), small())
	s, err := q.Reserve(2)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := q.Bar(ctx, "leaving"); !errors.Is(err, context.Canceled) {
		t.Fatalf("Bar with a slot open: %v", err)
	}
	if _, err := q.Append([]byte("x")); err == nil || q.Barred() != "leaving" {
		t.Fatalf("an append while barring: %v", err)
	}
	barred := make(chan error, 1)
	go func() { barred <- q.Bar(t.Context(), "left") }()
	copy(s.Bytes(), "ok")
	if _, err := s.Commit(); err != nil {
		t.Fatal(err)
	}
	if err := <-barred; err != nil {
		t.Fatal(err)
	}
	if i, err := q.AppendNote([]byte("epoch")); err != nil || i != NewIndex(1, 1) {
		t.Fatalf("a note on a barred queue: %s %v", i, err)
	}
	q.tendAt(someday)
	if err := q.Unbar(); err != nil {
		t.Fatal(err)
	}
	if i := mustAppend(t, q, "x"); i != NewIndex(1, 2) {
		t.Fatalf("appended as %s", i)
	}
}

// TestACopyTrustsNoForeignMark: a mark in a copied entry speaks of the source's
// disk. After a power cut of the copy, what is missing below it is a torn tail and
// no damage; what the copy itself flushed is kept.
func TestACopyTrustsNoForeignMark(t *testing.T) {
	for range rounds(t, 20) {
		seed := rand.Uint64()
		r := rand.New(rand.NewPCG(seed, 6))
		src := mustOpen(t, t.TempDir(), Config{CycleBytes: 16 << 10, Logger: quiet()})
		fsys := memfs.New()
		cfg := Config{CycleBytes: 16 << 10, Logger: quiet(), FS: fsys, FlushEvery: time.Hour}
		q, err := Open("q", cfg)
		if err != nil {
			t.Fatal(err)
		}
		mustBar(t, q)
		br := src.NewBlockReader(Place{})
		defer br.Close()
		kept := Index(0)
		for range 1 + r.IntN(6) {
			for range r.IntN(30) {
				if err := src.WaitDurable(t.Context(), mustAppend(t, src, string(make([]byte, r.IntN(700))))); err != nil {
					t.Fatal(err)
				}
			}
			if err := follow(q, br, src, 4<<10); err != nil {
				t.Fatal(err)
			}
			if r.IntN(3) == 0 {
				kept = q.Last()
				if err := q.WaitDurable(t.Context(), kept); err != nil {
					t.Fatal(err)
				}
			}
		}
		after := fsys.Crash(r)
		_ = q.Close()
		cfg.FS = after
		q, err = Open("q", cfg)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		if q.Last() < kept {
			t.Fatalf("seed %d: the copy ends at %s, %s was flushed", seed, q.Last(), kept)
		}
		mustBar(t, q)
		again := src.NewBlockReader(q.Place())
		if err := follow(q, again, src, 4<<10); err != nil || q.Last() != src.Last() {
			t.Fatalf("seed %d: it catches up to %s of %s: %v", seed, q.Last(), src.Last(), err)
		}
		again.Close()
		mustClose(t, q)
	}
}

// TestAnOwnCycleTrustsNoForeignMark: a host whose cycle another one has gone on from gets
// its end from there, with a mark of the other's disk. After a power cut what it had not
// flushed itself is a torn tail and no damage.
func TestAnOwnCycleTrustsNoForeignMark(t *testing.T) {
	for range rounds(t, 20) {
		seed := rand.Uint64()
		r := rand.New(rand.NewPCG(seed, 7))
		fsys := memfs.New()
		cfg := Config{CycleBytes: 64 << 10, Logger: quiet(), FS: fsys, FlushEvery: time.Hour}
		q, err := Open("q", cfg)
		if err != nil {
			t.Fatal(err)
		}
		for range 20 + r.IntN(20) {
			mustAppend(t, q, string(make([]byte, r.IntN(700))))
		}
		mustBar(t, q)
		other := mustOpen(t, t.TempDir(), Config{CycleBytes: 64 << 10, Logger: quiet()})
		mustBar(t, other)
		there := q.NewBlockReader(Place{})
		if err := follow(other, there, q, 4<<10); err != nil {
			t.Fatal(err)
		}
		there.Close()
		if err := other.WaitDurable(t.Context(), other.Last()); err != nil {
			t.Fatal(err)
		}
		if err := other.Unbar(); err != nil {
			t.Fatal(err)
		}
		if err := other.WaitDurable(t.Context(), mustAppend(t, other, "goes on")); err != nil {
			t.Fatal(err)
		}
		back := other.NewBlockReader(q.Place())
		if err := follow(q, back, other, 4<<10); err != nil || q.Last() != other.Last() {
			t.Fatalf("seed %d: it follows to %s of %s: %v", seed, q.Last(), other.Last(), err)
		}
		back.Close()
		after := fsys.Crash(r)
		_ = q.Close()
		cfg.FS = after
		if q, err = Open("q", cfg); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		mustClose(t, q)
		mustClose(t, other)
	}
}

// TestTheFirstBlockMayEndItsCycle, or be of the cycle behind the one that was begun.
func TestTheFirstBlockMayEndItsCycle(t *testing.T) {
	src := mustOpen(t, t.TempDir(), small())
	mustAppend(t, src, "a")
	if err := src.Roll(); err != nil {
		t.Fatal(err)
	}
	mustAppend(t, src, "b")
	q := mustOpen(t, t.TempDir(), small())
	mustBar(t, q)
	r := src.NewBlockReader(Place{})
	defer r.Close()
	if err := follow(q, r, src, 4<<10); err != nil {
		t.Fatalf("a first block that ends its cycle: %v", err)
	}
	sameBytes(t, src, q)
	late := mustOpen(t, t.TempDir(), small())
	mustBar(t, late)
	if err := begin(late, src, 1); err != nil { // and nothing of it: retention was faster
		t.Fatal(err)
	}
	rest := src.NewBlockReader(Place{Index: NewIndex(2, 0)})
	defer rest.Close()
	if err := follow(late, rest, src, 4<<10); err != nil || late.First() != NewIndex(2, 0) || late.Last() != src.Last() {
		t.Fatalf("begun with cycle 1, and copied from cycle 2 on: %s to %s, %v", late.First(), late.Last(), err)
	}
	for _, c := range []*Queue{src, q, late} {
		mustClose(t, c)
	}
}

// TestSetAside takes entries out of the queue at each index, keeps their bytes,
// tells those who had read them, and lets others have their indexes.
func TestSetAside(t *testing.T) {
	const n = 60
	for cut := 0; cut <= n; cut += 4 {
		dir := t.TempDir()
		q := mustOpen(t, dir, small())
		var is []Index
		for k := range n {
			is = append(is, mustAppend(t, q, content(k)))
		}
		named := mustNamed(t, q, "n", PositionOptions{Start: q.Last() + 1})
		if err := named.Close(); err != nil {
			t.Fatal(err)
		}
		reader := mustOpenReadOnly(t, dir)
		tl, behind := reader.NewTailer(is[n-1]), reader.NewTailer(0)
		defer tl.Close()
		defer behind.Close()
		for _, tl := range []*Tailer{tl, behind} {
			if _, _, ok, err := tl.TryNext(); !ok || err != nil {
				t.Fatal(ok, err)
			}
		}
		if _, err := SetAside(dir, small(), is[0], "diverged"); !errors.As(err, new(*LockedError)) {
			t.Fatalf("of a queue that is open: %v", err)
		}
		mustClose(t, q)
		from := q.Last() + 1
		if cut < n {
			from = is[cut]
		}
		rec, err := SetAside(dir, small(), from, "diverged")
		if err != nil || cut < n != (rec != nil) {
			t.Fatalf("cut at %s: %+v %v", from, rec, err)
		}
		if rec != nil && (rec.Entries != n-cut || rec.Index != from || rec.Reason != "diverged" || len(rec.Files) == 0) {
			t.Fatalf("cut at %s: %+v", from, rec)
		}
		if cut < n {
			if err := tl.checkReplaced(); !errors.Is(err, ErrSetAside) {
				t.Fatalf("cut at %s: a tailer that had read all of it: %v", from, err)
			}
		}
		// One that is behind reads the file that it has open to its end, and is told
		// then, if it was cut.
		var told error
		for told == nil {
			_, _, ok, err := behind.TryNext()
			if told = err; !ok && err == nil {
				if told = behind.checkReplaced(); told == nil {
					break
				}
			}
		}
		if wants := cut < n && is[cut].Cycle() == 1; wants != errors.Is(told, ErrSetAside) || !wants && told != nil {
			t.Fatalf("cut at %s: a tailer from the start is told %v", from, told)
		}
		q = mustOpen(t, dir, small())
		got, _ := all(t, q, 0)
		if len(got) != cut || q.Recovered() != nil {
			t.Fatalf("cut at %s: %d entries are left, want %d; %+v", from, len(got), cut, q.Recovered())
		}
		i := mustAppend(t, q, "another history")
		if cut < n && i != from {
			t.Fatalf("cut at %s: the next one is %s", from, i)
		}
		mustNext(t, mustNamed(t, q, "n", PositionOptions{}), "another history")
		mustClose(t, q)
		if rep, err := Verify(dir, CheckOptions{}); err != nil || rep.Damaged() {
			t.Fatalf("cut at %s: verify %+v %v", from, rep.Problems, err)
		}
	}
}

func TestSetAsideKeepsBatchesWhole(t *testing.T) {
	dir := t.TempDir()
	q := mustOpen(t, dir, small())
	mustAppend(t, q, "a")
	if _, err := q.AppendBatch([]byte("b"), []byte("c")); err != nil {
		t.Fatal(err)
	}
	mustClose(t, q)
	if _, err := SetAside(dir, small(), NewIndex(1, 2), "x"); !errors.Is(err, ErrPlace) {
		t.Fatalf("in the middle of a batch: %v", err)
	}
	if rec, err := SetAside(dir, small(), NewIndex(1, 1), "x"); err != nil || rec.Entries != 2 || rec.Last != NewIndex(1, 0) {
		t.Fatalf("%+v %v", rec, err)
	}
}

// TestAReplacedCycleIsLetGo: the empty cycle in whose place a copied one was put keeps
// no file open and no mapping once the queue is closed.
func TestAReplacedCycleIsLetGo(t *testing.T) {
	source := mustOpen(t, t.TempDir(), small())
	mustAppend(t, source, "x")
	dir := t.TempDir()
	q := mustOpen(t, dir, small())
	mustBar(t, q)
	if err := begin(q, source, source.Last().Cycle()); err != nil {
		t.Fatal(err)
	}
	mustClose(t, q)
	if files, maps, _ := usage(t, dir); files+maps > 0 {
		t.Errorf("%d files and %d mappings are left", files, maps)
	}
}
