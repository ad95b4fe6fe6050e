package remote

import (
	"bufio"
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/pawl-go/pawl/engine"
	"github.com/pawl-go/pawl/engine/remote/wire"
	"github.com/pawl-go/pawl/engine/trace"
)

// Host is an engine that a server can offer: it lets a component be declared
// failed. The local engine is one.
type Host interface {
	engine.Engine
	Fail(s engine.Session) error
}

// ServerConfig says how a server treats components. Zero fields take the default.
type ServerConfig struct {
	App       string        // required: the application's name
	Heartbeat time.Duration // silence after which a component is failed; default 3 s
	Grace     time.Duration // in which a component whose connection ended may come back; default 250 ms
	Logger    *slog.Logger  // default slog.Default()
}

// helloTimeout bounds the handshake.
const helloTimeout = 5 * time.Second

// Server offers an engine to components in other processes. Its methods are
// safe for concurrent use.
type Server struct {
	eng   Host
	cfg   ServerConfig
	trace trace.Recorder
	id    uint64 // tells it from those before and after it
	ctx   context.Context
	stop  context.CancelFunc
	owned sync.WaitGroup

	mu struct {
		sync.Mutex
		closed    bool
		listeners map[net.Listener]bool
		conns     map[net.Conn]bool // in their handshake, or serving
		agents    map[uint64]*agent // by session
	}
}

// NewServer makes a server of an engine, which stays the caller's.
func NewServer(eng Host, cfg ServerConfig) (*Server, error) {
	switch {
	case cfg.App == "":
		return nil, errors.New("make server: no application is named")
	case cfg.Heartbeat < 0 || cfg.Grace < 0:
		return nil, errors.New("make server: a time-out is negative")
	}
	if cfg.Heartbeat == 0 {
		cfg.Heartbeat = 3 * time.Second
	}
	if cfg.Grace == 0 {
		cfg.Grace = 250 * time.Millisecond
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.Default()
	}
	s := &Server{eng: eng, cfg: cfg, trace: trace.Of(eng), id: binary.NativeEndian.Uint64(newSecret())}
	s.ctx, s.stop = context.WithCancel(context.Background())
	s.mu.listeners, s.mu.conns, s.mu.agents = map[net.Listener]bool{}, map[net.Conn]bool{}, map[uint64]*agent{}
	return s, nil
}

// Serve takes components that connect to l, until Close. Token, unless it is
// empty, is what they must know. The server owns l.
func (s *Server) Serve(l net.Listener, token string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mu.closed {
		_ = l.Close()
		return
	}
	s.mu.listeners[l] = true
	s.owned.Go(func() {
		for {
			c, err := l.Accept()
			if errors.Is(err, net.ErrClosed) || s.ctx.Err() != nil {
				return
			}
			if err != nil {
				s.cfg.Logger.Warn("engine server: accept", "address", l.Addr().String(), "error", err)
				time.Sleep(10 * time.Millisecond) // out of descriptors: there is no event to wait for
				continue
			}
			if s.track(c) {
				s.owned.Go(func() { s.connection(c, token) })
			}
		}
	})
}

func (s *Server) track(c net.Conn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mu.closed {
		_ = c.Close()
		return false
	}
	s.mu.conns[c] = true
	return true
}

// Close ends all sessions, whose components are told that the server ends, and
// returns when nothing of it runs any more. They may join the next one.
func (s *Server) Close() error {
	s.mu.Lock()
	s.mu.closed = true
	agents := slices.Collect(maps.Values(s.mu.agents))
	var errs []error
	for l := range s.mu.listeners {
		if err := l.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
			errs = append(errs, err)
		}
	}
	s.mu.Unlock()
	s.stop()
	for _, a := range agents {
		<-a.told
	}
	s.mu.Lock()
	for c := range s.mu.conns {
		_ = c.Close()
	}
	s.mu.Unlock()
	s.owned.Wait()
	return errors.Join(errs...)
}

// Fail declares the component of a session failed, as if it had died.
func (s *Server) Fail(session uint64) error {
	s.mu.Lock()
	a := s.mu.agents[session]
	s.mu.Unlock()
	if a == nil {
		return fmt.Errorf("fail session %d: no component has it", session)
	}
	return s.eng.Fail(a.session)
}

// connection serves one connection from its first byte.
func (s *Server) connection(c net.Conn, token string) {
	defer func() {
		_ = c.Close()
		s.mu.Lock()
		delete(s.mu.conns, c)
		s.mu.Unlock()
	}()
	r := bufio.NewReaderSize(c, 64<<10)
	hello, err := s.hello(c, r)
	if err != nil {
		s.cfg.Logger.Debug("engine server: a stranger was dropped", "peer", c.RemoteAddr().String(), "error", err)
		return
	}
	err = s.admissible(hello, token)
	switch {
	case err != nil:
	case hello.Probe:
		_ = s.welcome(c, wire.Welcome{})
		return
	case hello.Resume:
		err = s.resume(c, r, hello)
	default:
		err = s.join(c, r, hello)
	}
	if err != nil {
		level := slog.LevelWarn
		if errors.Is(err, engine.ErrFenced) { // it is of the server before, or failed, and knows now
			level = slog.LevelInfo
		}
		s.cfg.Logger.Log(s.ctx, level, "engine server: a component was refused", "component", hello.Member.Name, "error", err)
		_ = send(c, wire.KindRefusal, wire.Refusal{Error: *wire.ErrorOf(err), Server: s.id})
	}
}

