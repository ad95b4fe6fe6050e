package wire

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/pawl-go/pawl/queue/replica/core"
)

func frames(t testing.TB, fs ...Frame) []byte {
	t.Helper()
	var b []byte
	for _, f := range fs {
		var err error
		if b, err = Append(b, f); err != nil {
			t.Fatal(err)
		}
	}
	return b
}

// A stream that is cut at any byte gives the whole frames before, and then says
// that it was cut, or that it has ended where it did so between two frames.
func TestStreamCutAtEveryByte(t *testing.T) {
	all := []Frame{
		{Type: Hello, Body: []byte("hello")},
		{Type: Heartbeat, Body: []byte{}},
		{Type: Message, Queue: 7, Body: []byte(strings.Repeat("x", 40))},
	}
	stream := frames(t, all...)
	ends := map[int]int{0: 0}
	for k := range all {
		ends[len(frames(t, all[:k+1]...))] = k + 1
	}
	for cut := range len(stream) + 1 {
		r := NewReader(iotest.OneByteReader(bytes.NewReader(stream[:cut])))
		n := 0
		for {
			f, err := r.Next()
			if err == nil {
				if !reflect.DeepEqual(f, all[n]) {
					t.Fatalf("cut at %d: frame %d is %+v", cut, n, f)
				}
				n++
				continue
			}
			want := io.ErrUnexpectedEOF
			if whole, ok := ends[cut]; ok && whole == n {
				want = io.EOF
			}
			if !errors.Is(err, want) {
				t.Fatalf("cut at %d: %v, want %v", cut, err, want)
			}
			break
		}
	}
}

// A bit that is flipped anywhere is found.
func TestEveryBitIsChecked(t *testing.T) {
	stream := frames(t, Frame{Type: Message, Queue: 3, Body: []byte("some payload")})
	for bit := range 8 * len(stream) {
		b := bytes.Clone(stream)
		b[bit/8] ^= 1 << (bit % 8)
		if f, err := NewReader(bytes.NewReader(b)).Next(); err == nil {
			t.Errorf("bit %d flipped: read %+v", bit, f)
		}
	}
}

// An update is the same, but for its blocks, which prove themselves: they come as they
// are. Whatever is claimed, Body and Blocks are bytes of the frame.
func TestUpdateIsCheckedUpToItsBlocks(t *testing.T) {
	const body, blocks = "which entries", "the entries as they lie in a file"
	b := append(append(BeginUpdate([]byte("before")), body...), blocks...)
	b, err := EndUpdate(b, len("before"), len(blocks), 3)
	if err != nil {
		t.Fatal(err)
	}
	stream := b[len("before"):]
	for bit := range 8 * len(stream) {
		b := bytes.Clone(stream)
		b[bit/8] ^= 1 << (bit % 8)
		f, err := NewReader(bytes.NewReader(b)).Next()
		inBlocks := bit/8 >= len(stream)-len(blocks)
		if inBlocks != (err == nil) {
			t.Errorf("bit %d flipped: %v", bit, err)
		}
		if err == nil && (string(f.Body) != body || !bytes.Equal(f.Blocks, b[len(b)-len(blocks):]) || f.Queue != 3) {
			t.Errorf("bit %d flipped: read %+v", bit, f)
		}
	}
	if _, err := EndUpdate(make([]byte, UpdateHeader+MaxBody), 0, 0, 0); !errors.Is(err, ErrFrame) {
		t.Errorf("writing too much: %v", err)
	}
}

// What is owned stays as it is while the reader goes on.
func TestOwnedBody(t *testing.T) {
	r := NewReader(bytes.NewReader(frames(t, Frame{Type: Message, Body: []byte("first")}, Frame{Type: Message, Body: []byte("other")})))
	f, err := r.Next()
	if err != nil {
		t.Fatal(err)
	}
	spare := make([]byte, 0, 100)
	if own := r.Own(spare); string(own) != "first" {
		t.Errorf("owned %q", own)
	}
	next, err := r.Next()
	if err != nil || string(next.Body) != "other" || string(f.Body) != "first" {
		t.Errorf("%q, then %q %v", f.Body, next.Body, err)
	}
	if &next.Body[0] != &spare[:1][0] {
		t.Error("the spare memory is not used")
	}
}

// endless is a peer that claims a long body and sends little of it.
type endless struct{ header []byte }

func (e *endless) Read(p []byte) (int, error) {
	if len(e.header) > 0 {
		n := copy(p, e.header)
		e.header = e.header[n:]
		return n, nil
	}
	return 0, io.EOF
}

func TestWildLengths(t *testing.T) {
	claim := func(n uint32) *endless {
		h := make([]byte, headerBytes)
		binary.LittleEndian.PutUint32(h, n)
		h[4] = byte(Message)
		return &endless{h}
	}
	if _, err := NewReader(claim(MaxHello + 1)).Next(); !errors.Is(err, ErrFrame) {
		t.Errorf("before the handshake: %v", err)
	}
	r := NewReader(claim(MaxBody + 1))
	r.Trust()
	if _, err := r.Next(); !errors.Is(err, ErrFrame) {
		t.Errorf("beyond the limit: %v", err)
	}
	r = NewReader(claim(MaxBody))
	r.Trust()
	if _, err := r.Next(); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("within the limit, and cut: %v", err)
	}
	if cap(r.body) > readStep {
		t.Errorf("%d bytes were allocated for a body that never came", cap(r.body))
	}
	if _, err := End(make([]byte, headerBytes+MaxBody+1), 0, Message, 0); !errors.Is(err, ErrFrame) {
		t.Errorf("writing too much: %v", err)
	}
}

