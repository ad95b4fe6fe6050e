package mesh_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"log/slog"
	"net"
	"testing"
	"time"

	"github.com/pawl-go/pawl/mesh"
	"github.com/pawl-go/pawl/mesh/internal/wire"
)

var secret = []byte("correct horse")

// startTCP starts a node on loopback with the secret and one lane.
func startTCP(t *testing.T, id string, configure ...func(*mesh.Config)) *mesh.Node {
	t.Helper()
	cfg := mesh.Config{
		ID: id, Listen: "127.0.0.1:0", Secret: secret, Lanes: 1,
		Logger: slog.New(slog.NewTextHandler(io.Discard, nil)),
		Timing: mesh.Timing{Dial: 300 * time.Millisecond, RedialMin: 5 * time.Millisecond, RedialMax: 50 * time.Millisecond},
	}
	messages(&cfg)
	for _, f := range configure {
		f(&cfg)
	}
	n, err := mesh.Start(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(n.Close)
	return n
}

// stranger speaks the protocol by hand: it is a peer of another version, or one
// that means no good.
type stranger struct {
	t       *testing.T
	node    *mesh.Node
	control net.Conn
	lane    net.Conn
	spoken  []byte // all that was said on the last connection
}

func (s *stranger) dial() net.Conn {
	s.t.Helper()
	conn, err := net.Dial("tcp", s.node.Addr()) //nolint:noctx // it is loopback
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { conn.Close() })
	conn.SetDeadline(time.Now().Add(time.Minute))
	return conn
}

// shake shakes hands as id; the error is that of the node's answer.
func (s *stranger) shake(conn net.Conn, version uint16, secret []byte, id wire.Identity) (wire.Reception, error) {
	greeting := wire.AppendGreeting(nil, version, [wire.NonceSize]byte{1, 2, 3})
	said := bytes.Clone(greeting)
	s.write(conn, greeting)
	theirs := make([]byte, wire.GreetSize)
	if _, err := io.ReadFull(conn, theirs); err != nil {
		return wire.Reception{}, err
	}
	said = append(said, theirs...)
	mine := wire.AppendIdentity(nil, id)
	proof := binary.LittleEndian.AppendUint16(nil, uint16(len(mine)))
	proof = append(append(proof, mine...), wire.Code(secret, "D", said, mine)...)
	s.write(conn, proof)
	s.spoken = append(greeting, proof...)
	var size [2]byte
	if _, err := io.ReadFull(conn, size[:]); err != nil {
		return wire.Reception{}, err
	}
	answer := make([]byte, int(binary.LittleEndian.Uint16(size[:]))+wire.CodeSize)
	if _, err := io.ReadFull(conn, answer); err != nil {
		return wire.Reception{}, err
	}
	b, code := answer[:len(answer)-wire.CodeSize], answer[len(answer)-wire.CodeSize:]
	if !wire.CheckCode(code, secret, "X", append(said, mine...), b) {
		s.t.Error("the node does not prove that it knows the secret")
	}
	return wire.ParseReception(b)
}

func (s *stranger) write(conn net.Conn, b []byte) {
	s.t.Helper()
	if _, err := conn.Write(b); err != nil {
		s.t.Fatal(err)
	}
}

// join links the stranger with the node.
func (s *stranger) join(version uint16) {
	s.t.Helper()
	id := wire.Identity{Node: "stranger", Incarnation: 1, Link: wire.LinkID{7}, Lanes: 1}
	for stream, conn := range []*net.Conn{&s.control, &s.lane} {
		*conn = s.dial()
		id.Stream = uint16(stream)
		if a, err := s.shake(*conn, version, secret, id); err != nil || a.Verdict != wire.Welcome {
			s.t.Fatalf("stream %d: %v, %v", stream, a.Verdict, err)
		}
	}
	if k, _ := s.read(s.control); k != wire.Ready {
		s.t.Fatalf("kind %d, want ready", k)
	}
}

// read reads a frame that is no heartbeat.
func (s *stranger) read(conn net.Conn) (wire.Kind, []byte) {
	s.t.Helper()
	for {
		head := make([]byte, 4)
		if _, err := io.ReadFull(conn, head); err != nil {
			s.t.Fatal(err)
		}
		frame := append(head, make([]byte, binary.LittleEndian.Uint32(head))...)
		if _, err := io.ReadFull(conn, frame[4:]); err != nil {
			s.t.Fatal(err)
		}
		k, body, _, err := wire.Next(frame)
		if err != nil {
			s.t.Fatal(err)
		}
		if k != wire.Heartbeat {
			return k, body
		}
	}
}

