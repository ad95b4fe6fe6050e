package remote_test

import (
	"bufio"
	"errors"
	"io"
	"log/slog"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/pawl-go/pawl/engine"
	"github.com/pawl-go/pawl/engine/local/localtest"
	"github.com/pawl-go/pawl/engine/remote"
	"github.com/pawl-go/pawl/engine/remote/wire"
)

// slow is a component that stops reading at its first delivery, until it is let go.
type slow struct {
	*sink
	gate chan struct{}
}

func (s *slow) Deliver(d engine.Delivery) {
	<-s.gate
	s.sink.Deliver(d)
}

// TestSlowComponent: a component that reads nothing while more comes for it than
// may be on its way disturbs nobody, is not failed while its process lives, and
// gets all of it in the end, in order.
func TestSlowComponent(t *testing.T) {
	_, url := serve(t, localtest.New("process").Open(t, engine.Options{App: "world"}), "unix", remote.ServerConfig{App: "world", Heartbeat: 30 * time.Second})
	join := func(name, kind string, h engine.Handler) engine.Session {
		eng, err := engine.Open(t.Context(), url, engine.Options{App: "world"})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = eng.Close() })
		var types []engine.Type
		if kind != "" {
			types = []engine.Type{{Name: kind, Methods: []engine.Method{{Name: "go"}}}}
		}
		s, err := eng.Join(t.Context(), engine.Component{Name: name, Types: types}, h)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	held, brisk := &slow{newSink(), make(chan struct{})}, newSink()
	join("held", "A", held)
	join("brisk", "B", brisk)
	client := join("client", "", newSink())
	send := func(kind string, n, bytes int) {
		r := tell(client, n)
		r.Actor.Type, r.Payload = kind, []byte(strings.Repeat("x", bytes))
		if _, err := client.Send(engine.Attempt{}, &engine.Effects{Requests: []*engine.Request{r}}); err != nil {
			t.Fatal(err)
		}
	}
	const many, size = 80, 512 << 10 // five times what may be on its way
	for n := range many {
		send("A", n, size)
		send("B", n, 1)
		if d := <-brisk.delivered; len(d.Request.Payload) != 1 {
			t.Fatalf("a delivery of %d bytes", len(d.Request.Payload))
		}
	}
	close(held.gate)
	for n := range many {
		if d := <-held.delivered; d.Request.Actor.ID != tell(client, n).Actor.ID || len(d.Request.Payload) != size {
			t.Fatalf("delivery %d is of actor %s, %d bytes", n, d.Request.Actor.ID, len(d.Request.Payload))
		}
	}
}

// intruder speaks the protocol by hand.
type intruder struct {
	net.Conn
	r *bufio.Reader
}

// greet says hello, and gives what is answered.
func greet(t *testing.T, addr string, h wire.Hello) (*intruder, wire.Frame) {
	t.Helper()
	var d net.Dialer
	c, err := d.DialContext(t.Context(), "tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	_ = c.SetDeadline(time.Now().Add(30 * time.Second)) //nolint:forbidigo // a bound, not a wait
	h.Version, h.App, h.Token = wire.Version, "world", "secret"
	body, err := wire.Encode(h)
	if err != nil {
		t.Fatal(err)
	}
	i := &intruder{c, bufio.NewReader(c)}
	i.say(t, append([]byte(wire.Preface), wire.Append(nil, wire.Frame{Kind: wire.KindHello, Body: body})...))
	f, err := wire.Read(i.r, wire.HelloLimit)
	if err != nil {
		t.Fatal(err)
	}
	return i, f
}

func (i *intruder) say(t *testing.T, b []byte) {
	t.Helper()
	if _, err := i.Write(b); err != nil {
		t.Fatal(err)
	}
}

// ends waits for the end of the connection.
func (i *intruder) ends(t *testing.T) {
	t.Helper()
	_, err := io.Copy(io.Discard, i.r)
	if ne, ok := errors.AsType[net.Error](err); ok && ne.Timeout() {
		t.Error("the connection is still open")
	}
}

// TestWildFrames: a component that breaks the protocol after its handshake is
// failed, and a replayed handshake gives nothing; others are served.
func TestWildFrames(t *testing.T) {
	_, url := serve(t, localtest.New("process").Open(t, engine.Options{App: "world"}), "tcp",
		remote.ServerConfig{App: "world", Logger: slog.New(slog.DiscardHandler)})
	addr, _, _ := strings.Cut(strings.TrimPrefix(url, "pawl://"), "?")
	eng, err := engine.Open(t.Context(), url, engine.Options{App: "world"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = eng.Close() })
	observer, err := eng.Join(t.Context(), engine.Component{Name: "observer"}, newSink())
	if err != nil {
		t.Fatal(err)
	}
	hello := wire.Hello{Member: engine.Component{Name: "wild"}}
	var known wire.Welcome
	for name, b := range map[string][]byte{
		"a number too far":   wire.Append(nil, wire.Frame{Kind: wire.KindCall, Seq: 7, Body: []byte{0xa0}}),
		"no call":            wire.Append(nil, wire.Frame{Kind: wire.KindCall, Seq: 1, Body: []byte("\xff")}),
		"an unknown op":      wire.Append(nil, wire.Frame{Kind: wire.KindEvent, Seq: 1, Body: []byte{0xa0}}),
		"an unknown kind":    {0, 0, 0, 0, 200, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0},
		"an ack of nothing":  wire.Append(nil, wire.Frame{Kind: wire.KindBeat, Ack: 1 << 40}),
		"a wild length":      {0xff, 0xff, 0xff, 0xff, byte(wire.KindCall), 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0},
		"the handshake anew": wire.Append([]byte(wire.Preface), wire.Frame{Kind: wire.KindHello, Body: []byte{0xa0}}),
	} {
		t.Run(name, func(t *testing.T) {
			i, f := greet(t, addr, hello)
			if err := wire.Decode(f.Body, &known); err != nil || f.Kind != wire.KindWelcome {
				t.Fatalf("it is answered with a frame of kind %d: %v", f.Kind, err)
			}
			if _, f := greet(t, addr, hello); f.Kind != wire.KindRefusal { // the same hello again
				t.Errorf("a second of the name is answered with a frame of kind %d", f.Kind)
			}
			i.say(t, b)
			i.ends(t)
			for {
				if len(observer.Members()) == 1 {
					break
				}
			}
			resume := wire.Hello{Resume: true, Session: known.Session, Secret: known.Secret}
			_, f = greet(t, addr, resume)
			// It is failed a moment before the server has forgotten it.
			for end := time.Now().Add(time.Minute); f.Kind != wire.KindRefusal && time.Now().Before(end); { //nolint:forbidigo // a bound
				_, f = greet(t, addr, resume)
			}
			if f.Kind != wire.KindRefusal {
				t.Errorf("to come back is answered with a frame of kind %d", f.Kind)
			}
		})
	}
}
