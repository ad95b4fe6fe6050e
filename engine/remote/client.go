package remote

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/pawl-go/pawl/engine"
	"github.com/pawl-go/pawl/engine/remote/wire"
	"github.com/pawl-go/pawl/engine/trace"
	"github.com/pawl-go/pawl/internal/socket"
	"github.com/pawl-go/pawl/internal/tlsfiles"
)

// SocketName is the name of the socket for components in a data directory that
// is served.
const SocketName = "engine.sock"

// defaultRejoin is for how long a component tries to join again when its server
// went away.
const defaultRejoin = 5 * time.Minute

func init() {
	engine.Register("pawl", Open)
	engine.Register("pawl+unix", Open)
}

// Client is an engine that a server elsewhere hosts. It implements
// engine.Engine.
type Client struct {
	network, addr string
	token         string
	tls           *tls.Config
	app           string
	log           *slog.Logger
	traced        bool
	rejoin        time.Duration

	mu       sync.Mutex
	closed   bool
	sessions map[uint64]*session
}

var _ interface {
	engine.Engine
	trace.Source
} = (*Client)(nil)

// Open connects to a server: pawl://HOST:PORT, or pawl:DIR or
// pawl+unix://DIR for the data directory, or socket, of one on this machine.
// The package comment lists the parameters. A server that cannot be reached, is
// of another application, or does not take the token is an error at once.
func Open(ctx context.Context, u *url.URL, o engine.Options) (engine.Engine, error) {
	c, err := newClient(u, o)
	if err != nil {
		return nil, fmt.Errorf("open engine %s: %w", u.Redacted(), err)
	}
	conn, _, w, err := c.greet(ctx, wire.Hello{Probe: true})
	if err != nil {
		return nil, fmt.Errorf("open engine %s: %w", u.Redacted(), err)
	}
	c.traced = w.Traced
	return c, conn.Close()
}

func newClient(u *url.URL, o engine.Options) (*Client, error) {
	c := &Client{app: o.App, log: o.Logger, rejoin: defaultRejoin, sessions: map[uint64]*session{}}
	if c.log == nil {
		c.log = slog.Default()
	}
	path := u.Host + u.Path
	if u.Opaque != "" {
		var err error
		if path, err = url.PathUnescape(u.Opaque); err != nil {
			return nil, err
		}
	}
	switch {
	case u.Scheme == "pawl" && u.Opaque == "" && u.Host != "":
		if u.Path != "" && u.Path != "/" {
			return nil, errors.New("a path behind the host: write pawl://HOST:PORT, or pawl:DIR for a directory")
		}
		c.network, c.addr = "tcp", u.Host
		if u.Port() == "" {
			c.addr = net.JoinHostPort(u.Hostname(), "7070")
		}
	case path == "":
		return nil, errors.New("no server is named: write pawl://HOST:PORT, or pawl:./data")
	default:
		c.network, c.addr = "unix", path
		if fi, err := os.Stat(path); err == nil && fi.IsDir() {
			c.addr = filepath.Join(path, SocketName)
		}
	}
	return c, c.parameters(u)
}

// parameters reads those of the URL.
func (c *Client) parameters(u *url.URL) error {
	q, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return err
	}
	c.token = os.Getenv("PAWL_TOKEN")
	var authority tlsfiles.Authority
	var own tlsfiles.Pair
	for name := range q {
		v := q.Get(name)
		switch name {
		case "token_file":
			b, err := os.ReadFile(v)
			if err != nil {
				return fmt.Errorf("parameter token_file: %w", err)
			}
			c.token = strings.TrimSpace(string(b))
		case "rejoin":
			if c.rejoin, err = time.ParseDuration(v); err != nil || c.rejoin < 0 {
				return fmt.Errorf("parameter rejoin: %q is no duration, such as 5m or 0", v)
			}
		case "ca":
			authority = tlsfiles.Authority(v)
		case "cert":
			own.Cert = v
		case "key":
			own.Key = v
		default:
			return fmt.Errorf("unknown parameter %q (there are: ca, cert, key, rejoin, token_file)", name)
		}
	}
	return c.secure(authority, own)
}

// secure prepares TLS, if it is asked for.
func (c *Client) secure(authority tlsfiles.Authority, own tlsfiles.Pair) error {
	host, _, _ := net.SplitHostPort(c.addr)
	var err error
	if c.tls, err = tlsfiles.Client(host, authority, own); err != nil {
		return fmt.Errorf("parameters ca, cert and key: %w", err)
	}
	if c.tls != nil && c.network != "tcp" {
		return errors.New("TLS on a socket of this machine: leave the parameters ca, cert and key out")
	}
	return nil
}

