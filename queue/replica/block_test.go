package replica

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/pawl-go/pawl/queue"
	"github.com/pawl-go/pawl/queue/replica/core"
	"github.com/pawl-go/pawl/queue/replica/wire"
)

// sample is a queue with entries of all kinds over some cycles.
func sample(t testing.TB, seed uint64) *queue.Queue {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 1))
	q, err := queue.Open(t.TempDir(), queue.Config{CycleBytes: queue.MinCycleBytes})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { q.Close() })
	text := func() []byte { return []byte(strings.Repeat("x", r.IntN(300))) }
	for k := range 60 {
		var err error
		switch r.IntN(4) {
		case 0:
			_, err = q.AppendBatch(text(), text(), text())
		case 1:
			c := core.Control{Kind: core.EpochBegins, Epoch: core.Epoch{Number: uint64(k + 1), Host: 1}}
			_, err = q.AppendNote(c.Encode())
		case 2:
			var s *queue.Slot
			if s, err = q.Reserve(r.IntN(100)); err == nil {
				s.Abandon()
			}
		default:
			_, err = q.Append(text())
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return q
}

// piecesOf reads all of a queue, in blocks of some size.
func piecesOf(t testing.TB, q *queue.Queue, size int) []piece {
	t.Helper()
	s := &stream{inner: q, reader: q.NewBlockReader(queue.Place{})}
	defer s.leave()
	var ps []piece
	for {
		b, ok, err := s.reader.TryNext(size)
		if err != nil {
			t.Fatal(err)
		}
		if !ok {
			return ps
		}
		b.Bytes = bytes.Clone(b.Bytes)
		p, err := s.piece(b)
		if err != nil {
			t.Fatal(err)
		}
		ps = append(ps, p)
	}
}

// TestWalkReadsWhatTailersRead: this package's reading of a block agrees with that
// of package queue, for messages and for notes.
func TestWalkReadsWhatTailersRead(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	q := sample(t, seed)
	tl := q.NewTailer(0)
	defer tl.Close()
	for _, p := range piecesOf(t, q, 700) {
		entries, err := p.prove()
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			if e.Control {
				if at, note, err := q.LastNote(e.Index); err != nil || at != e.Index || !bytes.Equal(note, e.Payload) {
					t.Fatalf("note %s %q: %s %q %v", e.Index, e.Payload, at, note, err)
				}
				continue
			}
			if i, b, ok, err := tl.TryNext(); err != nil || !ok || i != e.Index || !bytes.Equal(b, e.Payload) {
				t.Fatalf("entry %s %q: %s %q %t %v", e.Index, e.Payload, i, b, ok, err)
			}
		}
	}
	if i, _, ok, err := tl.TryNext(); ok || err != nil {
		t.Fatalf("the blocks lack entry %s: %v", i, err)
	}
}

// TestPiecesComeThrough: what is encoded is decoded; each bit that is flipped in the
// bytes of a block is found.
func TestPiecesComeThrough(t *testing.T) {
	for _, p := range piecesOf(t, sample(t, 1), 2000) {
		entries, err := p.prove()
		if err != nil || len(entries) == 0 {
			continue // the end of a cycle by itself
		}
		m := &core.Message{Type: core.MsgUpdate, Epoch: core.Epoch{Number: 1, Host: 1}, Sum: 5}
		body, blocks := updateOf(t, m, []piece{p})
		m.Entries = entries
		got, pieces, err := decodeUpdate(body, blocks)
		if err != nil || !reflect.DeepEqual(got, m) || len(pieces) != 1 || !samePiece(pieces[0], p) {
			t.Fatalf("%+v %v", got, err)
		}
		for k := range blocks {
			blocks[k] ^= 1 << (k % 8)
			if _, _, err := decodeUpdate(body, blocks); err == nil {
				t.Fatalf("bit %d of byte %d was flipped, and nobody has noticed", k%8, k)
			}
			blocks[k] ^= 1 << (k % 8)
		}
		for cut := range body {
			if _, _, err := decodeUpdate(body[:cut], blocks); err == nil {
				t.Fatalf("cut at %d of %d, and nobody has noticed", cut, len(body))
			}
		}
		for cut := range blocks {
			if _, _, err := decodeUpdate(body, blocks[:cut]); err == nil {
				t.Fatalf("blocks cut at %d of %d, and nobody has noticed", cut, len(blocks))
			}
		}
		return
	}
}

// updateOf is the body and the blocks of an update, as they are read off a connection.
func updateOf(t testing.TB, m *core.Message, ps []piece) (body, blocks []byte) {
	t.Helper()
	b, err := appendUpdate(nil, 3, m, ps)
	if err != nil {
		t.Fatal(err)
	}
	r := wire.NewReader(bytes.NewReader(b))
	f, err := r.Next()
	if err != nil || f.Type != wire.Update || f.Queue != 3 {
		t.Fatalf("%+v %v", f, err)
	}
	return f.Body, f.Blocks
}

