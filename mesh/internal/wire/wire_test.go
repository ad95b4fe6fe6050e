package wire

import (
	"bytes"
	"encoding/hex"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func body(t interface{ Fatalf(string, ...any) }, frame []byte, want Kind) []byte {
	k, b, n, err := Next(frame)
	if err != nil || n != len(frame) || k != want {
		t.Fatalf("Next: kind %d, %d of %d bytes, %v", k, n, len(frame), err)
	}
	return b
}

// The bytes are what other versions rely on.
func TestGolden(t *testing.T) {
	for _, c := range []struct {
		name string
		got  []byte
		want string
	}{
		{"cast", FinishMessage(append(AppendCast(nil, "ab", "t"), 9), 0), "0700000001" + "026162" + "0174" + "09"},
		{"call", FinishMessage(AppendCall(nil, "a", "t", 7, 300), 0), "0f00000002" + "0161" + "0174" + "0700000000000000" + "ac02"},
		{"reply", FinishMessage(append(AppendReply(nil, 7, 0, Bytes, ""), 5), 0), "0d00000003" + "0700000000000000" + "00" + "01" + "00" + "05"},
		{"fragment", AppendFragment(nil, 3, 1000, []byte{1, 2}), "0b00000004" + "03000000" + "e8030000" + "0102"},
		{"fin", AppendEmpty(nil, Fin), "0100000005"},
		{"ready", AppendReady(nil, 3), "0900000010" + "0300000000000000"},
		{"heartbeat", AppendHeartbeat(nil, 2), "0900000011" + "0200000000000000"},
		{"op", AppendOp(nil, "a", 1, 4, []byte{8}), "0d00000012" + "0161" + "0100000000000000" + "04" + "08"},
		{"notice", AppendNotice(nil, 1, 2, "x"), "0b00000013" + "0100000000000000" + "02" + "78"},
		{"refused", AppendRefused(nil, []Refusal{{"a", 5, 300}}), "0600000014" + "0161" + "05" + "ac02"},
	} {
		if got := hex.EncodeToString(c.got); got != c.want {
			t.Errorf("%s:\n got %s\nwant %s", c.name, got, c.want)
		}
	}
}

func TestMessageRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := Message{
			Target:  rapid.SliceOfN(rapid.Byte(), 1, MaxName).Draw(t, "target"),
			Type:    rapid.SliceOfN(rapid.Byte(), 1, MaxName).Draw(t, "type"),
			Call:    rapid.Bool().Draw(t, "call"),
			Payload: rapid.SliceOfN(rapid.Byte(), 0, 100).Draw(t, "payload"),
		}
		var b []byte
		k := Cast
		if m.Call {
			k = Call
			m.ID = rapid.Uint64().Draw(t, "id")
			m.Timeout = time.Duration(rapid.Int64Min(0).Draw(t, "timeout"))
			b = AppendCall(nil, string(m.Target), string(m.Type), m.ID, m.Timeout)
		} else {
			b = AppendCast(nil, string(m.Target), string(m.Type))
		}
		got, err := ParseMessage(k, body(t, FinishMessage(append(b, m.Payload...), 0), k))
		if err != nil || !cmp.Equal(got, m) {
			t.Fatalf("%v %s", err, cmp.Diff(m, got))
		}
	})
}

func TestControlRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		all := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Refusal {
			return Refusal{rapid.StringN(0, 60, MaxName).Draw(t, "target"), rapid.Byte().Draw(t, "code"), rapid.Uint64().Draw(t, "count")}
		}), 0, 400).Draw(t, "refusals")
		var got []Refusal
		for b := AppendRefused(nil, all); len(b) > 0; {
			k, body, n, err := Next(b)
			if err != nil || n == 0 || k != Refused {
				t.Fatalf("kind %d, %d bytes, %v", k, n, err)
			}
			part, err := ParseRefused(body)
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, part...)
			b = b[n:]
		}
		if len(got) != len(all) || len(all) > 0 && !cmp.Equal(got, all) {
			t.Fatal(cmp.Diff(all, got))
		}
	})
}

