package remote_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pawl-go/pawl/engine"
	"github.com/pawl-go/pawl/engine/local/localtest"
	"github.com/pawl-go/pawl/engine/remote"
	"github.com/pawl-go/pawl/engine/remote/wire"
)

// sink is a component that hosts A and never answers: it counts deliveries.
type sink struct {
	delivered chan engine.Delivery
	responses chan engine.Response
}

func newSink() *sink {
	return &sink{delivered: make(chan engine.Delivery, 1000), responses: make(chan engine.Response, 1000)}
}

func (s *sink) Deliver(d engine.Delivery)                   { s.delivered <- d }
func (s *sink) Respond(r engine.Response)                   { s.responses <- r }
func (*sink) Cancel(*engine.Request, *engine.Outcome, bool) {}
func (*sink) CallerGone(*engine.Request)                    {}
func (*sink) Revoke(*engine.Request)                        {}
func (*sink) Pause(engine.Actor, bool)                      {}
func (*sink) Forget(engine.Actor)                           {}
func (*sink) Begun(*engine.Request) bool                    { return false }
func (*sink) Read(context.Context, *engine.Request) (*engine.Outcome, error) {
	return nil, errors.New("no reader")
}

var hosting = []engine.Type{{Name: "A", Methods: []engine.Method{{Name: "go"}}}}

// cutter dials through to an address, and counts and cuts what goes through.
type cutter struct {
	net.Listener
	target atomic.Pointer[string]
	conns  chan net.Conn
	dark   atomic.Bool // takes no connection
}

func newCutter(t *testing.T, target string) *cutter {
	t.Helper()
	var lc net.ListenConfig
	l, err := lc.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	c := &cutter{Listener: l, conns: make(chan net.Conn, 1000)}
	c.target.Store(&target)
	go func() {
		for {
			in, err := l.Accept()
			if err != nil {
				return
			}
			if c.dark.Load() {
				_ = in.Close()
				continue
			}
			var d net.Dialer
			out, err := d.DialContext(context.Background(), "tcp", *c.target.Load())
			if err != nil {
				_ = in.Close()
				continue
			}
			c.conns <- in
			go func() { _, _ = io.Copy(out, in); _ = out.Close(); _ = in.Close() }()
			go func() { _, _ = io.Copy(in, out); _ = out.Close(); _ = in.Close() }()
		}
	}()
	return c
}

// cut ends all connections there are, and takes no other one until it is told
// where to.
func (c *cutter) cut() {
	c.dark.Store(true)
	for {
		select {
		case conn := <-c.conns:
			_ = conn.Close()
		default:
			return
		}
	}
}

// redirect takes connections to another server.
func (c *cutter) redirect(url string) {
	addr, _, _ := strings.Cut(strings.TrimPrefix(url, "pawl://"), "?")
	c.target.Store(&addr)
	c.dark.Store(false)
}

// through opens the engine of url through a cutter.
func through(t *testing.T, url string) (engine.Engine, *cutter) {
	t.Helper()
	rest := strings.TrimPrefix(url, "pawl://")
	addr, query, _ := strings.Cut(rest, "?")
	c := newCutter(t, addr)
	eng, err := engine.Open(t.Context(), "pawl://"+c.Addr().String()+"?"+query, engine.Options{App: "world"})
	if err != nil {
		t.Fatal(err)
	}
	<-c.conns // of the probe
	t.Cleanup(func() { _ = eng.Close() })
	return eng, c
}

func tell(s engine.Session, n int) *engine.Request {
	return &engine.Request{
		Frame: engine.Frame{ID: s.NewID(), Actor: engine.Actor{Type: "A", ID: fmt.Sprint(n)}},
		Step:  1, Kind: engine.KindTell, Method: "go", Payload: []byte("x"), Created: time.Unix(1, 0),
	}
}

// TestLinkCutAndBack cuts the connection of a session again and again while it
// sends: every request is recorded once, and every delivery comes once.
func TestLinkCutAndBack(t *testing.T) {
	h := localtest.New("process")
	_, url := serve(t, h.Open(t, engine.Options{App: "world"}), "tcp", remote.ServerConfig{App: "world", Grace: time.Minute})
	eng, cut := through(t, url)
	host := newSink()
	s, err := eng.Join(t.Context(), engine.Component{Name: "a", Types: hosting}, host)
	if err != nil {
		t.Fatal(err)
	}
	const sends = 300
	for n := range sends {
		if n%10 == 5 {
			_ = (<-cut.conns).Close()
		}
		if _, err := s.Send(engine.Attempt{}, &engine.Effects{Requests: []*engine.Request{tell(s, n)}}); err != nil {
			t.Fatalf("send %d: %v", n, err)
		}
	}
	for n := range sends {
		if d := <-host.delivered; d.Request.Actor.ID != fmt.Sprint(n) {
			t.Fatalf("delivery %d is of actor %s", n, d.Request.Actor.ID)
		}
	}
	st, err := s.Operator().Stats(t.Context())
	if err != nil || st.Pending != sends {
		t.Fatalf("%d requests are pending, want %d: %v", st.Pending, sends, err)
	}
}