func samePiece(a, b piece) bool {
	return a.head.Salt == b.head.Salt && a.head.Created.Equal(b.head.Created) && reflect.DeepEqual(a.block, b.block)
}

// TestChainAgreesWithItself: the checksum to any entry is the same from records, from
// a file, and by reading everything.
func TestChainAgreesWithItself(t *testing.T) {
	q := sample(t, 7)
	dir, err := queue.OS().OpenDir(q.Dir(), false)
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	c := &chain{dir: dir}
	log, err := c.open(q)
	if err != nil {
		t.Fatal(err)
	}
	again := &chain{dir: dir}
	if err := again.load(); err != nil {
		t.Fatal(err)
	}
	log2, err := again.open(q)
	if err != nil || !reflect.DeepEqual(log, log2) {
		t.Fatalf("%+v, then %+v %v", log, log2, err)
	}
	var sum uint64
	n := 0
	for _, p := range piecesOf(t, q, 1<<20) {
		entries, err := p.prove()
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			sum = core.Chain(sum, e)
			n++
			for _, ch := range []*chain{c, again} {
				if got, err := ch.sumTo(q, e.Index); err != nil || got != sum {
					t.Fatalf("sum up to %s is %x, want %x: %v", e.Index, got, sum, err)
				}
			}
		}
	}
	if _, err := c.sumTo(q, q.Last()+1); !errors.Is(err, queue.ErrNotFound) {
		t.Fatalf("sum beyond the end: %v", err)
	}
	controls := 0
	for _, run := range log.Runs {
		controls -= int(run.Last - run.First)
		n--
	}
	if -controls != n || len(log.Controls) == 0 || !slices.IsSortedFunc(log.Controls, func(a, b core.Row) int { return int(int64(a.Index) - int64(b.Index)) }) {
		t.Fatalf("%d entries, %d in the log; %+v", n, -controls, log.Controls)
	}
}

// TestPromisesThatAreDamaged are lost, and never half believed.
func TestPromisesThatAreDamaged(t *testing.T) {
	path := t.TempDir()
	dir, err := queue.OS().OpenDir(path, false)
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	p := promises{dir: dir, boot: "now"}
	want := core.Hard{Promised: core.Epoch{Number: 7, Host: 3}, Acked: true, Counted: queue.NewIndex(2, 5)}
	if err := p.store(want); err != nil {
		t.Fatal(err)
	}
	if got, same, err := p.load(); err != nil || !same || got != want {
		t.Fatalf("%+v %t %v", got, same, err)
	}
	if _, same, _ := (&promises{dir: dir, boot: "later"}).load(); same {
		t.Fatal("the machine has gone down, and nobody has noticed")
	}
	whole, err := readAll(dir, promisesName)
	if err != nil {
		t.Fatal(err)
	}
	for k := range whole[:len(whole)-1] {
		for _, bad := range [][]byte{whole[:k], append(append(bytes.Clone(whole[:k]), whole[k]^1), whole[k+1:]...)} {
			if err := replaceFile(dir, promisesName, bad); err != nil {
				t.Fatal(err)
			}
			if got, _, err := p.load(); err != nil || got.Trust != core.Lost {
				t.Fatalf("%q is believed: %+v %v", bad, got, err)
			}
		}
	}
}

// updateBody is the body of an update with some messages.
func updateBody(t testing.TB, texts ...string) (body, blocks []byte) {
	t.Helper()
	q, err := queue.Open(t.TempDir(), queue.Config{CycleBytes: queue.MinCycleBytes})
	if err != nil {
		t.Fatal(err)
	}
	defer q.Close()
	for _, text := range texts {
		if _, err := q.Append([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	ps := piecesOf(t, q, 1<<20)
	return updateOf(t, &core.Message{Type: core.MsgUpdate}, ps)
}

func FuzzDecodeUpdate(f *testing.F) {
	for _, texts := range [][]string{{"one", "two"}, {""}} {
		body, blocks := updateBody(f, texts...)
		f.Add(body, blocks)
	}
	f.Add([]byte{}, []byte{})
	f.Add(fmt.Appendf(nil, "%d", uint64(math.MaxUint64)), []byte("x"))
	f.Fuzz(func(t *testing.T, b, blocks []byte) {
		m, pieces, err := decodeUpdate(bytes.Clone(b), bytes.Clone(blocks))
		if err != nil {
			return
		}
		n := 0
		for k := range pieces {
			p := &pieces[k]
			n += int(p.block.Entries)
			if len(p.block.Bytes) > len(blocks) {
				t.Fatal("more bytes than there were")
			}
			_ = p.from(p.block.Offset + 16)
			_ = p.cutEnd()
		}
		if n != len(m.Entries) {
			t.Fatalf("%d entries in blocks, %d in the message", n, len(m.Entries))
		}
	})
}
