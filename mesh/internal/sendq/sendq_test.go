package sendq

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"

	"github.com/pawl-go/pawl/mesh/internal/wire"
)

// frame is a cast to target whose payload is a number and padding.
func frame(target string, seq, size int) []byte {
	b := wire.AppendCast(nil, target, "t")
	b = binary.LittleEndian.AppendUint64(b, uint64(seq))
	return wire.FinishMessage(append(b, make([]byte, size)...), 0)
}

// valid checks the invariants of Queue's comment.
func (q *Queue) valid() error {
	count, size := q.smallCount, len(q.small)
	add := func(it item) {
		size += len(it.frame)
		if it.counted {
			count++
		}
	}
	held := 0
	for _, c := range q.large {
		add(c.item)
		for _, it := range c.followers {
			add(it)
		}
		if c.target != "" {
			held++
			if q.held[c.target] != c {
				return fmt.Errorf("target %q is not held by its large frame", c.target)
			}
		}
	}
	if count != q.count || size != q.bytes || held != len(q.held) {
		return fmt.Errorf("count %d bytes %d held %d, want %d %d %d", q.count, q.bytes, len(q.held), count, size, held)
	}
	return nil
}

// receiver reads batches as a node does.
type receiver struct {
	asm Assembler
	got []wire.Message
}

func (r *receiver) read(t *rapid.T, batch []byte) {
	for len(batch) > 0 {
		k, body, n, err := wire.Next(batch)
		if err != nil || n == 0 {
			t.Fatalf("a batch that does not parse: n %d, %v", n, err)
		}
		batch = batch[n:]
		if k == wire.Fragment {
			p, err := wire.ParseFragment(body)
			if err != nil {
				t.Fatal(err)
			}
			_, whole, err := r.asm.Add(p)
			if err != nil {
				t.Fatal(err)
			}
			if whole == nil {
				continue
			}
			k, body = wire.Kind(whole[0]), whole[1:]
		}
		m, err := wire.ParseMessage(k, body)
		if err != nil {
			t.Fatal(err)
		}
		r.got = append(r.got, m)
	}
}

// Whatever is pushed arrives, once, and in order per target.
func TestOrderPerTarget(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		q := Queue{MaxCount: 128, MaxBytes: 16 << 20}
		r := receiver{asm: Assembler{MaxTotal: 4 << 20}}
		want := map[string]int{}
		pushed := 0
		for range rapid.IntRange(1, 200).Draw(t, "steps") {
			if rapid.Bool().Draw(t, "push") {
				target := rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "target")
				size := rapid.SampledFrom([]int{0, 100, 5000, 16 << 10, 40 << 10, 100 << 10}).Draw(t, "size")
				q.Push(target, frame(target, want[target], size), rapid.Bool().Draw(t, "counted"))
				want[target]++
				pushed++
			} else {
				r.read(t, bytes.Clone(q.Batch())) // what is read refers to it
			}
			if err := q.valid(); err != nil {
				t.Fatal(err)
			}
		}
		for !q.Empty() {
			r.read(t, bytes.Clone(q.Batch())) // what is read refers to it
		}
		if q.count != 0 || q.bytes != 0 || len(r.got) != pushed || r.asm.Len() != 0 {
			t.Fatalf("count %d bytes %d at the end; %d of %d arrived; %d under way", q.count, q.bytes, len(r.got), pushed, r.asm.Len())
		}
		seen := map[string]int{}
		for _, m := range r.got {
			if seq := int(binary.LittleEndian.Uint64(m.Payload)); seq != seen[string(m.Target)] {
				t.Fatalf("to %s: number %d, want %d", m.Target, seq, seen[string(m.Target)])
			}
			seen[string(m.Target)]++
		}
	})
}

// A small frame leaves with the next batch, whatever large one is under way.
func TestSmallOvertakesLargeToAnother(t *testing.T) {
	q := Queue{MaxCount: 128, MaxBytes: 16 << 20}
	q.Push("big", frame("big", 0, 3<<20), true)
	first := q.Batch()
	if len(first) > wire.FragmentSize+64 {
		t.Fatalf("the first batch has %d bytes", len(first))
	}
	small := frame("small", 1, 10)
	q.Push("small", small, true)
	q.Push("big", frame("big", 2, 10), true)
	batch := bytes.Clone(q.Batch())
	if !bytes.HasPrefix(batch, small) {
		t.Error("the small frame does not leave first")
	}
	if bytes.Contains(batch, frame("big", 2, 10)) {
		t.Error("a frame overtakes a large one to the same target")
	}
}

func TestRoom(t *testing.T) {
	q := Queue{MaxCount: 3, MaxBytes: 1000}
	if !q.Room(5000) {
		t.Error("one always gets in")
	}
	q.Push("a", frame("a", 0, 900), true)
	if q.Room(200) || !q.Room(10) {
		t.Error("bytes do not count")
	}
	q.Push("a", frame("a", 1, 0), true)
	q.Push("a", frame("a", 2, 0), true)
	if q.Room(1) || q.Free() != 0 {
		t.Error("the number does not count")
	}
	q.Push("", frame("r", 2, 0), false)
	q.Batch()
	if !q.Room(200) || q.Free() != 3 {
		t.Error("a batch makes no room")
	}
}

