package replica_test

import (
	"bufio"
	"crypto/rand"
	"errors"
	mrand "math/rand/v2"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/pawl-go/pawl/queue"
	"github.com/pawl-go/pawl/queue/replica"
	"github.com/pawl-go/pawl/queue/replica/core"
	"github.com/pawl-go/pawl/queue/replica/wire"
)

// dialAs connects to a host as another one that knows the secret.
func (c *cluster) dialAs(from, to replica.HostID) net.Conn {
	c.t.Helper()
	fail := func(err error) {
		if err != nil {
			c.t.Fatal(err)
		}
	}
	conn, err := new(net.Dialer).DialContext(c.t.Context(), "tcp", c.addrs[to])
	fail(err)
	c.t.Cleanup(func() { conn.Close() })
	g := wire.Greeting{From: from, To: to, Cluster: "test", Queues: []string{qname}}
	_, err = rand.Read(g.Nonce[:])
	fail(err)
	mine, err := g.Encode()
	fail(err)
	say := func(t wire.Type, body []byte) {
		b, err := wire.Append(nil, wire.Frame{Type: t, Body: body})
		fail(err)
		_, err = conn.Write(b)
		fail(err)
	}
	say(wire.Hello, mine)
	r := wire.NewReader(bufio.NewReader(conn))
	f, err := r.Next()
	fail(err)
	say(wire.Proof, wire.Prove([]byte("tell nobody"), from, mine, f.Body, nil))
	if f, err = r.Next(); err != nil || f.Type != wire.Proof {
		c.t.Fatalf("%v %v", f.Type, err)
	}
	return conn
}

// nonsense is a message that makes no sense as a rule. It does not force anything,
// which any host may.
func nonsense(r *mrand.Rand) *core.Message {
	epoch := func() core.Epoch { return core.Epoch{Number: r.Uint64N(5), Host: core.HostID(r.IntN(4))} }
	index := func() queue.Index { return queue.NewIndex(uint32(r.IntN(3)), uint32(r.IntN(5))) }
	m := &core.Message{
		Type: core.MessageType(1 + r.IntN(int(core.MsgStop))), Epoch: epoch(), Stream: r.Uint64N(3), Promised: epoch(),
		Last: core.Mark{Epoch: epoch(), Index: index()}, Counted: index(), Trust: core.Trust(r.IntN(3)),
		Source: core.HostID(r.IntN(4)), Single: core.HostID(r.IntN(4)), OK: r.IntN(2) == 0, Donor: r.IntN(2) == 0,
		Want: r.IntN(2) == 0, Index: index(), Sum: r.Uint64N(2) * r.Uint64(), Round: r.Uint64N(3),
		Received: index(), Appended: index(), Flushed: index(), Why: "nonsense",
	}
	for range r.IntN(4) {
		m.Rows = append(m.Rows, core.Row{Control: core.Control{Kind: core.EpochBegins, Epoch: epoch()}, Index: index(), Prev: index()})
	}
	return m
}

// TestPeerThatSpeaksNonsense: a host of the set that knows the secret, and has lost
// its mind, stops nobody for long and takes nothing back that counts.
func TestPeerThatSpeaksNonsense(t *testing.T) {
	seed := mrand.Uint64()
	t.Logf("seed %d", seed)
	r := mrand.New(mrand.NewPCG(seed, 3))
	c := newCluster(t, 3, fast)
	c.openAll()
	c.awaitSource(1)
	c.awaitAll(c.append(1, "before"))
	c.close(3)
	rounds := 60
	if testing.Short() {
		rounds = 10
	}
	for range rounds {
		conn := c.dialAs(3, replica.HostID(1+r.IntN(2)))
		var b []byte
		for range 1 + r.IntN(20) {
			var err error
			if b, err = replica.AppendMessage(b, nonsense(r)); err != nil {
				t.Fatal(err)
			}
		}
		if r.IntN(2) == 0 {
			b[r.IntN(len(b))] ^= 1
		}
		if _, err := conn.Write(b); err != nil && !errors.Is(err, net.ErrClosed) {
			t.Logf("write: %v", err) // it was thrown out in the middle
		}
		_ = conn.SetReadDeadline(time.Now().Add(20 * time.Millisecond)) //nolint:forbidigo // of the socket
		_, _ = conn.Read(make([]byte, 1<<16))
		_ = conn.Close()
	}
	c.open(3)
	if _, err := c.queue(1).TakeOver(c.ctx(), false); err != nil {
		t.Fatalf("%v\n%s", err, c.events)
	}
	c.awaitSource(1)
	ms := c.same(c.append(1, "after"))
	if len(ms) != 2 || ms[0].text != "before" {
		t.Fatalf("%v", ms)
	}
}

