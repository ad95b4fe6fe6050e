package service

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pawl-go/pawl/queue"
)

// frames are one of each form, with their bytes.
var frames = []struct {
	name  string
	frame frame
	bytes string
}{
	{
		"published",
		frame{time: 1, typ: []byte("Num"), payload: []byte("{}")},
		"b1 00 21 02 03 4e 75 6d 7b 7d",
	},
	{
		"first output",
		frame{
			flags: hasOrder, time: -1, history: []Hop{{2, queue.NewIndex(1, 3)}, {1, 9}}, check: 0x01020304,
			runs: []Hop{{3, queue.NewIndex(1, 0)}}, typ: []byte("A"),
		},
		"b1 00 2b 01 02 02 83 80 80 80 10 01 09 04 03 02 01 01 03 80 80 80 80 10 01 41",
	},
	{
		"second output",
		frame{history: []Hop{{2, 7}}, ordinal: 1, typ: []byte("A")},
		"b1 00 26 01 02 07 01 01 41",
	},
	{
		"order with positions",
		frame{kind: Order, flags: hasOrder | hasPositions, history: []Hop{{1, 5}}, begin: 4, positions: []Hop{{1, 5}, {2, 0}}},
		"b1 01 1a 01 01 05 00 00 00 00 00 04 02 01 05 02 00",
	},
	{
		"begin",
		frame{kind: Begin, flags: hasPositions, positions: []Hop{{1, 0}}},
		"b1 02 10 00 01 01 00",
	},
	{
		"dead",
		frame{kind: Dead, flags: hasOrder, history: []Hop{{1, 5}}, reason: []byte("no")},
		"b1 03 4a 01 01 05 00 00 00 00 00 02 6e 6f",
	},
	{
		"letter",
		frame{kind: Dead, history: []Hop{{1, 5}}, typ: []byte("A"), reason: []byte("no"), payload: []byte("p")},
		"b1 03 62 01 01 05 01 41 02 6e 6f 70",
	},
}

// TestFormat: these bytes are on disks.
func TestFormat(t *testing.T) {
	for _, c := range frames {
		b := append(c.frame.append(nil), c.frame.payload...)
		if got := fmt.Sprintf("% x", b); got != c.bytes {
			t.Errorf("%s: %s, want %s", c.name, got, c.bytes)
		}
		var f frame
		if err := f.decode(b); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		if again := append(f.append(nil), f.payload...); !bytes.Equal(again, b) {
			t.Errorf("%s: % x again, was % x", c.name, again, b)
		}
	}
}

func TestDecode(t *testing.T) {
	f := frame{time: 5e9, history: []Hop{{2, 7}}, ordinal: 3, typ: []byte("A"), payload: []byte("x")}
	got, err := Decode(append(f.append(nil), "x"...))
	want := Envelope{Kind: Message, Type: "A", Time: time.Unix(5, 0).UTC(), History: []Hop{{2, 7}}, Ordinal: 3, Payload: []byte("x")}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Fatal(diff, err)
	}
}

func TestWhatDoesNotDecode(t *testing.T) {
	for name, b := range map[string]string{
		"nothing":              "",
		"short":                "\xb1\x00",
		"plain":                "hello",
		"kind":                 "\xb1\x04\x00",
		"flag":                 "\xb1\x00\x80",
		"time 0":               "\xb1\x00\x01\x00",
		"long form":            "\xb1\x00\x01\x82\x00",
		"no end":               "\xb1\x00\x01\x82",
		"history empty":        "\xb1\x00\x0a\x00\x00\x00\x00\x00\x00",
		"history too long":     "\xb1\x00\x0a\xff\x01" + strings.Repeat("\x01\x01", 300),
		"history cut":          "\xb1\x00\x0a\x01\x01",
		"history, no order":    "\xb1\x00\x02\x01\x01\x01",
		"order, no history":    "\xb1\x00\x08\x00\x00\x00\x00\x00",
		"source 0":             "\xb1\x00\x06\x01\x00\x01\x01",
		"source wild":          "\xb1\x00\x06\x01\xff\xff\xff\xff\x7f\x01\x01",
		"ordinal 0":            "\xb1\x00\x06\x01\x01\x01\x00",
		"type empty":           "\xb1\x00\x20\x00",
		"type cut":             "\xb1\x00\x20\x05ab",
		"order with a payload": "\xb1\x01\x0a\x01\x01\x05\x00\x00\x00\x00\x00x",
		"begin with a payload": "\xb1\x02\x10\x01\x00x",
		"message with reason":  "\xb1\x00\x40\x01x",
		"dead without reason":  "\xb1\x03\x02\x01\x01\x01",
	} {
		_, err := Decode([]byte(b))
		if _, ok := errors.AsType[*FormatError](err); !ok {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func FuzzDecode(f *testing.F) {
	for _, c := range frames {
		f.Add(append(c.frame.append(nil), c.frame.payload...))
	}
	var used frame // by many, as services do
	f.Fuzz(func(t *testing.T, b []byte) {
		if err := used.decode(b); err != nil {
			return
		}
		if again := append(used.append(nil), used.payload...); !bytes.Equal(again, b) {
			t.Fatalf("% x again, was % x", again, b)
		}
	})
}

func FuzzSnapshot(f *testing.F) {
	good := snapshot{begin: 1, output: 2, check: 3, positions: []Hop{{1, 2}}, state: []byte("state")}
	f.Add(good.encode())
	f.Fuzz(func(t *testing.T, b []byte) {
		var sn snapshot
		if len(b) >= snapshotHeader { // let it come further than the check
			sum := checkOf(b[snapshotHeader:])
			b[12], b[13], b[14], b[15] = byte(sum), byte(sum>>8), byte(sum>>16), byte(sum>>24)
		}
		if err := sn.decode(b); err != nil {
			return
		}
		if !bytes.Equal(sn.encode(), b) {
			t.Fatalf("% x again, was % x", sn.encode(), b)
		}
	})
}