// greet connects, says hello and reads the answer.
func (c *Client) greet(ctx context.Context, h wire.Hello) (net.Conn, *bufio.Reader, *wire.Welcome, error) {
	h.Version, h.App, h.Token = wire.Version, c.app, c.token
	body, err := wire.Encode(h)
	if err != nil {
		return nil, nil, nil, err
	}
	conn, err := c.dial(ctx)
	if err != nil {
		return nil, nil, nil, unavailable("connect to the engine's server (is pawl serve running there?): %w", err)
	}
	r := bufio.NewReaderSize(conn, 64<<10)
	w, err := c.hello(ctx, conn, r, body)
	if err != nil {
		_ = conn.Close()
		return nil, nil, nil, err
	}
	return conn, r, w, nil
}

func (c *Client) dial(ctx context.Context) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, helloTimeout)
	defer cancel()
	if c.tls != nil {
		return (&tls.Dialer{Config: c.tls}).DialContext(ctx, c.network, c.addr)
	}
	if c.network == "unix" {
		return socket.Dial(ctx, c.addr)
	}
	var d net.Dialer
	return d.DialContext(ctx, c.network, c.addr)
}

func (c *Client) hello(ctx context.Context, conn net.Conn, r *bufio.Reader, body []byte) (*wire.Welcome, error) {
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	if err := conn.SetDeadline(time.Now().Add(2 * helloTimeout)); err != nil {
		return nil, unavailable("%w", err)
	}
	if _, err := conn.Write(wire.Append([]byte(wire.Preface), wire.Frame{Kind: wire.KindHello, Body: body})); err != nil {
		return nil, unavailable("say hello to the engine's server: %w", err)
	}
	f, err := wire.Read(r, wire.HelloLimit)
	if err != nil {
		return nil, unavailable("what answers is no engine's server of this version, or it went away: %w", err)
	}
	switch f.Kind {
	case wire.KindWelcome:
		var w wire.Welcome
		if err := wire.Decode(f.Body, &w); err != nil {
			return nil, unavailable("%w", err)
		}
		if w.Heartbeat <= 0 {
			return nil, unavailable("the server's heartbeat is %d", w.Heartbeat)
		}
		return &w, conn.SetDeadline(time.Time{})
	case wire.KindRefusal:
		var x wire.Refusal
		if err := wire.Decode(f.Body, &x); err != nil {
			return nil, unavailable("%w", err)
		}
		return nil, &refused{server: x.Server, err: x.Error.Err()}
	}
	return nil, unavailable("the server answers a hello with a frame of kind %d", f.Kind)
}

// refused is the error of a server that does not take a component.
type refused struct {
	server uint64
	err    error
}

// Error is what the server says.
func (r *refused) Error() string { return r.err.Error() }

// Unwrap gives the error as it was at the server.
func (r *refused) Unwrap() error { return r.err }

// Join implements engine.Engine.
func (c *Client) Join(ctx context.Context, m engine.Component, h engine.Handler) (engine.Session, error) {
	conn, r, w, err := c.greet(ctx, wire.Hello{Member: m})
	if err != nil {
		return nil, err
	}
	s := newSession(c, h, w)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		_ = conn.Close()
		return nil, unavailable("the engine is closed")
	}
	c.sessions[s.number] = s
	go s.run(conn, r)
	return s, nil
}

// Close implements engine.Engine.
func (c *Client) Close() error {
	c.mu.Lock()
	c.closed = true
	var all []*session
	for _, s := range c.sessions {
		all = append(all, s)
	}
	c.mu.Unlock()
	for _, s := range all {
		s.end()
		<-s.over
	}
	return nil
}

// Trace implements trace.Source: if the server records a trace, what the
// runtimes here say goes there.
func (c *Client) Trace() trace.Recorder {
	if !c.traced {
		return nil
	}
	return recorder{c}
}

// recorder sends a runtime's events over its session.
type recorder struct{ c *Client }

// Record implements trace.Recorder.
func (r recorder) Record(events ...trace.Event) {
	for _, e := range events {
		r.c.mu.Lock()
		s := r.c.sessions[e.Session]
		r.c.mu.Unlock()
		if s != nil {
			s.stream.post(wire.KindTrace, wire.Trace{Events: []trace.Event{e}}, nil, 0)
		}
	}
}

// Seen implements trace.Recorder: no records are traced here.
func (recorder) Seen() uint64 { return 0 }