func TestAssemblerRefuses(t *testing.T) {
	a := Assembler{MaxTotal: 100}
	for name, p := range map[string]wire.Piece{
		"a total over the limit":         {Stream: 1, Total: 101, Bytes: []byte{1}},
		"a fragment that is the whole":   {Stream: 1, Total: 1, Bytes: []byte{1}},
		"a fragment larger than a total": {Stream: 1, Total: 1, Bytes: []byte{1, 2}},
	} {
		if _, _, err := a.Add(p); !errors.Is(err, wire.ErrMalformed) || a.Len() != 0 {
			t.Errorf("%s: %v, %d under way", name, err, a.Len())
		}
	}
	if _, _, err := a.Add(wire.Piece{Stream: 1, Total: 10, Bytes: make([]byte, 6)}); err != nil {
		t.Fatal(err)
	}
	for _, p := range []wire.Piece{{Stream: 1, Total: 10, Bytes: make([]byte, 6)}, {Stream: 1, Total: 11, Bytes: make([]byte, 2)}} {
		if _, _, err := a.Add(p); !errors.Is(err, wire.ErrMalformed) {
			t.Errorf("a fragment that does not fit: %v", err)
		}
	}
	for i := range Active - 1 {
		if _, _, err := a.Add(wire.Piece{Stream: uint32(i + 2), Total: 10, Bytes: make([]byte, 6)}); err != nil {
			t.Fatal(err)
		}
	}
	if _, _, err := a.Add(wire.Piece{Stream: 99, Total: 10, Bytes: make([]byte, 6)}); !errors.Is(err, wire.ErrMalformed) {
		t.Errorf("more frames under way than a sender cuts: %v", err)
	}
}

// What is put together is what was cut, whatever the memory held before.
func TestAssemblerKeepsBytes(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 20 {
		q, r := Queue{MaxCount: 1, MaxBytes: 1}, Assembler{MaxTotal: 4 << 20}
		want := make([]byte, 4+wire.FragmentSize+random.IntN(1<<20))
		for i := range want {
			want[i] = byte(random.Uint32())
		}
		q.Push("a", want, true)
		var whole []byte
		for !q.Empty() {
			_, body, _, err := wire.Next(q.Batch())
			if err != nil {
				t.Fatal(err)
			}
			p, err := wire.ParseFragment(body)
			if err != nil {
				t.Fatal(err)
			}
			if _, whole, err = r.Add(p); err != nil {
				t.Fatal(err)
			}
		}
		if !bytes.Equal(whole, want[4:]) || cap(whole) != len(whole) {
			t.Fatalf("%d bytes arrived, room for %d, of %d", len(whole), cap(whole), len(want)-4)
		}
	}
}

// A large frame to a target comes back when nothing refers to it any more.
func TestSent(t *testing.T) {
	var sent [][]byte
	q := Queue{MaxCount: 128, MaxBytes: 16 << 20, Sent: func(frame []byte) { sent = append(sent, frame) }}
	large := frame("a", 0, 40<<10)
	q.Push("a", large, true)
	q.Push("a", frame("a", 1, 10), true)
	q.Push("", frame("", 2, 40<<10), false)
	for i := 0; !q.Empty(); i++ {
		if i < 2 && len(sent) > 0 {
			t.Fatal("it is sent before its last fragment")
		}
		q.Batch()
	}
	if len(sent) != 1 || &sent[0][0] != &large[0] {
		t.Errorf("%d frames came back", len(sent))
	}
	q.Push("a", large, true)
	q.Clear()
	q.Push("a", large, true)
	for !q.Empty() {
		q.Batch()
	}
	if len(sent) != 2 {
		t.Errorf("%d frames came back, want that of before and the last", len(sent))
	}
}

func TestAssemblerSkips(t *testing.T) {
	a := Assembler{MaxTotal: 100}
	p := wire.Piece{Stream: 7, Total: 10, Bytes: make([]byte, 6)}
	head, _, err := a.Add(p)
	if err != nil || len(head) != 6 {
		t.Fatalf("head %d, %v", len(head), err)
	}
	a.Skip(p)
	_, whole, err := a.Add(wire.Piece{Stream: 7, Total: 10, Bytes: make([]byte, 4)})
	if err != nil || whole != nil || a.Len() != 0 {
		t.Errorf("whole %v, %v, %d under way", whole, err, a.Len())
	}
}

// Whatever fragments arrive, no more is kept than is allowed, and what comes out
// is as long as was said.
func FuzzAssembler(f *testing.F) {
	f.Add([]byte{1, 10, 6, 1, 10, 4})
	f.Add([]byte{1, 10, 6, 2, 255, 1, 1, 10, 9})
	f.Fuzz(func(t *testing.T, b []byte) {
		const limit = 100
		a := Assembler{MaxTotal: limit}
		for ; len(b) >= 3; b = b[3:] {
			p := wire.Piece{Stream: uint32(b[0]), Total: int(b[1]), Bytes: make([]byte, b[2])}
			head, whole, err := a.Add(p)
			if err != nil && (head != nil || whole != nil) {
				t.Fatal("an error and a frame")
			}
			if whole != nil && (len(whole) != p.Total || len(whole) > limit) || len(head) > limit || a.Len() > Active {
				t.Fatalf("a frame of %d bytes, said %d; %d under way", len(whole), p.Total, a.Len())
			}
		}
	})
}
