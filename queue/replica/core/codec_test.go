package core

import (
	"errors"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
	"pgregory.net/rapid"

	"github.com/pawl-go/pawl/queue"
)

// A message that is written is read as it was.
func TestCodecRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := drawMessage(t)
		got, err := DecodeMessage(m.AppendTo(nil))
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got, m) {
			t.Fatalf("got %+v, want %+v", got, m)
		}
	})
}

func drawMessage(t *rapid.T) *Message {
	host := func(name string) HostID { return HostID(rapid.IntRange(0, MaxHosts).Draw(t, name)) }
	index := func(name string) queue.Index { return queue.Index(rapid.Uint64().Draw(t, name)) }
	epoch := func(name string) Epoch { return Epoch{rapid.Uint64Max(maxEpoch).Draw(t, name), host(name + " host")} }
	m := &Message{
		Type:  MessageType(rapid.IntRange(1, int(msgEnd)-1).Draw(t, "type")),
		Epoch: epoch("epoch"), Stream: rapid.Uint64().Draw(t, "stream"), Promised: epoch("promised"),
		Last:    Mark{epoch("last"), index("last")},
		Base:    Base{index("base"), rapid.Uint64().Draw(t, "count"), rapid.Uint64().Draw(t, "base sum"), epoch("base")},
		Counted: index("counted"), Trust: Trust(rapid.IntRange(0, int(Lost)).Draw(t, "trust")),
		Source: host("source"), Single: host("single"), Config: rapid.Uint64().Draw(t, "config"), Birth: epoch("birth"),
		Index: index("index"), Sum: rapid.Uint64().Draw(t, "sum"), Round: rapid.Uint64().Draw(t, "round"),
		Received: index("received"), Appended: index("appended"), Flushed: index("flushed"),
		Why: rapid.StringN(0, 20, -1).Draw(t, "why"),
	}
	for _, flag := range m.flags() {
		*flag = rapid.Bool().Draw(t, "flag")
	}
	for range rapid.IntRange(0, 4).Draw(t, "rows") {
		m.Rows = append(m.Rows, Row{Control: Control{Kind: EpochBegins, Epoch: epoch("row")}, Index: index("row"), Prev: index("prev")})
	}
	if m.Type == MsgUpdate {
		first := queue.NewIndex(uint32(rapid.IntRange(1, 1<<32-1).Draw(t, "cycle")), uint32(rapid.IntRange(0, 1<<31).Draw(t, "seq")))
		for k := range rapid.IntRange(0, 5).Draw(t, "entries") {
			m.Entries = append(m.Entries, Entry{
				Index: first + queue.Index(k), More: rapid.Bool().Draw(t, "more"), Control: rapid.Bool().Draw(t, "control"),
				Payload: rapid.SliceOfN(rapid.Byte(), 0, 40).Draw(t, "payload"),
			})
		}
	}
	return m
}

// A message that is cut at any byte is refused, or is a shorter one that checks.
func TestCodecCut(t *testing.T) {
	m := &Message{Type: MsgUpdate, Epoch: Epoch{3, 1}, Entries: []Entry{{Index: queue.NewIndex(1, 0), Payload: []byte("abc")}}}
	b := m.AppendTo(nil)
	for cut := range b {
		if got, err := DecodeMessage(b[:cut]); err == nil && len(got.Entries) != 0 {
			t.Errorf("cut at %d: %+v", cut, got)
		}
	}
}

func TestCodecRefuses(t *testing.T) {
	tag := func(n protowire.Number, v uint64) []byte {
		return protowire.AppendVarint(protowire.AppendTag(nil, n, protowire.VarintType), v)
	}
	bytesField := func(n protowire.Number, v []byte) []byte {
		return protowire.AppendBytes(protowire.AppendTag(nil, n, protowire.BytesType), v)
	}
	update := tag(1, uint64(MsgUpdate))
	first := tag(24, 1<<32)
	for name, b := range map[string][]byte{
		"nothing":               nil,
		"type 0":                tag(4, 1),
		"unknown type":          tag(1, uint64(msgEnd)),
		"wild type":             tag(1, 1<<60),
		"host 128":              append(tag(1, 1), tag(3, 128)...),
		"host 2^60":             append(tag(1, 1), tag(13, 1<<60)...),
		"trust 3":               append(tag(1, 1), tag(12, 3)...),
		"entries in a state":    append(append(tag(1, 1), first...), bytesField(25, []byte{0})...),
		"entry without flags":   append(append(update, first...), bytesField(25, nil)...),
		"entry of wild flags":   append(append(update, first...), bytesField(25, []byte{4})...),
		"entries without first": append(update, bytesField(25, []byte{0})...),
		"entries past a cycle":  append(append(append(update, tag(24, 2<<32-1)...), bytesField(25, []byte{0})...), bytesField(25, []byte{0})...),
		"wild length":           append(tag(1, 1), 0xca, 0x01, 0xff, 0xff, 0xff, 0xff, 0x0f),
		"many epochs":           append(tag(1, uint64(MsgHistory)), []byte(strings.Repeat(string(bytesField(23, nil)), maxRows+1))...),
		"many entries":          append(append(update, first...), []byte(strings.Repeat(string(bytesField(25, []byte{0})), MaxUpdateEntries+1))...),
	} {
		if m, err := DecodeMessage(b); !errors.Is(err, ErrMessage) {
			t.Errorf("%s: %+v, %v", name, m, err)
		}
	}
}

