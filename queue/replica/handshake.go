package replica

import (
	"bufio"
	"context"
	"crypto/rand"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"sync/atomic"
	"time"

	"github.com/pawl-go/pawl/queue/replica/wire"
)

// bindingLabel is what TLS exports for the proofs of a connection.
const bindingLabel = "EXPORTER-pawl-queue-replica"

// errRefused is wrapped with what the peer said.
var errRefused = errors.New("the host refuses")

// meeting is a handshake under way.
type meeting struct {
	h       *Host
	sock    net.Conn      // of TCP
	raw     net.Conn      // with TLS on it, if that is used
	in      *bufio.Reader // that r reads from
	r       *wire.Reader
	heard   atomic.Bool // something has come in
	mine    wire.Greeting
	theirs  wire.Greeting
	hellos  [2][]byte // as encoded: the dialler's, the acceptor's
	binding []byte
}

// meet greets the peer, and returns once both sides have proved who they are. to
// is the host that is dialled, 0 for a connection that was accepted. The connection
// is closed when it fails.
func (h *Host) meet(ctx context.Context, raw net.Conn, to HostID) (*conn, error) {
	addr := raw.RemoteAddr().String()
	// A peer that says nothing is not waited for; closing ends the reads.
	ctx, cancel := context.WithTimeout(ctx, h.cfg.HeartbeatTimeout)
	defer cancel()
	stop := context.AfterFunc(ctx, func() { _ = raw.SetDeadline(time.Unix(1, 0)) })
	m := &meeting{h: h, sock: raw, raw: raw}
	err := m.secure(ctx, to)
	if err == nil {
		m.in = bufio.NewReaderSize(m, 64<<10)
		m.r = wire.NewReader(m.in)
		if to != 0 {
			err = m.dialled(to)
		} else {
			err = m.accepted()
		}
	}
	if !stop() && err == nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		m.refuse(err)
		_ = m.sock.Close()
		return nil, &PeerError{Host: max(m.theirs.From, to), Addr: addr, Err: err}
	}
	m.r.Trust()
	return newConn(h, m), nil
}

// Read notes that something has come in: that is a sign of life.
func (m *meeting) Read(b []byte) (int, error) {
	n, err := m.raw.Read(b)
	m.heard.Store(true)
	return n, err
}

// secure puts TLS on the connection.
func (m *meeting) secure(ctx context.Context, to HostID) error {
	if m.h.cfg.TLS == nil {
		return nil
	}
	cfg := m.h.cfg.TLS.Clone()
	cfg.MinVersion = tls.VersionTLS13
	var c *tls.Conn
	if to != 0 {
		// The name is checked once the peer has said who it is; the chain is here.
		cfg.ServerName = m.h.peer(to).Name
		cfg.InsecureSkipVerify = true //nolint:gosec // verifyChain does it, for one of two names
		cfg.VerifyConnection = func(s tls.ConnectionState) error { return verifyServer(s, cfg, m.h.peer(to)) }
		c = tls.Client(m.raw, cfg)
	} else {
		cfg.ClientAuth = tls.RequireAndVerifyClientCert
		c = tls.Server(m.raw, cfg)
	}
	if err := c.HandshakeContext(ctx); err != nil {
		return fmt.Errorf("TLS: %w", err)
	}
	state := c.ConnectionState()
	binding, err := state.ExportKeyingMaterial(bindingLabel, nil, 32)
	if err != nil {
		return fmt.Errorf("TLS: %w", err)
	}
	m.raw, m.binding = c, binding
	return nil
}

func (m *meeting) greet(to HostID) error {
	m.mine = wire.Greeting{From: m.h.cfg.Self, To: to, Cluster: m.h.cfg.Cluster, Queues: m.h.shared(to)}
	if _, err := rand.Read(m.mine.Nonce[:]); err != nil {
		return err
	}
	return nil
}

func (m *meeting) dialled(to HostID) error {
	if err := m.greet(to); err != nil {
		return err
	}
	if err := m.sayHello(0); err != nil {
		return err
	}
	if err := m.hearHello(1); err != nil {
		return err
	}
	if err := m.mine.Meets(m.theirs); err != nil {
		return err
	}
	if err := m.sayProof(); err != nil {
		return err
	}
	return m.hearProof()
}

func (m *meeting) accepted() error {
	if err := m.hearHello(0); err != nil {
		return err
	}
	if m.theirs.From < m.h.cfg.Self || m.h.peer(m.theirs.From).ID == 0 {
		return fmt.Errorf("%w: host %d may not connect here: it is not in the configuration, or has the lower id", wire.ErrIdentity, m.theirs.From)
	}
	if err := m.greet(m.theirs.From); err != nil {
		return err
	}
	if err := m.mine.Meets(m.theirs); err != nil {
		return err
	}
	if c, ok := m.raw.(*tls.Conn); ok {
		if err := verifyName(c.ConnectionState(), m.h.peer(m.theirs.From)); err != nil {
			return err
		}
	}
	if err := m.sayHello(1); err != nil {
		return err
	}
	// The dialler proves itself first: a stranger learns nothing.
	if err := m.hearProof(); err != nil {
		return err
	}
	return m.sayProof()
}

func (m *meeting) sayHello(place int) error {
	b, err := m.mine.Encode()
	if err != nil {
		return err
	}
	m.hellos[place] = b
	return m.say(wire.Hello, b)
}

func (m *meeting) hearHello(place int) error {
	b, err := m.hear(wire.Hello)
	if err != nil {
		return err
	}
	m.hellos[place] = append([]byte(nil), b...)
	m.theirs, err = wire.DecodeGreeting(m.hellos[place])
	return err
}

func (m *meeting) sayProof() error {
	return m.say(wire.Proof, wire.Prove(m.h.cfg.Secret, m.h.cfg.Self, m.hellos[0], m.hellos[1], m.binding))
}

func (m *meeting) hearProof() error {
	b, err := m.hear(wire.Proof)
	if err != nil {
		return err
	}
	return wire.CheckProof(b, m.h.cfg.Secret, m.theirs.From, m.hellos[0], m.hellos[1], m.binding)
}

func (m *meeting) say(t wire.Type, body []byte) error {
	b, err := wire.Append(nil, wire.Frame{Type: t, Body: body})
	if err == nil {
		_, err = m.raw.Write(b)
	}
	return err
}

func (m *meeting) hear(t wire.Type) ([]byte, error) {
	f, err := m.r.Next()
	switch {
	case err != nil:
		return nil, fmt.Errorf("wait for %v: %w", t, err)
	case f.Type == wire.Refuse:
		return nil, fmt.Errorf("%w: %.200q", errRefused, f.Body)
	case f.Type != t:
		return nil, fmt.Errorf("%w: %v instead of %v", wire.ErrFrame, f.Type, t)
	}
	return f.Body, nil
}

// refuse tells the peer why, if it was the peer's fault and it listens.
func (m *meeting) refuse(err error) {
	if m.r == nil || errors.Is(err, errRefused) {
		return
	}
	for _, fault := range []error{wire.ErrVersion, wire.ErrIdentity, wire.ErrProof} {
		if errors.Is(err, fault) {
			_ = m.say(wire.Refuse, []byte(err.Error()))
			return
		}
	}
}