// TestFailedAfterTheGrace: a component that does not come back is failed, its
// work moves, and what it still does is refused.
func TestFailedAfterTheGrace(t *testing.T) {
	h := localtest.New("process")
	_, url := serve(t, h.Open(t, engine.Options{App: "world"}), "tcp", remote.ServerConfig{App: "world", Grace: 20 * time.Millisecond, Heartbeat: time.Minute})
	eng, cut := through(t, url)
	lost, next := newSink(), newSink()
	s, err := eng.Join(t.Context(), engine.Component{Name: "a", Types: hosting}, lost)
	if err != nil {
		t.Fatal(err)
	}
	conn := <-cut.conns
	if _, err := s.Send(engine.Attempt{}, &engine.Effects{Requests: []*engine.Request{tell(s, 1)}}); err != nil {
		t.Fatal(err)
	}
	d := <-lost.delivered
	direct, err := engine.Open(t.Context(), url, engine.Options{App: "world"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = direct.Close() })
	if _, err := direct.Join(t.Context(), engine.Component{Name: "b", Types: hosting}, next); err != nil {
		t.Fatal(err)
	}
	cut.dark.Store(true)
	_ = conn.Close()
	if moved := <-next.delivered; moved.Request.ID != d.Request.ID || moved.Lost != 1 {
		t.Errorf("moved: %v, lost %d", moved.Request.ID, moved.Lost)
	}
	cut.dark.Store(false)
	<-s.Fenced()
	by := engine.Attempt{ID: d.Request.ID, Step: 1, N: 1}
	if _, err := s.Finish(by, &engine.Effects{}, &engine.Outcome{}); !errors.Is(err, engine.ErrFenced) {
		t.Errorf("finish of a fenced component: %v", err)
	}
}

// TestStrangers: whatever a stranger sends, it is dropped, and others are served.
func TestStrangers(t *testing.T) {
	h := localtest.New("process")
	_, url := serve(t, h.Open(t, engine.Options{App: "world"}), "tcp", remote.ServerConfig{App: "world"})
	addr, _, _ := strings.Cut(strings.TrimPrefix(url, "pawl://"), "?")
	hello := func(h wire.Hello) string {
		body, err := wire.Encode(h)
		if err != nil {
			t.Fatal(err)
		}
		return string(wire.Append([]byte(wire.Preface), wire.Frame{Kind: wire.KindHello, Body: body}))
	}
	for name, sent := range map[string]string{
		"rubbish":             "GET / HTTP/1.1\r\n\r\n",
		"a wild length":       wire.Preface + "\xff\xff\xff\xff\x01" + strings.Repeat("\x00", 16),
		"half a frame":        hello(wire.Hello{Version: wire.Version, App: "world"})[:30],
		"rubbish in a frame":  string(wire.Append([]byte(wire.Preface), wire.Frame{Kind: wire.KindHello, Body: []byte("\xff\xff")})),
		"a call for a hello":  string(wire.Append([]byte(wire.Preface), wire.Frame{Kind: wire.KindCall, Seq: 1})),
		"a wrong token":       hello(wire.Hello{Version: wire.Version, App: "world", Token: "wrong"}),
		"another application": hello(wire.Hello{Version: wire.Version, App: "other", Token: "secret"}),
		"another version":     hello(wire.Hello{Version: 99, App: "world", Token: "secret"}),
		"a guessed session":   hello(wire.Hello{Version: wire.Version, App: "world", Token: "secret", Resume: true, Session: 1, Secret: make([]byte, 16)}),
	} {
		t.Run(name, func(t *testing.T) {
			var d net.Dialer
			c, err := d.DialContext(t.Context(), "tcp", addr)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = c.Close() }()
			if _, err := io.WriteString(c, sent); err != nil {
				t.Fatal(err)
			}
			_ = c.(*net.TCPConn).CloseWrite()
			_ = c.SetReadDeadline(time.Now().Add(time.Minute)) //nolint:forbidigo // a bound, not a wait
			answer, err := io.ReadAll(c)
			if ne, ok := errors.AsType[net.Error](err); ok && ne.Timeout() {
				t.Fatal("the connection is still open")
			}
			if len(answer) > 0 && wire.Kind(answer[4]) != wire.KindRefusal {
				t.Errorf("it was answered with a frame of kind %d", answer[4])
			}
		})
	}
	if _, err := engine.Open(t.Context(), url, engine.Options{App: "world"}); err != nil {
		t.Errorf("afterwards: %v", err)
	}
}