// closed checks that the node closes a connection.
func (s *stranger) closed(conn net.Conn) {
	s.t.Helper()
	if n, err := io.Copy(io.Discard, conn); err != nil && errors.Is(err, net.ErrClosed) {
		s.t.Errorf("still open after %d bytes: %v", n, err)
	}
}

// What does not speak the protocol, or not to its end, is refused in time, and
// nobody else suffers.
func TestRubbishIsRefused(t *testing.T) {
	b := startTCP(t, "b")
	a := startTCP(t, "a", func(c *mesh.Config) { c.Members = mesh.Static(mesh.Peer{ID: "b", Addr: b.Addr()}) })
	if err := a.WaitForMembers(t.Context(), 2); err != nil {
		t.Fatal(err)
	}
	greeting := wire.AppendGreeting(nil, wire.Version, [wire.NonceSize]byte{})
	for name, said := range map[string][]byte{
		"nothing":         {},
		"HTTP":            []byte("GET / HTTP/1.1\r\nHost: b\r\nAccept: everything there is\r\n\r\n"),
		"half a greeting": greeting[:20],
		"a greeting":      greeting,
		"an old version":  wire.AppendGreeting(nil, 0, [wire.NonceSize]byte{}),
		"a wild length":   append(bytes.Clone(greeting), 0xff, 0xff),
		"a wrong code":    append(append(bytes.Clone(greeting), 10, 0), make([]byte, 10+wire.CodeSize)...),
	} {
		t.Run(name, func(t *testing.T) {
			s := &stranger{t: t, node: b}
			conn := s.dial()
			s.write(conn, said)
			s.closed(conn)
		})
	}
	if c := b.Counters(); c.HandshakesRefused < 6 || c.Malformed != 0 {
		t.Errorf("%d handshakes refused, %d malformed frames", c.HandshakesRefused, c.Malformed)
	}
	spawn(t, b, "echo", func(c *mesh.Context, m number) error { return c.Reply(m.N) })
	if _, err := mesh.Call[int](t.Context(), mesh.At(a, mesh.Address[number]{Node: "b", Name: "echo"}), number{}); err != nil {
		t.Error(err)
	}
}

// Who does not know the secret gets no word of an answer, and nothing it says is
// decoded: an identity that is none is not even found to be malformed.
func TestWrongSecretIsRefused(t *testing.T) {
	b := startTCP(t, "b")
	s := &stranger{t: t, node: b}
	conn := s.dial()
	if _, err := s.shake(conn, wire.Version, []byte("battery staple"), wire.Identity{}); !errors.Is(err, io.EOF) && !isReset(err) {
		t.Errorf("a wrong secret: %v", err)
	}
	conn = s.dial()
	if _, err := s.shake(conn, wire.Version, secret, wire.Identity{}); err == nil {
		t.Error("an identity without a name is taken")
	}
}

func isReset(err error) bool {
	_, ok := errors.AsType[*net.OpError](err)
	return ok
}

// What was recorded of a handshake opens nothing.
func TestReplayedHandshakeIsRefused(t *testing.T) {
	b := startTCP(t, "b")
	s := &stranger{t: t, node: b}
	id := wire.Identity{Node: "stranger", Incarnation: 1, Link: wire.LinkID{7}, Lanes: 1}
	if _, err := s.shake(s.dial(), wire.Version, secret, id); err != nil {
		t.Fatal(err)
	}
	before := b.Counters().HandshakesRefused
	conn := s.dial()
	s.write(conn, s.spoken)
	theirs := make([]byte, wire.GreetSize)
	if _, err := io.ReadFull(conn, theirs); err != nil {
		t.Fatal(err)
	}
	if n, err := io.Copy(io.Discard, conn); n != 0 {
		t.Errorf("%d bytes of an answer, %v", n, err)
	}
	if after := b.Counters().HandshakesRefused; after <= before {
		t.Errorf("%d handshakes refused, %d before", after, before)
	}
}

