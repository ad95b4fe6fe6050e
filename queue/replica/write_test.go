package replica

import (
	"encoding/binary"
	"io"
	"math/rand/v2"
	"net"
	"sync"
	"testing"
	"time"
)

// pair is a connection of this package and the other end of it, over TCP.
func pair(t *testing.T) (*conn, net.Conn) {
	t.Helper()
	var lc net.ListenConfig
	l, err := lc.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	var d net.Dialer
	raw, err := d.DialContext(t.Context(), "tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	other, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	if err := raw.(*net.TCPConn).SetWriteBuffer(4 << 10); err != nil {
		t.Fatal(err)
	}
	c := newConn(&Host{}, &meeting{sock: raw, raw: raw})
	var writer sync.WaitGroup
	writer.Go(c.write)
	t.Cleanup(func() {
		c.close()
		writer.Wait()
		_ = other.Close()
	})
	return c, other
}

// TestFramesKeepTheirOrder: whoever writes them, and however little the connection
// takes at a time.
func TestFramesKeepTheirOrder(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 1))
	c, other := pair(t)
	const n = 4000
	sent := make(chan struct{})
	go func() {
		defer close(sent)
		for k := range n {
			f := newFrame()
			f.buf = binary.LittleEndian.AppendUint32(f.buf[:0], uint32(4+r.IntN(2000)))
			f.buf = binary.LittleEndian.AppendUint32(f.buf, uint32(k))
			size := binary.LittleEndian.Uint32(f.buf)
			f.buf = append(f.buf, make([]byte, size-4)...)
			f.b = f.buf
			switch r.IntN(4) {
			case 0:
				c.send(f)
			case 1:
				c.addLazily(f)
			default:
				c.add(f)
				c.push()
			}
		}
		c.addLazily(frameOf([]byte{4, 0, 0, 0, 'l', 'a', 's', 't'}))
	}()
	<-sent // the other end has read nothing: what is pushed does not wait for it
	giveUp := time.AfterFunc(time.Minute, func() { _ = other.Close() })
	defer giveUp.Stop()
	var head [8]byte
	for k := range n + 1 {
		if _, err := io.ReadFull(other, head[:]); err != nil {
			t.Fatalf("frame %d: %v", k, err)
		}
		got := binary.LittleEndian.Uint32(head[4:])
		if want := uint32(k); got != want && (k < n || string(head[4:]) != "last") {
			t.Fatalf("frame %d is %d", k, got)
		}
		if _, err := io.CopyN(io.Discard, other, int64(binary.LittleEndian.Uint32(head[:]))-4); err != nil {
			t.Fatal(err)
		}
	}
}

// TestPushOnAConnectionThatIsGone drops what is sent.
func TestPushOnAConnectionThatIsGone(t *testing.T) {
	c, _ := pair(t)
	c.close()
	c.add(frameOf([]byte("nobody reads it")))
	c.push()
	c.addLazily(frameOf([]byte("nor this")))
	c.late()
	if c.awaitRoom() {
		t.Error("it has room")
	}
	if len(c.out.frames) != 0 {
		t.Errorf("%d frames wait", len(c.out.frames))
	}
}