// TestPeerThatAsksAndDoesNotRead gets so many answers and no more: what is kept for it
// is bounded, and the others do not notice.
func TestPeerThatAsksAndDoesNotRead(t *testing.T) {
	c := newCluster(t, 3, nil)
	c.openAll()
	c.awaitSource(1)
	c.awaitAll(c.append(1, "before"))
	c.close(3)
	conn := c.dialAs(3, 1)
	var frames []byte
	for id := range uint64(1000) {
		var err error
		if frames, err = wire.Append(frames, wire.Frame{Type: wire.Status, Body: (&wire.StatusMessage{ID: id}).AppendTo(nil)}); err != nil {
			t.Fatal(err)
		}
	}
	const bound = 5 << 20 // what is being written, and what waits
	ctx, most, more := c.ctx(), 0, 40
	for more > 0 { // until much waits, and on
		if _, err := conn.Write(frames); err != nil {
			t.Fatal(err)
		}
		if most = max(most, c.hosts[1].Unread(3)); most > 3<<19 {
			more--
		}
		if ctx.Err() != nil {
			t.Fatalf("no more than %d bytes wait to be written", most)
		}
	}
	c.append(1, "meanwhile")
	if most = max(most, c.hosts[1].Unread(3)); most > bound {
		t.Errorf("%d bytes wait to be written", most)
	}
	_ = conn.Close()
	c.open(3)
	if ms := c.same(c.append(1, "after")); len(ms) != 3 {
		t.Fatalf("%v", ms)
	}
}

// TestPeerThatTellsNonsense of how it stands is thrown out; an answer to no question
// is nothing.
func TestPeerThatTellsNonsense(t *testing.T) {
	c := newCluster(t, 2, nil)
	c.openAll()
	c.awaitSource(1)
	c.close(2)
	unasked := (&wire.StatusMessage{Told: true, ID: 77, Report: []byte("{}")}).AppendTo(nil)
	answered := func(id uint64, report string) []byte {
		return (&wire.StatusMessage{Told: true, ID: id, Report: []byte(report)}).AppendTo(nil)
	}
	for name, attack := range map[string]struct {
		before, answer []byte // what is sent before it is asked, and when it is
		want           string
	}{
		"no status":               {[]byte{1, 9, 0}, nil, "bad status"},
		"junk for an answer":      {unasked, answered(0, `{"role":7}`), "cannot unmarshal number"},
		"of another host":         {unasked, answered(0, `{"host":1,"queue":"orders","role":"sink","epoch":"1.1"}`), "it is of host 1"},
		"in a version unheard of": {unasked, append([]byte{9, 2, 0, 0, 0, 0, 0, 0, 0, 0}, "xyz"...), "version 9"},
	} {
		t.Run(name, func(t *testing.T) {
			conn := c.dialAs(2, 1)
			defer conn.Close()
			say := func(body []byte) {
				b, err := wire.Append(nil, wire.Frame{Type: wire.Status, Body: body})
				if err == nil {
					_, err = conn.Write(b)
				}
				if err != nil {
					t.Error(err)
				}
			}
			say(attack.before)
			go func() {
				r := wire.NewReader(bufio.NewReader(conn))
				for {
					f, err := r.Next()
					if err != nil {
						return
					}
					if f.Type == wire.Status && attack.answer != nil {
						copy(attack.answer[2:10], f.Body[2:10]) // the id of the question
						say(attack.answer)
						return
					}
				}
			}()
			c.awaitOverview(1, "throws it out", func(o replica.Overview) bool { return strings.Contains(hostOf(o, 2).Why, attack.want) })
		})
	}
}
