package mesh

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"testing"
	"time"
)

type add struct{ N int }

type get struct{}

type addOrGet interface{ isCounter() }

func (add) isCounter() {}
func (get) isCounter() {}

func testMessages() []MessageType {
	return []MessageType{
		Message[add]("add"), Message[get]("get"), Message[string]("string"), Message[[]byte]("bytes"),
	}
}

func quiet() *slog.Logger { return slog.New(slog.NewTextHandler(io.Discard, nil)) }

func testConfig(id string, peers ...Peer) Config {
	return Config{
		ID: id, Listen: "127.0.0.1:0", Messages: testMessages(), Members: Static(peers...), Logger: quiet(),
		Timing: Timing{RedialMin: 10 * time.Millisecond, RedialMax: 200 * time.Millisecond},
	}
}

func mustStart(t testing.TB, cfg Config) *Node {
	t.Helper()
	n, err := Start(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(n.Close)
	return n
}

// pair starts two nodes that know each other.
func pair(t testing.TB, configure ...func(*Config)) (a, b *Node) {
	t.Helper()
	ca := testConfig("a")
	for _, f := range configure {
		f(&ca)
	}
	a = mustStart(t, ca)
	cb := testConfig("b", Peer{"a", a.Addr()})
	for _, f := range configure {
		f(&cb)
	}
	b = mustStart(t, cb)
	for _, n := range []*Node{a, b} {
		if err := n.WaitForMembers(t.Context(), 2); err != nil {
			t.Fatal(err)
		}
	}
	return a, b
}

func counter(c *Context, total *int, m addOrGet) error {
	if m, ok := m.(add); ok {
		*total += m.N
		return nil
	}
	return c.Reply(*total)
}

func spawnCounter(t testing.TB, n *Node, name string) *Ref[addOrGet] {
	t.Helper()
	r, err := SpawnNew(n, name, func(*Context) (Handler[addOrGet], error) {
		total := 0
		return func(c *Context, m addOrGet) error { return counter(c, &total, m) }, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestCastAndCall(t *testing.T) {
	a, b := pair(t)
	local := spawnCounter(t, a, "counter")
	remote := At(b, local.Address())
	for i := range 10 {
		for _, r := range []*Ref[addOrGet]{local, remote} {
			if err := r.Cast(t.Context(), add{i}); err != nil {
				t.Fatal(err)
			}
		}
	}
	for name, r := range map[string]*Ref[addOrGet]{"local": local, "remote": remote} {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		for {
			got, err := Call[int, addOrGet](ctx, r, get{})
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if got == 90 {
				break
			}
		}
	}
}

func TestLarge(t *testing.T) {
	a, b := pair(t)
	r, err := Spawn(a, "echo", func(c *Context, m []byte) error { return c.Reply(m) })
	if err != nil {
		t.Fatal(err)
	}
	remote := At(b, r.Address())
	for _, size := range []int{0, 1, 16 << 10, 100_000, 4<<20 - 100} {
		m := make([]byte, size)
		for i := range m {
			m[i] = byte(i * 7)
		}
		got, err := Call[[]byte](t.Context(), remote, m)
		if err != nil || string(got) != string(m) {
			t.Fatalf("%d bytes: %d, %v", size, len(got), err)
		}
	}
	if _, err := Call[[]byte](t.Context(), remote, make([]byte, 5<<20)); !errors.Is(err, SendTooLarge) {
		t.Errorf("5 MiB: %v", err)
	}
}

// What an actor keeps stays as it came: large messages are not copied once more.
func TestLargeIsKept(t *testing.T) {
	a, b := pair(t)
	var kept [][]byte
	r, err := Spawn(a, "keeper", func(c *Context, m []byte) error {
		if kept = append(kept, m); c.IsCall() {
			return c.Reply(len(kept))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	const count = 40
	for i := range count {
		m := bytes.Repeat([]byte{byte(i)}, 10_000+i*1000) // below and above a fragment
		if err := At(b, r.Address()).Cast(t.Context(), m); err != nil {
			t.Fatal(err)
		}
	}
	if n, err := Call[int](t.Context(), At(b, r.Address()), nil); err != nil || n != count+1 {
		t.Fatal(n, err)
	}
	for i, m := range kept[:count] {
		if !bytes.Equal(m, bytes.Repeat([]byte{byte(i)}, 10_000+i*1000)) {
			t.Errorf("message %d has changed", i)
		}
	}
}

func TestLeave(t *testing.T) {
	a, b := pair(t)
	sub := a.Subscribe()
	defer sub.Close()
	got := make(chan int, 2000)
	r, err := Spawn(a, "sink", func(_ *Context, m add) error { got <- m.N; return nil })
	if err != nil {
		t.Fatal(err)
	}
	for i := range 1000 {
		if err := At(b, r.Address()).Cast(t.Context(), add{i}); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if err := b.Leave(ctx); err != nil {
		t.Fatal(err)
	}
	e, err := sub.Next(ctx)
	if err != nil || e.Kind != MemberLeft || e.Member.ID != "b" {
		t.Fatalf("%+v, %v", e, err)
	}
	for i := range 1000 {
		if n := <-got; n != i {
			t.Fatalf("%d, want %d", n, i)
		}
	}
	if err := At(a, Address[add]{"b", "x"}).Cast(ctx, add{}); !errors.Is(err, SendNotAMember) {
		t.Errorf("cast to who left: %v", err)
	}
	if c := a.Counters(); c.Handled != 1000 {
		t.Errorf("%+v", c)
	}
}