func TestLargeBody(t *testing.T) {
	body := bytes.Repeat([]byte("0123456789abcdef"), 1<<18) // 4 MiB
	r := NewReader(iotest.HalfReader(bytes.NewReader(frames(t, Frame{Type: Message, Body: body}, Frame{Type: Message, Body: []byte("x")}))))
	r.Trust()
	for _, want := range [][]byte{body, []byte("x")} {
		f, err := r.Next()
		if err != nil || !bytes.Equal(f.Body, want) {
			t.Fatalf("%d bytes, %v", len(f.Body), err)
		}
	}
}

func greeting(from, to core.HostID, nonce byte) Greeting {
	g := Greeting{From: from, To: to, Cluster: "prod", Queues: []string{"orders", "fills"}}
	for k := range g.Nonce {
		g.Nonce[k] = nonce
	}
	return g
}

func encode(t testing.TB, g Greeting) []byte {
	t.Helper()
	b, err := g.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestGreeting(t *testing.T) {
	a, b := greeting(2, 1, 7), greeting(1, 2, 8)
	got, err := DecodeGreeting(encode(t, a))
	if err != nil || !reflect.DeepEqual(got, a) {
		t.Fatalf("%+v, %v", got, err)
	}
	if err := a.Meets(b); err != nil {
		t.Error(err)
	}
	for name, peer := range map[string]Greeting{
		"another host":    greeting(3, 2, 8),
		"means another":   greeting(1, 3, 8),
		"its own echo":    a,
		"the same nonce":  greeting(1, 2, 7),
		"another cluster": {From: 1, To: 2, Cluster: "test"},
	} {
		if err := a.Meets(peer); !errors.Is(err, ErrIdentity) {
			t.Errorf("%s: %v", name, err)
		}
	}
	body := encode(t, a)
	for cut := range body {
		if _, err := DecodeGreeting(body[:cut]); !errors.Is(err, ErrHello) {
			t.Errorf("cut at %d: %v", cut, err)
		}
	}
	body[8]++
	if _, err := DecodeGreeting(body); !errors.Is(err, ErrVersion) {
		t.Errorf("another version: %v", err)
	}
	for name, g := range map[string]Greeting{
		"long name": {From: 1, To: 2, Cluster: strings.Repeat("x", MaxName+1)},
		"no name":   {From: 1, To: 2, Queues: []string{""}},
		"too many":  {From: 1, To: 2, Queues: make([]string, MaxQueues+1)},
	} {
		if _, err := g.Encode(); err == nil {
			t.Errorf("%s was written", name)
		}
	}
}

// The largest Hello fits into what is read before the handshake, for names as
// they are used.
func TestManyQueues(t *testing.T) {
	g := greeting(2, 1, 1)
	g.Queues = nil
	for k := range MaxQueues {
		g.Queues = append(g.Queues, fmt.Sprintf("a-queue-with-quite-a-long-name-%d", k))
	}
	f, err := NewReader(bytes.NewReader(frames(t, Frame{Type: Hello, Body: encode(t, g)}))).Next()
	if err != nil {
		t.Fatal(err)
	}
	if got, err := DecodeGreeting(f.Body); err != nil || len(got.Queues) != MaxQueues {
		t.Fatalf("%d queues, %v", len(got.Queues), err)
	}
}

// A proof is good for its own connection, side and secret, and for nothing else.
func TestProof(t *testing.T) {
	secret, binding := []byte("secret"), []byte("binding")
	dialler, acceptor := encode(t, greeting(2, 1, 7)), encode(t, greeting(1, 2, 8))
	proof := Prove(secret, 2, dialler, acceptor, binding)
	if len(proof) != ProofBytes {
		t.Errorf("a proof of %d bytes", len(proof))
	}
	if err := CheckProof(proof, secret, 2, dialler, acceptor, binding); err != nil {
		t.Error(err)
	}
	replayed := encode(t, greeting(1, 2, 9)) // the acceptor has another nonce by now
	for name, err := range map[string]error{
		"another secret":  CheckProof(proof, []byte("other"), 2, dialler, acceptor, binding),
		"replayed":        CheckProof(proof, secret, 2, dialler, replayed, binding),
		"reflected":       CheckProof(proof, secret, 1, dialler, acceptor, binding),
		"another channel": CheckProof(proof, secret, 2, dialler, acceptor, nil),
		"cut":             CheckProof(proof[:8], secret, 2, dialler, acceptor, binding),
		"shifted":         CheckProof(proof, secret, 2, dialler[:len(dialler)-1], append([]byte{dialler[len(dialler)-1]}, acceptor...), binding),
	} {
		if !errors.Is(err, ErrProof) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func FuzzReader(f *testing.F) {
	f.Add(frames(f, Frame{Type: Hello, Body: encode(f, greeting(2, 1, 1))}, Frame{Type: Heartbeat}))
	f.Add(frames(f, Frame{Type: Message, Queue: 3, Body: (&core.Message{Type: core.MsgState, Config: 7}).AppendTo(nil)}))
	f.Fuzz(func(t *testing.T, stream []byte) {
		r := NewReader(bytes.NewReader(stream))
		var again []byte
		for {
			fr, err := r.Next()
			if err != nil {
				break
			}
			if again, err = Append(again, fr); err != nil {
				t.Fatal(err)
			}
			if fr.Type == Hello {
				if g, err := DecodeGreeting(fr.Body); err == nil {
					if b, err := g.Encode(); err != nil || !bytes.Equal(b, fr.Body) {
						t.Errorf("a hello is written otherwise than it was read: %v", err)
					}
				}
			}
		}
		if !bytes.HasPrefix(stream, again) {
			t.Error("frames are written otherwise than they were read")
		}
	})
}
