package replica

import (
	"bytes"
	"io"
	"math/rand/v2"
	"net"
	"sync"
	"testing"
)

// TestPushKeepsTheOrder has frames pushed and sent at random, to a peer that reads so
// slowly that many a push finds room for a part, or for nothing.
func TestPushKeepsTheOrder(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 54))
	here, there := tcpPair(t)
	if err := here.(*net.TCPConn).SetWriteBuffer(4 << 10); err != nil {
		t.Fatal(err)
	}
	c := &conn{raw: here, sock: here, kick: make(chan struct{}, 1), done: make(chan struct{}), direct: newDirect(here)}
	c.out.room = sync.NewCond(&c.out)
	var writer sync.WaitGroup
	writer.Go(c.write)
	defer writer.Wait()
	defer c.close()

	var want []byte
	for n := range byte(200) {
		b := bytes.Repeat([]byte{n}, 1+r.IntN(20_000))
		want = append(want, b...)
		if r.IntN(4) == 0 {
			c.send(frameOf(b))
		} else {
			c.post(frameOf(b))
			c.push()
		}
		if r.IntN(8) == 0 {
			got := make([]byte, min(len(want), 1+r.IntN(50_000)))
			if _, err := io.ReadFull(there, got); err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(got, want[:len(got)]) {
				t.Fatalf("other bytes, after frame %d", n)
			}
			want = want[len(got):]
		}
	}
	got := make([]byte, len(want))
	if _, err := io.ReadFull(there, got); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Fatal("other bytes at the end")
	}
}

// tcpPair is a connection over loopback.
func tcpPair(t *testing.T) (here, there net.Conn) {
	t.Helper()
	var lc net.ListenConfig
	l, err := lc.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	var d net.Dialer
	if here, err = d.DialContext(t.Context(), "tcp", l.Addr().String()); err != nil {
		t.Fatal(err)
	}
	if there, err = l.Accept(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = there.Close() })
	return here, there
}