func TestIdentityRoundTrip(t *testing.T) {
	a := Reception{Verdict: Stale, Known: 9, Identity: Identity{
		Node: "n", Incarnation: 5, Addr: "h:1", Observer: true, Target: "m", Link: LinkID{1}, Stream: 3, Lanes: 4, LastLink: LinkID{2}, Received: 8, Dial: 9,
	}}
	b := AppendReception(nil, a)
	for _, newer := range [][]byte{b, append(bytes.Clone(b), 1, 2, 3)} {
		if got, err := ParseReception(newer); err != nil || got != a {
			t.Errorf("%v %s", err, cmp.Diff(a, got))
		}
	}
	for n := range b {
		if _, err := ParseReception(b[:n]); !errors.Is(err, ErrMalformed) {
			t.Fatalf("%d of %d bytes: %v", n, len(b), err)
		}
	}
}

func TestGreeting(t *testing.T) {
	for version, want := range map[uint16]error{0: ErrVersion, Version: nil, Version + 7: nil} {
		v, err := CheckGreeting(AppendGreeting(nil, version, [NonceSize]byte{1}))
		if !errors.Is(err, want) || want == nil && v != Version {
			t.Errorf("version %d: %d, %v", version, v, err)
		}
	}
	if _, err := CheckGreeting(make([]byte, GreetSize)); !errors.Is(err, ErrNotMesh) {
		t.Errorf("zeros: %v", err)
	}
}

// A code proves the secret, the side, and all that was said.
func TestCode(t *testing.T) {
	code := Code([]byte("s"), "D", []byte("one"), []byte("two"))
	if !CheckCode(code, []byte("s"), "D", []byte("one"), []byte("two")) {
		t.Error("the right code is refused")
	}
	for name, ok := range map[string]bool{
		"secret": CheckCode(code, []byte("x"), "D", []byte("one"), []byte("two")),
		"side":   CheckCode(code, []byte("s"), "X", []byte("one"), []byte("two")),
		"words":  CheckCode(code, []byte("s"), "D", []byte("one"), []byte("twa")),
		"length": CheckCode(code[:31], []byte("s"), "D", []byte("one"), []byte("two")),
	} {
		if ok {
			t.Errorf("a code for another %s is taken", name)
		}
	}
}

func TestNextBounds(t *testing.T) {
	for _, b := range [][]byte{{0, 0, 0, 0, 1}, {255, 255, 255, 255, 1}, {0x0a, 0x40, 0, 0, 1}} {
		if _, _, _, err := Next(b); !errors.Is(err, ErrBadLength) {
			t.Errorf("% x: %v", b, err)
		}
	}
	whole := AppendHeartbeat(nil, 1)
	for n := range whole {
		if _, _, got, err := Next(whole[:n]); got != 0 || err != nil {
			t.Errorf("%d bytes of a frame: %d, %v", n, got, err)
		}
	}
}

// Nothing that arrives makes a parser panic, and what parses is within what arrived.
func FuzzParse(f *testing.F) {
	for _, seed := range [][]byte{
		FinishMessage(append(AppendCall(nil, "a", "t", 7, 300), 1), 0), FinishMessage(AppendCast(nil, "a", "t"), 0),
		FinishMessage(AppendReply(nil, 7, 3, Text, "x"), 0), AppendFragment(nil, 1, 100, []byte{1}), AppendHeartbeat(nil, 1), AppendReady(nil, 1),
		AppendOp(nil, "a", 1, 2, nil), AppendNotice(nil, 1, 2, "x"), AppendRefused(nil, []Refusal{{"a", 1, 2}}),
		AppendReception(nil, Reception{Identity: Identity{Node: "n", Lanes: 1}}), AppendGreeting(nil, 1, [NonceSize]byte{}),
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		CheckGreeting(b)
		ParseReception(b)
		ParseIdentity(b)
		for {
			k, body, n, err := Next(b)
			if n == 0 || err != nil {
				return
			}
			if n > len(b) || len(body) != n-HeaderSize {
				t.Fatalf("a frame of %d bytes in %d, body %d", n, len(b), len(body))
			}
			b = b[n:]
			if m, err := ParseMessage(k, body); err == nil && len(m.Payload) > len(body) {
				t.Fatal("a payload longer than its frame")
			}
			ParseReply(body)
			ParseFragment(body)
			ParseHeartbeat(body)
			ParseReady(body)
			ParseOp(body)
			ParseNotice(body)
			ParseRefused(body)
		}
	})
}