func (s *Server) hello(c net.Conn, r *bufio.Reader) (*wire.Hello, error) {
	if err := c.SetDeadline(time.Now().Add(helloTimeout)); err != nil {
		return nil, err
	}
	var preface [len(wire.Preface)]byte
	if _, err := io.ReadFull(r, preface[:]); err != nil {
		return nil, err
	}
	if string(preface[:]) != wire.Preface {
		return nil, fmt.Errorf("%w: not our preface", wire.ErrMalformed)
	}
	f, err := wire.Read(r, wire.HelloLimit)
	if err != nil {
		return nil, err
	}
	var h wire.Hello
	if f.Kind != wire.KindHello {
		return nil, fmt.Errorf("%w: kind %d before the handshake", wire.ErrMalformed, f.Kind)
	}
	return &h, wire.Decode(f.Body, &h)
}

// admissible refuses who may not come in.
func (s *Server) admissible(h *wire.Hello, token string) error {
	switch {
	case h.Version != wire.Version:
		return unavailable("the component speaks version %d of the protocol, the server %d: use one version of pawl", h.Version, wire.Version)
	case subtle.ConstantTimeCompare([]byte(h.Token), []byte(token)) != 1 && token != "":
		return unavailable("the token is missing or wrong: give the server's, by token_file in the engine's URL or PAWL_TOKEN")
	case h.App != s.cfg.App:
		return unavailable("the server is of the application %q, not %q", s.cfg.App, h.App)
	}
	return nil
}

func unavailable(format string, args ...any) error {
	return &engine.Error{Code: engine.ErrUnavailable, Err: fmt.Errorf(format, args...)}
}

func (s *Server) welcome(c net.Conn, w wire.Welcome) error {
	w.Heartbeat, w.Traced, w.Server = int64(s.cfg.Heartbeat), s.trace != nil, s.id
	return send(c, wire.KindWelcome, w)
}

// RefusePlaintext answers the hello of a component that came without TLS to a port that
// wants it.
func RefusePlaintext(w io.Writer) error {
	err := unavailable("this port speaks TLS: add ?ca=FILE (and &cert=FILE&key=FILE for mutual TLS) to the engine's URL")
	return send(w, wire.KindRefusal, wire.Refusal{Error: *wire.ErrorOf(err)})
}

func send(w io.Writer, kind wire.Kind, message any) error {
	body, err := wire.Encode(message)
	if err != nil {
		return err
	}
	_, err = w.Write(wire.Append(nil, wire.Frame{Kind: kind, Body: body}))
	return err
}

// join makes the component a member, and serves it.
func (s *Server) join(c net.Conn, r *bufio.Reader, h *wire.Hello) error {
	a := newAgent(s, h.Member.Name)
	ctx, cancel := context.WithTimeout(s.ctx, helloTimeout)
	defer cancel()
	session, err := s.eng.Join(ctx, h.Member, a)
	if err != nil {
		return err
	}
	a.session = session
	close(a.joined)
	s.mu.Lock()
	s.mu.agents[session.Number()] = a
	s.mu.Unlock()
	s.owned.Go(a.watch)
	w := wire.Welcome{Session: session.Number(), Secret: a.secret}
	a.attach(c, r, w, 0)
	return nil
}

// resume lets a component whose connection has ended go on over another.
func (s *Server) resume(c net.Conn, r *bufio.Reader, h *wire.Hello) error {
	s.mu.Lock()
	a := s.mu.agents[h.Session]
	s.mu.Unlock()
	if a == nil || subtle.ConstantTimeCompare(h.Secret, a.secret) != 1 {
		return &engine.Error{Code: engine.ErrFenced, Err: fmt.Errorf("session %d is not known here, or has ended: join anew", h.Session)}
	}
	a.attach(c, r, wire.Welcome{Session: h.Session}, h.Received)
	return nil
}

// settle returns when every component has said which attempts it had begun
// when settle was called, so that [agent.Begun] is as an operator sees it.
func (s *Server) settle(ctx context.Context) {
	s.mu.Lock()
	var waits []<-chan struct{}
	for _, a := range s.mu.agents {
		waits = append(waits, a.sync())
	}
	s.mu.Unlock()
	timeout := time.NewTimer(s.cfg.Heartbeat)
	defer timeout.Stop()
	for _, w := range waits {
		select {
		case <-w:
		case <-timeout.C:
			return
		case <-ctx.Done():
			return
		}
	}
}

func newSecret() []byte {
	b := make([]byte, 16)
	rand.Read(b) // never fails
	return b
}