func FuzzDecodeMessage(f *testing.F) {
	for _, m := range []*Message{
		{Type: MsgState, Config: 7, Promised: Epoch{1, 2}, Source: 2},
		{Type: MsgHistory, Rows: []Row{{Control: Control{Kind: EpochBegins, Epoch: Epoch{1, 2}}, Index: 3, Prev: 2}}, Base: Base{Index: 4}},
		{Type: MsgUpdate, Entries: []Entry{{Index: queue.NewIndex(1, 0), More: true, Payload: []byte("x")}, {Index: queue.NewIndex(1, 1), Control: true}}},
	} {
		f.Add(m.AppendTo(nil))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := DecodeMessage(b)
		if err != nil {
			return
		}
		again, err := DecodeMessage(m.AppendTo(nil))
		if err != nil || !reflect.DeepEqual(m, again) {
			t.Errorf("read %+v, and again %+v, %v", m, again, err)
		}
	})
}

func FuzzDecodeControl(f *testing.F) {
	f.Add(Control{Kind: EpochBegins, Epoch: Epoch{7, 3}, Lossy: true}.Encode())
	f.Fuzz(func(t *testing.T, b []byte) {
		if c, err := DecodeControl(b); err == nil && string(c.Encode()) != string(b) {
			t.Errorf("%+v is written otherwise than it was read", c)
		}
	})
}

// FuzzHostilePeer feeds a replica messages that no replica would send, in any
// order. It must keep its invariants, set nothing aside that counts, and not
// panic.
func FuzzHostilePeer(f *testing.F) {
	f.Add(uint64(1), []byte{1, 2, 3})
	f.Fuzz(func(t *testing.T, seed uint64, kinds []byte) {
		s := newScript(t, simOptions{hosts: 3, strategy: Any()}, func(c *Config) { c.Master = 1 })
		s.forced = true // a hostile peer may claim that anything counts
		s.connectAll()
		s.settle()
		r := rand.New(rand.NewPCG(seed, 1))
		for _, kind := range kinds {
			for _, h := range s.hosts {
				peer := HostID(1 + r.IntN(3))
				if p := h.r.peer(peer); p != nil && p.conn != 0 {
					m := hostile(r, MessageType(1+int(kind)%int(msgEnd-1)), h.r)
					if m, err := DecodeMessage(m.AppendTo(nil)); err == nil {
						h.step(Received{peer, p.conn, m})
					}
				}
			}
			s.settle()
			s.connectAll()
			s.sweep()
		}
	})
}

// hostile makes a message of which each field is likely or wild.
func hostile(r *rand.Rand, t MessageType, to *Replica) *Message {
	index := func() queue.Index {
		return []queue.Index{0, 1, to.h.last(), to.h.last() + 1, to.counted, queue.NewIndex(9, 0), 1<<64 - 1}[r.IntN(7)]
	}
	epoch := func() Epoch {
		e := to.hard.Promised
		return []Epoch{e, {}, {e.Number + 1, HostID(1 + r.IntN(3))}, {1<<64 - 1, HostID(1 + r.IntN(3))}, to.h.mark().Epoch}[r.IntN(5)]
	}
	flag := func() bool { return r.IntN(2) == 0 }
	m := &Message{
		Type: t, Epoch: epoch(), Stream: uint64(r.IntN(3)), Promised: epoch(), Last: Mark{epoch(), index()},
		Base: Base{index(), r.Uint64N(5), r.Uint64N(2), epoch()}, Counted: index(), Trust: Trust(r.IntN(3)),
		Source: HostID(r.IntN(4)), Single: HostID(r.IntN(4)), Config: to.config, Birth: epoch(), OK: flag(), Force: flag(),
		Newborn: flag(), Donor: flag(), Lossy: flag(), Restart: flag(), Want: flag(), Index: index(), Sum: r.Uint64N(2),
		Round: r.Uint64N(3), Received: index(), Appended: index(), Flushed: index(),
	}
	for range r.IntN(3) {
		m.Rows = append(m.Rows, Row{Control: Control{Kind: EpochBegins, Epoch: epoch()}, Index: index(), Prev: index()})
	}
	if t == MsgUpdate {
		first := index()
		for k := range r.IntN(3) {
			e := Entry{Index: first + queue.Index(k), More: flag(), Control: flag(), Payload: []byte("x")}
			if flag() {
				e.Payload = Control{Kind: EpochBegins, Epoch: epoch()}.Encode()
			}
			m.Entries = append(m.Entries, e)
			m.Sum = Chain(m.Sum, e)
		}
	}
	return m
}
