package queue

import (
	"bytes"
	"encoding/binary"
	"errors"
	"testing"
	"time"

	"github.com/pawl-go/pawl/queue/memfs"
)

// FuzzDecodeEntry: whatever the bytes, decoding stays within them, and what it
// accepts encodes to the same bytes.
func FuzzDecodeEntry(f *testing.F) {
	m := make([]byte, 64)
	w := putEntry(m, 7, 0, wordPresent|5, 0, checksum([]byte("hello")))
	f.Add(w, binary.LittleEndian.Uint64(m[8:]), uint64(7), int64(0))
	f.Add(uint64(0), uint64(0), uint64(0), int64(4096))
	f.Fuzz(func(t *testing.T, w, rest, salt uint64, off int64) {
		off = off & (1<<32 - 1) &^ (align - 1)
		e, err := decodeEntry(w, rest, salt, off)
		if err != nil {
			return
		}
		if e.length < 0 || e.length > maxLength || e.mark > off {
			t.Fatalf("%+v", e)
		}
		b := make([]byte, entryHeader)
		if got := putEntry(b, salt, 0, uint32(w), uint32(rest), e.crc); off == 0 && (got != w || binary.LittleEndian.Uint64(b[8:]) != rest) {
			t.Fatalf("%x %x does not encode to itself", w, rest)
		}
	})
}

// FuzzDecodeHeader: a header that is accepted encodes to the same bytes, but for
// a stamp that does not check.
func FuzzDecodeHeader(f *testing.F) {
	h := cycleHeader{cycle: 3, size: 8 << 10, salt: 99, created: 5}
	f.Add(h.encode())
	h.stamp = stamp{state: stampSealed, count: 2, used: 5000, indexLen: 1}
	f.Add(h.encode())
	f.Fuzz(func(t *testing.T, b []byte) {
		h, err := decodeHeader(b)
		if err != nil {
			return
		}
		if again, err := decodeHeader(h.encode()); err != nil || again != h {
			t.Fatalf("%+v: %+v, %v", h, again, err)
		}
	})
}

// FuzzOpen overwrites a part of a small queue: opening must end in a queue that
// works, or in an error that says where.
func FuzzOpen(f *testing.F) {
	f.Add(uint16(4096), []byte{0, 0, 0, 0}, false)
	f.Add(uint16(64), []byte{1, 2, 3}, true)
	f.Add(uint16(4200), []byte("\xff\xff\xff\xff\xff\xff\xff\xff"), false)
	f.Fuzz(func(t *testing.T, off uint16, b []byte, closed bool) {
		fsys := memfs.New()
		cfg := Config{CycleBytes: 8 << 10, FS: fsys, Logger: quiet(), FlushEvery: time.Hour}
		q, err := Open("q", cfg)
		if err != nil {
			t.Fatal(err)
		}
		for k := range 5 {
			mustAppend(t, q, content(k))
		}
		if closed {
			mustClose(t, q)
		}
		fsys = fsys.Kill()
		if !closed {
			mustClose(t, q)
		}
		buf := firstCycle(t, fsys)
		copy(buf[int(off)%(8<<10):8<<10], b)
		cfg.FS = fsys
		if _, err := Verify("q", CheckOptions{FS: fsys}); err != nil {
			t.Fatal(err)
		}
		q, err = Open("q", cfg)
		if err != nil {
			if _, ok := errors.AsType[*CorruptError](err); !ok {
				t.Fatal(err)
			}
			return
		}
		mustAppend(t, q, "goes on")
		_, ps := all(t, q, 0)
		if len(ps) == 0 || ps[len(ps)-1] != "goes on" {
			t.Fatalf("%q", ps)
		}
		mustClose(t, q)
	})
}

// FuzzReadPosition: whatever the bytes, the file of a position is read as it was
// written, or refused.
func FuzzReadPosition(f *testing.F) {
	b := make([]byte, positionBytes)
	copy(b, positionHeader{holdBack: true, created: 5}.encode())
	copy(b[slotOffset(0):], positionSlot{count: 1, next: 7, at: 9}.encode())
	f.Add(b)
	f.Add(b[:600])
	f.Fuzz(func(t *testing.T, b []byte) {
		st, err := readPosition(bytes.NewReader(b), "p")
		if err != nil {
			if _, ok := errors.AsType[*PositionError](err); !ok {
				t.Fatal(err)
			}
			return
		}
		if got := b[slotOffset(st.newest):][:24]; !bytes.Equal(got, st.slot.encode()[:24]) {
			t.Fatalf("%+v is not what stands there", st)
		}
	})
}

// FuzzApply: a copy takes a block as it was read, or not at all, and never stops
// working.
func FuzzApply(f *testing.F) {
	src, err := Open("src", Config{CycleBytes: 8 << 10, FS: memfs.New(), Logger: quiet(), FlushEvery: time.Hour})
	if err != nil {
		f.Fatal(err)
	}
	defer func() { _ = src.Close() }()
	for k := range 5 {
		mustAppend(f, src, content(k))
	}
	head, err := src.Head(1)
	if err != nil {
		f.Fatal(err)
	}
	br := src.NewBlockReader(Place{})
	defer br.Close()
	whole, ok, err := br.TryNext(8 << 10)
	if err != nil || !ok {
		f.Fatal(ok, err)
	}
	f.Add(whole.Bytes, whole.Offset, whole.Entries, false)
	f.Add(whole.Bytes[:32], whole.Offset, uint32(1), true)
	f.Fuzz(func(t *testing.T, b []byte, off int64, entries uint32, end bool) {
		q, err := Open("q", Config{CycleBytes: 8 << 10, FS: memfs.New(), Logger: quiet(), FlushEvery: time.Hour})
		if err != nil {
			t.Fatal(err)
		}
		mustBar(t, q)
		if err := q.BeginCycle(head); err != nil {
			t.Fatal(err)
		}
		err = q.Apply(Block{Cycle: 1, Offset: off, Entries: entries, End: end, Bytes: b})
		if err != nil && !errors.Is(err, ErrBadBlock) && !errors.Is(err, ErrPlace) {
			t.Fatal(err)
		}
		if err == nil && !bytes.HasPrefix(whole.Bytes, b) {
			t.Fatal("a block that the source never had")
		}
		if err != nil && q.Last() != 0 {
			t.Fatalf("refused, but the queue ends at %s", q.Last())
		}
		mustClose(t, q)
	})
}