// A frame that is not what it says is counted and dropped, and ends nothing else;
// one whose length is wild ends the stream.
func TestMalformedFrames(t *testing.T) {
	b := startTCP(t, "b")
	got := make(chan int, 1)
	spawn(t, b, "n", func(_ *mesh.Context, m string) error { got <- len(m); return nil })
	s := &stranger{t: t, node: b}
	s.join(wire.Version)
	frame := func(k wire.Kind, body ...byte) []byte {
		return append(append(binary.LittleEndian.AppendUint32(nil, uint32(len(body)+1)), byte(k)), body...)
	}
	bad := [][]byte{
		frame(wire.Cast), frame(wire.Cast, 5, 'n'), frame(wire.Call, 1, 'n', 1, 't', 1, 2), frame(wire.Reply, 1, 2),
		frame(wire.Fragment, 1), frame(wire.Heartbeat, 1), frame(wire.Op, 9), frame(wire.Notice), frame(wire.Refused, 1),
		frame(99, 1, 2, 3), frame(wire.Fragment, 1, 0, 0, 0, 255, 255, 255, 255, 1),
	}
	for _, f := range bad {
		s.write(s.lane, f)
	}
	cast := wire.FinishMessage(append(wire.AppendCast(nil, "n", "string"), "four"...), 0)
	s.write(s.lane, cast[:7]) // half of it
	s.write(s.lane, cast[7:])
	if n := <-got; n != 4 {
		t.Errorf("a message of %d bytes", n)
	}
	if n := b.Counters().Malformed; n != uint64(len(bad)) {
		t.Errorf("%d malformed frames counted of %d", n, len(bad))
	}
	s.write(s.lane, []byte{255, 255, 255, 255, 1})
	s.closed(s.lane)
	if n := b.Counters().Malformed; n != uint64(len(bad)+1) {
		t.Errorf("a wild length is not counted: %d", n)
	}
}

// A newer node answers with codes and kinds that this version does not know.
func TestNewerVersion(t *testing.T) {
	b := startTCP(t, "b")
	s := &stranger{t: t, node: b}
	s.join(wire.Version + 6)
	if err := b.WaitForMembers(t.Context(), 2); err != nil {
		t.Fatal(err)
	}
	failed := make(chan error, 1)
	to := mesh.At(b, mesh.Address[string]{Node: "stranger", Name: "x"})
	go func() { _, err := mesh.Call[string](t.Context(), to, "hello"); failed <- err }()
	k, body := s.read(s.lane)
	m, err := wire.ParseMessage(k, body)
	if err != nil {
		t.Fatal(err)
	}
	s.write(s.lane, wire.FinishMessage(append(wire.AppendReply(nil, m.ID, 200, wire.Text, ""), "new"...), 0))
	if err := <-failed; !errors.Is(err, mesh.RemoteUnknown) || !mesh.OutcomeUnknown(err) {
		t.Errorf("%v", err)
	}

	exits := make(chan mesh.Exit, 1)
	go func() {
		monitor, err := to.Monitor(t.Context())
		if err != nil {
			t.Error(err)
			exits <- mesh.Exit{}
			return
		}
		e, _ := monitor.Exit(t.Context())
		exits <- e
	}()
	_, body = s.read(s.control)
	op, err := wire.ParseOp(body)
	if err != nil {
		t.Fatal(err)
	}
	s.write(s.control, wire.FinishMessage(wire.AppendReply(nil, op.ID, 0, wire.Bytes, ""), 0))
	s.write(s.control, wire.AppendNotice(nil, op.ID, 77, "a new way to end"))
	if e := <-exits; e.Reason != mesh.ExitUnknown || e.Detail != "a new way to end" {
		t.Errorf("%+v", e)
	}

	s.write(s.control, wire.AppendOp(nil, "", 5, 250, nil)) // an operation of tomorrow
	_, body = s.read(s.control)
	if a, err := wire.ParseReply(body); err != nil || a.ID != 5 || a.Code == 0 {
		t.Errorf("%+v, %v", a, err)
	}
}

// A peer that says goodbye, and is gone before it has ended its lanes and before it has
// been answered, has left: it has not failed, and nobody waits for it.
func TestGoodbyeCutShort(t *testing.T) {
	n := startTCP(t, "n")
	events := n.Subscribe()
	defer events.Close()
	s := &stranger{t: t, node: n}
	s.join(wire.Version)
	s.write(s.control, wire.AppendEmpty(nil, wire.Goodbye))
	s.control.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for _, want := range []mesh.EventKind{mesh.MemberUp, mesh.MemberLeft} {
		if e, err := events.Next(ctx); err != nil || e.Kind != want {
			t.Fatalf("%+v, %v: want %s", e, err, want)
		}
	}
}
