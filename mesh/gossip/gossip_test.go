package gossip_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/pawl-go/pawl/mesh"
	"github.com/pawl-go/pawl/mesh/gossip"
)

// memberlist does not wait for a probe that it has under way; it ends by itself.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("github.com/hashicorp/memberlist.(*Memberlist).probeNode"))
}

var quiet = slog.New(slog.NewTextHandler(io.Discard, nil))

type node struct {
	*mesh.Node
	gossip *gossip.Members
}

// start starts a node on loopback that asks the seeds.
func start(t *testing.T, id, secret string, seeds ...string) *node {
	t.Helper()
	m := gossip.New(gossip.Config{Listen: "127.0.0.1:0", Seeds: seeds, Secret: []byte(secret), Logger: quiet})
	n, err := mesh.Start(mesh.Config{
		ID: id, Listen: "127.0.0.1:0", Secret: []byte(secret), Members: m, Logger: quiet,
		Messages: []mesh.MessageType{mesh.Message[string]("text")},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(n.Close)
	return &node{n, m}
}

func deadline(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

func await(t *testing.T, s *mesh.Subscription, id string, kind mesh.EventKind) {
	t.Helper()
	ctx := deadline(t)
	for {
		e, err := s.Next(ctx)
		if err != nil {
			t.Fatalf("%s is not %s: %v", id, kind, err)
		}
		if e.Member.ID == id && e.Kind == kind {
			return
		}
	}
}

// Four nodes, each of which is told of one other, know each other, and talk.
func TestJoin(t *testing.T) {
	nodes := []*node{start(t, "n0", "secret")}
	for _, id := range []string{"n1", "n2", "n3"} {
		nodes = append(nodes, start(t, id, "secret", nodes[len(nodes)-1].gossip.Addr()))
	}
	for _, n := range nodes {
		if err := n.WaitForMembers(deadline(t), 4); err != nil {
			t.Fatal(n.ID(), err)
		}
	}
	if _, err := mesh.Spawn(nodes[0].Node, "echo", func(c *mesh.Context, m string) error { return c.Reply(m) }); err != nil {
		t.Fatal(err)
	}
	echo := mesh.At(nodes[3].Node, mesh.Address[string]{Node: "n0", Name: "echo"})
	if got, err := mesh.Call[string](deadline(t), echo, "hello"); got != "hello" {
		t.Errorf("%q, %v", got, err)
	}
}

// The seed comes last.
func TestSeedComesLater(t *testing.T) {
	first := start(t, "seed", "secret")
	addr := first.gossip.Addr()
	first.Close()
	a := start(t, "a", "secret", addr)
	b := start(t, "b", "secret", addr)
	m := gossip.New(gossip.Config{Listen: addr, Secret: []byte("secret"), Logger: quiet})
	n, err := mesh.Start(mesh.Config{ID: "seed", Listen: "127.0.0.1:0", Secret: []byte("secret"), Members: m, Logger: quiet})
	if err != nil {
		t.Fatal(err)
	}
	defer n.Close()
	for _, n := range []*node{a, b} {
		if err := n.WaitForMembers(deadline(t), 3); err != nil {
			t.Fatal(n.ID(), err)
		}
	}
}

// By Node.Join, with the name of who is awaited and the address of its gossip.
func TestJoinByHand(t *testing.T) {
	a, b := start(t, "a", "secret"), start(t, "b", "secret")
	if err := b.Join(deadline(t), mesh.Peer{ID: "a", Addr: a.gossip.Addr()}); err != nil {
		t.Fatal(err)
	}
	if len(b.Members()) != 2 {
		t.Error(b.Members())
	}
	if err := b.Join(deadline(t), mesh.Peer{ID: "c"}); err == nil || !strings.Contains(err.Error(), "address") {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := b.Join(ctx, mesh.Peer{Addr: "127.0.0.1:9"}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// Who leaves has left; and what it sent before has arrived, or is counted as dropped: on
// a busy machine gossip may take a node for dead meanwhile and have its link cut, which
// is no fault. That nothing is lost otherwise is for TestLeaveLosesNothing, on virtual
// time.
func TestLeave(t *testing.T) {
	a := start(t, "a", "secret")
	b := start(t, "b", "secret", a.gossip.Addr())
	c := start(t, "c", "secret", a.gossip.Addr())
	for _, n := range []*node{a, b, c} {
		if err := n.WaitForMembers(deadline(t), 3); err != nil {
			t.Fatal(err)
		}
	}
	sa, sc := a.Subscribe(), c.Subscribe()
	defer sa.Close()
	defer sc.Close()
	const count = 1000
	if _, err := mesh.Spawn(a.Node, "sink", func(*mesh.Context, string) error { return nil }); err != nil {
		t.Fatal(err)
	}
	for range count {
		if err := mesh.At(b.Node, mesh.Address[string]{Node: "a", Name: "sink"}).Cast(deadline(t), "x"); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.Leave(deadline(t)); err != nil {
		t.Fatal(err)
	}
	for _, s := range []*mesh.Subscription{sa, sc} {
		await(t, s, "b", mesh.MemberLeft)
	}
	sent := b.Counters()
	lost := sent.Dropped[mesh.ReasonLost] + sent.Dropped[mesh.ReasonReconnecting]
	patience := deadline(t)
	for a.Counters().Handled+lost < count {
		select {
		case <-time.After(time.Millisecond):
		case <-patience.Done():
			t.Fatalf("%d of %d are neither handled nor lost; here %+v, there %+v", count-a.Counters().Handled-lost, count, a.Counters(), sent)
		}
	}
}

// A node that ends without a word has failed, on all others; and one of its name
// comes back at other addresses.
func TestFailAndReturn(t *testing.T) {
	a := start(t, "a", "secret")
	b := start(t, "b", "secret", a.gossip.Addr())
	c := start(t, "c", "secret", a.gossip.Addr())
	for _, n := range []*node{a, b, c} {
		if err := n.WaitForMembers(deadline(t), 3); err != nil {
			t.Fatal(err)
		}
	}
	sa, sc := a.Subscribe(), c.Subscribe()
	defer sa.Close()
	defer sc.Close()
	b.Close()
	await(t, sa, "b", mesh.MemberFailed)
	await(t, sc, "b", mesh.MemberFailed)
	start(t, "b", "secret", c.gossip.Addr())
	await(t, sa, "b", mesh.MemberUp)
	await(t, sc, "b", mesh.MemberUp)
}

// Who has another secret is not heard.
func TestOtherSecret(t *testing.T) {
	a := start(t, "a", "secret")
	for _, other := range []string{"another", ""} {
		b := start(t, "b", other)
		err := b.Join(deadline(t), mesh.Peer{Addr: a.gossip.Addr()})
		if err == nil || !strings.Contains(err.Error(), "the secret the same") {
			t.Errorf("with secret %q: %v", other, err)
		}
		if n := len(a.Members()); n != 1 {
			t.Errorf("%d members", n)
		}
		b.Close()
	}
}

func TestConfig(t *testing.T) {
	for want, cfg := range map[string]gossip.Config{
		`Listen "": write IP:PORT`:            {},
		`Listen "host:1": write IP:PORT`:      {Listen: "host:1"},
		`Listen "127.0.0.1:x": write IP:PORT`: {Listen: "127.0.0.1:x"},
		`set Secret`:                          {Listen: "0.0.0.0:0"},
		`Advertise "x": write IP:PORT`:        {Listen: "127.0.0.1:0", Advertise: "x"},
	} {
		cfg.Logger = quiet
		n, err := mesh.Start(mesh.Config{ID: "a", Listen: "127.0.0.1:0", Members: gossip.New(cfg), Logger: quiet})
		if err == nil {
			n.Close()
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %s", cfg, err, want)
		}
	}
}
